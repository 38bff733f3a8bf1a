//! TCP HACK options in a capture.

use headway_wire::{Segment, TcpFlags};

/// The options of TCP HACK that one side sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Special {
    /// Segments with a Header Checksum (kind 14), SYNs left out.
    pub header_sums: u64,
    /// Special ACKs that report one segment (kind 15).
    pub reporting_one: u64,
    /// Special ACKs that list segments (kind 16).
    pub listing: u64,
    /// Sequence numbers in those lists.
    pub listed: u64,
    /// Segments with the CRCs of version 2 (kind 253).
    pub header_crcs: u64,
    /// Special ACKs of version 2.
    pub version_2: u64,
    /// Sequence numbers in those.
    pub version_2_numbers: u64,
    /// Of those ACKs, the ones with block checksums for partial recovery.
    pub with_blocks: u64,
    /// The last damaged-packet count that this side reported, modulo 2^16 (version 2).
    pub damaged: Option<u16>,
    /// Special ACKs that count as duplicate ACKs by RFC 5681.
    pub duplicates: u64,
}

impl Special {
    /// Counts the TCP HACK options of `segment`.
    pub(super) fn add(&mut self, segment: &Segment<'_>, is_duplicate: bool) {
        let options = &segment.options;
        let is_syn = segment.tcp.flags.contains(TcpFlags::SYN);
        self.header_sums += u64::from(options.hack.is_some() && !is_syn);
        let listed = options.xhack_ack.as_slice().len() as u64;
        self.reporting_one += u64::from(options.hack_ack.is_some());
        self.listing += u64::from(listed > 0);
        self.listed += listed;
        let is_version_2 = self.add_version_2(segment);
        let is_special = listed > 0 || options.hack_ack.is_some() || is_version_2;
        self.duplicates += u64::from(is_duplicate && is_special);
    }

    /// Counts the options of version 2. Returns whether the segment is a special ACK.
    fn add_version_2(&mut self, segment: &Segment<'_>) -> bool {
        let Some(v2) = &segment.options.v2 else { return false };
        self.header_crcs += u64::from(v2.as_syn().is_none());
        let Some(ack) = v2.as_ack() else { return false };
        self.damaged = Some(ack.damaged);
        self.version_2 += u64::from(ack.is_special());
        self.version_2_numbers += ack.reported.len() as u64;
        self.with_blocks += u64::from(!segment.blocks.is_empty());
        ack.is_special()
    }

    /// Special ACKs of all kinds.
    pub fn acks(&self) -> u64 {
        self.reporting_one + self.listing + self.version_2
    }
}
