//! `headway box` between two veths: hosts on either side see the simulator's link.

mod captures;
mod ends;
mod interfaces;
mod parameters;
mod testbed;
mod transfers;
