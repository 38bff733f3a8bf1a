//! `headway race` as its users meet it.

mod captures;
mod qlog;
mod refusals;
mod report;
mod results;
mod traces;
mod watch;

/// The names of all senders.
const VARIANTS: [&str; 9] =
    ["newreno", "sack", "hack", "hack+sack", "xhack", "xhack+sack", "modern", "modern+hack", "headway"];
