//! Whether losses depend on the sender's rate: Wald's sequential probability ratio test.
//!
//! Damage takes the same share of what is sent at any rate. A policer, or a queue so shallow that its wait cannot
//! be seen, takes more of what is sent above the path's rate, and less of what is sent below it. Two tests
//! compare the share of runs of losses there with the share at the rate: the hypothesis is 3/2 of it above the
//! rate, and 1/2 of it below; the alternative is the same share. Each decides at 14 bits of evidence, either
//! way, and starts anew.

use headway_units::{Duration, Instant};

use crate::congestion::Load;

/// Fixed point: one segment, or a share of one.
pub(super) const ONE: u64 = 1 << 16;
/// Evidence at which a test decides: it errs once in 2^14 where losses are independent of each other.
const DECISION: i64 = 14 * ONE as i64;
/// That losses depend on the rate is held for so long; then it has to be shown again. A sender that is slow because
/// it believes so sends too little to find out otherwise.
const HOLDS: Duration = Duration::from_secs(30);
/// log2(3/2).
const LOG2_3_2: i64 = 38_336;
/// 1 / ln 2.
const INVERSE_LN_2: u64 = 94_548;
/// The largest share that is tested: 3/2 of it must stay below one.
const MOST: u64 = ONE * 2 / 5;

/// See the module's documentation. Evidence is in bits, and positive where it speaks for dependence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RateTest {
    below: i64,
    above: i64,
    /// Until when it is held that losses depend on the rate.
    until: Option<Instant>,
}

impl RateTest {
    /// Whether losses depend on the rate.
    pub(super) fn depends(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// Segments sent under `load` were not lost. `share`: of the segments at the rate that begin a run of losses.
    pub(super) fn on_survived(&mut self, load: Load, segments: u32, share: u64, now: Instant) {
        let share = share.min(MOST);
        match load {
            // log2((1 - p/2) / (1 - p)) = log2(1 + x), x = p/2 / (1 - p).
            Load::Below => {
                let weight = log2_1p(share * ONE / 2 / (ONE - share));
                self.weigh_below(i64::from(segments) * weight, now);
            }
            // log2((1 - 3p/2) / (1 - p)) = -log2(1 + x), x = p/2 / (1 - 3p/2).
            Load::Above => {
                let weight = log2_1p(share * ONE / 2 / (ONE - share * 3 / 2));
                self.weigh_above(-i64::from(segments) * weight, now);
            }
            Load::At => {}
        }
    }

    /// A run of losses began under `load`.
    pub(super) fn on_run(&mut self, load: Load, share: u64, now: Instant) {
        if share == 0 {
            return;
        }
        match load {
            Load::Below => self.weigh_below(-(ONE as i64), now),
            Load::Above => self.weigh_above(LOG2_3_2, now),
            Load::At => {}
        }
    }

    fn weigh_below(&mut self, weight: i64, now: Instant) {
        if decide(&mut self.below, weight) {
            self.until = Some(now + HOLDS);
        }
    }

    fn weigh_above(&mut self, weight: i64, now: Instant) {
        if decide(&mut self.above, weight) {
            self.until = Some(now + HOLDS);
        }
    }
}

/// Adds to the evidence; a decision starts the test anew. Says whether it decided for dependence.
fn decide(evidence: &mut i64, weight: i64) -> bool {
    *evidence += weight;
    if evidence.abs() < DECISION {
        return false;
    }
    core::mem::take(evidence) > 0
}

/// log2(1 + x) for x up to 1/2, all in parts of [`ONE`]: the first three terms of its series.
fn log2_1p(x: u64) -> i64 {
    let square = x * x / ONE;
    let cube = square * x / ONE;
    ((x - square / 2 + cube / 3) * INVERSE_LN_2 / ONE) as i64
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

    /// How many of 500 tests say that losses depend on the rate, after `segments` under `load` that are lost at
    /// `permille`, where 50 permille are lost at the rate.
    fn dependent(load: Load, segments: u32, permille: u64) -> u32 {
        let judge = |seed| {
            let (mut random, mut test) = (Random(seed), RateTest::default());
            for _ in 0..segments {
                if random.is_hit(permille) {
                    test.on_run(load, ONE / 20, Instant::ZERO);
                } else {
                    test.on_survived(load, 1, ONE / 20, Instant::ZERO);
                }
            }
            u32::from(test.depends(Instant::ZERO))
        };
        (0..500).map(judge).sum()
    }

    #[test]
    fn equal_shares_are_independent() {
        for load in [Load::Below, Load::At, Load::Above] {
            let wrong = dependent(load, 20_000, 50);
            assert!(wrong <= 3, "{load:?}: {wrong} of 500");
        }
    }

    #[test]
    fn fewer_losses_below_the_rate_or_more_above_it_are_dependent() {
        assert_eq!(dependent(Load::Below, 1000, 0), 500);
        assert!(dependent(Load::Below, 5000, 20) >= 495);
        assert!(dependent(Load::Above, 3000, 100) >= 495);
        assert_eq!(dependent(Load::At, 5000, 500), 0, "nothing to compare with");
    }

    #[test]
    fn logarithms() {
        for (x, bits) in [(0.1, 0.1375), (0.25, 0.3219), (0.5, 0.585)] {
            let computed = log2_1p((x * ONE as f64) as u64) as f64 / ONE as f64;
            assert!((computed - bits).abs() < 0.03, "{x}: {computed}");
        }
    }
}
