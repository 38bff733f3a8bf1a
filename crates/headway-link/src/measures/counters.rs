//! What a link has done so far.

use std::ops::AddAssign;

/// What a link has done so far, in packets unless a name says otherwise.
///
/// Every packet given to the link is accounted for at any time: `offered + split` is `queue_drops + lost +
/// frame_check_drops + joined + (delivered - duplicated)` and the packets [in the link](crate::Link::in_link).
/// A link decides what happens to a packet when it begins to transmit it, so `lost`, `hit` and
/// `frame_check_drops` count up to one delay before the receiver could know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkCounters {
    /// Given to the link.
    pub offered: u64,
    /// Bytes given to the link.
    pub offered_bytes: u64,
    /// Dropped in front of the transmitter: by the queue, because it was full or its management decided so, or
    /// by the policer.
    pub queue_drops: u64,
    /// Those of them that the policer dropped.
    pub policed: u64,
    /// Put into the queue because the transmitter was busy.
    pub queue_entered: u64,
    /// Marked "congestion experienced" by it.
    pub marked: u64,
    /// Taken from the queue, to be transmitted or dropped.
    pub queue_left: u64,
    /// Most packets that were in the queue at once.
    pub max_queue_packets: u64,
    /// Most bytes of packets that were in the queue at once.
    pub max_queue_bytes: u64,
    /// Transmissions, retransmissions of a link ARQ included.
    pub transmissions: u64,
    /// Bytes transmitted, retransmissions and layer-2 overhead included: what the rate counts.
    pub transmitted_bytes: u64,
    /// Lost without a trace.
    pub lost: u64,
    /// Transmissions that the link was mute for; without a link ARQ those packets are among the lost.
    pub muted: u64,
    /// Transmissions damaged.
    pub hit: u64,
    /// Transmissions damaged in their header (and perhaps in their data too).
    pub hit_in_header: u64,
    /// Bits flipped.
    pub flipped_bits: u64,
    /// Transmissions with bits missing or added, or split.
    pub slipped: u64,
    /// Frames sent on their way beside the first that one packet became.
    pub split: u64,
    /// Packets without a frame of their own: they are in that of the packet before.
    pub joined: u64,
    /// Damaged frames dropped by the frame check, or by a link ARQ after its last retransmission.
    pub frame_check_drops: u64,
    /// Retransmissions of a link ARQ.
    pub arq_retransmissions: u64,
    /// Handed up, duplicates and damaged packets included.
    pub delivered: u64,
    /// Bytes handed up, duplicates and damaged packets included.
    pub delivered_bytes: u64,
    /// Damaged packets handed up, duplicates included.
    pub delivered_damaged: u64,
    /// Duplicates handed up.
    pub duplicated: u64,
    /// Held back so that others overtake them.
    pub reordered: u64,
}

/// Of two links that carried one after the other: sums, and the larger of what is a maximum.
impl AddAssign for LinkCounters {
    fn add_assign(&mut self, other: Self) {
        let Self {
            offered,
            offered_bytes,
            queue_drops,
            policed,
            queue_entered,
            marked,
            queue_left,
            max_queue_packets,
            max_queue_bytes,
            transmissions,
            transmitted_bytes,
            lost,
            muted,
            hit,
            hit_in_header,
            flipped_bits,
            slipped,
            split,
            joined,
            frame_check_drops,
            arq_retransmissions,
            delivered,
            delivered_bytes,
            delivered_damaged,
            duplicated,
            reordered,
        } = other;
        self.offered += offered;
        self.offered_bytes += offered_bytes;
        self.queue_drops += queue_drops;
        self.policed += policed;
        self.queue_entered += queue_entered;
        self.marked += marked;
        self.queue_left += queue_left;
        self.max_queue_packets = self.max_queue_packets.max(max_queue_packets);
        self.max_queue_bytes = self.max_queue_bytes.max(max_queue_bytes);
        self.transmissions += transmissions;
        self.transmitted_bytes += transmitted_bytes;
        self.lost += lost;
        self.muted += muted;
        self.hit += hit;
        self.hit_in_header += hit_in_header;
        self.flipped_bits += flipped_bits;
        self.slipped += slipped;
        self.split += split;
        self.joined += joined;
        self.frame_check_drops += frame_check_drops;
        self.arq_retransmissions += arq_retransmissions;
        self.delivered += delivered;
        self.delivered_bytes += delivered_bytes;
        self.delivered_damaged += delivered_damaged;
        self.duplicated += duplicated;
        self.reordered += reordered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each with another value: `of` of 1, 2 and so on.
    fn counters(of: impl Fn(u64) -> u64) -> LinkCounters {
        let mut place = 0;
        let mut next = || {
            place += 1;
            of(place)
        };
        LinkCounters {
            offered: next(),
            offered_bytes: next(),
            queue_drops: next(),
            policed: next(),
            queue_entered: next(),
            marked: next(),
            queue_left: next(),
            max_queue_packets: next(),
            max_queue_bytes: next(),
            transmissions: next(),
            transmitted_bytes: next(),
            lost: next(),
            muted: next(),
            hit: next(),
            hit_in_header: next(),
            flipped_bits: next(),
            slipped: next(),
            split: next(),
            joined: next(),
            frame_check_drops: next(),
            arq_retransmissions: next(),
            delivered: next(),
            delivered_bytes: next(),
            delivered_damaged: next(),
            duplicated: next(),
            reordered: next(),
        }
    }

    #[test]
    fn two_links_one_after_the_other_are_added() {
        let mut total = counters(|place| 10 * place);
        total += counters(|place| 3 * place + 5);
        let sums = counters(|place| 13 * place + 5);
        // Of the eighth and the ninth the first is larger.
        let expected = LinkCounters { max_queue_packets: 80, max_queue_bytes: 90, ..sums };
        assert_eq!(total, expected);
        let mut total = counters(|place| place);
        total += counters(|place| 100 * place);
        assert_eq!((total.max_queue_packets, total.max_queue_bytes), (800, 900));
    }
}
