//! Whether losses depend on the sender's rate: a sequential test of the ratio of two rates of losses.
//!
//! Damage takes the same share of what is sent at any rate. A policer, or a queue so shallow that its wait cannot
//! be seen, takes more of what is sent above the path's rate, and less of what is sent below it. So the share of runs of losses
//! is compared with that at the rate: the hypothesis is 3/2 of it above the rate, and 1/2 of it
//! below; the alternative is the same share. The share itself need not be known: of all runs, as many
//! belong to one of two loads as follows from how much arrived of each
//! (the conditional test of two Poisson rates: Przyborowski and Wilenski, 1940). A comparison decides at 14 bits of evidence, either
//! way, and starts anew.
//!
//! That losses depend on the rate holds for 30 s from the last decision that they do, unless one that they do not ends it: a sender that
//! answers losses sends less, so what is still lost is lost at any rate.
//!
//! If packets waited whenever one of the last 23 runs was found ([`UNDECIDED`]), it is the queue that overflows. It was taken for short
//! because of a longer wait that was no queue's. A policer drops without a wait.
//!
//! A run of losses begins behind a segment that arrived. So runs are counted by arrivals: of as many that are sent hardly more
//! begin where 62 % are lost than where 45 % are.

use headway_units::{Duration, Instant};

use crate::congestion::Load;

/// Evidence at which a comparison decides, 14 bits: looked at once, it errs at most once in 2^14 where losses are independent of each
/// other.
const DECISION: i64 = 14 * BIT;
/// For how long it holds that losses depend on the rate.
const HOLDS: Duration = Duration::from_secs(30);
/// When a comparison counts more segments, all its counts are halved: the path may change.
const MEMORY: u32 = 8192;
/// What arrives waits in this number of parts until its losses are found. (Of 4 the difference of a part and a third was enough for
/// false verdicts.)
const DELAYED: usize = 17;
/// Fixed point of evidence.
const BIT: i64 = 1 << 16;
/// log2(3/2).
const LOG2_3_2: i64 = 38_336;
/// The most runs of losses that cannot decide alone that losses depend on the rate.
const UNDECIDED: u32 = (DECISION / LOG2_3_2) as u32;

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RateTest {
    below: Comparison,
    above: Comparison,
    unsettled: Unsettled,
    /// That losses depend on the rate holds until then.
    holds_until: Instant,
    /// Runs of losses in a row that were found while packets waited.
    waited: u32,
}

impl RateTest {
    /// Whether losses depend on the rate.
    pub(super) fn depends(&self, now: Instant) -> bool {
        now < self.holds_until
    }

    /// Segments were not lost: their numbers, by the load under which they were sent.
    pub(super) fn on_survived(&mut self, segments: [u32; 3], now: Instant) {
        self.settle(now);
        self.unsettled.add(segments, now);
    }

    /// A run of losses began under `load`. It was found so `late` after what was sent with it arrived. `waits`: packets wait. Says
    /// whether the queue overflows, which then is not as short as it seems.
    pub(super) fn on_run(&mut self, load: Load, late: Duration, waits: bool, now: Instant) -> bool {
        self.unsettled.late = late.max(self.unsettled.late - self.unsettled.late / 8);
        self.settle(now);
        self.add(load, 0, 1);
        let above = self.above.decide(Comparison::for_more);
        let below = self.below.decide(Comparison::for_fewer);
        let depends = above == Some(true) || below == Some(true);
        self.waited = if waits { self.waited.saturating_add(1) } else { 0 };
        if !depends && !(self.depends(now) && (above.is_some() || below.is_some())) {
            return false;
        }
        (self.above, self.below) = <_>::default();
        let overflows = depends && self.waited >= UNDECIDED;
        if !overflows {
            self.holds_until = if depends { now + HOLDS } else { now };
        }
        overflows
    }

    fn settle(&mut self, now: Instant) {
        while let Some(segments) = self.unsettled.settle(now) {
            for (load, segments) in [Load::Below, Load::At, Load::Above].into_iter().zip(segments) {
                self.add(load, segments, 0);
            }
        }
    }

    fn add(&mut self, load: Load, arrived: u32, runs: u32) {
        match load {
            Load::Below => self.below.other.add(arrived, runs),
            Load::Above => self.above.other.add(arrived, runs),
            Load::At => {
                self.below.at.add(arrived, runs);
                self.above.at.add(arrived, runs);
            }
        }
        self.below.forget();
        self.above.forget();
    }
}

