//! What HTTP servers of commands ask before they answer: for which host a request is ([`OwnNames`]), and how many
//! connections its client has ([`Clients`]).
#![forbid(unsafe_code)]

mod clients;
mod host;

pub use clients::{ClientPlace, Clients, TooMany};
pub use host::OwnNames;
