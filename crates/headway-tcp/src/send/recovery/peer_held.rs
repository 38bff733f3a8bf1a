//! Partial recovery at the sender: segments of which the peer asked for some blocks only; the others it says it holds.
//!
//! That is not an acknowledgement: the peer may find that they do not fit, or forget them. They count
//! as neither delivered nor in the network until an ACK covers them, and if all that was asked for has
//! arrived and they are still not covered, they are retransmitted.

use alloc::collections::VecDeque;

use headway_wire::SeqNumber;
use headway_wire::blocks::{self, MOST, SHORTEST};

use super::retransmit_queue::DamageReport;
use crate::send::bundling;
use crate::send::sent_queue::{Marks, SentQueue};

/// A shorter payload is asked for as a whole: a report and another header take what that saves.
pub(crate) const MIN_PAYLOAD: usize = 2 * SHORTEST + 1;

/// The ranges of such segments, in the order in which they were reported.
#[derive(Default)]
pub(crate) struct PeerHeldRanges {
    ranges: VecDeque<(SeqNumber, SeqNumber)>,
    /// Segments that were cut.
    cut: u64,
    /// Bytes that did not have to be retransmitted.
    spared: u64,
}

impl PeerHeldRanges {
    /// Segments that were cut.
    pub(crate) fn cut(&self) -> u64 {
        self.cut
    }

    /// Bytes that did not have to be retransmitted by that.
    pub(crate) fn spared(&self) -> u64 {
        self.spared
    }

    /// A special ACK reported the segment at `seq`, with the sums of its blocks: what agrees with
    /// `ours`, a payload of that length as it was sent, is not retransmitted.
    pub(crate) fn spare_blocks<'a>(
        &mut self,
        queue: &mut SentQueue,
        seq: SeqNumber,
        theirs: &[u8],
        ours: impl FnOnce(usize) -> (&'a [u8], &'a [u8]),
    ) {
        let Some(index) = queue.index_of(seq) else { return };
        let sent = queue.get(index);
        let (len, end) = (sent.payload_len(), sent.end());
        // "The sender compares the sums with those of [...] the same bytes in the same segment."
        if sent.seq != seq || !sent.is_missing() || sent.has(Marks::FIN) {
            return;
        }
        // A message is retransmitted whole: segments that repeat others (`bundling`) repeat no parts.
        let is_message = !sent.has(Marks::CUT) && len <= bundling::LONGEST;
        if is_message || (len as usize) < MIN_PAYLOAD {
            return;
        }
        let runs = Runs::new(ours(len as usize), theirs, len);
        if runs.spared == 0 {
            return;
        }
        for (part, &(run, differs)) in (index..).zip(runs.as_slice()) {
            let is_last = queue.get(part).len == run;
            if !is_last {
                queue.cut(part, run);
            }
            if !differs {
                queue.hold(part);
            }
        }
        self.add(seq, end, runs.spared);
    }

    /// `bytes` that were spared are retransmitted after all.
    pub(crate) fn unspare(&mut self, bytes: u32) {
        self.spared = self.spared.saturating_sub(bytes.into());
    }

    /// Of the segment `[start, end)` `spared` bytes need not be retransmitted.
    fn add(&mut self, start: SeqNumber, end: SeqNumber, spared: u32) {
        self.ranges.push_back((start, end));
        self.cut += 1;
        self.spared += u64::from(spared);
    }

    /// After an ACK: forgets what is acknowledged, and marks as damaged what the peer should have by now
    /// and does not acknowledge. Says how many bytes that are.
    pub(crate) fn resolve(&mut self, queue: &mut SentQueue, una: SeqNumber) -> u32 {
        if self.ranges.is_empty() {
            return 0;
        }
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
        self.unspare(failed);
        failed
    }

    /// A special ACK without block sums reports what the peer was thought to hold: it wants the whole.
    /// Only the transmission that it held in part can be meant. Says whether it was.
    pub(crate) fn give_up(&mut self, queue: &mut SentQueue, report: &DamageReport<'_>) -> bool {
        let Some(index) = queue.index_of(report.seq) else { return false };
        let sent = queue.get(index);
        if !sent.has(Marks::HELD) || report.tsecr != Some(sent.tsval()) {
            return false;
        }
        let seq = report.seq;
        if let Some(place) = self.ranges.iter().position(|&(start, end)| seq.in_range(start, end))
            && let Some((start, end)) = self.ranges.remove(place)
        {
            let first = queue.first_from(start);
            let released = release(queue, first, end);
            self.unspare(released);
        }
        true
    }

    pub(crate) fn allocated(&self) -> usize {
        self.ranges.capacity() * size_of::<(SeqNumber, SeqNumber)>()
    }
}

