//! The log of transmissions: when each transmission of each segment was sent, in the order of sending, and
//! what had been delivered by then.
//!
//! Loss detection by time (RFC 8985) asks which transmissions were sent before one that has arrived; the
//! delivery rate (draft-ietf-ccwg-bbr, section 4.1) asks how much arrived between the sending of a
//! transmission and its ACK. Both answers lie in one queue: transmissions are numbered in the order of sending.
//! Superseded and delivered transmissions are forgotten once they are half of what is kept: the queue holds
//! about two transmissions for each segment at most.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use crate::congestion::{Before, Deliveries, Load, LostSegment, Others, RateSample};
use crate::path::ledger::Missing;

/// One transmission of one segment.
#[derive(Clone, Copy)]
pub(crate) struct Transmission {
    pub(crate) seq: SeqNumber,
    pub(crate) len: u32,
    pub(crate) sent_at: Instant,
    /// Its number in the order of sending.
    pub(crate) order: u64,
    /// Neither delivered, nor lost, nor superseded.
    live: bool,
    /// Delivered or superseded: it is not asked for again. (A transmission that was lost may still arrive.)
    gone: bool,
    /// It has been counted as delivered: it passed the bottleneck, corrupted or to be lost behind it.
    passed: bool,
    /// A copy of it was sent.
    copied: bool,
    /// What was delivered and in the network when it was sent.
    before: Before,
    /// The load under which it was sent.
    pub(crate) load: Load,
}

impl Transmission {
    /// Its last sequence number: an ACK may cover a part of a segment, but never all of it without
    /// resolving the transmission.
    pub(crate) fn last(&self) -> SeqNumber {
        self.seq + self.len.saturating_sub(1)
    }

    /// Bytes in flight just after it was sent.
    pub(crate) fn volume(&self) -> u32 {
        self.before.in_flight
    }

    /// What the ledger is to know of it when it is found missing, so `late`. A segment has `mss` bytes.
    pub(crate) fn missing(&self, mss: u32, late: Duration) -> Missing {
        Missing {
            order: self.order,
            load: self.load,
            volume: self.volume() / mss.max(1),
            bytes: self.len,
            late,
        }
    }
}

/// The transmission sent last of those that an ACK says have arrived.
#[derive(Clone, Copy)]
pub(crate) struct Newest {
    pub(crate) order: u64,
    pub(crate) sent_at: Instant,
    /// It was a retransmission.
    pub(crate) retransmitted: bool,
    /// TSval that it bore.
    pub(crate) tsval: u32,
    sent: Transmission,
}

impl Newest {
    /// Bytes of its payload.
    pub(crate) fn bytes(self) -> u32 {
        self.sent.len
    }
}

/// What one ACK delivered.
#[derive(Clone, Copy, Default)]
pub(crate) struct Delivery {
    pub(crate) bytes: u32,
    /// Bytes of payload of the segments: more than those of patches.
    pub(crate) acknowledged: u32,
    pub(crate) newest: Option<Newest>,
    /// The transmission sent last of those of segments that were sent only once.
    newest_original: Option<Newest>,
    /// The transmission sent last of those that are reported to have arrived damaged.
    newest_damaged: Option<Transmission>,
    /// The highest end of a segment that was sent only once.
    pub(crate) highest_original: Option<SeqNumber>,
    /// The lowest end of such a segment.
    pub(crate) lowest_original: Option<SeqNumber>,
    /// Of the bytes, those that had been counted as delivered when they were taken for damaged.
    counted_before: u32,
    /// Segments that reached the receiver since the last ACK, intact or not, by the load under which they were
    /// sent: below, at, above.
    pub(crate) survived: [u32; 3],
    /// Bytes in flight when the last of them was sent.
    pub(crate) volume: u32,
}

impl Delivery {
    fn survived(&mut self, sent: &Transmission) {
        self.survived[sent.load as usize] += 1;
        self.volume = sent.volume();
    }
}

