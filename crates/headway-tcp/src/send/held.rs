//! Segments of which the peer asked for some blocks only: the others it says it holds.
//!
//! That is not an acknowledgement: the peer may find that they do not fit, or forget them. They count
//! as neither delivered nor in the network until an ACK covers them, and if all that was asked for has
//! arrived and they are still not covered, they are sent again.

use alloc::collections::VecDeque;

use headway_wire::SeqNumber;

use super::sent_queue::{Marks, SentQueue};

/// The ranges of such segments, in the order in which they were named.
#[derive(Default)]
pub(crate) struct Held {
    ranges: VecDeque<(SeqNumber, SeqNumber)>,
    /// Segments that were cut.
    pub(crate) cut: u64,
    /// Octets that did not have to be sent again.
    pub(crate) spared: u64,
}

impl Held {
    /// Of the segment `[start, end)` so many octets need not be sent again.
    pub(crate) fn add(&mut self, start: SeqNumber, end: SeqNumber, spared: u32) {
        self.ranges.push_back((start, end));
        self.cut += 1;
        self.spared += u64::from(spared);
    }

    /// After an ACK: forgets what is settled, and marks as damaged what the peer should have by now and
    /// does not acknowledge. Says how many octets that are.
    pub(crate) fn settle(&mut self, queue: &mut SentQueue, una: SeqNumber) -> u32 {
        let mut failed = 0;
        self.ranges.retain(|&(start, end)| {
            if end.le(una) {
                return false;
            }
            let first = queue.first_from(start.max(una));
            let pieces = (first..queue.len()).take_while(|&index| queue.get(index).seq.lt(end));
            let (mut held, mut open) = (false, false);
            for piece in pieces.map(|index| queue.get(index)) {
                held |= piece.has(Marks::HELD);
                open |= !piece.has(Marks::HELD) && !piece.has(Marks::SACKED);
            }
            if held && !open {
                failed += release(queue, first, end);
                return false;
            }
            held
        });
        if self.ranges.is_empty() {
            self.ranges = VecDeque::new();
        }
        self.spared -= u64::from(failed);
        failed
    }

    /// Whether the peer holds parts of any segment.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The peer wants the whole of the segment that `seq` is a part of.
    pub(crate) fn give_up(&mut self, queue: &mut SentQueue, seq: SeqNumber) {
        if let Some(place) = self.ranges.iter().position(|&(start, end)| seq.in_range(start, end))
            && let Some((start, end)) = self.ranges.remove(place)
        {
            let first = queue.first_from(start);
            self.spared -= u64::from(release(queue, first, end));
        }
    }

    pub(crate) fn allocated(&self) -> usize {
        self.ranges.capacity() * size_of::<(SeqNumber, SeqNumber)>()
    }
}

/// What is held from `first` up to `end` is to be sent again.
fn release(queue: &mut SentQueue, first: usize, end: SeqNumber) -> u32 {
    let mut octets = 0;
    for index in first..queue.len() {
        let piece = queue.get(index);
        if !piece.seq.lt(end) {
            break;
        }
        if piece.has(Marks::HELD) {
            octets += piece.len;
            queue.mark_damaged(index);
        }
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Instant;

    /// Three segments; of the second, `[1000, 2000)`, the peer asked for the first 300 octets.
    fn cut() -> (SentQueue, Held) {
        let mut queue = SentQueue::with_log();
        for place in 0..3 {
            queue.push(SeqNumber(place * 1000), 1000, false, false, Instant::ZERO, place);
        }
        queue.mark_crossed(1, Instant::ZERO);
        queue.cut(1, 300);
        queue.hold(2);
        let mut held = Held::default();
        held.add(SeqNumber(1000), SeqNumber(2000), 700);
        assert_eq!(queue.pipe(), 2000);
        assert_eq!(queue.first_missing(), Some(1));
        queue.resend(1, Instant::ZERO, 9);
        assert_eq!((queue.pipe(), queue.first_missing()), (2300, None));
        (queue, held)
    }

    #[test]
    fn an_ack_for_all_of_it_settles_it() {
        let (mut queue, mut held) = cut();
        assert_eq!(held.settle(&mut queue, SeqNumber(0)), 0);
        assert!(!held.is_empty(), "the resend is under way");
        queue.mark_sacked(1);
        queue.mark_sacked(2);
        let (delivery, _) = queue.take_delivery(Instant::ZERO);
        assert_eq!(delivery.octets, 300, "what was held has been counted when it arrived");
        assert_eq!(held.settle(&mut queue, SeqNumber(0)), 0);
        assert!(held.is_empty());
        assert_eq!(queue.pipe(), 2000);
    }

    #[test]
    fn what_is_not_acknowledged_with_it_is_sent_again() {
        let (mut queue, mut held) = cut();
        queue.mark_sacked(1);
        assert_eq!(held.settle(&mut queue, SeqNumber(0)), 700);
        assert!(held.is_empty());
        assert_eq!((held.cut, held.spared), (1, 0));
        assert_eq!(queue.first_missing(), Some(2));
        queue.resend(2, Instant::ZERO, 10);
        assert_eq!(queue.pipe(), 2700);
        assert!(queue.get(2).has(Marks::CUT), "and never cut again");
    }

    #[test]
    fn the_peer_may_ask_for_the_whole() {
        let (mut queue, mut held) = cut();
        held.give_up(&mut queue, SeqNumber(1500));
        assert!(held.is_empty());
        assert_eq!(queue.first_missing(), Some(2));
    }

    #[test]
    fn a_timeout_takes_nothing_for_held() {
        let (mut queue, _) = cut();
        queue.mark_lost(2);
        assert!(!queue.get(2).has(Marks::HELD) && queue.get(2).is_missing());
    }

    #[test]
    fn the_cumulative_ack_takes_it_away() {
        let (mut queue, mut held) = cut();
        let acknowledged = queue.acknowledge(SeqNumber(2000));
        assert_eq!(acknowledged.octets, 2000);
        assert!(acknowledged.retransmitted, "no round-trip sample comes from it (Karn)");
        assert_eq!(held.settle(&mut queue, SeqNumber(2000)), 0);
        assert!(held.is_empty());
        assert_eq!(queue.pipe(), 1000);
    }
}
