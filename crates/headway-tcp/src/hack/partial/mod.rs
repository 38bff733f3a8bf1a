//! Partial recovery: of a segment whose payload arrived damaged, only the damaged blocks are retransmitted
//! (`docs/repair.md`). Which blocks the sender spares is its recovery's business (`send/recovery/peer_held.rs`).

pub(crate) mod receiver;