/// What is counted from the beginning of the connection on: all that is left of the log while nothing is
/// outstanding.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    /// What was delivered and lost, of a shared domain that of all members.
    deliveries: Deliveries,
    /// Bytes of this connection that arrived damaged.
    pub(crate) corrupted: u64,
    /// Bytes that the other members of a shared domain have in the network, and whether one of them waits to
    /// send.
    others_pipe: u32,
    others_wait: bool,
}

impl Totals {
    pub(crate) fn set_others(&mut self, others: &Others) {
        self.deliveries = others.deliveries;
        self.others_pipe = others.pipe;
        self.others_wait = others.wait;
    }

    pub(crate) fn deliveries(&self) -> Deliveries {
        self.deliveries
    }
}

/// All transmissions that are not resolved, and some that are.
#[derive(Default)]
pub(crate) struct TransmissionLog {
    /// Ascending by number.
    transmissions: VecDeque<Transmission>,
    /// How many of them are gone.
    gone: usize,
    /// How many at the beginning are not live.
    resolved: usize,
    totals: Totals,
    /// The load that the controller puts on the path now.
    load: Load,
    /// What the ACK that is being processed delivered.
    current: Delivery,
    /// Up to which number transmissions were copied, and are to be.
    copies: (u64, u64),
    /// The longest payload that arrived since this was last asked for.
    longest_arrived: u32,
}

impl TransmissionLog {
    /// An empty log that counts on.
    pub(crate) fn resume(totals: Totals) -> Self {
        Self { totals, ..Self::default() }
    }

    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    /// The connection shares its domain: what the other members have done since.
    pub(crate) fn set_others(&mut self, others: &Others) {
        self.totals.set_others(others);
        self.load = others.load;
    }

    /// A transmission leaves: the number `order` follows the last. `pipe` is what is in the network without it.
    pub(crate) fn sent(&mut self, seq: SeqNumber, len: u32, order: u64, now: Instant, pipe: u32) {
        let pipe = pipe.saturating_add(self.totals.others_pipe);
        if pipe == 0 {
            self.totals.deliveries.start_flight(now);
        }
        self.transmissions.push_back(Transmission {
            seq,
            len,
            sent_at: now,
            order,
            live: true,
            gone: false,
            passed: false,
            copied: false,
            before: Before { counts: self.totals.deliveries, in_flight: pipe.saturating_add(len) },
            load: self.load,
        });
    }

    fn get_mut(&mut self, order: u64) -> Option<&mut Transmission> {
        let first = self.transmissions.front()?.order;
        let mut place = usize::try_from(order.checked_sub(first)?).ok()?;
        // Where nothing between was dropped, numbers count places.
        if self.transmissions.get(place).is_none_or(|sent| sent.order != order) {
            place = self.transmissions.partition_point(|sent| sent.order < order);
        }
        self.transmissions.get_mut(place).filter(|sent| sent.order == order)
    }

    /// The transmission is not under way any more, as far as is known.
    pub(crate) fn resolve(&mut self, order: u64) {
        if let Some(sent) = self.get_mut(order) {
            sent.live = false;
        }
        self.trim();
    }

    /// The transmission is superseded by another of its segment.
    pub(crate) fn supersede(&mut self, order: u64) {
        self.drop_transmission(order);
        self.trim();
    }

    fn drop_transmission(&mut self, order: u64) -> Option<Transmission> {
        let sent = self.get_mut(order)?;
        sent.live = false;
        let already = core::mem::replace(&mut sent.gone, true);
        let sent = *sent;
        self.gone += usize::from(!already);
        Some(sent)
    }

    fn trim(&mut self) {
        /// Fewer are not worth the work.
        const FEW: usize = 32;
        while let Some(true) = self.transmissions.front().map(|sent| sent.gone) {
            self.gone -= 1;
            self.resolved = self.resolved.saturating_sub(1);
            self.transmissions.pop_front();
        }
        if self.gone > FEW && self.gone > self.transmissions.len() / 2 {
            self.transmissions.retain(|sent| !sent.gone);
            (self.gone, self.resolved) = (0, 0);
        }
        while let Some(false) = self.transmissions.get(self.resolved).map(|sent| sent.live) {
            self.resolved += 1;
        }
    }

