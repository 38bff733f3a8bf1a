//! `headway lab` and `headway paper` as their users meet them.

mod aims;
mod documents;
mod explore;
mod interruptions;
mod papers;
mod program;
mod readings;
mod refusals;
mod report;
mod start;
