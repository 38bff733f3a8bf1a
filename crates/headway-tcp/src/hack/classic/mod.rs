//! Special ACKs (papers 000 and 003): the receiver reports damaged segments, the sender retransmits them.

pub(crate) mod receiver;
pub(crate) mod sender;
