//! The receiver's part: which special ACKs are owed, and `s_buffer`.

use alloc::collections::VecDeque;

use headway_units::{Duration, Instant};
use headway_wire::{SeqList, SeqNumber};

/// Special ACKs that wait to be sent at most; a carrier that takes packets never lets it come to
/// that.
const MAX_OWED: usize = 64;

/// A special ACK that is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The first octet asked for.
    pub(crate) seq: SeqNumber,
    /// Timestamp of the damaged copy, to be echoed.
    pub(crate) stamp: Option<u32>,
}

struct Entry {
    seq: SeqNumber,
    expires: Instant,
}

/// Paper 003, section 4.2: "we save all the recovered sequence numbers into the s_buffer";
/// they "would be cleared if the corresponding retransmitted packets have been received
/// correctly or the timers expire".
pub(crate) struct Requests {
    owed: VecDeque<Request>,
    /// Newest last.
    s_buffer: VecDeque<Entry>,
    limit: usize,
}

impl Requests {
    pub(crate) fn new(limit: usize) -> Self {
        Self { owed: VecDeque::new(), s_buffer: VecDeque::new(), limit }
    }

    /// A damaged segment is to be asked for; its number stays in `s_buffer` for `life`.
    pub(crate) fn push(&mut self, request: Request, now: Instant, life: Duration) {
        if self.owed.len() == MAX_OWED {
            self.owed.pop_front();
        }
        self.owed.push_back(request);
        self.s_buffer.retain(|entry| entry.seq != request.seq);
        if self.s_buffer.len() >= self.limit {
            self.s_buffer.pop_front();
        }
        if self.limit > 0 {
            self.s_buffer.push_back(Entry { seq: request.seq, expires: now + life });
        }
    }

    pub(crate) fn is_owed(&self) -> bool {
        !self.owed.is_empty()
    }

    /// The next special ACK to send.
    pub(crate) fn pop(&mut self) -> Option<Request> {
        self.owed.pop_front()
    }

    /// Drops the numbers whose data has arrived or whose time is over.
    pub(crate) fn prune(&mut self, now: Instant, held: impl Fn(SeqNumber) -> bool) {
        self.s_buffer.retain(|entry| entry.expires > now && !held(entry.seq));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.s_buffer.is_empty()
    }

    /// Nothing is asked for any more; the memory goes too.
    pub(crate) fn clear(&mut self) {
        self.owed = VecDeque::new();
        self.s_buffer = VecDeque::new();
    }

    /// Up to `room` numbers for an extended special ACK, `first` and then the newest.
    pub(crate) fn list(&self, first: SeqNumber, room: usize) -> SeqList {
        let mut list = SeqList::default();
        list.push(first);
        for entry in self.s_buffer.iter().rev() {
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
        self.owed.capacity() * size_of::<Request>() + self.s_buffer.capacity() * size_of::<Entry>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(seq: u32) -> Request {
        Request { seq: SeqNumber(seq), stamp: None }
    }

    #[test]
    fn lists_newest_first_and_forgets() {
        let mut requests = Requests::new(4);
        for (i, seq) in [1, 2, 3, 4, 5, 3].into_iter().enumerate() {
            requests.push(request(seq), Instant::from_nanos(i as u64), Duration::from_nanos(10));
        }
        let list = requests.list(SeqNumber(3), 9);
        assert_eq!(list.as_slice(), [3, 5, 4, 2].map(SeqNumber), "bounded, without repeats");
        assert_eq!(requests.list(SeqNumber(3), 2).len(), 2);
        requests.prune(Instant::from_nanos(11), |seq| seq == SeqNumber(5));
        let list = requests.list(SeqNumber(3), 9);
        assert_eq!(list.as_slice(), [3, 4].map(SeqNumber), "2 expired and 5 arrived");
        for seq in 0..1000 {
            requests.push(request(seq), Instant::ZERO, Duration::ZERO);
        }
        assert!(requests.allocated() < 8192);
    }
}
