//! `headway box` between two veths: the hosts are connected by the simulator's link.

mod captures;
mod ends;
mod interfaces;
mod parameters;
pub(crate) mod testbed;
mod transfers;
mod watch;