    /// A segment whose latest transmission is `order` has arrived.
    pub(crate) fn delivered(
        &mut self,
        order: u64,
        end: SeqNumber,
        len: u32,
        tsval: u32,
        retransmitted: bool,
    ) {
        self.current.bytes = self.current.bytes.saturating_add(len);
        if !retransmitted {
            let current = &mut self.current;
            current.highest_original = Some(current.highest_original.map_or(end, |high| high.max(end)));
            current.lowest_original = Some(current.lowest_original.map_or(end, |low| low.min(end)));
        }
        let Some(sent) = self.drop_transmission(order) else { return };
        if sent.passed {
            // It was taken for damaged and has arrived after all.
            self.current.counted_before = self.current.counted_before.saturating_add(len);
        }
        self.current.survived(&sent);
        let newest = Newest { order, sent_at: sent.sent_at, retransmitted, tsval, sent };
        if self.current.newest.is_none_or(|other| other.order < order) {
            self.current.newest = Some(newest);
        }
        if !retransmitted && self.current.newest_original.is_none_or(|other| other.order < order) {
            self.current.newest_original = Some(newest);
        }
        self.trim();
    }

    /// A transmission arrived damaged: it passed the network, and counts as delivered to what measures
    /// the network's rate.
    pub(crate) fn corrupted(&mut self, order: u64, now: Instant, bytes: u32) {
        if let Some(sent) = self.get_mut(order).copied() {
            self.current.survived(&sent);
            self.current.newest_damaged = Some(sent);
        }
        self.passed(order, now, bytes);
    }

    /// A transmission passed the bottleneck, and was lost behind it. Intact it would have been acknowledged at `due`.
    pub(crate) fn lost_behind(&mut self, order: u64, due: Instant, now: Instant, bytes: u32) {
        self.passed(order, now, bytes);
        self.count_earlier(due, bytes);
    }

    fn passed(&mut self, order: u64, now: Instant, bytes: u32) {
        if let Some(sent) = self.get_mut(order) {
            sent.passed = true;
        }
        self.resolve(order);
        self.totals.corrupted += u64::from(bytes);
        self.totals.deliveries.on_delivered(now, bytes);
    }

    /// A loss is found later than at `due`, when what was lost would have been acknowledged. To what was sent in the meantime it
    /// counts as delivered before: otherwise that would measure a rate at which it did not pass.
    fn count_earlier(&mut self, due: Instant, bytes: u32) {
        for sent in self.transmissions.iter_mut().rev().take_while(|sent| sent.sent_at > due) {
            sent.before.count_delivered(bytes);
        }
    }

    /// The transmission is lost, and not to damage. It counts as `bytes`.
    pub(crate) fn lose(&mut self, sent: &Transmission, bytes: u32, now: Instant) -> LostSegment {
        self.resolve(sent.order);
        self.totals.deliveries.on_lost(now, bytes, (sent.order, sent.sent_at), &sent.before)
    }

    /// A segment with that much payload was acknowledged.
    pub(crate) fn on_acknowledged(&mut self, payload: u32) {
        self.current.acknowledged = self.current.acknowledged.saturating_add(payload);
        self.on_arrived(payload);
    }

    /// A segment with that much payload arrived, intact or not.
    pub(crate) fn on_arrived(&mut self, payload: u32) {
        self.longest_arrived = self.longest_arrived.max(payload);
    }

    /// The longest payload that arrived since this was last asked for.
    pub(crate) fn take_longest_arrived(&mut self) -> u32 {
        core::mem::take(&mut self.longest_arrived)
    }

    /// What the ACK at hand delivered; the next one begins with nothing.
    pub(crate) fn take_delivery(&mut self, now: Instant) -> Delivery {
        let delivery = core::mem::take(&mut self.current);
        if delivery.bytes > 0 {
            self.totals.deliveries.on_delivered(now, delivery.bytes - delivery.counted_before);
        }
        delivery
    }