/// Segments that arrived of late. Losses are found later than what was sent with them arrives: if the two were not counted
/// together, each phase of the controller would seem to lose little at its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Unsettled {
    /// By load, the latest first.
    segments: [[u32; 3]; DELAYED],
    /// When the oldest are counted.
    next: Instant,
    /// How late losses are found.
    late: Duration,
}

impl Unsettled {
    fn add(&mut self, segments: [u32; 3], now: Instant) {
        if self.is_empty() {
            self.next = now + self.part();
        }
        for (sum, segments) in self.segments[0].iter_mut().zip(segments) {
            *sum += segments;
        }
    }

    /// The segments that are counted now, if it is time for any.
    fn settle(&mut self, now: Instant) -> Option<[u32; 3]> {
        if self.is_empty() || now < self.next {
            return None;
        }
        self.next += self.part();
        self.segments.rotate_right(1);
        Some(core::mem::take(&mut self.segments[0]))
    }

    fn is_empty(&self) -> bool {
        self.segments == [[0; 3]; DELAYED]
    }

    fn part(&self) -> Duration {
        self.late / (DELAYED as u32 - 1)
    }
}

/// Of what was sent under one load, the segments that arrived and the runs of losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    arrived: u32,
    runs: u32,
}

impl Count {
    fn add(&mut self, arrived: u32, runs: u32) {
        self.arrived = self.arrived.saturating_add(arrived);
        self.runs += runs;
    }

    /// The segments behind which a run may have begun: each of the runs has one, which may be counted later.
    fn occasions(self) -> u64 {
        self.arrived.max(self.runs).into()
    }

    fn halve(&mut self) {
        self.arrived /= 2;
        self.runs /= 2;
    }
}

/// The load at the rate beside another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Comparison {
    at: Count,
    other: Count,
}

impl Comparison {
    /// The evidence that 3/2 of the share at the rate is lost under the other load.
    fn for_more(&self) -> i64 {
        let (at, other) = (self.at.occasions(), self.other.occasions());
        i64::from(self.other.runs) * LOG2_3_2 - self.runs() * log2(2 * at + 3 * other, 2 * (at + other))
    }

    /// The evidence that half of the share at the rate is lost under the other load.
    fn for_fewer(&self) -> i64 {
        let (at, other) = (self.at.occasions(), self.other.occasions());
        self.runs() * log2(2 * (at + other), 2 * at + other) - i64::from(self.other.runs) * BIT
    }

    fn runs(&self) -> i64 {
        i64::from(self.at.runs) + i64::from(self.other.runs)
    }

    /// Whether losses depend on the rate, if it is decided. Then the comparison starts anew.
    fn decide(&mut self, evidence: fn(&Self) -> i64) -> Option<bool> {
        let evidence = evidence(self);
        if evidence.abs() < DECISION {
            return None;
        }
        *self = Self::default();
        Some(evidence > 0)
    }

    fn forget(&mut self) {
        if self.at.arrived.saturating_add(self.other.arrived) > MEMORY {
            self.at.halve();
            self.other.halve();
        }
    }
}

