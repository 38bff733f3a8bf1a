//! Silent losses: how many packets the path loses whatever the sender's rate is.
//!
//! A silent loss is one that the receiver neither reported nor counted: the IP header was hit, the receiver
//! lost synchronisation, a card or a tunnel dropped the frame, or a queue overflowed. Losses that the
//! sender causes depend on what it sends; damage does not. So the share that is lost while the sender sends
//! no more than the path carries, and while the queue is short, is damage, and as large a share of what it
//! sends at any time is damage too. What exceeds it is congestion. `docs/ledger.md` derives the rules.

use alloc::boxed::Box;

use headway_units::Instant;

use super::ledger::Missing;
use super::rate_test::RateTest;
use crate::congestion::Load;
use crate::rules::{Rule, RulesOff};

/// Fixed point: one segment, or a share of one.
const ONE: u64 = 1 << 16;
/// When more segments are counted, all counts are halved. A path that changes is learnt anew within as many.
const MEMORY: u32 = 8192;
/// What is believed of a path of which nothing is known: an eighth of its packets. (Fitted: of a sixteenth bursts on long paths
/// suffer; of a quarter, others in a crowd.)
const PRIOR: u64 = ONE / 8;
/// The most that is ever believed: half of them.
const MOST: u64 = ONE / 2;
/// The prior counts as this many runs of losses.
const PRIOR_RUNS: u64 = 8;
/// Fewer segments teach nothing.
const LEARNT: u32 = 128;
/// The allowance holds this many runs of losses of the mean length.
const DEPTH_RUNS: u64 = 32;
/// Runs are not taken to be longer in the mean.
const LONGEST_RUN: u64 = 8;

/// What became of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    /// Segments.
    sent: u32,
    /// Those of them that were lost in silence.
    lost: u32,
    /// Runs of consecutive ones among these.
    runs: u32,
}

impl Tally {
    fn halve(&mut self) {
        self.sent /= 2;
        self.lost /= 2;
        self.runs /= 2;
    }

    /// The mean length of a run.
    fn run(&self) -> u64 {
        (u64::from(self.lost) * ONE)
            .checked_div(self.runs.into())
            .map_or(ONE, |mean| mean.clamp(ONE, LONGEST_RUN * ONE))
    }
}

/// What a silent loss is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SilentCause {
    /// The path loses as many whatever is sent.
    Damage,
    /// Too little is known of the path, and nothing speaks for congestion.
    Unlearnt,
    /// The queue is long, so it may have overflowed; but the path loses as many.
    Either,
    /// More than that.
    Excess,
    /// The path loses so few that the controller tolerates them.
    Tolerated,
    /// The queue overflows, and is not as short as it seemed.
    Overflow,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SilentLosses {
    /// Segments sent at the path's rate and below it that were resolved while the queue was short.
    learnt: Tally,
    /// Whether losses depend on the rate after all; from the first silent loss on.
    test: Option<Box<RateTest>>,
    /// Segments that were sent with little in flight, and those of them that were lost ([`Self::assume`]).
    assumed: [u32; 2],
    /// The queue never varies: only these count.
    is_hidden: bool,
    /// Losses that may be taken for damage now, while the queue is short.
    allowance: u64,
    /// Losses at a long queue that the path may have caused.
    passed: u64,
    /// The number of the last lost transmission.
    last_lost: Option<u64>,
    rules_off: RulesOff,
}

impl SilentLosses {
    /// Segments reached the receiver, intact or not: their numbers, by the load under which they were sent. `short`: while the
    /// queue was.
    pub(super) fn on_survived(&mut self, segments: [u32; 3], short: bool, now: Instant) {
        if !short {
            return self.refill_passed(segments.iter().sum());
        }
        let [below, at, above] = segments;
        if let Some(test) = &mut self.test {
            test.on_survived(segments, now);
        }
        self.learnt.sent += below + at;
        self.refill(u64::from(below + at + above));
    }

