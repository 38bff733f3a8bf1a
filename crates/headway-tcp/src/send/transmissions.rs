//! The log of transmissions: when each copy of each segment was sent, in the order of sending, and
//! what had been delivered by then.
//!
//! Loss detection by time (RFC 8985) asks which copies were sent before one that has arrived; the
//! delivery rate (draft-ietf-ccwg-bbr, section 4.1) asks how much arrived between the sending of a
//! copy and its ACK. Both answers lie in one queue: copies are numbered in the order of sending.
//! Superseded and delivered copies are forgotten once they are half of what is kept: the queue holds
//! about two copies for each segment at most.

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
    /// Delivered or superseded: nobody asks for it again. (A copy that was lost may still arrive.)
    gone: bool,
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

impl Copy {
    /// Its last sequence number: an ACK may cover a part of a segment, but never all of it without
    /// settling the copy.
    pub(crate) fn last(&self) -> SeqNumber {
        self.seq + self.len.saturating_sub(1)
    }
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

/// What is counted from the beginning of the connection on: all that is left of the log while nothing is
/// outstanding.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    /// Octets delivered.
    delivered: u64,
    /// The sender had nothing to send until so much is delivered.
    app_limited_until: u64,
    /// Octets lost, not to damage.
    lost: u64,
    /// Octets that arrived damaged.
    pub(crate) crossed: u64,
}

/// All copies that are not settled, and some that are.
#[derive(Default)]
pub(crate) struct TransmissionLog {
    /// Ascending by number.
    copies: VecDeque<Copy>,
    /// How many of them are gone.
    gone: usize,
    /// So many of the first are not live.
    settled: usize,
    totals: Totals,
    /// When the octets delivered last grew.
    delivered_at: Instant,
    flight_start: Instant,
    /// What the ACK that is being processed delivered.
    current: Delivery,
}

