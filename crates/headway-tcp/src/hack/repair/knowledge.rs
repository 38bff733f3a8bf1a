//! What a connection knows of the next headers.

use alloc::vec::Vec;

use headway_wire::{SeqNumber, TcpFlags, TcpHeader, TcpOptions};

/// What protects the headers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seal {
    /// The CRC-32C of version 2.
    V2,
    /// The 16-bit sum of kind 14.
    Classic,
}

/// Values that a field counts through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The newest that was seen.
    pub(crate) newest: u32,
    /// How far it can have come since.
    pub(crate) ahead: u32,
}

impl Span {
    /// Values that are tried at most: as many behind the newest, and before the farthest.
    const TRIED: u32 = 32;
    /// Packets overtake each other now and then: so far back a value may lie.
    const BEHIND: u32 = 64;

    /// The values that are likely, the likeliest first.
    pub(super) fn expected(self) -> impl Iterator<Item = u32> {
        let near = self.ahead.min(Self::TRIED);
        let far = self.ahead.saturating_sub(Self::TRIED).max(near + 1);
        (0..=near).chain(far..=self.ahead).map(move |step| self.newest.wrapping_add(step))
    }

    pub(super) fn admits(self, value: u32) -> bool {
        let (first, len) = self.bounds();
        value.wrapping_sub(first) < len
    }

    /// The first value that is possible, and how many are.
    pub(super) fn bounds(self) -> (u32, u32) {
        (self.newest.wrapping_sub(Self::BEHIND), self.ahead.saturating_add(Self::BEHIND + 1))
    }
}

/// What a connection knows of the header of a data segment that may come now.
#[derive(Clone, Debug)]
pub(crate) struct Knowledge {
    /// Whether headers are repaired; if not, all of this only says whether one was the peer's.
    pub(crate) repairs: bool,
    /// The peer's port and ours.
    pub(crate) ports: (u16, u16),
    pub(crate) seal: Seal,
    /// The peer's clock, and what it echoes of ours, if timestamps are in use.
    pub(crate) timestamps: Option<(Span, Span)>,
    /// Whether there may be SACK blocks.
    pub(crate) sack: bool,
    /// The sequence numbers that are expected, the likeliest first.
    pub(crate) seqs: Vec<SeqNumber>,
    /// Any sequence number lies within: the first, and the one behind the last.
    pub(crate) window_of_numbers: (SeqNumber, SeqNumber),
    /// The ACK numbers that are expected.
    pub(crate) acks: [SeqNumber; 3],
    /// Any ACK number lies within, both ends included.
    pub(crate) ack_range: (SeqNumber, SeqNumber),
    /// The window field seen last.
    pub(crate) window: u16,
}

impl Knowledge {
    pub(super) fn admits_seq(&self, seq: SeqNumber) -> bool {
        seq.in_range(self.window_of_numbers.0, self.window_of_numbers.1)
    }

    pub(super) fn admits_ack(&self, ack: SeqNumber) -> bool {
        let (first, last) = self.ack_range;
        ack.in_range(first, last + 1)
    }

    /// A data segment has ACK, and neither SYN nor RST nor URG.
    pub(super) fn admits_flags(&self, flags: TcpFlags) -> bool {
        flags.contains(TcpFlags::ACK) && !flags.intersects(TcpFlags::SYN | TcpFlags::RST | TcpFlags::URG)
    }

    /// Whether a header can be one of the connection's.
    pub(super) fn admits(&self, tcp: &TcpHeader, options: &TcpOptions) -> bool {
        let sealed = match self.seal {
            Seal::V2 => options.v2.is_some_and(|v2| v2.as_data().is_some() || v2.as_patch().is_some()),
            Seal::Classic => options.hack.is_some(),
        };
        let times_fit = match (self.timestamps, options.timestamps) {
            (Some((tsval, tsecr)), Some(sent)) => tsval.admits(sent.tsval) && tsecr.admits(sent.tsecr),
            (None, None) => true,
            _ => false,
        };
        sealed
            && times_fit
            && self.admits_flags(tcp.flags)
            && self.admits_seq(tcp.seq)
            && self.admits_ack(tcp.ack)
    }
}
