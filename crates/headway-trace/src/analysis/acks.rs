//! ACKs that one side sent.

use headway_wire::{Segment, SeqNumber, TcpFlags};

/// ACKs and SACK blocks of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acks {
    /// Packets with an ACK.
    pub packets: u64,
    /// Pure ACKs: without data, SYN, FIN or RST.
    pub pure: u64,
    /// Packets with SACK blocks.
    pub sack_packets: u64,
    /// SACK blocks.
    pub sack_blocks: u64,
    /// The maximum number of blocks in a packet.
    pub max_sack_blocks: u64,
    /// Packets whose first block reports data that had been received before (D-SACK).
    pub dsack_packets: u64,
}

impl Acks {
    /// Counts a packet with an ACK.
    pub(super) fn add(&mut self, segment: &Segment<'_>) {
        let flags = segment.tcp.flags;
        self.packets += 1;
        let is_pure = !flags.intersects(TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST);
        self.pure += u64::from(is_pure && !segment.carries_data());
        let blocks = segment.options.sack.as_slice();
        if blocks.is_empty() || flags.contains(TcpFlags::RST) {
            return;
        }
        self.sack_packets += 1;
        self.sack_blocks += blocks.len() as u64;
        self.max_sack_blocks = self.max_sack_blocks.max(blocks.len() as u64);
        self.dsack_packets += u64::from(is_dsack(segment.tcp.ack, blocks));
    }
}

/// RFC 2883, 4: "If the D-SACK block reports a duplicate segment from a (possibly larger) block of
/// data in the receiver's queue above the cumulative acknowledgement, then the second SACK block in
/// that SACK option should specify that (possibly larger) block of data"; below the cumulative
/// acknowledgement it stands alone.
fn is_dsack(ack: SeqNumber, blocks: &[(SeqNumber, SeqNumber)]) -> bool {
    match *blocks {
        [(_, right), ..] if right.le(ack) => true,
        [(left, right), (outer_left, outer_right), ..] => left.ge(outer_left) && right.le(outer_right),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_dsack() {
        let ack = SeqNumber(u32::MAX - 10);
        let block = |left: u32, right: u32| (ack + left, ack + right);
        assert!(!is_dsack(ack, &[]));
        assert!(!is_dsack(ack, &[block(5, 20)]));
        assert!(!is_dsack(ack, &[block(5, 20), block(30, 40)]));
        assert!(is_dsack(ack, &[(ack - 5, ack)]));
        assert!(is_dsack(ack, &[(ack - 5, ack), block(30, 40)]));
        assert!(is_dsack(ack, &[block(6, 20), block(5, 20)]));
    }
}
