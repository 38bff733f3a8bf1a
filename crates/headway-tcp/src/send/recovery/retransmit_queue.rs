//! Segments to retransmit before all others: those that special ACKs report, and those that were too long
//! for the path.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use crate::event::RetransmitReason;
use crate::send::rtt::RttEstimator;
use crate::send::sent_queue::{Marks, SentQueue};

/// A segment that a special ACK reports.
#[derive(Clone, Copy)]
pub(crate) struct DamageReport<'a> {
    pub(crate) seq: SeqNumber,
    /// The first of the list; the others may be repeated from earlier special ACKs.
    pub(crate) newest: bool,
    /// The header that it quotes was protected by a CRC-32C.
    pub(crate) vouched: bool,
    /// The TSecr of the special ACK, if it belongs to this number.
    pub(crate) tsecr: Option<u32>,
    /// The sums of the blocks that arrived, in network byte order (partial recovery).
    pub(crate) blocks: Option<&'a [u8]>,
}

impl DamageReport<'_> {
    /// Whether it means the latest transmission of segment `index` (rule 5).
    pub(crate) fn means_latest(
        &self,
        queue: &mut SentQueue,
        index: usize,
        rtt: &RttEstimator,
        now: Instant,
    ) -> bool {
        if let Some(tsecr) = self.tsecr {
            return queue.report_transmission(index, tsecr);
        }
        let sent = queue.get(index);
        !sent.has(Marks::EVER_RETRANSMITTED) || now.saturating_since(sent.sent_at) >= self.min_age(rtt)
    }

    /// The youngest that the latest transmission may be to be meant, where no timestamp shows it. The estimate lags
    /// behind a queue that grows: a retransmission that is on its way is not asked for again for being a
    /// little late.
    fn min_age(&self, rtt: &RttEstimator) -> Duration {
        if self.newest { rtt.min().unwrap_or(Duration::ZERO) } else { rtt.suppression_time() }
    }
}

/// A segment that waits to be retransmitted.
#[derive(Clone, Copy)]
struct Waiting {
    seq: SeqNumber,
    /// It was cut since it was sent: it was too long for the path.
    cut: bool,
}

/// Retransmissions that special ACKs asked for, and those of what was too long for the path.
#[derive(Default)]
pub(crate) struct RetransmitQueue(Option<Box<Lines>>);

#[derive(Default)]
struct Lines {
    /// Reported and not yet retransmitted, in the order of the reports.
    waiting: VecDeque<Waiting>,
    /// Retransmitted, with loss detection suppressed for them, in the order of sending.
    suppressed: VecDeque<(SeqNumber, u64)>,
}

impl RetransmitQueue {
    fn lines(&mut self) -> &mut Lines {
        self.0.get_or_insert_default()
    }

    /// Paper 000, section 3.3 (2): the reported segment is queued for retransmission, and that is all.
    pub(crate) fn on_report_literally(&mut self, queue: &SentQueue, seq: SeqNumber) -> bool {
        let Some(index) = queue.index_of(seq) else { return false };
        let seq = queue.get(index).seq;
        let waiting = &mut self.lines().waiting;
        if waiting.iter().any(|waiting| waiting.seq == seq) || queue.get(index).has(Marks::SACKED) {
            return false;
        }
        waiting.push_back(Waiting { seq, cut: false });
        true
    }

    /// Says whether the segment that contains `report.seq` leaves the pipe and waits to be retransmitted
    /// (rules 2, 5 and 6).
    pub(crate) fn on_report(
        &mut self,
        queue: &mut SentQueue,
        rtt: &RttEstimator,
        report: &DamageReport<'_>,
        now: Instant,
    ) -> bool {
        let Some(index) = queue.index_of(report.seq) else { return false };
        let sent = queue.get(index);
        if sent.has(Marks::SACKED) || (sent.has(Marks::DAMAGED) && !sent.has(Marks::RETRANSMITTED)) {
            return false;
        }
        if !report.means_latest(queue, index, rtt, now) {
            return false;
        }
        queue.mark_damaged(index);
        self.lines().waiting.push_back(Waiting { seq: queue.get(index).seq, cut: false });
        true
    }

