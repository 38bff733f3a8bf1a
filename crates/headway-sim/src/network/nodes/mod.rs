//! The nodes of the network. Each knows packets and what it is lent, and neither the others nor the network.

pub(super) mod arrivals;
pub(super) mod host;
pub(super) mod link;
pub(super) mod replay;
pub(super) mod router;
pub(super) mod sink;
pub(super) mod source;
pub(super) mod trunk;
