//! HyStart++ (RFC 9406): leaves slow start when the RTT increases, before the queue overflows.

use headway_units::Duration;

use super::Ack;
use super::rounds::Rounds;

/// RFC 9406, section 4.3, "It is RECOMMENDED that a HyStart++ implementation use the following
/// constants".
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u32 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_ROUNDS: u32 = 5;
pub(super) const CSS_GROWTH_DIVISOR: u32 = 4;

/// The growth of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// By the delivered bytes.
    Full,
    /// Conservative slow start: by a [`CSS_GROWTH_DIVISOR`]th of the delivered bytes.
    Conservative,
    /// Slow start ends.
    Leave,
}

/// Monitors the RTT in the initial slow start.
///
/// It needs rounds and RTT samples; without [`Ack::rate`] it never leaves slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    rounds: Rounds,
    last_round_min: Duration,
    current_round_min: Duration,
    samples: u32,
    conservative: Option<Conservative>,
}

/// Conservative slow start: checks whether the RTT increase was due to a queue.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline: Duration,
    rounds: u32,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            rounds: Rounds::default(),
            last_round_min: Duration::MAX,
            current_round_min: Duration::MAX,
            samples: 0,
            conservative: None,
        }
    }

    /// An ACK arrived in slow start.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Pace {
        let Some(rate) = &ack.rate else { return self.pace() };
        if self.rounds.on_sample(rate) && self.next_round() {
            return Pace::Leave;
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min = self.current_round_min.min(rtt);
            self.samples += 1;
            self.judge();
        }
        self.pace()
    }

    /// The growth by the last ACK.
    pub(super) fn pace(&self) -> Pace {
        if self.conservative.is_some() { Pace::Conservative } else { Pace::Full }
    }

    /// Returns whether conservative slow start has ended.
    fn next_round(&mut self) -> bool {
        self.last_round_min = self.current_round_min;
        self.current_round_min = Duration::MAX;
        self.samples = 0;
        // RFC 9406, 4.2: "If the transition into CSS happens in the middle of a round, that partial
        // round counts towards the limit." "If CSS_ROUNDS rounds are complete, enter congestion
        // avoidance".
        self.conservative.as_mut().is_some_and(|css| {
            css.rounds += 1;
            css.rounds >= CSS_ROUNDS
        })
    }

    fn judge(&mut self) {
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match self.conservative {
            // RFC 9406, 4.2: "RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT /
            // MIN_RTT_DIVISOR, MAX_RTT_THRESH))
            // if (currentRoundMinRTT >= (lastRoundMinRTT + RttThresh))
            //   cssBaselineMinRtt = currentRoundMinRTT
            //   exit slow start and enter CSS"
            None if self.last_round_min < Duration::MAX => {
                let threshold =
                    (self.last_round_min / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH);
                if self.current_round_min >= self.last_round_min + threshold {
                    self.conservative = Some(Conservative { baseline: self.current_round_min, rounds: 0 });
                }
            }
            // RFC 9406, 4.2: "if (currentRoundMinRTT < cssBaselineMinRtt)
            //   cssBaselineMinRtt = infinity
            //   resume slow start including HyStart++"
            Some(css) if self.current_round_min < css.baseline => self.conservative = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, sample};
    use super::*;

    const SEGMENT: u64 = 1000;

    /// Rounds of ten segments, each with the RTT `rtt` in milliseconds.
    fn run(hystart: &mut HyStart, rounds: core::ops::Range<u64>, rtt: impl Fn(u64, u64) -> u64) -> Pace {
        let mut pace = hystart.pace();
        for round in rounds {
            for segment in 0..10 {
                let before = (round * 10).saturating_sub(10) + segment;
                let mut one = ack(1000, 10_000);
                // Round 0 is sent before anything is delivered.
                let prior = if round == 0 { 0 } else { (before + 1) * SEGMENT };
                one.rate = Some(sample(prior, (round * 10 + segment + 1) * SEGMENT));
                one.rtt = Some(Duration::from_millis(rtt(round, segment)));
                pace = hystart.on_ack(&one);
                if pace == Pace::Leave {
                    return pace;
                }
            }
        }
        pace
    }

    #[test]
    fn jitter_below_the_threshold_changes_nothing() {
        let mut hystart = HyStart::new();
        // An eighth of 100 ms is 12.5 ms: up to 12 ms more is not a queue.
        assert_eq!(run(&mut hystart, 0..30, |round, _| 100 + (round % 2) * 12), Pace::Full);
    }

    #[test]
    fn one_slow_segment_changes_nothing() {
        let mut hystart = HyStart::new();
        assert_eq!(run(&mut hystart, 0..30, |_, segment| if segment == 3 { 500 } else { 100 }), Pace::Full);
    }

    #[test]
    fn a_queue_leads_to_conservative_growth_and_out() {
        let mut hystart = HyStart::new();
        run(&mut hystart, 0..3, |_, _| 100);
        // 113 ms is an increase, 112 ms is not: 100 + 12.5.
        assert_eq!(run(&mut hystart, 3..4, |_, _| 112), Pace::Full);
        // An eighth of 112 ms is 14 ms.
        assert_eq!(run(&mut hystart, 4..5, |_, _| 126), Pace::Conservative);
        // The round in which it starts is the first of five; the first segment of the sixth ends it.
        assert_eq!(run(&mut hystart, 5..9, |_, _| 126), Pace::Conservative);
        assert_eq!(run(&mut hystart, 9..10, |_, _| 126), Pace::Leave);
    }

    #[test]
    fn a_threshold_is_never_below_4_nor_above_16_milliseconds() {
        let mut near = HyStart::new();
        run(&mut near, 0..2, |_, _| 10);
        assert_eq!(run(&mut near, 2..3, |_, _| 13), Pace::Full);
        assert_eq!(run(&mut near, 3..4, |_, _| 17), Pace::Conservative, "4 ms above 13 ms");
        let mut far = HyStart::new();
        run(&mut far, 0..2, |_, _| 600);
        assert_eq!(run(&mut far, 2..3, |_, _| 615), Pace::Full);
        assert_eq!(run(&mut far, 3..4, |_, _| 631), Pace::Conservative, "16 ms above 615 ms");
    }

    #[test]
    fn a_round_trip_time_that_falls_again_resumes_slow_start() {
        let mut hystart = HyStart::new();
        run(&mut hystart, 0..3, |_, _| 100);
        assert_eq!(run(&mut hystart, 3..4, |_, _| 120), Pace::Conservative);
        assert_eq!(run(&mut hystart, 4..5, |_, _| 119), Pace::Full, "below the baseline of 120 ms");
    }

    #[test]
    fn eight_samples_are_needed() {
        let mut hystart = HyStart::new();
        run(&mut hystart, 0..3, |_, _| 100);
        for count in 1..=8 {
            let mut one = ack(1000, 10_000);
            one.rtt = Some(Duration::from_millis(200));
            one.rate = Some(sample(30_000, 30_000 + count * SEGMENT));
            let expected = if count < 8 { Pace::Full } else { Pace::Conservative };
            assert_eq!(hystart.on_ack(&one), expected, "sample {count}");
        }
    }
}
