//! The cause ledger: which losses were damage and which congestion (`docs/ledger.md`).
//!
//! It belongs to a path (a pair of addresses) and serves every connection on it. Evidence goes in:
//! special ACKs, the receiver's running count of damaged packets, readable or not (HACK v2), ECN
//! marks, round-trip times. For each segment that loss detection finds missing, and
//! that no special ACK named, it says what took it. `docs/ledger.md` derives the rules.

use headway_units::{Duration, Instant};

/// What took a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// It arrived damaged.
    Damage,
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

/// Of what was found missing or named within the window, no more is believed to be damage than this many
/// times what arrived intact, and a little that is believed in any case: bursts may be long. Seven of
/// eight packets damaged is more than any path does on which TCP is of use, and a receiver that lies has
/// no more than that.
const MOST_DAMAGED: u32 = 7;
const ALWAYS_BELIEVED: u32 = 64;

/// What happened in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Interval {
    /// Segments that arrived intact.
    intact: u32,
    /// Segments taken for damaged, named or not.
    forgiven: u32,
    /// Segments that special ACKs named.
    named: u32,
    /// Damaged packets that the receiver counted.
    counted: u32,
    /// Silent losses attributed to damage while the queue was short.
    silent_idle: u32,
    /// Segments named in that time.
    named_idle: u32,
    /// Silent losses attributed to damage while the queue was long.
    silent_busy: u32,
}

/// Counts since the path became known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attributed {
    /// Segments that special ACKs named as damaged.
    pub named: u64,
    /// Damaged packets that the peer counted, named ones among them.
    pub counted: u64,
    /// Losses without a name that were taken for damage.
    pub damage: u64,
    /// Losses that were taken for congestion.
    pub congestion: u64,
    /// Losses for which there was no evidence.
    pub unknown: u64,
    /// ECN marks echoed by the peer.
    pub marks: u64,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CauseLedger {
    intervals: [Interval; INTERVALS],
    current: usize,
    interval_end: Instant,
    /// The receiver's running count as last seen.
    count: Option<u16>,
    /// The path was unused: the receiver may have forgotten its count.
    resumed: bool,
    /// Counted packets that no missing segment has been matched with yet, and when the newest was
    /// counted.
    credits: u32,
    credited_at: Instant,
    total: Attributed,
}

/// What a round-trip sample says of the queue at the bottleneck.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    pub(crate) latest: Duration,
    pub(crate) min: Duration,
    pub(crate) smoothed: Duration,
}

impl Delay {
    /// Whether the queue was so short that it cannot have overflowed: a queue drops what arrives
    /// when it is full, and then those that did get in waited for all of it.
    fn queue_is_short(&self) -> bool {
        const MIN: Duration = Duration::from_millis(4);
        (self.latest - self.min) < (self.min / 8).max(MIN)
    }
}

impl CauseLedger {
    /// What was attributed to what.
    pub fn attributed(&self) -> Attributed {
        self.total
    }

    /// Whether there is evidence of damage within the window.
    pub(crate) fn sees_damage(&self) -> bool {
        self.sum(|interval| interval.named + interval.counted) > 0
    }

    fn sum(&self, of: impl Fn(&Interval) -> u32) -> u32 {
        self.intervals.iter().map(of).sum()
    }

    /// Moves the window to `now`.
    pub(crate) fn advance(&mut self, now: Instant, delay: Delay) {
        if now < self.interval_end {
            return;
        }
        let interval = delay.smoothed.max(MIN_INTERVAL);
        let missed = now.saturating_since(self.interval_end).as_nanos() / interval.as_nanos();
        for _ in 0..=missed.min(INTERVALS as u64) {
            self.current = (self.current + 1) % INTERVALS;
            self.intervals[self.current] = Interval::default();
        }
        self.interval_end = now + interval;
        // A count that nothing was missing for belongs to packets that carried no data of ours.
        if now.saturating_since(self.credited_at) > delay.smoothed {
            self.credits = 0;
        }
    }

