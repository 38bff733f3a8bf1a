//! `headway lab` and `headway paper` as their users meet them.

mod documents;
mod interruptions;
mod program;
mod refusals;
mod report;
