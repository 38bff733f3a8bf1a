//! The receiver's part: which special ACKs are owed, and `s_buffer`.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use headway_units::{Duration, Instant};
use headway_wire::{SeqList, SeqNumber};

/// Special ACKs that wait to be sent at most; a carrier that takes packets never lets it come to
/// that.
const MAX_OWED: usize = 64;

/// A special ACK that is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PendingSpecialAck {
    /// The first byte asked for.
    pub(crate) seq: SeqNumber,
    /// TSval of the damaged transmission, to be echoed.
    pub(crate) tsecr: Option<u32>,
}

struct RepairedNumber {
    seq: SeqNumber,
    expires: Instant,
}

/// Paper 003, section 4.2: "we save all the recovered sequence numbers into the s_buffer";
/// they "would be cleared if the corresponding retransmitted packets have been received
/// correctly or the timers expire".
///
/// Most connections at most times have neither.
pub(crate) struct SpecialAckQueue {
    lists: Option<Box<Lists>>,
    limit: usize,
}

#[derive(Default)]
struct Lists {
    owed: VecDeque<PendingSpecialAck>,
    /// Newest last.
    s_buffer: VecDeque<RepairedNumber>,
}

impl SpecialAckQueue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { lists: None, limit }
    }

    /// A damaged segment is to be asked for; its number stays in `s_buffer` for `life`.
    pub(crate) fn push(&mut self, special_ack: PendingSpecialAck, now: Instant, life: Duration) {
        let Lists { owed, s_buffer } = &mut **self.lists.get_or_insert_default();
        if owed.len() == MAX_OWED {
            owed.pop_front();
        }
        owed.push_back(special_ack);
        s_buffer.retain(|entry| entry.seq != special_ack.seq);
        if s_buffer.len() >= self.limit {
            s_buffer.pop_front();
        }
        if self.limit > 0 {
            s_buffer.push_back(RepairedNumber { seq: special_ack.seq, expires: now + life });
        }
    }

    /// Whether any is to be sent.
    #[inline]
    pub(crate) fn any_owed(&self) -> bool {
        self.lists.as_ref().is_some_and(|lists| !lists.owed.is_empty())
    }

    /// The next special ACK to send.
    pub(crate) fn pop(&mut self) -> Option<PendingSpecialAck> {
        self.lists.as_mut()?.owed.pop_front()
    }

    /// Data arrived; `holds` says what has. Gives the memory back when nothing is asked for any more.
    pub(crate) fn on_data(&mut self, now: Instant, holds: impl Fn(SeqNumber) -> bool) {
        if self.lists.as_ref().is_none_or(|lists| lists.s_buffer.is_empty()) {
            return;
        }
        self.prune(now, holds);
        if self.lists.as_ref().is_some_and(|lists| lists.s_buffer.is_empty() && lists.owed.is_empty()) {
            self.clear();
        }
    }

    /// Drops the numbers whose data has arrived or whose time is over.
    pub(crate) fn prune(&mut self, now: Instant, holds: impl Fn(SeqNumber) -> bool) {
        if let Some(lists) = &mut self.lists {
            lists.s_buffer.retain(|entry| entry.expires > now && !holds(entry.seq));
        }
    }

    /// Nothing is asked for any more; the memory goes too.
    pub(crate) fn clear(&mut self) {
        self.lists = None;
    }

    /// Up to `room` numbers for an extended special ACK, `first` and then the newest.
    pub(crate) fn list(&self, first: SeqNumber, room: usize) -> SeqList {
        let mut list = SeqList::default();
        list.push(first);
        for entry in self.lists.iter().flat_map(|lists| lists.s_buffer.iter().rev()) {
            if list.len() >= room {
                break;
            }
            if entry.seq != first {
                list.push(entry.seq);
            }
        }
        list
    }

    pub(crate) fn allocated(&self) -> usize {
        self.lists.as_ref().map_or(0, |lists| {
            size_of::<Lists>()
                + lists.owed.capacity() * size_of::<PendingSpecialAck>()
                + lists.s_buffer.capacity() * size_of::<RepairedNumber>()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn special_ack(seq: u32) -> PendingSpecialAck {
        PendingSpecialAck { seq: SeqNumber(seq), tsecr: None }
    }

    #[test]
    fn lists_newest_first_and_forgets() {
        let mut queue = SpecialAckQueue::new(4);
        for (i, seq) in [1, 2, 3, 4, 5, 3].into_iter().enumerate() {
            queue.push(special_ack(seq), Instant::from_nanos(i as u64), Duration::from_nanos(10));
        }
        let list = queue.list(SeqNumber(3), 9);
        assert_eq!(list.as_slice(), [3, 5, 4, 2].map(SeqNumber), "bounded, without repeats");
        assert_eq!(queue.list(SeqNumber(3), 2).len(), 2);
        queue.prune(Instant::from_nanos(11), |seq| seq == SeqNumber(5));
        let list = queue.list(SeqNumber(3), 9);
        assert_eq!(list.as_slice(), [3, 4].map(SeqNumber), "2 expired and 5 arrived");
        for seq in 0..1000 {
            queue.push(special_ack(seq), Instant::ZERO, Duration::ZERO);
        }
        let least =
            size_of::<Lists>() + MAX_OWED * size_of::<PendingSpecialAck>() + 4 * size_of::<RepairedNumber>();
        assert!((least..8192).contains(&queue.allocated()));
    }
}
