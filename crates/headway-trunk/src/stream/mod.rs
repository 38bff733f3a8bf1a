//! Streams: the link to a peer on which they are opened, what they begin with, how their bytes are passed on, and how
//! many there may be.

mod budget;
mod early;
mod half_open;
#[cfg(test)]
pub(crate) mod linked;
mod links;
mod peer_link;
mod places;
mod profile;
pub(crate) mod relay;
pub(crate) mod trains;

pub(crate) use budget::Budget;
pub(crate) use early::{Early, Said};
pub(crate) use half_open::{HalfOpen, Side};
pub(crate) use links::Links;
pub(crate) use peer_link::{MOST_SPARE, NewLink, PORT, PeerLink};
pub(crate) use places::AllPlaces;
pub(crate) use profile::stream_profile;