    /// The segment at `seq` was cut, and waits to be retransmitted.
    pub(crate) fn push_cut(&mut self, seq: SeqNumber) {
        self.lines().waiting.push_back(Waiting { seq, cut: true });
    }

    /// Whether any wait in line.
    #[inline]
    pub(crate) fn any_waiting(&self) -> bool {
        self.0.as_ref().is_some_and(|lines| !lines.waiting.is_empty())
    }

    /// Whether loss detection is suppressed for any retransmission.
    #[inline]
    pub(crate) fn any_suppressed(&self) -> bool {
        self.0.as_ref().is_some_and(|lines| !lines.suppressed.is_empty())
    }

    /// The segment that is first in line.
    pub(crate) fn next(&mut self, queue: &SentQueue, literal: bool) -> Option<usize> {
        let waiting = &mut self.0.as_mut()?.waiting;
        while let Some(&Waiting { seq, .. }) = waiting.front() {
            if let Some(index) = queue.index_of(seq) {
                let sent = queue.get(index);
                let wanted = if literal {
                    !sent.has(Marks::SACKED)
                } else {
                    sent.has(Marks::DAMAGED) && sent.is_missing()
                };
                if wanted {
                    return Some(index);
                }
            }
            waiting.pop_front();
        }
        None
    }

    /// Why the segment that is first in line is retransmitted.
    pub(crate) fn reason(&self) -> RetransmitReason {
        let first = self.0.as_ref().and_then(|lines| lines.waiting.front());
        let cut = first.is_some_and(|waiting| waiting.cut);
        if cut { RetransmitReason::PathMtu } else { RetransmitReason::Damage }
    }

    /// Segment `index` has been retransmitted.
    pub(crate) fn on_retransmitted(&mut self, queue: &SentQueue, index: usize) {
        let sent = queue.get(index);
        if let Some(lines) = &mut self.0
            && lines.waiting.front().is_some_and(|waiting| waiting.seq == sent.seq)
        {
            lines.waiting.pop_front();
        }
        if sent.has(Marks::DAMAGED) {
            self.lines().suppressed.push_back((sent.seq, sent.order));
        }
    }

    /// Rule 3: a retransmission older than `min_age` becomes an ordinary segment. Returns the lowest
    /// that did.
    pub(crate) fn expire(
        &mut self,
        queue: &mut SentQueue,
        now: Instant,
        min_age: Duration,
    ) -> Option<SeqNumber> {
        let mut lowest: Option<SeqNumber> = None;
        let suppressed = &mut self.0.as_mut()?.suppressed;
        while let Some(&(seq, order)) = suppressed.front() {
            let known = queue.index_of(seq).filter(|&index| {
                let sent = queue.get(index);
                // One that was reported again waits in line, and is not a retransmission.
                sent.order == order && sent.has(Marks::DAMAGED) && !sent.is_missing()
            });
            if let Some(index) = known {
                if now.saturating_since(queue.get(index).sent_at) < min_age {
                    break;
                }
                queue.forget_damage(index);
                lowest = Some(lowest.map_or(seq, |lowest| lowest.min(seq)));
            }
            suppressed.pop_front();
        }
        lowest
    }

    /// After a timeout nothing is known any more, and with nothing outstanding there is nothing to
    /// know: the memory goes too.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn allocated(&self) -> usize {
        self.0.as_ref().map_or(0, |lines| {
            size_of::<Lines>()
                + lines.waiting.capacity() * size_of::<Waiting>()
                + lines.suppressed.capacity() * size_of::<(SeqNumber, u64)>()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_memory_is_that_of_the_segments_that_wait_and_were_sent() {
        let mut reported = RetransmitQueue::default();
        assert_eq!(reported.allocated(), 0);
        *reported.lines() =
            Lines { waiting: VecDeque::with_capacity(64), suppressed: VecDeque::with_capacity(32) };
        let segments = 64 * size_of::<Waiting>() + 32 * size_of::<(SeqNumber, u64)>();
        assert_eq!(reported.allocated(), size_of::<Lines>() + segments);
        reported.clear();
        assert_eq!(reported.allocated(), 0);
    }
}
