//! The cause ledger: which losses were damage and which congestion (`docs/ledger.md`).
//!
//! It belongs to a path (a pair of addresses) and serves every connection on it. Evidence goes in:
//! special ACKs, the receiver's running count of damaged packets, readable or not (HACK v2), ECN
//! marks, round-trip times. For each segment that loss detection finds missing, and
//! that no special ACK reported, it determines the cause. `docs/ledger.md` derives the rules.

use alloc::boxed::Box;

use headway_units::{Duration, Instant};

use super::delay::Delay;
use super::evidence::Evidence;
use super::queue::Queue;
use super::silent::{SilentCause, SilentLosses};
use crate::congestion::Load;
use crate::rules::{Rule, RulesOff};

/// Why a segment did not arrive intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It arrived damaged.
    Damage,
    /// It did not arrive. The path damages packets, and nothing speaks for congestion; whether it passed the
    /// bottleneck is not known.
    Silent,
    /// The queue is long, and may have overflowed: to be answered like congestion. But the path loses as many, so it counts as one
    /// that passed the bottleneck.
    Either,
    /// A queue overflowed.
    Congestion,
    /// There is no evidence of damage on the path: to be answered like congestion.
    Unknown,
}

/// The window of the ledger is this many round trips long: as many intervals, each of which is
/// forgotten as a whole.
const INTERVALS: usize = 8;
/// No interval is shorter.
const MIN_INTERVAL: Duration = Duration::from_millis(20);

/// Of the bytes that are found missing or reported, no more are believed to be damaged than this many times those that are
/// acknowledged, and 64 segments at the beginning: bursts may be long. Seven of eight bytes damaged is more than any
/// path does on which TCP is of use, and a receiver that lies has no more than that.
const MOST_DAMAGED: u32 = 7;
const FIRST_BELIEVED: i64 = 64 * SEGMENT as i64;
/// Bytes of a full-sized segment, where its length matters little.
const SEGMENT: u32 = 1460;

/// Credits outlast a round trip by this: a lone segment is found missing when a timer expires, and that of
/// RFC 6298 takes 200 ms at least.
const CREDIT_OUTLASTS: Duration = Duration::from_millis(200);

/// What happened in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Interval {
    /// Bytes that were acknowledged.
    intact: u32,
    /// Bytes taken for damaged, reported or not.
    believed: u32,
    /// Segments that special ACKs reported.
    reported: u32,
    /// Lost segments that the receiver's count of damaged packets explained.
    counted: u32,
}

/// Counts since the path became known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attributed {
    /// Segments that special ACKs reported.
    pub reported: u64,
    /// Damaged packets that the peer counted, reported ones among them.
    pub counted: u64,
    /// Losses that were not reported and were taken for damage.
    pub damage: u64,
    /// Of those, losses that the peer's count explained; the others were inferred.
    pub explained: u64,
    /// Losses that were taken for congestion.
    pub congestion: u64,
    /// Losses for which there was no evidence.
    pub unknown: u64,
    /// ECN marks echoed by the peer.
    pub marks: u64,
}

/// A transmission that loss detection found missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing {
    /// Its number in the order of sending.
    pub(crate) order: u64,
    /// The load under which it was sent.
    pub(crate) load: Load,
    /// Segments in flight when it was sent.
    pub(crate) volume: u32,
    pub(crate) bytes: u32,
    /// For how long it has been overdue.
    pub(crate) late: Duration,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CauseLedger {
    intervals: [Interval; INTERVALS],
    /// The number of the current one.
    current: u64,
    interval_end: Instant,
    /// The receiver's running count as last seen.
    count: Option<u16>,
    /// The path was unused: the receiver may have forgotten its count.
    resumed: bool,
    /// Counted packets that no missing segment has been matched with yet, and when the newest was
    /// counted.
    credits: u32,
    credited_at: Instant,
    /// How many more segments than [`FIRST_BELIEVED`] may be taken for damaged: [`MOST_DAMAGED`] for each that
    /// arrives intact, as many as arrived within the window at most, less those that were taken for damaged. A peer
    /// that acknowledges little and slowly is believed no more than that, however long it takes.
    balance: i64,
    /// Segments that have arrived intact since an interruption of the path was believed.
    since_interruption: u32,
    /// What is lost whatever the rate.
    silent: SilentLosses,
    /// What round-trip times say of the queue; `None` before the first.
    queue: Option<Box<Queue>>,
    /// The latest round-trip times of the connection that was last heard of.
    delay: Option<Delay>,
    /// The time of the last call that brought it.
    now: Instant,
    /// What shows that the path damages packets.
    evidence: Evidence,
    /// The path is the sender's own: what it loses at any rate is damage, also where none is seen.
    own: bool,
    rules_off: RulesOff,
    total: Attributed,
}

