//! Partial recovery: of a segment whose payload arrived damaged, only the damaged blocks are retransmitted
//! (`docs/repair.md`).

pub(crate) mod receiver;
pub(crate) mod sender;