/// Intact blocks of fewer bytes between two damaged ones are retransmitted with these: one packet more has a header (64 bytes in
/// IPv4, with timestamps and the sums of HACK v2), an ACK, and losses of its own. Fitted: 64 is up to 11 % and 96 up to 1 % worse where
/// bursts of damage hit whole packets, and both are up to 6 % better where a modem damages a third of the blocks.
const SHORTEST_GAP: u32 = 128;

/// The parts of a segment, in their order: those to be retransmitted, and those to be spared.
struct Runs {
    runs: [(u32, bool); MOST],
    len: usize,
    spared: u32,
}

impl Runs {
    fn new(ours: (&[u8], &[u8]), theirs: &[u8], len: u32) -> Self {
        let mut runs = Self { runs: [(0, false); MOST], len: 0, spared: 0 };
        for (block, differs) in blocks::differing(ours, theirs) {
            runs.push(block.len() as u32, differs);
        }
        if !runs.as_slice().iter().any(|run| run.1) {
            // All of it is there, under a header that was hit. One byte shows that it is ours.
            runs.len = 0;
            runs.push(1, true);
            runs.push(len - 1, false);
        }
        runs.spared = runs.as_slice().iter().filter(|run| !run.1).map(|run| run.0).sum();
        runs
    }

    fn as_slice(&self) -> &[(u32, bool)] {
        &self.runs[..self.len]
    }

    fn push(&mut self, bytes: u32, differs: bool) {
        match &mut self.runs[..self.len] {
            [.., last] if last.1 == differs => last.0 += bytes,
            [.., damaged, gap] if gap.0 < SHORTEST_GAP && differs => {
                damaged.0 += gap.0 + bytes;
                self.len -= 1;
            }
            _ => {
                self.runs[self.len] = (bytes, differs);
                self.len += 1;
            }
        }
    }
}