impl CauseLedger {
    /// What was attributed to what.
    pub fn attributed(&self) -> Attributed {
        self.total
    }

    /// The smoothed round-trip time, of the connection whose ACK came last.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.delay.map(|delay| delay.smoothed)
    }

    /// The minimum round-trip time, of the connection whose ACK came last.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.delay.map(|delay| delay.min)
    }

    /// Whether there is evidence of damage within the window.
    pub(crate) fn sees_damage(&self) -> bool {
        self.sum(|interval| interval.reported + interval.counted) > 0
    }

    fn sum(&self, of: impl Fn(&Interval) -> u32) -> u32 {
        self.intervals.iter().map(of).sum()
    }

    /// Moves the window to `now`.
    pub(crate) fn advance(&mut self, now: Instant, delay: Delay) {
        self.now = now;
        self.delay = Some(delay);
        if now < self.interval_end {
            return;
        }
        let interval = delay.smoothed.max(MIN_INTERVAL);
        let missed = now.saturating_since(self.interval_end).as_nanos() / interval.as_nanos();
        for _ in 0..=missed.min(INTERVALS as u64) {
            self.current += 1;
            *self.interval() = Interval::default();
        }
        self.interval_end = now + interval;
        self.balance = self.balance.min(self.earned());
        // A count that nothing was missing for belongs to packets that carried no data of ours.
        if self.credits_expired(delay) {
            self.credits = 0;
        }
    }

    /// A round-trip time was sampled, of a `full`-sized segment or of a smaller one. A packet is transmitted in the time `packet`, as
    /// far as the sender knows.
    pub(crate) fn on_rtt(&mut self, now: Instant, rtt: Duration, packet: Duration, full: bool) {
        if self.queue.get_or_insert_default().on_rtt(now, rtt, packet, full) {
            self.evidence.halve();
        }
    }

    /// `bytes` were acknowledged.
    pub(crate) fn on_intact(&mut self, bytes: u32) {
        let interval = self.interval();
        interval.intact = interval.intact.saturating_add(bytes);
        self.since_interruption = self.since_interruption.saturating_add(bytes);
        self.balance = (self.balance + i64::from(MOST_DAMAGED) * i64::from(bytes)).min(self.earned());
    }

    /// The numbers of segments that reached the receiver, intact or not, by the load under which they were sent, and how many
    /// segments were in flight then.
    pub(crate) fn on_survived(&mut self, survived: [u32; 3], volume: u32) {
        let Some(queue) = &mut self.queue else { return };
        let [below, at, _] = survived;
        queue.on_survived(below, at, volume);
        if tests_the_path(queue, &self.evidence, volume) && self.rules_off.hold(Rule::Experiment) {
            self.evidence.on_survived(volume, survived.iter().sum());
        }
        let short = queue.is_short() || !self.rules_off.hold(Rule::ShortQueue);
        self.silent.set_varies(queue.varies() || !self.rules_off.hold(Rule::ShortQueue));
        if self.silent.assumes() {
            self.silent.assume(self.evidence.below_half());
        }
        self.silent.on_survived(survived, short, self.now);
    }

    /// Whether the path is known to damage packets, so that silent losses may be damage.
    pub(crate) fn damages(&self) -> bool {
        self.own || self.evidence.counts(self.now)
    }

    /// Whether losses at an empty queue may be damage, which sending less would show.
    pub(crate) fn asks_for_less(&self) -> bool {
        self.evidence.asks()
            && !self.damages()
            && self.queue.as_deref().is_some_and(Queue::was_empty)
            && self.rules_off.hold(Rule::Deliberate)
    }

    /// Whether packets wait in a queue that the sender does not keep: others use the path, or its delay varies.
    pub fn sees_others(&self) -> bool {
        self.queue.as_deref().is_some_and(Queue::is_of_others)
    }

    /// Whether no one else seems to use the path.
    pub(crate) fn is_alone(&self) -> bool {
        (self.own || self.queue.as_deref().is_some_and(Queue::is_ours_alone))
            && self.rules_off.hold(Rule::Tolerance)
    }

    /// Says whether the path is the sender's own.
    pub(crate) fn set_own(&mut self, own: bool) {
        self.own |= own;
    }

    /// Says which rules do not hold.
    pub(crate) fn set_rules(&mut self, rules_off: RulesOff) {
        self.rules_off = rules_off;
        self.silent.set_rules(rules_off);
    }

    /// Whether more was taken for damage than can be believed: what is missing now is congestion,
    /// whatever the peer says.
    pub(crate) fn is_exhausted(&self) -> bool {
        let believed = i64::from(self.sum(|interval| interval.believed));
        believed >= self.earned() + FIRST_BELIEVED || self.balance <= -FIRST_BELIEVED
    }

    /// The path seems to have been interrupted, and `bytes` with it. It is believed if of as many
    /// at least one in [`MOST_DAMAGED`] has been acknowledged since the last time.
    pub(crate) fn believes_interruption(&mut self, bytes: u32) -> bool {
        let believed = bytes <= self.since_interruption.saturating_mul(MOST_DAMAGED);
        if believed {
            self.since_interruption = 0;
        }
        believed
    }

    /// What may be taken for damaged for what arrived intact within the window.
    fn earned(&self) -> i64 {
        i64::from(MOST_DAMAGED) * i64::from(self.sum(|interval| interval.intact))
    }

    /// A transmission of `bytes` is taken for damaged.
    fn take_for_damaged(&mut self, bytes: u32) {
        let interval = self.interval();
        interval.believed = interval.believed.saturating_add(bytes);
        self.balance -= i64::from(bytes);
    }

    fn interval(&mut self) -> &mut Interval {
        &mut self.intervals[place_of(self.current)]
    }

    /// A special ACK reported a transmission of `bytes`. With HACK v2 it has been counted too; where the special ACK is
    /// lost, the count remains.
    pub(crate) fn on_reported(&mut self, bytes: u32) {
        self.total.reported += 1;
        self.evidence.add(self.now);
        self.credits = self.credits.saturating_sub(1);
        self.interval().reported += 1;
        self.take_for_damaged(bytes);
    }

    /// The receiver's running count of damaged packets, modulo 2^16. The difference counts once
    /// for the path, whichever connection it came by.
    /// `sent` is what all connections have sent since the path was last unused: the first count of a path that is new to
    /// both ends is no more, and begins at zero.
    pub(crate) fn on_count(&mut self, now: Instant, count: u16, sent: u16) {
        let first = if count <= sent { 0 } else { count };
        let before = match self.count {
            // No more can have been damaged than was sent: the receiver has begun anew.
            Some(known) if core::mem::take(&mut self.resumed) && count.wrapping_sub(known) > sent => first,
            Some(known) => known,
            None => first,
        };
        self.count = Some(count);
        let news = count.wrapping_sub(before);
        // An ACK that was overtaken brings an older count.
        if news == 0 || news > u16::MAX / 2 {
            self.count = Some(before);
            return;
        }
        self.total.counted += u64::from(news);
        self.credits += u32::from(news);
        self.credited_at = now;
    }

    /// A connection begins on a path that was unused for a while.
    pub(crate) fn begin(&mut self) {
        self.resumed = true;
        self.credits = 0;
        self.balance = self.balance.max(0);
    }

    /// A router marked a packet.
    pub(crate) fn on_mark(&mut self) {
        self.total.marks += 1;
    }

    /// The cause of the loss of a segment that no special ACK reported.
    ///
    /// `tolerated`: the share of losses, in percent,
    /// that the controller tolerates ([`CongestionControl::tolerates`](crate::congestion::CongestionControl::tolerates)).
    pub(crate) fn attribute(&mut self, missing: Missing, tolerated: u32) -> Cause {
        let cause = self.judge(missing, tolerated);
        match cause {
            Cause::Damage | Cause::Silent => {
                self.total.damage += 1;
                self.take_for_damaged(missing.bytes);
            }
            Cause::Either => {
                self.total.congestion += 1;
                self.take_for_damaged(missing.bytes);
            }
            Cause::Congestion => self.total.congestion += 1,
            Cause::Unknown => self.total.unknown += 1,
        }
        cause
    }

    fn judge(&mut self, missing: Missing, tolerated: u32) -> Cause {
        if self.is_exhausted() {
            return Cause::Congestion;
        }
        if self.credits > 0 && self.rules_off.hold(Rule::Credits) {
            self.credits -= 1;
            // Now the count is evidence: something is missing that it explains.
            self.interval().counted += 1;
            self.total.explained += 1;
            self.evidence.add(self.now);
            return Cause::Damage;
        }
        let queue = self.queue.as_deref();
        let is_tested = queue.is_some_and(|queue| tests_the_path(queue, &self.evidence, missing.volume))
            && self.rules_off.hold(Rule::Experiment);
        if self.silent.depend(self.now) {
            self.evidence.refute();
        } else if is_tested {
            self.evidence.on_lost(missing.volume, self.silent.begins_run(missing.order));
        }
        let short = queue.is_some_and(Queue::is_short) || !self.rules_off.hold(Rule::ShortQueue);
        let waits = queue.is_some_and(Queue::waits);
        // Beside others a controller that tolerates what the path loses answers it as it would without a ledger, and so
        // takes no more than its share.
        let beside_others = !self.own && self.sees_others();
        let tolerated = if beside_others && self.rules_off.hold(Rule::Others) { tolerated } else { 0 };
        let verdict = self.silent.on_lost(missing, short, waits, tolerated, self.now);
        if verdict == SilentCause::Overflow
            && let Some(queue) = &mut self.queue
        {
            queue.forget_longest();
        }
        match verdict {
            _ if !self.damages() => Cause::Unknown,
            SilentCause::Damage => Cause::Damage,
            SilentCause::Unlearnt => Cause::Silent,
            SilentCause::Either if !beside_others => Cause::Either,
            SilentCause::Either | SilentCause::Excess | SilentCause::Overflow | SilentCause::Tolerated => {
                Cause::Congestion
            }
        }
    }

    fn credits_expired(&self, delay: Delay) -> bool {
        self.now.saturating_since(self.credited_at) > delay.smoothed + CREDIT_OUTLASTS
    }
}