    /// A transmission was lost in silence. `short`: the queue was; `waits`: packets wait, if only in a short one. It is not taken
    /// for damage while the path loses less than `tolerated` percent.
    pub(super) fn on_lost(
        &mut self,
        missing: Missing,
        short: bool,
        waits: bool,
        tolerated: u32,
        now: Instant,
    ) -> SilentCause {
        let Missing { order, load, late, .. } = missing;
        let begins_run = self.begins_run(order);
        self.last_lost = Some(order);
        if !short {
            self.refill_passed(1);
            if self.passed < ONE || self.depend(now) {
                return SilentCause::Excess;
            }
            self.passed -= ONE;
            return SilentCause::Either;
        }
        if begins_run
            && self.rules_off.hold(Rule::RateTest)
            && self.test.get_or_insert_default().on_run(load, late, waits, now)
        {
            return SilentCause::Overflow;
        }
        if load != Load::Above {
            let learnt = &mut self.learnt;
            learnt.sent += 1;
            learnt.lost += 1;
            learnt.runs += u32::from(begins_run || learnt.runs == 0);
        }
        self.refill(1);
        if self.rules_off.hold(Rule::Allowance) && self.allowance < ONE || self.depend(now) {
            return SilentCause::Excess;
        }
        let is_learnt = !self.is_unlearnt() || !self.rules_off.hold(Rule::Unlearnt);
        if is_learnt && self.is_tolerated(tolerated) {
            return SilentCause::Tolerated;
        }
        self.allowance = self.allowance.saturating_sub(ONE);
        if is_learnt { SilentCause::Damage } else { SilentCause::Unlearnt }
    }

    /// Whether transmission number `order`, if it is lost, begins a run of losses.
    pub(super) fn begins_run(&self, order: u64) -> bool {
        self.last_lost.is_none_or(|last| order != last + 1)
    }

    /// Whether the path loses less than `tolerated` percent.
    fn is_tolerated(&self, tolerated: u32) -> bool {
        u64::from(self.learnt.lost) * 100 < u64::from(self.learnt.sent) * u64::from(tolerated)
    }

    /// Whether losses depend on the sender's rate.
    pub(super) fn depend(&self, now: Instant) -> bool {
        self.test.as_ref().is_some_and(|test| test.depends(now))
    }

    pub(super) fn set_rules(&mut self, rules_off: RulesOff) {
        self.rules_off = rules_off;
    }

    /// The share of segments that may be taken for damage: an upper bound of what was learnt.
    fn share(&self) -> u64 {
        let prior = PRIOR_RUNS * self.learnt.run();
        let learnt = if self.is_hidden { [0; 2] } else { [self.learnt.sent, self.learnt.lost] };
        let assumed = if self.assumes() { self.assumed } else { [0; 2] };
        let [sent, lost] = [0, 1].map(|count| u64::from(learnt[count] + assumed[count]));
        ((lost * ONE * 5 / 4 + prior) / (sent + prior / PRIOR)).min(MOST)
    }

    /// Whether too little was sent at the path's rate and below it.
    pub(super) fn is_unlearnt(&self) -> bool {
        self.learnt.sent < LEARNT
    }

    /// Whether the queue `varies`. If it does not, others may keep it full, and what overflows would be taken for damage.
    pub(super) fn set_varies(&mut self, varies: bool) {
        self.is_hidden = !varies;
    }

    /// Whether what is sent with little in flight says how much the path loses.
    pub(super) fn assumes(&self) -> bool {
        self.is_hidden || self.is_unlearnt()
    }

    /// The path is assumed to lose as large a share of all segments as of these: how many were sent, and how many of them
    /// were lost.
    pub(super) fn assume(&mut self, segments: [u32; 2]) {
        self.assumed = segments;
    }

    fn refill(&mut self, segments: u64) {
        self.allowance = (self.allowance + segments * self.share()).min(self.deepest());
        if self.learnt.sent > MEMORY {
            self.learnt.halve();
        }
    }

    /// That many segments were resolved at a long queue. None may be the path's where little is learnt of it, or its queue never
    /// varies.
    fn refill_passed(&mut self, segments: u32) {
        if self.assumes() || !self.rules_off.hold(Rule::LongQueue) {
            self.passed = 0;
            return;
        }
        let Tally { sent, lost, .. } = self.learnt;
        let share = (u64::from(lost) * ONE / u64::from(sent)).min(MOST);
        self.passed = (self.passed + u64::from(segments) * share).min(self.deepest());
    }

