//! A link that retransmits damaged frames itself, and hands up in the original order.

use headway_units::Instant;
use std::collections::VecDeque;

/// What a link ARQ remembers of a frame: its place in the sequence, how often it was retransmitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    number: u64,
    retransmissions: u32,
}

/// The state of a link ARQ. `F` is a frame that may have to be retransmitted, `A` one that has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arq<F, A> {
    max_retransmissions: u32,
    /// Frames to retransmit and from when on, in that order.
    retransmissions: VecDeque<(Instant, Ticket, F)>,
    /// The number of the first place in `sequence`.
    first: u64,
    /// From the first frame that is not resolved on.
    sequence: VecDeque<FrameFate<A>>,
    /// No frame is handed up before those in front of it: the time of the last one.
    released: Instant,
}

/// What has become of a frame.
#[derive(Clone, Debug)]
enum FrameFate<A> {
    Awaited,
    Arrived(Instant, A),
    GivenUp(Instant),
}

impl<F, A> Arq<F, A> {
    pub(crate) fn new(max_retransmissions: u32) -> Self {
        Self {
            max_retransmissions,
            retransmissions: VecDeque::new(),
            first: 0,
            sequence: VecDeque::new(),
            released: Instant::ZERO,
        }
    }

    /// Numbers a frame that is transmitted for the first time.
    pub(crate) fn number(&mut self) -> Ticket {
        let number = self.first + self.sequence.len() as u64;
        self.sequence.push_back(FrameFate::Awaited);
        Ticket { number, retransmissions: 0 }
    }

    /// A frame arrives intact `at` that time.
    pub(crate) fn arrived(&mut self, ticket: Ticket, at: Instant, frame: A) {
        self.resolve(ticket, FrameFate::Arrived(at, frame));
    }

    /// A frame arrives damaged `at` that time; `retransmit_at` is the earliest time to retransmit it, unless the request
    /// before it comes later: where the delay falls, requests keep their order. False if it is given up, because this
    /// was its last retransmission.
    pub(crate) fn damaged(&mut self, ticket: Ticket, at: Instant, retransmit_at: Instant, frame: F) -> bool {
        if ticket.retransmissions == self.max_retransmissions {
            self.resolve(ticket, FrameFate::GivenUp(at));
            return false;
        }
        let ticket = Ticket { retransmissions: ticket.retransmissions + 1, ..ticket };
        let last = self.retransmissions.back().map_or(Instant::ZERO, |(last, ..)| *last);
        self.retransmissions.push_back((retransmit_at.max(last), ticket, frame));
        true
    }

    fn resolve(&mut self, ticket: Ticket, place: FrameFate<A>) {
        let index = (ticket.number - self.first) as usize;
        self.sequence[index] = place;
    }

    /// When the next retransmission begins, if the transmitter is free from `free_at` on.
    #[inline(never)]
    pub(crate) fn next_start(&self, free_at: Instant) -> Option<Instant> {
        self.retransmissions.front().map(|(at, ..)| free_at.max(*at))
    }

    pub(crate) fn pop_retransmission(&mut self) -> Option<(Ticket, F)> {
        self.retransmissions.pop_front().map(|(_, ticket, frame)| (ticket, frame))
    }

    /// The next frame that may be handed up, and when: it has arrived, and so have all before it that
    /// have not been given up.
    pub(crate) fn pop_released(&mut self) -> Option<(Instant, A)> {
        loop {
            let (at, frame) = match self.sequence.pop_front()? {
                FrameFate::Awaited => {
                    self.sequence.push_front(FrameFate::Awaited);
                    return None;
                }
                FrameFate::Arrived(at, frame) => (at, Some(frame)),
                FrameFate::GivenUp(at) => (at, None),
            };
            self.first += 1;
            self.released = self.released.max(at);
            if let Some(frame) = frame {
                return Some((self.released, frame));
            }
        }
    }

    /// Frames that are held, waiting for a retransmission or for those in front of them.
    pub(crate) fn len(&self) -> usize {
        let arrived = self.sequence.iter().filter(|place| matches!(place, FrameFate::Arrived(..))).count();
        self.retransmissions.len() + arrived
    }
}