/// Whether the fate of what was sent with `volume` segments in flight says something of the path alone: no packet waits, or none did
/// a while ago, and the path has carried more without a queue.
fn tests_the_path(queue: &Queue, evidence: &Evidence, volume: u32) -> bool {
    queue.is_empty() || queue.was_empty() && evidence.has_carried_more(volume)
}

/// The place of an interval, by its number.
fn place_of(interval: u64) -> usize {
    (interval % INTERVALS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at_rate(order: u64) -> Missing {
        Missing { order, load: Load::At, volume: 10, bytes: SEGMENT, late: Duration::ZERO }
    }

    /// The cause given to the next loss of a sender that sends what the path carries.
    fn attribute(ledger: &mut CauseLedger) -> Cause {
        ledger.attribute(at_rate(0), 0)
    }

    /// The same after a round-trip time of `rtt` ms.
    fn attribute_at(ledger: &mut CauseLedger, rtt: u64) -> Cause {
        sample(ledger, rtt);
        attribute(ledger)
    }

    /// As many round-trip times as show a queue.
    fn sample(ledger: &mut CauseLedger, rtt: u64) {
        for _ in 0..8 {
            ledger.on_rtt(ledger.now, ms(rtt), Duration::ZERO, true);
        }
    }

    fn survive(ledger: &mut CauseLedger, survived: [u32; 3], rtt: u64) {
        sample(ledger, rtt);
        ledger.on_survived(survived, 10);
    }

    fn delay(latest: u64) -> Delay {
        Delay { latest: ms(latest), min: ms(100), smoothed: ms(100) }
    }

    #[test]
    fn without_evidence_it_is_inert() {
        let mut ledger = CauseLedger::default();
        assert_eq!(attribute_at(&mut ledger, 100), Cause::Unknown);
        assert_eq!(attribute(&mut ledger), Cause::Unknown);
        ledger.on_count(Instant::ZERO, 7, 3);
        assert_eq!(attribute_at(&mut ledger, 100), Cause::Unknown, "the first count is a mark to count from");
    }

    #[test]
    fn losses_at_half_of_what_the_path_carries_are_evidence_and_end_with_them() {
        let mut ledger = CauseLedger::default();
        let send = |ledger: &mut CauseLedger, volume, segments: u64, nth| {
            let mut causes = alloc::vec::Vec::new();
            for order in 1..=segments {
                let now = Instant::ZERO + ms(order);
                ledger.on_rtt(now, ms(100), Duration::ZERO, true);
                ledger.advance(now, delay(100));
                ledger.on_intact(SEGMENT);
                if order % nth == 0 {
                    let missing = Missing { volume, ..at_rate(order) };
                    causes.push(ledger.attribute(missing, 0));
                } else {
                    ledger.on_survived([0, 1, 0], volume);
                }
            }
            causes
        };
        assert!(send(&mut ledger, 10, 100, 10).iter().all(|cause| *cause == Cause::Unknown));
        assert!(!ledger.damages());
        send(&mut ledger, 40, 20, 30);
        assert!(ledger.damages(), "it carried four times as much");
        let causes = send(&mut ledger, 40, 100, 10);
        assert!(causes.iter().all(|cause| matches!(cause, Cause::Damage | Cause::Silent)));
        send(&mut ledger, 40, 3000, u64::MAX);
        assert!(!ledger.damages());
    }

    #[test]
    fn losses_that_depend_on_the_rate_refute_the_experiment() {
        let mut ledger = CauseLedger::default();
        sample(&mut ledger, 100);
        for order in 0..100 {
            ledger.on_intact(19 * SEGMENT);
            ledger.attribute(at_rate(20 * order), 0);
            ledger.on_survived([0, 19, 0], 10);
        }
        ledger.on_survived([0, 8, 0], 40);
        assert!(ledger.damages());
        ledger.on_survived([1000, 0, 0], 10);
        let causes = [2020, 2040].map(|order| ledger.attribute(at_rate(order), 0));
        assert_eq!(causes, [Cause::Congestion, Cause::Unknown], "nothing is lost below the rate");
    }

    #[test]
    fn a_receiver_that_forgot_counts_from_zero() {
        let mut ledger = CauseLedger::default();
        ledger.on_count(Instant::ZERO, 0, 1);
        ledger.on_count(Instant::ZERO, 500, 2000);
        ledger.begin();
        ledger.on_count(Instant::ZERO, 503, 10);
        assert_eq!(ledger.attributed().counted, 503, "it remembers");
        ledger.begin();
        ledger.on_count(Instant::ZERO, 513, 10);
        assert_eq!(ledger.attributed().counted, 513, "all that was sent was damaged");
        ledger.begin();
        ledger.on_count(Instant::ZERO, 2, 10);
        ledger.on_count(Instant::ZERO, 4, 10);
        assert_eq!(ledger.attributed().counted, 517, "it forgot");
        ledger.begin();
        ledger.on_count(Instant::ZERO, 60_000, 10);
        assert_eq!(ledger.attributed().counted, 517, "a mark to count from");
    }

    #[test]
    fn counts_explain_as_many_losses_as_they_say() {
        let mut ledger = CauseLedger::default();
        ledger.on_count(Instant::ZERO, u16::MAX, 3);
        ledger.on_count(Instant::ZERO, 1, 3);
        ledger.on_count(Instant::ZERO, 0, 3);
        assert_eq!(ledger.attributed().counted, 2, "across the wrap, and an old count says nothing");
        let causes = [(); 3].map(|()| attribute_at(&mut ledger, 200));
        assert_eq!(causes, [Cause::Damage, Cause::Damage, Cause::Congestion]);
    }

    #[test]
    fn credits_that_nothing_is_missing_for_expire() {
        let mut ledger = CauseLedger::default();
        ledger.advance(Instant::ZERO, delay(100));
        ledger.on_count(Instant::ZERO, 0, 3);
        ledger.on_count(Instant::ZERO, 5, 9);
        assert_eq!(attribute_at(&mut ledger, 200), Cause::Damage, "one is missing");
        ledger.advance(Instant::ZERO + ms(301), delay(200));
        assert_eq!(attribute_at(&mut ledger, 200), Cause::Congestion);
        ledger.advance(Instant::ZERO + ms(31_000), delay(100));
        assert_eq!(attribute_at(&mut ledger, 100), Cause::Unknown, "the window has passed");
    }

    #[test]
    fn no_more_than_seven_of_eight_are_believed_to_be_damaged() {
        let mut ledger = CauseLedger::default();
        ledger.advance(Instant::ZERO, delay(100));
        ledger.on_count(Instant::ZERO, 0, 3);
        ledger.on_count(Instant::ZERO, 1000, 2000);
        ledger.on_intact(10 * SEGMENT);
        ledger.on_reported(SEGMENT);
        let damaged = (0..1000).take_while(|_| attribute(&mut ledger) == Cause::Damage).count();
        assert_eq!(damaged, 7 * 10 + 64 - 1);
        ledger.on_intact(SEGMENT);
        assert_eq!(attribute(&mut ledger), Cause::Damage, "something arrived");
    }

    /// One segment arrives in a window of the ledger, and the peer counts without end.
    #[test]
    fn a_slow_peer_is_believed_no_more_than_a_prompt_one() {
        let mut ledger = CauseLedger::default();
        ledger.on_count(Instant::ZERO, 0, 3);
        let mut damaged = 0;
        for seconds in 0..100 {
            let now = Instant::ZERO + Duration::from_secs(seconds);
            ledger.advance(now, delay(100));
            ledger.on_count(now, 1000_u16.wrapping_mul(seconds as u16 + 1), 60_000);
            ledger.on_intact(SEGMENT);
            damaged += (0..1000).filter(|_| attribute(&mut ledger) != Cause::Congestion).count();
        }
        assert!((700..=700 + 64).contains(&damaged), "{damaged}");
    }

    #[test]
    fn a_count_is_evidence_only_where_something_is_missing() {
        let mut ledger = CauseLedger::default();
        ledger.advance(Instant::ZERO, delay(100));
        ledger.on_count(Instant::ZERO, 0, 3);
        ledger.on_count(Instant::ZERO, 5, 9);
        assert!(!ledger.damages() && !ledger.sees_damage());
        assert_eq!(attribute_at(&mut ledger, 100), Cause::Damage);
        assert!(ledger.damages() && ledger.sees_damage());
    }

    #[test]
    fn beside_others_a_tolerant_controller_answers_what_the_path_loses() {
        for (own, tolerated, beside_others) in
            [(false, 2, Cause::Congestion), (false, 0, Cause::Damage), (true, 2, Cause::Damage)]
        {
            let mut ledger = CauseLedger::default();
            ledger.set_own(own);
            ledger.on_reported(SEGMENT);
            let mut order = 0;
            let mut lose = |ledger: &mut CauseLedger| {
                order += 100;
                ledger.on_intact(99 * SEGMENT);
                survive(ledger, [0, 99, 0], 100);
                ledger.attribute(at_rate(order), tolerated)
            };
            ledger.advance(Instant::ZERO, delay(100));
            for _ in 0..20 {
                lose(&mut ledger);
            }
            assert_eq!(lose(&mut ledger), Cause::Damage, "alone");
            survive(&mut ledger, [1, 400, 0], 110);
            assert_eq!(lose(&mut ledger), beside_others, "own {own}, tolerated {tolerated} %");
        }
    }

    #[test]
    fn at_a_long_queue_it_may_be_either_unless_others_keep_the_queue() {
        for (own, beside_others) in [(false, Cause::Congestion), (true, Cause::Either)] {
            let mut ledger = CauseLedger::default();
            ledger.set_own(own);
            ledger.on_reported(SEGMENT);
            ledger.advance(Instant::ZERO, delay(100));
            for order in 1..=20 {
                ledger.on_intact(99 * SEGMENT);
                survive(&mut ledger, [0, 9, 0], 100);
                ledger.attribute(at_rate(10 * order), 0);
            }
            survive(&mut ledger, [0, 0, 20], 150);
            let causes = [0; 3].map(|_| attribute(&mut ledger));
            assert_eq!(causes, [Cause::Either, Cause::Either, Cause::Congestion], "a tenth of 20");
            survive(&mut ledger, [1, 400, 0], 110);
            survive(&mut ledger, [0, 0, 40], 150);
            assert_eq!(attribute(&mut ledger), beside_others, "own {own}");
        }
    }

    #[test]
    fn what_may_be_either_is_bounded_like_damage() {
        let mut ledger = CauseLedger::default();
        ledger.set_own(true);
        ledger.advance(Instant::ZERO, delay(100));
        for order in 1..=20 {
            survive(&mut ledger, [0, 9, 0], 100);
            assert_ne!(ledger.attribute(at_rate(10 * order), 0), Cause::Congestion);
        }
        let mut either = 0;
        for _ in 0..200 {
            survive(&mut ledger, [0, 0, 20], 150);
            either += u32::from(attribute(&mut ledger) == Cause::Either);
        }
        assert_eq!(either, 64 - 20, "64 segments in all, since none was acknowledged");
    }

    /// A wait of 200 ms was no queue's.
    #[test]
    fn a_queue_that_overflows_is_no_longer_short() {
        for (rules, runs_at_short) in [("none", 10..90), ("rate-test", 99..100)] {
            let mut ledger = CauseLedger::default();
            ledger.set_rules(rules.parse().expect("rules"));
            ledger.advance(Instant::ZERO, delay(100));
            attribute_at(&mut ledger, 100);
            for rtt in [100, 300] {
                survive(&mut ledger, [0, 1000, 0], rtt);
            }
            let is_short = |ledger: &CauseLedger| ledger.queue.as_deref().is_some_and(Queue::is_short);
            let runs = (1..100).take_while(|run| {
                survive(&mut ledger, [0, 0, 1], 150);
                let is_short = is_short(&ledger);
                ledger.attribute(Missing { load: Load::Above, ..at_rate(2 * run) }, 0);
                is_short
            });
            let runs = runs.count();
            assert!(runs_at_short.contains(&runs), "without {rules}: {runs}");
            assert!(!ledger.silent.depend(ledger.now), "nothing is lost without a queue");
            survive(&mut ledger, [0, 0, 1], 125);
            assert!(is_short(&ledger));
        }
    }

    /// Losses with 10 segments in flight, and arrivals with 40, at these round-trip times.
    #[test]
    fn only_what_meets_an_empty_queue_is_an_experiment() {
        let damages = |lost, arrived| {
            let mut ledger = CauseLedger::default();
            sample(&mut ledger, 100);
            sample(&mut ledger, lost);
            for run in 1..=20 {
                ledger.attribute(at_rate(2 * run), 0);
            }
            sample(&mut ledger, arrived);
            ledger.on_survived([0, 20, 0], 40);
            ledger.damages()
        };
        assert!(damages(100, 100));
        assert!(!damages(200, 100), "the queue may have dropped them");
        assert!(!damages(100, 200), "the queue held them");
    }

    /// Where delay varies, all of the last packets may have waited.
    #[test]
    fn at_a_queue_that_was_empty_before_less_than_the_path_has_carried_tests_it() {
        let damages = |arrived, lost, rtt| {
            let mut ledger = CauseLedger::default();
            sample(&mut ledger, 100);
            ledger.attribute(at_rate(1), 0);
            ledger.on_survived([0, 20, 0], 40);
            sample(&mut ledger, 120);
            ledger.on_survived([0, 20, 0], arrived);
            sample(&mut ledger, rtt);
            for run in 1..=20 {
                ledger.attribute(Missing { volume: lost, ..at_rate(3 * run) }, 0);
            }
            ledger.damages()
        };
        assert!(damages(40, 10, 120));
        assert!(damages(40, 10, 100) && !damages(40, 36, 100));
        assert!(!damages(80, 36, 100), "the queue may have held the 80");
    }

    #[test]
    fn the_operator_or_the_queue_says_that_no_one_else_uses_the_path() {
        let alone = |own, wait: u64, rules: &str| {
            let mut ledger = CauseLedger::default();
            ledger.set_own(own);
            ledger.set_rules(rules.parse().expect("rules"));
            sample(&mut ledger, 100);
            sample(&mut ledger, 100 + wait);
            sample(&mut ledger, 100);
            ledger.is_alone()
        };
        assert!(alone(true, 0, "none") && alone(false, 10, "none") && !alone(false, 0, "none"));
        assert!(!alone(true, 10, "tolerance"));
    }

    /// 2 % are lost with 30 segments in flight, of 40 that the path has carried.
    #[test]
    fn losses_at_an_empty_queue_ask_for_less_until_damage_is_known() {
        let lost = |rtt| {
            let mut ledger = CauseLedger::default();
            sample(&mut ledger, 100);
            ledger.attribute(at_rate(1), 0);
            survive(&mut ledger, [0, 20, 0], rtt);
            ledger.on_survived([0, 20, 0], 40);
            for run in 1..=8 {
                ledger.on_survived([0, 49, 0], 30);
                ledger.attribute(Missing { volume: 30, ..at_rate(3 * run) }, 0);
            }
            ledger
        };
        assert!(!lost(200).asks_for_less(), "the queue may have dropped them");
        let asks = |change: fn(&mut CauseLedger)| {
            let mut ledger = lost(100);
            change(&mut ledger);
            ledger.asks_for_less()
        };
        assert!(asks(|_| ()));
        assert!(asks(|ledger| sample(ledger, 200)), "delay may vary");
        assert!(!asks(|ledger| (0..4).for_each(|_| sample(ledger, 200))), "now others keep a queue");
        assert!(!asks(|ledger| ledger.on_reported(SEGMENT)));
        assert!(!asks(|ledger| ledger.set_own(true)));
        assert!(!asks(|ledger| ledger.set_rules(RulesOff::NONE.with(Rule::Deliberate))));
    }

    #[test]
    fn what_happened_is_forgotten_when_the_window_has_passed_in_silence() {
        for (round_trips, sees) in [(INTERVALS as u64 - 1, true), (INTERVALS as u64, false)] {
            let mut ledger = CauseLedger::default();
            ledger.advance(Instant::ZERO, delay(100));
            ledger.on_reported(SEGMENT);
            ledger.advance(Instant::ZERO + ms(100 * round_trips), delay(100));
            assert_eq!(ledger.sees_damage(), sees, "{round_trips} round trips");
        }
    }

    #[test]
    fn a_count_is_newer_if_it_is_ahead_by_less_than_half_of_the_numbers() {
        for (count, counted) in [(0x7fff, 0x7fff), (0x8000, 0)] {
            let mut ledger = CauseLedger::default();
            ledger.on_count(Instant::ZERO, 0, 3);
            ledger.on_count(Instant::ZERO, count, u16::MAX);
            assert_eq!(ledger.attributed().counted, counted);
        }
    }
}