/// What is held from `first` up to `end` is to be retransmitted.
fn release(queue: &mut SentQueue, first: usize, end: SeqNumber) -> u32 {
    let mut bytes = 0;
    for index in first..queue.len() {
        let piece = queue.get(index);
        if !piece.seq.lt(end) {
            break;
        }
        if piece.has(Marks::HELD) {
            bytes += piece.len;
            queue.mark_damaged(index);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Instant;

    /// Three segments; of the second, `[1000, 2000)`, the peer asked for the first 300 bytes.
    fn cut() -> (SentQueue, PeerHeldRanges) {
        let mut queue = SentQueue::with_log();
        for place in 0..3 {
            queue.push(SeqNumber(place * 1000), 1000, Marks::NONE, Instant::ZERO, place);
        }
        queue.mark_corrupted(1, Instant::ZERO);
        queue.cut(1, 300);
        queue.hold(2);
        let mut held = PeerHeldRanges::default();
        held.add(SeqNumber(1000), SeqNumber(2000), 700);
        assert_eq!(queue.pipe(), 2000);
        assert_eq!(queue.first_missing(), Some(1));
        queue.retransmit(1, Instant::ZERO, 9);
        assert_eq!((queue.pipe(), queue.first_missing()), (2300, None));
        (queue, held)
    }

    #[test]
    fn an_ack_for_all_of_it_resolves_it() {
        let (mut queue, mut held) = cut();
        assert_eq!(held.resolve(&mut queue, SeqNumber(0)), 0);
        assert!(!held.ranges.is_empty(), "the retransmission is in the network");
        assert!(held.allocated() >= size_of::<(SeqNumber, SeqNumber)>());
        queue.mark_sacked(1);
        queue.mark_sacked(2);
        let (delivery, _) = queue.take_delivery(Instant::ZERO, None);
        assert_eq!(delivery.bytes, 300, "what was held has been counted when it arrived");
        assert_eq!(held.resolve(&mut queue, SeqNumber(0)), 0);
        assert!(held.ranges.is_empty());
        assert_eq!(queue.pipe(), 2000);
    }

    #[test]
    fn what_is_not_acknowledged_with_it_is_sent_again() {
        let (mut queue, mut held) = cut();
        queue.mark_sacked(1);
        assert_eq!(held.resolve(&mut queue, SeqNumber(0)), 700);
        assert!(held.ranges.is_empty());
        assert_eq!((held.cut, held.spared), (1, 0));
        assert_eq!(queue.first_missing(), Some(2));
        queue.retransmit(2, Instant::ZERO, 10);
        assert_eq!(queue.pipe(), 2700);
        assert!(queue.get(2).has(Marks::CUT));
    }

    #[test]
    fn the_peer_may_ask_for_the_whole() {
        let (mut queue, mut held) = cut();
        let report =
            |tsecr| DamageReport { seq: SeqNumber(1500), newest: true, vouched: true, tsecr, blocks: None };
        assert!(!held.give_up(&mut queue, &report(Some(7))), "another transmission is meant");
        assert!(held.give_up(&mut queue, &report(Some(1))));
        assert!(held.ranges.is_empty());
        assert_eq!(queue.first_missing(), Some(2));
    }

    #[test]
    fn a_probe_sends_what_the_peer_lacks() {
        let (mut queue, _) = cut();
        assert_eq!(queue.last_unsacked(), Some(3));
        queue.mark_sacked(3);
        assert_eq!(queue.last_unsacked(), Some(1));
    }

    #[test]
    fn a_timeout_takes_nothing_for_held() {
        let (mut queue, _) = cut();
        queue.mark_lost(2);
        assert!(!queue.get(2).has(Marks::HELD) && queue.get(2).is_missing());
        // The peer did hold it: its bytes were counted when they arrived.
        queue.acknowledge(SeqNumber(2000));
        let (delivery, _) = queue.take_delivery(Instant::ZERO, None);
        assert_eq!(delivery.bytes, 1300);
    }

    #[test]
    fn what_is_retransmitted_after_a_timeout_is_counted_when_it_arrives() {
        let (mut queue, _) = cut();
        queue.mark_lost(2);
        queue.retransmit(2, Instant::ZERO, 10);
        queue.acknowledge(SeqNumber(2000));
        let (delivery, _) = queue.take_delivery(Instant::ZERO, None);
        assert_eq!(delivery.bytes, 2000);
    }

    #[test]
    fn the_cumulative_ack_takes_it_away() {
        let (mut queue, mut held) = cut();
        let acknowledged = queue.acknowledge(SeqNumber(2000));
        assert_eq!(acknowledged.bytes, 2000);
        assert!(acknowledged.retransmitted, "no round-trip sample comes from it (Karn)");
        assert_eq!(held.resolve(&mut queue, SeqNumber(2000)), 0);
        assert!(held.ranges.is_empty());
        assert_eq!(queue.pipe(), 1000);
    }

    /// The parts of a segment of `len` bytes, these of whose blocks arrived damaged.
    fn runs(differing: &[usize], len: u32) -> (alloc::vec::Vec<(u32, bool)>, u32) {
        let ours = alloc::vec![7; len as usize];
        let mut theirs = ours.clone();
        differing.iter().for_each(|&block| theirs[block * SHORTEST] ^= 1);
        let report: alloc::vec::Vec<u8> =
            blocks::sums((&theirs, &[])).flat_map(|(_, sum)| sum.to_be_bytes()).collect();
        let runs = Runs::new((&ours, &[]), &report, len);
        assert_eq!(runs.as_slice().iter().map(|run| run.0).sum::<u32>(), len);
        (runs.as_slice().to_vec(), runs.spared)
    }

    #[test]
    fn blocks_near_each_other_share_a_segment() {
        assert_eq!(runs(&[0], 1436), (alloc::vec![(32, true), (1404, false)], 1404));
        // Three blocks between two are too few to begin another packet, four are not.
        assert_eq!(
            runs(&[2, 3, 7, 12, 44], 1436),
            (alloc::vec![(64, false), (192, true), (128, false), (32, true), (992, false), (28, true)], 1184)
        );
        let all: alloc::vec::Vec<usize> = (0..45).collect();
        assert_eq!(runs(&all, 1436), (alloc::vec![(1436, true)], 0));
        assert_eq!(runs(&[], 1436), (alloc::vec![(1, true), (1435, false)], 1435));
        assert_eq!(runs(&[0], MIN_PAYLOAD as u32), (alloc::vec![(32, true), (33, false)], 33));
    }

    #[test]
    fn what_a_report_does_not_have_is_sent_again() {
        let payload = alloc::vec![7; 1000];
        let report: alloc::vec::Vec<u8> =
            blocks::sums((&payload, &[])).take(3).flat_map(|(_, sum)| sum.to_be_bytes()).collect();
        let runs = Runs::new((&payload, &[]), &report, 1000);
        assert_eq!(runs.as_slice(), [(96, false), (904, true)]);
    }
}