    /// The most that the allowance holds.
    fn deepest(&self) -> u64 {
        DEPTH_RUNS * self.learnt.run()
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Duration;

    use super::*;

    /// One segment that was sent under `load`.
    fn one(load: Load) -> [u32; 3] {
        [Load::Below, Load::At, Load::Above].map(|other| u32::from(other == load))
    }

    fn missing(load: Load, order: u64) -> Missing {
        Missing { order, load, volume: 10, bytes: 1460, late: Duration::ZERO }
    }

    /// Sends `segments` under `load`, every `nth` of which is lost; says how many of the losses were taken for
    /// what.
    struct Path {
        losses: SilentLosses,
        order: u64,
    }

    impl Path {
        fn new() -> Self {
            Self { losses: SilentLosses::default(), order: 0 }
        }

        /// (damage, excess).
        fn send(&mut self, load: Load, segments: u64, nth: u64, short: bool) -> (u32, u32) {
            let (mut damage, mut excess) = (0, 0);
            for _ in 0..segments {
                self.order += 1;
                if nth == 0 || !self.order.is_multiple_of(nth) {
                    self.losses.on_survived(one(load), short, Instant::ZERO);
                } else {
                    match self.losses.on_lost(missing(load, self.order), short, false, 0, Instant::ZERO) {
                        SilentCause::Damage | SilentCause::Unlearnt => damage += 1,
                        _ => excess += 1,
                    }
                }
            }
            (damage, excess)
        }
    }

    #[test]
    fn as_many_as_are_lost_at_any_rate_are_damage() {
        let mut path = Path::new();
        assert_eq!(
            path.send(Load::At, 5000, 20, true),
            (250, 0),
            "5 % while no more is sent than the path carries"
        );
        assert_eq!(path.send(Load::Above, 1000, 20, true), (50, 0), "and as many while more is");
        let (damage, excess) = path.send(Load::Above, 1000, 4, true);
        assert!(damage < 110 && excess > 140, "{damage}, {excess}: a quarter is not");
    }

    #[test]
    fn what_the_controller_tolerates_is_not_explained() {
        for (nth, tolerated, verdict) in
            [(100, 0, SilentCause::Damage), (100, 2, SilentCause::Tolerated), (20, 2, SilentCause::Damage)]
        {
            let mut path = Path::new();
            path.send(Load::At, 5000, nth, true);
            path.order += 2;
            let lost =
                path.losses.on_lost(missing(Load::At, path.order), true, false, tolerated, Instant::ZERO);
            assert_eq!(lost, verdict, "1 of {nth}, {tolerated} %");
        }
        let mut path = Path::new();
        path.send(Load::At, 100, 0, true);
        let verdict = path.losses.on_lost(missing(Load::At, 200), true, false, 2, Instant::ZERO);
        assert_eq!(verdict, SilentCause::Unlearnt, "how many the path loses is not known yet");
    }

    #[test]
    fn losses_while_the_queue_is_long_teach_nothing() {
        let mut path = Path::new();
        path.send(Load::At, 5000, 100, true);
        assert_eq!(path.send(Load::At, 5000, 10, false), (0, 500), "the queue may have overflowed");
        let (damage, _) = path.send(Load::Above, 2000, 10, true);
        assert!(damage < 100, "{damage} of 200, where 1 % was learnt");
    }

    /// Of 1000 segments, a quarter of which is lost at a long queue, those that the path may have lost.
    fn either(path: &mut Path) -> usize {
        (1..=1000)
            .filter(|segment| {
                path.order += 1;
                if segment % 4 > 0 {
                    path.losses.on_survived(one(Load::Above), false, Instant::ZERO);
                    return false;
                }
                let lost = missing(Load::Above, path.order);
                path.losses.on_lost(lost, false, true, 0, Instant::ZERO) == SilentCause::Either
            })
            .count()
    }

    #[test]
    fn of_what_is_lost_at_a_long_queue_the_path_may_have_lost_its_share() {
        let mut path = Path::new();
        assert_eq!(either(&mut path), 0, "it is not known");
        path.send(Load::At, 5000, 20, true);
        assert_eq!(either(&mut path), 49, "5 % of 1000, less a fraction");
        path.losses.set_varies(false);
        assert_eq!(either(&mut path), 0, "the queue may be of others");
        path.losses.set_varies(true);
        path.losses.set_rules("long-queue".parse().expect("rules"));
        assert_eq!(either(&mut path), 0, "without the rule");
        let mut sound = Path::new();
        sound.send(Load::At, 5000, 0, true);
        assert_eq!(either(&mut sound), 0, "it loses nothing");
    }

    #[test]
    fn of_what_is_lost_at_a_long_queue_half_at_most_may_be_the_paths() {
        let mut path = Path::new();
        let mut lose = |short| {
            path.order += 1;
            path.losses.on_lost(missing(Load::At, path.order), short, false, 0, Instant::ZERO)
        };
        (0..1000).for_each(|_| {
            lose(true);
        });
        let either = (0..1000).filter(|_| lose(false) == SilentCause::Either).count();
        assert_eq!(either, 500, "it loses all");
    }

    #[test]
    fn losses_that_stop_below_the_rate_are_congestion() {
        let mut path = Path::new();
        for _ in 0..4 {
            path.send(Load::At, 500, 10, true);
            path.send(Load::Below, 200, 0, true);
        }
        assert!(path.losses.depend(Instant::ZERO));
        let (damage, excess) = path.send(Load::At, 1000, 10, true);
        assert!(excess > 80, "{damage} and {excess} of 100");
        assert_eq!(either(&mut path), 0, "at a long queue too");
        // It has to be shown again after a while.
        assert!(!path.losses.depend(Instant::from_nanos(31_000_000_000)));
    }

    #[test]
    fn an_unknown_path_is_assumed_to_lose_what_it_lost_of_small_volumes() {
        let excess = |assumed| {
            let mut path = Path::new();
            path.losses.assume(assumed);
            path.send(Load::Above, 1000, 4, true).1
        };
        assert!(excess([0, 0]) > 100, "an eighth is believed");
        assert!(excess([1000, 250]) < 5);
        let mut path = Path::new();
        path.losses.assume([1000, 250]);
        path.send(Load::At, 8000, 100, true);
        assert!(path.send(Load::Above, 1000, 4, true).1 > 150, "until it is learnt");
    }

    #[test]
    fn where_the_queue_never_varies_only_small_volumes_teach() {
        let mut path = Path::new();
        path.send(Load::At, 8000, 4, true);
        let excess = |varies, assumed| {
            let mut path = Path { losses: path.losses.clone(), order: path.order };
            path.losses.set_varies(varies);
            path.losses.assume(assumed);
            path.send(Load::At, 2000, 4, true).1
        };
        assert_eq!(excess(true, [1000, 50]), 0);
        assert!(excess(false, [1000, 50]) > 250, "a twentieth of small volumes");
        assert_eq!(excess(false, [1000, 250]), 0);
    }

    #[test]
    fn little_is_believed_of_an_unknown_path() {
        let mut path = Path::new();
        let (damage, excess) = path.send(Load::Above, 1000, 2, true);
        assert!(
            (100..150).contains(&damage) && excess > 350,
            "{damage}, {excess}: half are lost, an eighth is believed"
        );
    }

    #[test]
    fn a_burst_is_believed_once_bursts_were_seen() {
        let mut path = Path::new();
        let burst = |path: &mut Path| {
            (0..20)
                .map(|_| {
                    path.order += 1;
                    path.losses.on_lost(missing(Load::At, path.order), true, false, 0, Instant::ZERO)
                })
                .collect::<alloc::vec::Vec<_>>()
        };
        for _ in 0..20 {
            path.send(Load::At, 1000, 0, true);
            burst(&mut path);
        }
        assert!(burst(&mut path).iter().all(|verdict| *verdict == SilentCause::Damage));
    }

    #[test]
    fn what_was_learnt_is_forgotten_in_proportion() {
        let mut path = Path::new();
        path.send(Load::At, 3 * u64::from(MEMORY), 20, true);
        let learnt = path.losses.learnt;
        assert!(learnt.sent <= MEMORY && learnt.sent.abs_diff(20 * learnt.lost) < 40, "{learnt:?}");
        assert_eq!(learnt.run(), ONE, "no two were lost in a row");
        path.losses.on_survived([0, MEMORY + 2, 0], true, Instant::ZERO);
        assert!(path.losses.learnt.sent <= MEMORY, "however many at a time");
    }

    #[test]
    fn little_more_than_was_learnt_is_believed() {
        let mut path = Path::new();
        path.send(Load::At, 8000, 20, true);
        assert!((ONE / 17..ONE / 14).contains(&path.losses.share()), "{}", path.losses.share());
    }
}
