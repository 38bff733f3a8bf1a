//! TCP HACK as the capture shows it.

use headway_wire::{Segment, TcpFlags};

/// The options of TCP HACK that one side sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Special {
    /// Segments with a Header Checksum (kind 14), SYNs left out.
    pub header_sums: u64,
    /// Special ACKs that name one segment (kind 15).
    pub naming_one: u64,
    /// Special ACKs that list segments (kind 16).
    pub listing: u64,
    /// All numbers in those lists.
    pub listed: u64,
    /// Special ACKs that a plain TCP would take for duplicate ACKs.
    pub duplicates: u64,
}

impl Special {
    /// Counts what `segment` has of it.
    pub(super) fn add(&mut self, segment: &Segment<'_>, is_duplicate: bool) {
        let options = &segment.options;
        let is_syn = segment.tcp.flags.contains(TcpFlags::SYN);
        self.header_sums += u64::from(options.hack.is_some() && !is_syn);
        let listed = options.xhack_ack.as_slice().len() as u64;
        self.naming_one += u64::from(options.hack_ack.is_some());
        self.listing += u64::from(listed > 0);
        self.listed += listed;
        self.duplicates += u64::from(is_duplicate && (listed > 0 || options.hack_ack.is_some()));
    }

    /// Special ACKs of both kinds.
    pub fn acks(&self) -> u64 {
        self.naming_one + self.listing
    }
}
