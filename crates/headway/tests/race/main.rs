//! `headway race` as its users meet it.

mod captures;
mod program;
mod refusals;
mod report;
mod results;
mod traces;