    /// What the ACK at hand delivered counts for nothing.
    pub(crate) fn discard_delivery(&mut self) {
        self.current = Delivery::default();
    }

    /// The delivery rate that the newest transmission of `delivery` measured
    /// (draft-ietf-ccwg-bbr, 4.1.2.3). What arrived sooner than `min_rtt` after it was retransmitted is an earlier
    /// transmission: it measures nothing, and would seem to end a round.
    pub(crate) fn rate(
        &mut self,
        delivery: &Delivery,
        now: Instant,
        min_rtt: Option<Duration>,
    ) -> Option<RateSample> {
        let Some(newest) = delivery.newest else {
            let sent = delivery.newest_damaged?;
            if min_rtt.is_some_and(|min_rtt| now.saturating_since(sent.sent_at) < min_rtt) {
                return None;
            }
            return Some(self.totals.deliveries.sample(now, sent.sent_at, &sent.before));
        };
        let is_spurious = newest.retransmitted
            && min_rtt.is_some_and(|min_rtt| now.saturating_since(newest.sent_at) < min_rtt);
        let sent = &if is_spurious { delivery.newest_original? } else { newest }.sent;
        Some(self.totals.deliveries.sample(now, sent.sent_at, &sent.before))
    }

    /// A transmission, as long as it is known.
    pub(crate) fn transmission(&self, order: u64) -> Option<&Transmission> {
        let place = self.transmissions.binary_search_by_key(&order, |sent| sent.order).ok()?;
        Some(&self.transmissions[place])
    }

    /// What is sent from now on is sent under this load.
    pub(crate) fn set_load(&mut self, load: Load) {
        self.load = load;
    }

    /// The sender has nothing to send although the window would let it, with `pipe` in the network.
    pub(crate) fn app_limited(&mut self, pipe: u32) {
        if !self.totals.others_wait {
            self.totals.deliveries.on_app_limited(pipe.saturating_add(self.totals.others_pipe));
        }
    }

