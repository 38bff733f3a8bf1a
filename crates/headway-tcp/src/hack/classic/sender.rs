//! The sender's part: which segments special ACKs make it send again.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use crate::event::RetransmitReason;
use crate::send::sent_queue::{Marks, SentQueue};

/// A number that a special ACK named.
#[derive(Clone, Copy)]
pub(crate) struct Notice {
    pub(crate) seq: SeqNumber,
    /// The timestamp that the special ACK echoes, if it belongs to this number.
    pub(crate) stamp: Option<u32>,
    /// The youngest that the latest copy may be to be meant, where no timestamp tells.
    pub(crate) least_age: Duration,
}

/// A segment that waits to be sent again.
#[derive(Clone, Copy)]
struct Waiting {
    seq: SeqNumber,
    /// It was cut since it was sent: it was too long for the path.
    cut: bool,
}

/// Resends that special ACKs asked for, and those of what was too long for the path.
#[derive(Default)]
pub(crate) struct Resends(Option<Box<Lines>>);

#[derive(Default)]
struct Lines {
    /// Named and not yet sent again, in the order of the notices.
    waiting: VecDeque<Waiting>,
    /// Sent again and hidden from the loss detectors, in the order of sending.
    hidden: VecDeque<(SeqNumber, u64)>,
}

impl Resends {
    fn lines(&mut self) -> &mut Lines {
        self.0.get_or_insert_default()
    }

    /// Paper 000, section 3.3 (2): the named segment is queued for retransmission, and that is all.
    pub(crate) fn notice_literally(&mut self, queue: &SentQueue, seq: SeqNumber) -> bool {
        let Some(index) = queue.index_of(seq) else { return false };
        let seq = queue.get(index).seq;
        let waiting = &mut self.lines().waiting;
        if waiting.iter().any(|waiting| waiting.seq == seq) || queue.get(index).has(Marks::SACKED) {
            return false;
        }
        waiting.push_back(Waiting { seq, cut: false });
        true
    }

    /// A special ACK names `notice.seq`. Says whether the segment that contains it leaves the
    /// pipe and waits to be resent (rules 2, 5 and 6).
    pub(crate) fn notice(&mut self, queue: &mut SentQueue, notice: Notice, now: Instant) -> bool {
        let Some(index) = queue.index_of(notice.seq) else { return false };
        let sent = queue.get(index);
        if sent.has(Marks::SACKED) || (sent.has(Marks::DAMAGED) && !sent.has(Marks::RESENT)) {
            return false;
        }
        let means_latest = match notice.stamp {
            Some(stamp) => queue.name_copy(index, stamp),
            None => !sent.has(Marks::EVER_RESENT) || now.saturating_since(sent.sent_at) >= notice.least_age,
        };
        if !means_latest {
            return false;
        }
        queue.mark_damaged(index);
        self.lines().waiting.push_back(Waiting { seq: queue.get(index).seq, cut: false });
        true
    }

    /// The segment at `seq` was cut, and waits to be sent again.
    pub(crate) fn wait(&mut self, seq: SeqNumber) {
        self.lines().waiting.push_back(Waiting { seq, cut: true });
    }

    /// Whether any wait in line.
    #[inline]
    pub(crate) fn any_waiting(&self) -> bool {
        self.0.as_ref().is_some_and(|lines| !lines.waiting.is_empty())
    }

    /// Whether any resent copies are hidden from the loss detectors.
    #[inline]
    pub(crate) fn any_hidden(&self) -> bool {
        self.0.as_ref().is_some_and(|lines| !lines.hidden.is_empty())
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

    /// Why the segment that is first in line is sent again.
    pub(crate) fn reason(&self) -> RetransmitReason {
        let first = self.0.as_ref().and_then(|lines| lines.waiting.front());
        let cut = first.is_some_and(|waiting| waiting.cut);
        if cut { RetransmitReason::PathMtu } else { RetransmitReason::Damage }
    }

    /// Segment `index` has been sent again.
    pub(crate) fn sent(&mut self, queue: &SentQueue, index: usize) {
        let sent = queue.get(index);
        if let Some(lines) = &mut self.0
            && lines.waiting.front().is_some_and(|waiting| waiting.seq == sent.seq)
        {
            lines.waiting.pop_front();
        }
        if sent.has(Marks::DAMAGED) {
            self.lines().hidden.push_back((sent.seq, sent.order));
        }
    }

    /// Rule 3: a resent copy older than `hold` becomes an ordinary segment. Returns the lowest
    /// that did.
    pub(crate) fn expire(
        &mut self,
        queue: &mut SentQueue,
        now: Instant,
        hold: Duration,
    ) -> Option<SeqNumber> {
        let mut lowest: Option<SeqNumber> = None;
        let hidden = &mut self.0.as_mut()?.hidden;
        while let Some(&(seq, order)) = hidden.front() {
            let known = queue.index_of(seq).filter(|&index| {
                let sent = queue.get(index);
                // One that was named again waits in line, and is no resent copy.
                sent.order == order && sent.has(Marks::DAMAGED) && !sent.is_missing()
            });
            if let Some(index) = known {
                if now.saturating_since(queue.get(index).sent_at) < hold {
                    break;
                }
                queue.forget_damage(index);
                lowest = Some(lowest.map_or(seq, |lowest| lowest.min(seq)));
            }
            hidden.pop_front();
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
                + lines.hidden.capacity() * size_of::<(SeqNumber, u64)>()
        })
    }
}