    /// So many segments arrived intact.
    pub(crate) fn on_intact(&mut self, segments: u32) {
        self.interval().intact += segments;
    }

    /// Whether more was taken for damage than can be believed: what is missing now is congestion,
    /// whatever the peer says.
    pub(crate) fn is_exhausted(&self) -> bool {
        let believed = self.sum(|interval| interval.intact).saturating_mul(MOST_DAMAGED);
        self.sum(|interval| interval.forgiven) >= believed.saturating_add(ALWAYS_BELIEVED)
    }

    fn interval(&mut self) -> &mut Interval {
        &mut self.intervals[self.current]
    }

    /// A special ACK named a segment. With HACK v2 it has been counted too; where the special ACK is
    /// lost, the count remains.
    pub(crate) fn on_named(&mut self, delay: Option<Delay>) {
        self.total.named += 1;
        self.credits = self.credits.saturating_sub(1);
        let interval = self.interval();
        interval.named += 1;
        interval.forgiven += 1;
        interval.named_idle += u32::from(delay.is_some_and(|delay| delay.queue_is_short()));
    }

    /// The receiver's running count of damaged packets, modulo 2^16. The difference counts once
    /// for the path, whichever connection it came by.
    /// `sent` is what the connection has sent: the first count of a path that is new to both ends is
    /// no more, and begins at zero.
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
        self.interval().counted += u32::from(news);
        self.credits += u32::from(news);
        self.credited_at = now;
    }

    /// A connection begins on a path that was unused for a while.
    pub(crate) fn begin(&mut self) {
        self.resumed = true;
        self.credits = 0;
    }

    /// A router marked a packet.
    pub(crate) fn on_mark(&mut self) {
        self.total.marks += 1;
    }

    /// Counted packets that no loss has been matched with.
    pub(crate) fn credits(&self) -> u32 {
        self.credits
    }

    /// One of them is matched with a segment that is thought to be under way.
    pub(crate) fn take_credit(&mut self) {
        self.credits = self.credits.saturating_sub(1);
        self.total.damage += 1;
        self.interval().forgiven += 1;
    }

    /// No more credits than segments that can be missing.
    pub(crate) fn bound_credits(&mut self, segments: u32) {
        self.credits = self.credits.min(segments);
    }

    /// A segment is missing that no special ACK named: what took it?
    pub(crate) fn attribute(&mut self, delay: Option<Delay>) -> Cause {
        let cause = self.judge(delay);
        match cause {
            Cause::Damage => {
                self.total.damage += 1;
                self.interval().forgiven += 1;
            }
            Cause::Congestion => self.total.congestion += 1,
            Cause::Unknown => self.total.unknown += 1,
        }
        cause
    }

    fn judge(&mut self, delay: Option<Delay>) -> Cause {
        if self.is_exhausted() {
            return Cause::Congestion;
        }
        if self.credits > 0 {
            self.credits -= 1;
            return Cause::Damage;
        }
        if self.count.is_some() {
            // The receiver counts every damaged packet: what it did not count did not arrive.
            return if self.sees_damage() { Cause::Congestion } else { Cause::Unknown };
        }
        self.infer(delay)
    }

    /// Without counts: losses while the queue was short were no overflow, and tell how many
    /// damaged packets are silent for each that is named. While it was long, as many are taken for
    /// damage as that share says, and the rest for congestion.
    fn infer(&mut self, delay: Option<Delay>) -> Cause {
        if self.sum(|interval| interval.named) == 0 {
            return Cause::Unknown;
        }
        let Some(delay) = delay else { return Cause::Congestion };
        if delay.queue_is_short() {
            self.interval().silent_idle += 1;
            return Cause::Damage;
        }
        let (silent, named) =
            (self.sum(|interval| interval.silent_idle), self.sum(|interval| interval.named_idle));
        let (taken, named_busy) = (
            self.sum(|interval| interval.silent_busy),
            self.sum(|interval| interval.named - interval.named_idle),
        );
        let expected = u64::from(silent) * u64::from(named_busy + 1);
        if named > 0 && u64::from(taken + 1) * u64::from(named) <= expected {
            self.interval().silent_busy += 1;
            Cause::Damage
        } else {
            Cause::Congestion
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn delay(latest: u64) -> Delay {
        Delay { latest: ms(latest), min: ms(100), smoothed: ms(100) }
    }

    #[test]
    fn without_evidence_it_is_inert() {
        let mut ledger = CauseLedger::default();
        assert_eq!(ledger.attribute(Some(delay(100))), Cause::Unknown);
        assert_eq!(ledger.attribute(None), Cause::Unknown);
        ledger.on_count(Instant::ZERO, 7, 3);
        assert_eq!(
            ledger.attribute(Some(delay(100))),
            Cause::Unknown,
            "the first count is a mark to count from"
        );
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
        ledger.on_count(Instant::ZERO, 2, 10);
        ledger.on_count(Instant::ZERO, 4, 10);
        assert_eq!(ledger.attributed().counted, 507, "it forgot");
        ledger.begin();
        ledger.on_count(Instant::ZERO, 60_000, 10);
        assert_eq!(ledger.attributed().counted, 507, "a mark to count from");
    }

    #[test]
    fn counts_explain_as_many_losses_as_they_say() {
        let mut ledger = CauseLedger::default();
        ledger.on_count(Instant::ZERO, u16::MAX, 3);
        ledger.on_count(Instant::ZERO, 1, 3);
        ledger.on_count(Instant::ZERO, 0, 3);
        assert_eq!(ledger.attributed().counted, 2, "across the wrap, and an old count says nothing");
        let causes = [(); 3].map(|()| ledger.attribute(Some(delay(200))));
        assert_eq!(causes, [Cause::Damage, Cause::Damage, Cause::Congestion]);
    }

    #[test]
    fn credits_that_nothing_is_missing_for_expire() {
        let mut ledger = CauseLedger::default();
        ledger.advance(Instant::ZERO, delay(100));
        ledger.on_count(Instant::ZERO, 0, 3);
        ledger.on_count(Instant::ZERO, 5, 9);
        ledger.advance(Instant::ZERO + ms(201), delay(100));
        assert_eq!(ledger.attribute(Some(delay(100))), Cause::Congestion);
        ledger.advance(Instant::ZERO + ms(2000), delay(100));
        assert_eq!(ledger.attribute(Some(delay(100))), Cause::Unknown, "the window has passed");
    }

    #[test]
    fn no_more_than_seven_of_eight_are_believed_to_be_damaged() {
        let mut ledger = CauseLedger::default();
        ledger.advance(Instant::ZERO, delay(100));
        ledger.on_count(Instant::ZERO, 0, 3);
        ledger.on_count(Instant::ZERO, 1000, 2000);
        ledger.on_intact(10);
        ledger.on_named(None);
        let damaged = (0..1000).take_while(|_| ledger.attribute(None) == Cause::Damage).count();
        assert_eq!(damaged, 7 * 10 + 64 - 1);
        ledger.on_intact(1);
        assert_eq!(ledger.attribute(None), Cause::Damage, "something arrived");
    }

    #[test]
    fn classic_notices_explain_losses_while_the_queue_is_short() {
        let mut ledger = CauseLedger::default();
        ledger.on_named(Some(delay(100)));
        for _ in 0..4 {
            assert_eq!(ledger.attribute(Some(delay(105))), Cause::Damage);
        }
        // Four silent losses for each name: while the queue is long, one name covers no more.
        ledger.on_named(Some(delay(180)));
        let causes = [(); 10].map(|()| ledger.attribute(Some(delay(180))));
        assert_eq!(causes.iter().filter(|&&cause| cause == Cause::Damage).count(), 8);
        assert_eq!(causes[9], Cause::Congestion);
    }
}
