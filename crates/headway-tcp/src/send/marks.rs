//! A segment that was sent and is not yet cumulatively acknowledged, and the marks that say what is thought to
//! have become of it.

use headway_units::Instant;
use headway_wire::{SeqNumber, patch::Choice};

/// The marks of a segment. `SACKED` excludes `LOST` and `RETRANSMITTED`; a segment that is `RETRANSMITTED` and
/// not `LOST` is in the network twice, as RFC 6675's SetPipe and Linux count it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks(u16);

impl Marks {
    /// None.
    pub(crate) const NONE: Self = Self(0);
    /// Selectively acknowledged.
    pub(crate) const SACKED: Self = Self(1);
    /// Thought not to be in the network any more.
    pub(crate) const LOST: Self = Self(2);
    /// A retransmission is in the network.
    pub(crate) const RETRANSMITTED: Self = Self(4);
    /// Was sent more than once (Karn).
    pub(crate) const EVER_RETRANSMITTED: Self = Self(8);
    /// Known to be damaged; feeds no loss detector while its retransmission is young.
    pub(crate) const DAMAGED: Self = Self(16);
    /// Occupies a sequence number for SYN.
    pub(crate) const SYN: Self = Self(32);
    /// Occupies a sequence number for FIN, its last.
    pub(crate) const FIN: Self = Self(64);
    /// Has PSH: nothing more was there to send when it was sent.
    pub(crate) const PUSH: Self = Self(128);
    /// A copy of it was sent: an ACK may be the answer to that.
    pub(crate) const COPIED: Self = Self(256);

    pub(crate) const fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    pub(super) const fn with(self, mark: Self) -> Self {
        Self(self.0 | mark.0)
    }

    pub(super) const fn without(self, mark: Self) -> Self {
        Self(self.0 & !mark.0)
    }

    /// Without what is thought to have become of it.
    pub(super) const fn resolved(self) -> Self {
        const STATUS: Marks = Marks::SACKED.with(Marks::LOST).with(Marks::RETRANSMITTED).with(Marks::DAMAGED);
        self.without(STATUS)
    }

    /// To be retransmitted: lost, and no later transmission under way.
    pub(super) const fn is_missing(self) -> bool {
        self.has(Self::LOST) && !self.has(Self::RETRANSMITTED)
    }

    /// Missing for a reason that no damage report explains.
    pub(super) const fn is_unexplained(self) -> bool {
        self.is_missing() && !self.has(Self::DAMAGED)
    }
}

/// One segment in the queue.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) seq: SeqNumber,
    /// Sequence numbers it occupies, SYN and FIN included.
    pub(crate) len: u32,
    pub(super) marks: Marks,
    /// Transmissions sent with the TSval, and how many of those a special ACK has reported.
    pub(super) transmissions: u8,
    pub(super) reported: u8,
    /// TSval of the latest transmission.
    pub(super) tsval: u32,
    /// The number of the latest transmission, among all over the path.
    pub(crate) order: u64,
    /// When the latest transmission was sent.
    pub(crate) sent_at: Instant,
    /// What the peer lacks of a damaged transmission, which is retransmitted; none: all of it.
    pub(super) patch: Choice,
}

impl Sent {
    pub(crate) fn end(&self) -> SeqNumber {
        self.seq + self.len
    }

    pub(crate) fn has(&self, mark: Marks) -> bool {
        self.marks.has(mark)
    }

    /// Payload bytes: the length less SYN and FIN.
    pub(crate) fn payload_len(&self) -> u32 {
        self.len - u32::from(self.has(Marks::SYN)) - u32::from(self.has(Marks::FIN))
    }

    /// What is to be retransmitted, or was last; none: all of it.
    pub(crate) fn patch(&self) -> Choice {
        self.patch
    }

    /// What a retransmission takes, or took, of the network: the length of the patch, or of the segment.
    pub(crate) fn bytes(&self) -> u32 {
        if self.patch.is_none() {
            return self.len;
        }
        self.patch.patch_len(self.payload_len() as usize) as u32
    }

    /// Bytes behind the header of a retransmission.
    pub(crate) fn payload_bytes(&self) -> u32 {
        if self.patch.is_none() { self.payload_len() } else { self.bytes() }
    }

    /// TSval of the latest transmission.
    pub(crate) fn tsval(&self) -> u32 {
        self.tsval
    }

    /// Whether it is to be retransmitted: lost, and no later transmission under way.
    pub(crate) fn is_missing(&self) -> bool {
        self.marks.is_missing()
    }
}
