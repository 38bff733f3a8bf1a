//! The log of transmissions: when each copy of each segment was sent, in the order of sending, and
//! what had been delivered by then.
//!
//! Loss detection by time (RFC 8985) asks which copies were sent before one that has arrived; the
//! delivery rate (draft-ietf-ccwg-bbr, section 4.1) asks how much arrived between the sending of a
//! copy and its ACK. Both answers lie in one queue: copies are numbered in the order of sending,
//! and all that is older than the oldest unsettled one is forgotten.

use alloc::collections::VecDeque;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use crate::congestion::{LostSegment, RateSample};

/// One copy of one segment.
#[derive(Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) seq: SeqNumber,
    pub(crate) len: u32,
    pub(crate) sent_at: Instant,
    /// Its number in the order of sending.
    pub(crate) order: u64,
    /// Neither delivered, nor lost, nor superseded.
    live: bool,
    app_limited: bool,
    /// Octets in the network with it.
    in_flight: u32,
    /// Octets delivered when it was sent, and when the newest of those arrived.
    delivered: u64,
    delivered_at: Instant,
    /// When the flight began of which it is a part.
    flight_start: Instant,
    /// Octets lost when it was sent.
    lost: u64,
}

/// The copy sent last of those that an ACK says have arrived.
#[derive(Clone, Copy)]
pub(crate) struct Newest {
    pub(crate) order: u64,
    pub(crate) sent_at: Instant,
    /// It was a resend.
    pub(crate) resent: bool,
    /// Timestamp value that it bore.
    pub(crate) stamp: u32,
    copy: Copy,
}

/// What one ACK delivered.
#[derive(Clone, Copy, Default)]
pub(crate) struct Delivery {
    pub(crate) octets: u32,
    pub(crate) newest: Option<Newest>,
    /// The highest end of a segment that was sent only once.
    pub(crate) highest_original: Option<SeqNumber>,
    /// The lowest end of such a segment.
    pub(crate) lowest_original: Option<SeqNumber>,
}

/// All copies that are not settled, and some that are.
#[derive(Default)]
pub(crate) struct TransmissionLog {
    copies: VecDeque<Copy>,
    /// Octets delivered in all, and when that last grew.
    delivered: u64,
    delivered_at: Instant,
    flight_start: Instant,
    /// The sender had nothing to send until so much is delivered.
    app_limited_until: u64,
    /// Octets lost, not to damage.
    lost: u64,
    /// Octets that arrived damaged.
    crossed: u64,
    /// What the ACK that is being processed delivered.
    current: Delivery,
}

impl TransmissionLog {
    /// A copy leaves: the number `order` follows the last. `pipe` is what is in the network without it.
    pub(crate) fn sent(&mut self, seq: SeqNumber, len: u32, order: u64, now: Instant, pipe: u32) {
        if pipe == 0 {
            // The flight begins anew: idle time is no time of sending.
            self.flight_start = now;
            self.delivered_at = now;
        }
        self.copies.push_back(Copy {
            seq,
            len,
            sent_at: now,
            order,
            live: true,
            app_limited: self.app_limited_until > self.delivered,
            in_flight: pipe.saturating_add(len),
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            flight_start: self.flight_start,
            lost: self.lost,
        });
    }

    fn get_mut(&mut self, order: u64) -> Option<&mut Copy> {
        let first = self.copies.front()?.order;
        self.copies.get_mut(usize::try_from(order.checked_sub(first)?).ok()?)
    }

