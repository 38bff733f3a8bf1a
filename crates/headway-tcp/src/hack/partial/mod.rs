//! Partial recovery: of a segment whose payload arrived damaged, only the damaged blocks are retransmitted
//! (`docs/repair.md`). [`headway_wire::blocks`] has the length of a block, `send/recovery/patch.rs` the sender's part.

use alloc::sync::Arc;
use core::fmt;

use headway_wire::crc::crc32c;

pub(crate) mod receiver;

/// Says whether a payload is the one that was sent, for a carrier that authenticates packets
/// ([`Host::receive_tagged`](crate::Host::receive_tagged)).
pub trait PayloadTag: fmt::Debug + Send + Sync {
    /// Whether `payload` is, byte for byte, what the tag was made of.
    fn holds(&self, payload: &[u8]) -> bool;

    /// Whether the header was authenticated apart from the payload. If not, its CRC alone says that it is what was sent.
    fn has_authentic_header(&self) -> bool;
}

/// What is known of the header of a segment whose payload arrived damaged.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Evidence<'a> {
    /// Its checksums are valid.
    Valid,
    /// It is valid, or authentic, and the carrier has this tag of the payload.
    Tagged(&'a Arc<dyn PayloadTag>),
    /// It had to be repaired.
    Repaired,
}

/// What shows that a corrupted payload, after blocks of it were replaced, is the payload that was sent.
#[derive(Clone, Debug)]
pub(crate) enum Proof {
    /// The payload CRC of its header.
    Crc(u32),
    /// The carrier's tag.
    Tag(Arc<dyn PayloadTag>),
}

impl Proof {
    fn holds(&self, payload: &[u8]) -> bool {
        match self {
            Self::Crc(crc) => crc32c(payload) == *crc,
            Self::Tag(tag) => tag.holds(payload),
        }
    }
}
