//! Special ACKs (papers 000 and 003): the receiver reports damaged segments. What the sender makes of that
//! belongs to its recovery (`send/recovery/`).

pub(crate) mod receiver;