    /// The copy is of no interest any more.
    pub(crate) fn settle(&mut self, order: u64) {
        if let Some(copy) = self.get_mut(order) {
            copy.live = false;
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.copies.front().is_some_and(|copy| !copy.live) {
            self.copies.pop_front();
        }
    }

    /// A segment whose latest copy is `order` has arrived.
    pub(crate) fn delivered(&mut self, order: u64, end: SeqNumber, len: u32, stamp: u32, resent: bool) {
        self.current.octets = self.current.octets.saturating_add(len);
        if !resent {
            let current = &mut self.current;
            current.highest_original = Some(current.highest_original.map_or(end, |high| high.max(end)));
            current.lowest_original = Some(current.lowest_original.map_or(end, |low| low.min(end)));
        }
        let Some(copy) = self.get_mut(order) else { return };
        copy.live = false;
        let copy = *copy;
        let newest = Newest { order, sent_at: copy.sent_at, resent, stamp, copy };
        if self.current.newest.is_none_or(|other| other.order < order) {
            self.current.newest = Some(newest);
        }
        self.trim();
    }

    /// A copy arrived damaged: it crossed the network, and counts as delivered to what measures
    /// the network's rate.
    pub(crate) fn crossed(&mut self, order: u64, now: Instant, octets: u32) {
        self.settle(order);
        self.crossed += u64::from(octets);
        self.delivered += u64::from(octets);
        self.delivered_at = now;
    }

    /// Octets that arrived damaged, in all.
    pub(crate) fn crossed_octets(&self) -> u64 {
        self.crossed
    }

    /// The copy is lost, and not to damage.
    pub(crate) fn lose(&mut self, copy: &Copy, now: Instant) -> LostSegment {
        self.settle(copy.order);
        self.lost += u64::from(copy.len);
        LostSegment {
            order: copy.order,
            now,
            octets: copy.len,
            in_flight: copy.in_flight,
            lost: self.lost - copy.lost,
            prior_delivered: copy.delivered,
            app_limited: copy.app_limited,
        }
    }

    /// What the ACK at hand delivered; the next one begins with nothing.
    pub(crate) fn take_delivery(&mut self, now: Instant) -> Delivery {
        let delivery = core::mem::take(&mut self.current);
        if delivery.octets > 0 {
            self.delivered += u64::from(delivery.octets);
            self.delivered_at = now;
        }
        delivery
    }

    /// The delivery rate that the newest copy of `delivery` measured
    /// (draft-ietf-ccwg-bbr, 4.1.2.3).
    pub(crate) fn rate(&mut self, delivery: &Delivery, now: Instant) -> Option<RateSample> {
        let copy = &delivery.newest?.copy;
        // "Use the longer of the send_elapsed and ack_elapsed."
        let sending = copy.sent_at.saturating_since(copy.flight_start);
        let acknowledging = now.saturating_since(copy.delivered_at);
        self.flight_start = copy.sent_at;
        Some(RateSample {
            delivered: self.delivered - copy.delivered,
            interval: sending.max(acknowledging).max(Duration::from_nanos(1)),
            app_limited: copy.app_limited,
            prior_delivered: copy.delivered,
            total_delivered: self.delivered,
            in_flight: copy.in_flight,
            lost: self.lost - copy.lost,
        })
    }

    /// The sender has nothing to send although the window would let it, with `pipe` in the network.
    pub(crate) fn app_limited(&mut self, pipe: u32) {
        self.app_limited_until = self.delivered + u64::from(pipe).max(1);
    }

    /// The oldest copy that is not settled.
    pub(crate) fn oldest(&self) -> Option<&Copy> {
        self.copies.front()
    }

    /// The copies that are not settled, oldest first, from the one at `place` on, with the places.
    pub(crate) fn live_from(&self, place: usize) -> Option<(usize, Copy)> {
        let place = (place..self.copies.len()).find(|&place| self.copies[place].live)?;
        Some((place, self.copies[place]))
    }

    /// These copies (order, first number, length, time of sending) are the ones that are not
    /// settled, in the order of sending; `last` is the number of the last that was sent.
    pub(crate) fn rebuild(&mut self, live: &[(u64, SeqNumber, u32, Instant)], last: u64) {
        self.copies.clear();
        let Some(&(first, ..)) = live.first() else { return };
        let dead = Copy {
            seq: SeqNumber::default(),
            len: 0,
            sent_at: Instant::ZERO,
            order: 0,
            live: false,
            app_limited: true,
            in_flight: 0,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            flight_start: self.flight_start,
            lost: self.lost,
        };
        let mut live = live.iter().peekable();
        for order in first..=last {
            let copy = match live.next_if(|other| other.0 == order) {
                Some(&(_, seq, len, sent_at)) => Copy { seq, len, sent_at, order, live: true, ..dead },
                None => Copy { order, ..dead },
            };
            self.copies.push_back(copy);
        }
    }

    /// Gives back the memory that an idle connection does not need.
    pub(crate) fn release(&mut self) {
        const KEPT: usize = 8;
        if self.copies.is_empty() && self.copies.capacity() > KEPT {
            self.copies = VecDeque::new();
        }
    }

    pub(crate) fn allocated(&self) -> usize {
        self.copies.capacity() * size_of::<Copy>()
    }
}