/// log2(a / b) in parts of [`BIT`], of a quotient from 1 to 2: bit by bit, by squaring.
fn log2(a: u64, b: u64) -> i64 {
    const ONE: u64 = 1 << 30;
    let mut power = a * ONE / b.max(1);
    let mut log = 0;
    for _ in 0..BIT.ilog2() {
        power = power * power / ONE;
        let doubled = power >= 2 * ONE;
        log = 2 * log + i64::from(doubled);
        power >>= u32::from(doubled);
    }
    // A quotient of two is one bit.
    if a == 2 * b { BIT } else { log }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear congruential, for a share of events.
    struct Random(u64);

    impl Random {
        fn is_hit(&mut self, permille: u64) -> bool {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % 1000 < permille
        }
    }

    /// One segment that was sent under `load`.
    fn one(load: Load) -> [u32; 3] {
        [Load::Below, Load::At, Load::Above].map(|other| u32::from(other == load))
    }

    const TESTS: u32 = 100;

    /// How many of [`TESTS`] ever say that losses depend on the rate, of `segments` of which a third was sent under `load`, in
    /// phases of `phase` segments, and lost at `permille`, and the rest at the rate, where 50 permille are lost.
    fn dependent(load: Load, segments: u32, phase: u32, permille: u64) -> u32 {
        dependent_on((load, permille), 50, segments, phase)
    }

    /// The same where `at_rate` permille are lost at the rate.
    fn dependent_on((load, permille): (Load, u64), at_rate: u64, segments: u32, phase: u32) -> u32 {
        let judge = |seed| {
            let (mut random, mut test) = (Random(seed), RateTest::default());
            let mut was_lost = false;
            let depends = (0..segments).any(|segment| {
                let (load, permille) =
                    if (segment / phase).is_multiple_of(3) { (load, permille) } else { (Load::At, at_rate) };
                let is_lost = random.is_hit(permille);
                if !is_lost {
                    test.on_survived(one(load), Instant::ZERO);
                } else if !was_lost {
                    test.on_run(load, Duration::ZERO, false, Instant::ZERO);
                }
                was_lost = is_lost;
                test.depends(Instant::ZERO)
            });
            u32::from(depends)
        };
        (0..u64::from(TESTS)).map(judge).sum()
    }

    /// Of more than twice as many segments as are remembered.
    #[test]
    fn equal_shares_are_independent() {
        for load in [Load::Below, Load::At, Load::Above] {
            for phase in [10, 2500] {
                let wrong = dependent(load, 20_000, phase, 50);
                assert!(wrong <= 1, "{load:?}, phases of {phase}: {wrong} of {TESTS}");
            }
        }
    }

    #[test]
    fn fewer_losses_below_the_rate_or_more_above_it_are_dependent() {
        assert_eq!(dependent(Load::Below, 3000, 10, 0), TESTS);
        assert!(dependent(Load::Below, 15_000, 10, 20) >= TESTS - 1);
        assert!(dependent(Load::Above, 9000, 10, 100) >= TESTS - 1);
        assert_eq!(dependent(Load::At, 5000, 10, 500), 0, "nothing to compare with");
    }

    /// Of 1000 segments 247 runs begin where 450 are lost, and 236 where 620 are.
    #[test]
    fn a_policer_that_drops_half_is_found() {
        let found = dependent_on((Load::Above, 620), 450, 20_000, 10);
        assert!(found >= TESTS - 1, "{found}");
        let wrong = dependent_on((Load::Above, 450), 450, 20_000, 10);
        assert!(wrong <= 1, "{wrong}");
    }

    /// What arrived is counted late.
    #[test]
    fn runs_without_arrivals_show_nothing() {
        let mut test = RateTest::default();
        test.on_survived([0, 0, 80], Instant::ZERO);
        for _ in 0..100 {
            test.on_run(Load::At, Duration::ZERO, false, Instant::ZERO);
        }
        assert!(!test.depends(Instant::ZERO), "nothing was sent below the rate");
        let mut test = RateTest::default();
        test.on_survived([80, 0, 0], Instant::ZERO);
        for load in core::iter::repeat_n(Load::Below, 40).chain(core::iter::repeat_n(Load::At, 30)) {
            test.on_run(load, Duration::ZERO, false, Instant::ZERO);
        }
        assert!(!test.depends(Instant::ZERO), "what arrived at the rate is still to be counted");
    }

    /// Losses are found 1000 segments after what was sent with them arrives: less than half of a phase.
    #[test]
    fn losses_that_are_found_late_are_independent() {
        let judge = |seed| {
            let (mut random, mut test) = (Random(seed), RateTest::default());
            let at = |segment: u64| Instant::from_nanos(1000 * segment);
            let load = |segment: u64| if (segment / 2500).is_multiple_of(3) { Load::Below } else { Load::At };
            let (mut late, mut depends) = (alloc::collections::VecDeque::new(), false);
            for segment in 0..100_000 {
                if late.front().is_some_and(|lost| lost + 1000 <= segment) {
                    let lost = late.pop_front().expect("it is there");
                    test.on_run(load(lost), Duration::from_nanos(1_000_000), false, at(segment));
                }
                if random.is_hit(50) {
                    late.push_back(segment);
                } else {
                    test.on_survived(one(load(segment)), at(segment));
                }
                depends |= test.depends(at(segment));
            }
            u32::from(depends)
        };
        let wrong: u32 = (0..100).map(judge).sum();
        assert!(wrong <= 2, "{wrong} of 100");
    }

    /// A test that has just decided that losses depend on the rate, of a segment each millisecond.
    fn dependent_test() -> (RateTest, Random, Instant) {
        let (mut test, mut random) = (RateTest::default(), Random(1));
        let mut now = Instant::ZERO;
        while !test.depends(now) {
            now += Duration::from_millis(1);
            send(&mut test, &mut random, [50, 100], now);
        }
        (test, random, now)
    }

    /// A segment, in phases of 100 ms at the rate and above it, with these chances in a thousand to be lost.
    fn send(test: &mut RateTest, random: &mut Random, permille: [u64; 2], now: Instant) {
        let phase = (now.as_nanos() / 100_000_000 % 2) as usize;
        let load = [Load::At, Load::Above][phase];
        if random.is_hit(permille[phase]) {
            test.on_run(load, Duration::ZERO, false, now);
        } else {
            test.on_survived(one(load), now);
        }
    }

    /// For how many seconds it holds that losses depend on the rate, where as many are lost from then on.
    fn held_for(permille: [u64; 2]) -> u64 {
        let (mut test, mut random, start) = dependent_test();
        for milli in 1..200_000 {
            let now = start + Duration::from_millis(milli);
            send(&mut test, &mut random, permille, now);
            if !test.depends(now) {
                return milli / 1000;
            }
        }
        200
    }

    #[test]
    fn it_holds_until_losses_do_not_depend_on_the_rate() {
        assert_eq!(held_for([0, 0]), 30, "it has to be shown again");
        assert_eq!(held_for([50, 100]), 200, "it is");
        assert!((1..30).contains(&held_for([50, 50])), "{} s", held_for([50, 50]));
    }

    #[test]
    fn where_packets_wait_the_queue_overflows() {
        for (nth, overflows) in [(u32::MAX, true), (UNDECIDED, false)] {
            let (mut test, mut random, mut now) = (RateTest::default(), Random(1), Instant::ZERO);
            let mut runs = 0;
            let overflowed = loop {
                now += Duration::from_millis(1);
                let is_above = now.as_nanos() / 100_000_000 % 2 == 1;
                let load = if is_above { Load::Above } else { Load::At };
                if !random.is_hit(if is_above { 200 } else { 50 }) {
                    test.on_survived(one(load), now);
                    continue;
                }
                runs += 1;
                if test.on_run(load, Duration::ZERO, runs % nth > 0, now) {
                    break true;
                } else if test.depends(now) {
                    break false;
                }
            };
            assert_eq!(overflowed, overflows, "one of {nth} runs meets no wait");
            assert_eq!(test.depends(now), !overflows);
            assert_eq!((test.above, test.below), (Comparison::default(), Comparison::default()));
        }
    }

    #[test]
    fn what_is_decided_begins_anew() {
        let (test, ..) = dependent_test();
        assert_eq!((test.above, test.below), (Comparison::default(), Comparison::default()));
        let (mut test, mut random) = (RateTest::default(), Random(1));
        let mut arrived = 0;
        for milli in 0.. {
            send(&mut test, &mut random, [50, 50], Instant::ZERO + Duration::from_millis(milli));
            if test.above.at.arrived < arrived {
                break;
            }
            arrived = test.above.at.arrived;
        }
        assert!(
            !test.depends(Instant::ZERO) && test.below.at.arrived >= arrived,
            "the other comparison goes on"
        );
    }

    #[test]
    fn logarithms() {
        for (a, b, bits) in [(1, 1, 0.0), (11, 10, 0.1375), (5, 4, 0.3219), (3, 2, 0.58496), (2, 1, 1.0)] {
            let computed = log2(a, b) as f64 / BIT as f64;
            assert!((computed - bits).abs() < 0.0001, "{a}/{b}: {computed}");
        }
        assert_eq!(LOG2_3_2, log2(3, 2));
    }

    #[test]
    fn older_segments_and_runs_count_half() {
        let mut comparison = Comparison::default();
        comparison.at.add(MEMORY / 2, 40);
        comparison.other.add(MEMORY / 2, 20);
        comparison.forget();
        assert_eq!(comparison.at, Count { arrived: MEMORY / 2, runs: 40 });
        comparison.other.add(1, 0);
        comparison.forget();
        assert_eq!(comparison.at, Count { arrived: MEMORY / 4, runs: 20 });
        assert_eq!(comparison.other, Count { arrived: MEMORY / 4, runs: 10 });
    }

    #[test]
    fn how_late_losses_were_found_is_forgotten_slowly() {
        let mut test = RateTest::default();
        for late in [800, 0, 750] {
            test.on_run(Load::At, Duration::from_millis(late), false, Instant::ZERO);
            assert_eq!(test.unsettled.late, Duration::from_millis(late.max(700)));
        }
    }
}