impl TransmissionLog {
    /// An empty log that counts on.
    pub(crate) fn resume(totals: Totals) -> Self {
        Self { totals, ..Self::default() }
    }

    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

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
            gone: false,
            app_limited: self.totals.app_limited_until > self.totals.delivered,
            in_flight: pipe.saturating_add(len),
            delivered: self.totals.delivered,
            delivered_at: self.delivered_at,
            flight_start: self.flight_start,
            lost: self.totals.lost,
        });
    }

    fn get_mut(&mut self, order: u64) -> Option<&mut Copy> {
        let first = self.copies.front()?.order;
        let mut place = usize::try_from(order.checked_sub(first)?).ok()?;
        // Where nothing between was dropped, numbers count places.
        if self.copies.get(place).is_none_or(|copy| copy.order != order) {
            place = self.copies.partition_point(|copy| copy.order < order);
        }
        self.copies.get_mut(place).filter(|copy| copy.order == order)
    }

    /// The copy is not under way any more, as far as is known.
    pub(crate) fn settle(&mut self, order: u64) {
        if let Some(copy) = self.get_mut(order) {
            copy.live = false;
        }
        self.trim();
    }

    /// The copy is superseded by another of its segment.
    pub(crate) fn supersede(&mut self, order: u64) {
        self.drop_copy(order);
        self.trim();
    }

    fn drop_copy(&mut self, order: u64) -> Option<Copy> {
        let copy = self.get_mut(order)?;
        copy.live = false;
        let already = core::mem::replace(&mut copy.gone, true);
        let copy = *copy;
        self.gone += usize::from(!already);
        Some(copy)
    }

    fn trim(&mut self) {
        /// Fewer are not worth the work.
        const FEW: usize = 32;
        while let Some(true) = self.copies.front().map(|copy| copy.gone) {
            self.gone -= 1;
            self.settled = self.settled.saturating_sub(1);
            self.copies.pop_front();
        }
        if self.gone > FEW && self.gone > self.copies.len() / 2 {
            self.copies.retain(|copy| !copy.gone);
            (self.gone, self.settled) = (0, 0);
        }
        while let Some(false) = self.copies.get(self.settled).map(|copy| copy.live) {
            self.settled += 1;
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
        let Some(copy) = self.drop_copy(order) else { return };
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
        self.totals.crossed += u64::from(octets);
        self.totals.delivered += u64::from(octets);
        self.delivered_at = now;
    }

    /// The copy is lost, and not to damage.
    pub(crate) fn lose(&mut self, copy: &Copy, now: Instant) -> LostSegment {
        self.settle(copy.order);
        self.totals.lost += u64::from(copy.len);
        LostSegment {
            order: copy.order,
            now,
            octets: copy.len,
            in_flight: copy.in_flight,
            lost: self.totals.lost - copy.lost,
            prior_delivered: copy.delivered,
            app_limited: copy.app_limited,
        }
    }

    /// What the ACK at hand delivered; the next one begins with nothing.
    pub(crate) fn take_delivery(&mut self, now: Instant) -> Delivery {
        let delivery = core::mem::take(&mut self.current);
        if delivery.octets > 0 {
            self.totals.delivered += u64::from(delivery.octets);
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
            delivered: self.totals.delivered - copy.delivered,
            interval: sending.max(acknowledging).max(Duration::from_nanos(1)),
            app_limited: copy.app_limited,
            prior_delivered: copy.delivered,
            total_delivered: self.totals.delivered,
            in_flight: copy.in_flight,
            lost: self.totals.lost - copy.lost,
        })
    }

    /// The sender has nothing to send although the window would let it, with `pipe` in the network.
    pub(crate) fn app_limited(&mut self, pipe: u32) {
        self.totals.app_limited_until = self.totals.delivered + u64::from(pipe).max(1);
    }

    /// The oldest copy that is not settled.
    pub(crate) fn oldest(&self) -> Option<&Copy> {
        self.copies.get(self.settled)
    }

    /// The copies that are not settled, oldest first, from the one at `place` on, with the places.
    pub(crate) fn live_from(&self, place: usize) -> Option<(usize, Copy)> {
        let place = (place.max(self.settled)..self.copies.len()).find(|&place| self.copies[place].live)?;
        Some((place, self.copies[place]))
    }

    /// These copies (order, first number, length, time of sending), in the order of sending, are the
    /// ones that are not settled.
    pub(crate) fn rebuild(&mut self, live: impl Iterator<Item = (u64, SeqNumber, u32, Instant)>) {
        let (in_flight, delivered, lost) = (0, self.totals.delivered, self.totals.lost);
        let (delivered_at, flight_start) = (self.delivered_at, self.flight_start);
        (self.gone, self.settled) = (0, 0);
        self.copies.clear();
        self.copies.extend(live.map(|(order, seq, len, sent_at)| Copy {
            seq,
            len,
            sent_at,
            order,
            live: true,
            gone: false,
            app_limited: true,
            in_flight,
            delivered,
            delivered_at,
            flight_start,
            lost,
        }));
    }

    pub(crate) fn allocated(&self) -> usize {
        self.copies.capacity() * size_of::<Copy>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superseded_copies_are_forgotten_behind_one_that_stays() {
        let mut log = TransmissionLog::default();
        let at = Instant::from_nanos;
        log.sent(SeqNumber(0), 1000, 1, at(1), 0);
        log.sent(SeqNumber(1000), 1000, 2, at(2), 1000);
        log.sent(SeqNumber(2000), 1000, 3, at(3), 2000);
        log.settle(2);
        for order in 4..100_000 {
            log.supersede(order - 1);
            log.sent(SeqNumber(2000), 1000, order, at(order), 1000);
        }
        assert!(log.copies.len() < 100 && log.allocated() < 32 << 10, "{}", log.copies.len());
        assert_eq!(log.oldest().map(|copy| copy.order), Some(1));
        assert_eq!(log.live_from(1).map(|(_, copy)| copy.order), Some(99_999));
        // One that was taken for lost arrives after all.
        log.delivered(2, SeqNumber(2000), 1000, 0, false);
        assert_eq!(log.take_delivery(at(100_000)).newest.map(|newest| newest.sent_at), Some(at(2)));
        log.delivered(99_999, SeqNumber(3000), 1000, 0, true);
        log.delivered(1, SeqNumber(1000), 1000, 0, false);
        let delivery = log.take_delivery(at(100_000));
        assert_eq!((delivery.octets, delivery.newest.map(|newest| newest.order)), (2000, Some(99_999)));
        assert!(log.oldest().is_none());
    }
}