    /// Whether the application limits what is sent.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.totals.deliveries.is_app_limited()
    }

    /// The oldest transmission that is not resolved.
    pub(crate) fn oldest(&self) -> Option<&Transmission> {
        self.transmissions.get(self.resolved)
    }

    /// The transmissions that are not resolved, oldest first, from the one at `place` on, with the places.
    pub(crate) fn live_from(&self, place: usize) -> Option<(usize, Transmission)> {
        let place = (place.max(self.resolved)..self.transmissions.len())
            .find(|&place| self.transmissions[place].live)?;
        Some((place, self.transmissions[place]))
    }

    /// All that are under way and were not copied are to be.
    pub(crate) fn begin_copies(&mut self) {
        self.copies.1 = self.transmissions.back().map_or(0, |sent| sent.order);
    }

    /// Whether some are to be copied.
    pub(crate) fn has_copies(&self) -> bool {
        self.copies.0 < self.copies.1
    }

    /// None is to be copied any more.
    pub(crate) fn end_copies(&mut self) {
        self.copies.0 = self.copies.1;
    }

    /// How many bytes are under way and were not copied.
    pub(crate) fn uncopied(&self) -> u32 {
        let live = self.transmissions.iter().skip(self.first_uncopied()).filter(|sent| sent.live);
        live.fold(0, |bytes, sent| bytes.saturating_add(sent.len))
    }

    /// Takes the one that is to be copied next.
    pub(crate) fn take_copy(&mut self) -> Option<Transmission> {
        let end = self.copies.1;
        let next = self.live_from(self.first_uncopied()).filter(|(_, sent)| sent.order <= end);
        self.copies.0 = next.map_or(end, |(_, sent)| sent.order);
        let (place, sent) = next?;
        self.transmissions[place].copied = true;
        Some(sent)
    }

    /// The place of the first that was not looked at yet.
    fn first_uncopied(&self) -> usize {
        self.transmissions.partition_point(|sent| sent.order <= self.copies.0)
    }

    /// These transmissions (order, first number, length, time of sending), in the order of sending, are the
    /// ones that are not resolved.
    pub(crate) fn rebuild(&mut self, live: impl Iterator<Item = (u64, SeqNumber, u32, Instant)>) {
        // The window is reduced: what they measure is not the path's rate.
        let mut counts = self.totals.deliveries;
        counts.on_app_limited(0);
        let before = Before { counts, in_flight: 0 };
        // What has been counted as delivered is not counted again when it arrives.
        let passed: Vec<u64> =
            self.transmissions.iter().filter(|sent| sent.passed).map(|sent| sent.order).collect();
        (self.gone, self.resolved) = (0, 0);
        self.transmissions.clear();
        self.transmissions.extend(live.map(|(order, seq, len, sent_at)| Transmission {
            seq,
            len,
            sent_at,
            order,
            live: true,
            gone: false,
            passed: passed.binary_search(&order).is_ok(),
            copied: false,
            before,
            load: Load::Above,
        }));
    }

    pub(crate) fn allocated(&self) -> usize {
        self.transmissions.capacity() * size_of::<Transmission>()
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
        log.resolve(2);
        for order in 4..100_000 {
            log.supersede(order - 1);
            log.sent(SeqNumber(2000), 1000, order, at(order), 1000);
        }
        assert!(log.transmissions.len() < 100 && log.allocated() < 32 << 10, "{}", log.transmissions.len());
        assert_eq!(log.oldest().map(|sent| sent.order), Some(1));
        assert_eq!(log.live_from(1).map(|(_, sent)| sent.order), Some(99_999));
        // One that was taken for lost arrives after all.
        log.delivered(2, SeqNumber(2000), 1000, 0, false);
        assert_eq!(log.take_delivery(at(100_000)).newest.map(|newest| newest.sent_at), Some(at(2)));
        log.delivered(99_999, SeqNumber(3000), 1000, 0, true);
        log.delivered(1, SeqNumber(1000), 1000, 0, false);
        let delivery = log.take_delivery(at(100_000));
        assert_eq!((delivery.bytes, delivery.newest.map(|newest| newest.order)), (2000, Some(99_999)));
        assert!(log.oldest().is_none());
    }

    #[test]
    fn what_follows_a_pause_is_limited_by_the_application() {
        let mut log = TransmissionLog::default();
        let at = Instant::from_nanos;
        log.sent(SeqNumber(0), 1000, 1, at(1), 0);
        assert!(!log.is_app_limited());
        // Nothing more to send: all that is in the network arrives, and a pause follows.
        log.app_limited(1000);
        log.delivered(1, SeqNumber(1000), 1000, 0, true);
        log.take_delivery(at(100));
        assert!(log.is_app_limited());
        log.sent(SeqNumber(1000), 1000, 2, at(1000), 0);
        log.delivered(2, SeqNumber(2000), 1000, 0, true);
        let delivery = log.take_delivery(at(1100));
        assert!(log.rate(&delivery, at(1100), None).is_some_and(|rate| rate.app_limited));
        assert!(!log.is_app_limited());
    }

    /// A path delivers a packet each millisecond, after ten. Packets 5 and 6 are damaged, which is found when 8 is acknowledged.
    #[test]
    fn what_is_lost_behind_the_bottleneck_measures_the_rate_at_which_it_passed() {
        let at = |millis: u64| Instant::ZERO + Duration::from_millis(millis);
        let number = |order: u64| SeqNumber(1000 * order as u32);
        let mut log = TransmissionLog::default();
        let mut rates = Vec::new();
        for time in 1..=40 {
            if time > 10 && ![15, 16].contains(&time) {
                log.delivered(time - 10, number(time - 9), 1000, 0, false);
                let delivery = log.take_delivery(at(time));
                rates.push(log.rate(&delivery, at(time), None).expect("it was delivered").rate());
            }
            log.sent(number(time), 1000, time, at(time), 10_000);
            if time == 18 {
                for order in [5, 6] {
                    log.lost_behind(order, at(order + 10), at(time), 1000);
                }
            }
        }
        let most = rates.iter().map(|rate| rate.bits_per_second() / 8000).max();
        assert_eq!(most, Some(1000), "packets a second");
    }

    #[test]
    fn what_arrives_is_told_by_load_and_volume() {
        let mut log = TransmissionLog::default();
        let at = Instant::from_nanos;
        for (order, load) in (1..).zip([Load::Below, Load::At, Load::At, Load::Above]) {
            log.set_load(load);
            log.sent(SeqNumber(1000 * order as u32), 1000, order, at(order), 1000 * (order as u32 - 1));
        }
        assert_eq!(log.transmission(3).map(|sent| (sent.load, sent.volume())), Some((Load::At, 3000)));
        log.delivered(1, SeqNumber(2000), 1000, 0, false);
        log.corrupted(2, at(10), 1000);
        log.delivered(3, SeqNumber(4000), 1000, 0, false);
        let delivery = log.take_delivery(at(10));
        assert_eq!((delivery.survived, delivery.volume), ([1, 2, 0], 3000));
        assert_eq!(log.take_delivery(at(10)).survived, [0; 3]);
    }

    #[test]
    fn what_counts_as_delivered_and_arrives_counts_once() {
        counts_once(false);
        counts_once(true);
    }

    /// The first of two transmissions is taken for damaged. Then, maybe, that turns out to be wrong with a timeout that is undone.
    fn counts_once(undone: bool) {
        let mut log = TransmissionLog::default();
        let at = Instant::from_nanos;
        log.sent(SeqNumber(0), 1000, 1, at(1), 0);
        log.sent(SeqNumber(1000), 1000, 2, at(2), 1000);
        log.lost_behind(1, at(10), at(10), 1000);
        if undone {
            let under_way =
                [1, 2].map(|order| (order, SeqNumber(1000 * (order as u32 - 1)), 1000, at(order)));
            log.rebuild(under_way.into_iter());
        }
        log.delivered(1, SeqNumber(1000), 1000, 0, false);
        log.delivered(2, SeqNumber(2000), 1000, 0, false);
        let delivery = log.take_delivery(at(11));
        assert_eq!((delivery.bytes, delivery.counted_before), (2000, 1000));
        if undone {
            return;
        }
        let counted = log.rate(&delivery, at(11), None).map(|sample| sample.delivered);
        assert_eq!(counted, Some(2000));
    }

    /// Transmissions of 1000 bytes, one each nanosecond.
    fn log(orders: impl IntoIterator<Item = u64>) -> TransmissionLog {
        let mut log = TransmissionLog::default();
        let mut pipe = 0;
        for order in orders {
            log.sent(SeqNumber(1000 * order as u32), 1000, order, Instant::from_nanos(order), pipe);
            pipe += 1000;
        }
        log
    }

    #[test]
    fn a_transmission_that_is_missing_is_told_with_its_load_and_volume() {
        let mut log = log([1]);
        log.set_load(Load::At);
        log.sent(SeqNumber(0), 500, 2, Instant::from_nanos(2), 4000);
        let sent = log.transmission(2).expect("it is known");
        let missing = sent.missing(1400, Duration::ZERO);
        assert_eq!((missing.order, missing.load, missing.volume), (2, Load::At, 3));
        assert_eq!((sent.missing(0, Duration::ZERO).volume, sent.last()), (4500, SeqNumber(499)));
    }

    /// Other connections of the path have numbers too.
    #[test]
    fn transmissions_are_found_by_numbers_with_gaps() {
        let mut log = log([3, 4, 7, 10, 11]);
        for order in 0..14 {
            let is_there = [3, 4, 7, 10, 11].contains(&order);
            assert_eq!(log.get_mut(order).map(|sent| sent.order), is_there.then_some(order));
            assert_eq!(log.transmission(order).map(|sent| sent.order), is_there.then_some(order));
        }
    }

    #[test]
    fn the_oldest_is_the_first_that_is_under_way() {
        let mut log = log(1..=5);
        let oldest = |log: &TransmissionLog| log.oldest().map(|sent| sent.order);
        log.resolve(2);
        assert_eq!(oldest(&log), Some(1));
        log.supersede(1);
        assert_eq!(oldest(&log), Some(3));
        log.delivered(3, SeqNumber(0), 1000, 0, false);
        assert_eq!(oldest(&log), Some(4));
        assert_eq!(log.live_from(0).map(|(place, sent)| (place, sent.order)), Some((2, 4)));
        log.resolve(4);
        assert_eq!(oldest(&log), Some(5));
        log.resolve(5);
        assert!(oldest(&log).is_none() && log.live_from(0).is_none());
        assert!(log.transmission(2).is_some(), "it may still arrive");
    }

    /// One that is lost stays at the beginning, and the others are forgotten when they are more than half.
    #[test]
    fn few_that_are_gone_are_kept() {
        let mut log = log(1..=200);
        log.resolve(1);
        for order in 2..=100 {
            log.supersede(order);
        }
        assert_eq!(log.transmissions.len(), 200, "not more than half");
        log.supersede(101);
        assert_eq!(log.transmissions.len(), 200, "half");
        log.supersede(102);
        assert_eq!((log.transmissions.len(), log.oldest().map(|sent| sent.order)), (99, Some(103)));
        // A second time it is not gone once more.
        let mut few = self::log(1..=40);
        few.resolve(1);
        for _ in 0..2 {
            for order in 2..=33 {
                few.supersede(order);
            }
        }
        assert_eq!(few.transmissions.len(), 40, "so few are not worth it");
        few.supersede(34);
        assert_eq!(few.transmissions.len(), 7);
        assert!(few.allocated() >= 7 * size_of::<Transmission>());
    }

    #[test]
    fn the_newest_that_arrives_measures() {
        let mut log = log(1..=4);
        log.delivered(3, SeqNumber(4000), 1000, 33, false);
        log.delivered(4, SeqNumber(5000), 1000, 44, true);
        log.delivered(1, SeqNumber(2000), 1000, 11, false);
        log.delivered(2, SeqNumber(3000), 1000, 22, true);
        let delivery = log.take_delivery(Instant::from_nanos(100));
        let newest = delivery.newest.expect("one arrived");
        assert_eq!((newest.order, newest.tsval, newest.retransmitted), (4, 44, true));
        assert_eq!(newest.sent_at, Instant::from_nanos(4));
        assert_eq!(delivery.newest_original.map(|newest| newest.order), Some(3));
        let ends = (delivery.lowest_original, delivery.highest_original);
        assert_eq!(ends, (Some(SeqNumber(2000)), Some(SeqNumber(4000))), "of those that were sent once");
        assert_eq!(log.take_delivery(Instant::from_nanos(101)).bytes, 0);
    }

    /// What arrives sooner after its retransmission than anything can is the transmission before it.
    #[test]
    fn an_arrival_that_is_too_soon_measures_nothing() {
        let at = Instant::from_nanos;
        let rate = |retransmitted, now, min_rtt: Option<u64>| {
            let mut log = log(1..=3);
            log.delivered(2, SeqNumber(3000), 1000, 0, false);
            log.delivered(3, SeqNumber(4000), 1000, 0, retransmitted);
            let delivery = log.take_delivery(at(now));
            log.rate(&delivery, at(now), min_rtt.map(Duration::from_nanos)).map(|sample| sample.in_flight)
        };
        assert_eq!(rate(true, 50, Some(48)), Some(2000), "the other one does");
        assert_eq!(rate(true, 50, Some(47)), Some(3000));
        assert_eq!(rate(true, 50, None), Some(3000));
        assert_eq!(rate(false, 50, Some(48)), Some(3000));
        let mut alone = log(1..=1);
        alone.delivered(1, SeqNumber(2000), 1000, 0, true);
        let delivery = alone.take_delivery(at(5));
        assert!(alone.rate(&delivery, at(5), Some(Duration::from_nanos(9))).is_none());
    }

    #[test]
    fn what_is_under_way_is_copied_once() {
        let mut log = log(1..=5);
        log.resolve(2);
        assert!(!log.has_copies());
        assert_eq!(log.uncopied(), 4000);
        log.begin_copies();
        log.sent(SeqNumber(9000), 700, 6, Instant::from_nanos(6), 0);
        assert!(log.has_copies());
        let copied: Vec<u64> = core::iter::from_fn(|| log.take_copy().map(|sent| sent.order)).collect();
        assert_eq!(copied, [1, 3, 4, 5], "the last was sent after that");
        assert!(!log.has_copies());
        assert_eq!(log.uncopied(), 700);
        log.begin_copies();
        log.end_copies();
        assert!(!log.has_copies() && log.take_copy().is_none());
        assert_eq!(log.uncopied(), 0);
        let mut empty = TransmissionLog::default();
        empty.begin_copies();
        assert!(!empty.has_copies() && empty.take_copy().is_none());
    }

    #[test]
    fn others_that_wait_to_send_are_no_pause() {
        for wait in [false, true] {
            let mut log = TransmissionLog::default();
            log.set_others(&Others { wait, ..Others::default() });
            log.sent(SeqNumber(0), 1000, 1, Instant::from_nanos(1), 0);
            log.app_limited(1000);
            assert_eq!(log.is_app_limited(), !wait);
        }
    }

    /// A pause is no time of sending, unless others were sending in it.
    #[test]
    fn the_first_after_a_pause_begins_a_new_interval() {
        let at = Instant::from_nanos;
        let interval = |pipe, others| {
            let mut log = TransmissionLog::default();
            log.set_others(&Others { pipe: others, ..Others::default() });
            log.sent(SeqNumber(0), 1000, 1, at(1000), pipe);
            log.delivered(1, SeqNumber(1000), 1000, 0, false);
            let delivery = log.take_delivery(at(1500));
            log.rate(&delivery, at(1500), None).map(|sample| sample.interval.as_nanos())
        };
        assert_eq!(
            [interval(0, 0), interval(1000, 0), interval(0, 1000)],
            [Some(500), Some(1500), Some(1500)]
        );
    }

    #[test]
    fn only_what_was_sent_later_than_a_loss_was_due_counts_it() {
        let at = Instant::from_nanos;
        let mut log = log(1..=4);
        log.lost_behind(1, at(2), at(9), 600);
        let before = |order: u64| log.transmission(order).expect("it is known").before.counts;
        let grown = |order| before(order).has_grown_since(&Deliveries::default());
        assert_eq!([2, 3, 4].map(grown), [false, true, true]);
        assert_eq!(log.totals().corrupted, 600);
    }

    #[test]
    fn the_longest_that_arrived_is_asked_for_once() {
        let mut log = TransmissionLog::default();
        [300, 900, 500].into_iter().for_each(|payload| log.on_arrived(payload));
        assert_eq!([log.take_longest_arrived(), log.take_longest_arrived()], [900, 0]);
    }

    #[test]
    fn a_log_that_is_made_anew_has_what_is_under_way() {
        let at = Instant::from_nanos;
        let mut log = log(1..=4);
        log.set_load(Load::At);
        log.resolve(1);
        log.rebuild([(2, SeqNumber(2000), 1000, at(2)), (4, SeqNumber(4000), 500, at(4))].into_iter());
        assert_eq!(log.oldest().map(|sent| (sent.order, sent.len, sent.load)), Some((2, 1000, Load::Above)));
        assert_eq!(log.live_from(1).map(|(_, sent)| (sent.order, sent.volume())), Some((4, 0)));
        log.delivered(2, SeqNumber(3000), 1000, 0, false);
        let delivery = log.take_delivery(at(9));
        assert!(log.rate(&delivery, at(9), None).is_some_and(|sample| sample.app_limited));
    }
}
