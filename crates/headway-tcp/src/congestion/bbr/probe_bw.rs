//! ProbeBW: the cycle of sending below, at, and above the delivery rate (draft-ietf-ccwg-bbr,
//! section 5.3.3).

use headway_units::{Duration, Instant};

use super::super::bbr_common::phases::{AckPhase, State};
use super::super::bbr_common::quantities::{share, volume};
use super::super::bbr_common::{BETA, NO_VOLUME};
use super::{Bbr, Signal};
use crate::rules::Rule;

/// ProbeBW_DOWN drains the queue of a probe within this time: half of the shortest wait for the next.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// A probe's own queue of this delay ends it, in percent of the path's RTT.
const QUEUE: u32 = 12;

/// The state of the cycle.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// `BBR.is_bw_probe_sample`.
    pub(super) is_probe_sample: bool,
    /// ProbeRTT ended ProbeBW_UP, or the feedback on it.
    pub(super) cut_short: bool,
    pub(super) rounds_since_probe_up: u32,
    /// The delay of the queue that stood when ProbeBW_UP began, microseconds.
    queue_before: u32,
    /// Pacing gain of ProbeBW_DOWN, percent.
    pub(super) down_gain: u64,
    stamp: Instant,
    /// `BBR.bw_probe_wait`.
    wait: Duration,
    /// `BBR.bw_probe_up_rounds`.
    up_rounds: u32,
    /// `BBR.bw_probe_up_acked`, in bytes.
    up_acked: u32,
    /// `BBR.probe_up_acked_per_inc`, in bytes; `None` while the bound does not grow.
    up_acked_per_increment: Option<u32>,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
}

impl Cycle {
    /// What is still to be reported of the last probe is no feedback on it.
    pub(super) fn forget_probe(&mut self) {
        self.is_probe_sample = false;
        self.ack_phase = AckPhase::Init;
        self.prev_probe_too_high = false;
    }
}

impl Bbr {
    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle_phase(&mut self, signal: &Signal<'_>) {
        if !self.full_pipe.reached || self.adapt_long_term_model(signal) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(signal.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.start_cruise(),
            // "After one round of REFILL, start UP".
            State::Refill if self.round_start => {
                self.cycle.is_probe_sample = true;
                self.start_up(signal.rate);
            }
            State::Up => self.go_down_if_it_is_time(signal),
            _ => {}
        }
    }

    // --- states -------------------------------------------------------------------------------------

    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, now: Instant) {
        self.bounds.reset_signals();
        self.cycle.up_acked_per_increment = None;
        // PickProbeWait: "Decide random round-trip bound for wait", "wall clock bound": 2 to 3 s.
        self.cycle.rounds_since_probe_up = self.random.below(2) as u32;
        self.cycle.wait = Duration::from_secs(2) + Duration::from_micros(self.random.below(1_000_001));
        self.cycle.stamp = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.cycle.down_gain = self.down_gain();
        self.start_round();
        self.state = State::Down;
    }

    /// "ProbeBW_DOWN [...] pacing_gain of 0.90": drains a tenth of a second of data each second. On a
    /// long path a probe queues more than this drains before the next: then the queue is never empty, and
    /// only ProbeRTT, at the cost of idle time, measures the minimum RTT. So the gain is chosen to drain
    /// it in time, down to Drain's 0.5; on paths up to 100 ms it is 0.9.
    fn down_gain(&self) -> u64 {
        let excess = self.inflight.saturating_sub(self.bdp_multiple(self.model.max_bw(), 100));
        let drained = volume(self.model.max_bw(), DRAIN_TIME.as_nanos(), 100).max(1);
        let share = u64::from(excess) * 100 / u64::from(drained);
        if self.rules_off.hold(Rule::DownGain) { 100 - share.clamp(10, 50) } else { 90 }
    }

    /// StartProbeBW_CRUISE.
    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self) {
        self.bounds.forget_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, rate: u64) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.reset(rate);
        self.cycle.queue_before = self.standing_queue.delay();
        self.state = State::Up;
        self.raise_longterm_slope();
    }

    // --- when to change -----------------------------------------------------------------------------

    /// IsTimeToProbeBW.
    fn is_time_to_probe(&self, now: Instant) -> bool {
        // Where a round trip takes longer than the wait, what the last probe showed would never be used, and an
        // outdated bandwidth never expire.
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.rules_off.hold(Rule::NextProbe) {
            return false;
        }
        // IsRenoCoexistenceProbeTime: "reno_rounds = TargetInflight()" in segments, at most 63.
        let reno_rounds = (self.target_inflight() / self.mss.max(1)).min(63);
        now > self.cycle.stamp + self.cycle.wait || self.cycle.rounds_since_probe_up >= reno_rounds
    }

    /// TargetInflight: "Our estimated BDP, unless congestion cut C.cwnd".
    fn target_inflight(&self) -> u32 {
        self.bdp_multiple(self.bw, 100).min(self.cwnd)
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self) -> bool {
        self.inflight <= self.bounds.with_headroom(self.mss, self.min_pipe_cwnd())
            && self.inflight <= self.inflight_target(self.model.max_bw(), 100)
    }

    /// IsTimeToGoDown.
    fn go_down_if_it_is_time(&mut self, signal: &Signal<'_>) {
        let longterm = self.bounds.inflight_longterm;
        // "Precautionary Bandwidth Probing: Deceleration".
        let precaution = self.cycle.prev_probe_too_high && self.inflight >= longterm;
        if precaution {
            self.cycle.prev_probe_precautionary = true;
        } else if self.queue_stands(self.cycle.queue_before, QUEUE) && self.full_pipe.is_flat(signal.rate) {
            // More is in the network, and no more arrives for it: the queue is this probe's own.
            self.full_pipe.now = true;
        } else if self.is_cwnd_limited() && self.cwnd >= longterm {
            // "bw is limited by BBR.inflight_longterm".
            self.full_pipe.reset(signal.rate);
            return;
        }
        if precaution || self.full_pipe.now {
            // "no high loss (yet)".
            self.cycle.prev_probe_too_high = false;
            self.start_down(signal.now);
        }
    }

    fn is_cwnd_limited(&self) -> bool {
        self.usage.peak().saturating_add(2 * self.mss) >= self.cwnd
    }

    // --- the long-term bound ------------------------------------------------------------------------

    /// AdaptLongTermModel; returns whether it changed the state.
    fn adapt_long_term_model(&mut self, signal: &Signal<'_>) -> bool {
        let cycle = &mut self.cycle;
        if cycle.ack_phase == AckPhase::ProbeStarting && self.round_start {
            cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if cycle.ack_phase == AckPhase::ProbeStopping && self.round_start {
            // "end of samples from bw probing phase".
            cycle.is_probe_sample = false;
            cycle.ack_phase = AckPhase::Init;
            let probes = self.state.probes_bandwidth();
            // "one round trip after exiting ProbeBW_UP [...] BBR increments BBR.cycle_count". The draft's
            // code omits this if ProbeRTT came in between. With RTTs of half a second and more it
            // always does, and an outdated bandwidth would never expire.
            let cut_short = core::mem::take(&mut cycle.cut_short) && self.rules_off.hold(Rule::NextProbe);
            if (probes && !signal.app_limited) || (cut_short && !signal.sample.app_limited) {
                self.model.advance_cycle();
            }
            // "Precautionary Bandwidth Probing: Acceleration".
            if probes && cycle.prev_probe_precautionary && !cycle.prev_probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if self.is_probe_too_high(signal.sample.lost, signal.sample.in_flight)
            || self.bounds.inflight_longterm == NO_VOLUME
        {
            return false;
        }
        // "Loss rate is safe. Adjust upper bounds upward."
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(signal.sample.in_flight);
        if self.state == State::Up {
            self.probe_longterm_upward(signal.newly_acked);
        }
        false
    }

    /// ProbeInflightLongtermUpward.
    fn probe_longterm_upward(&mut self, newly_acked: u32) {
        if !self.is_cwnd_limited() || self.cwnd < self.bounds.inflight_longterm {
            return;
        }
        self.cycle.up_acked = self.cycle.up_acked.saturating_add(newly_acked);
        if let Some(per_increment) = self.cycle.up_acked_per_increment
            && self.cycle.up_acked >= per_increment
        {
            let steps = self.cycle.up_acked / per_increment;
            self.cycle.up_acked %= per_increment;
            self.bounds.inflight_longterm =
                self.bounds.inflight_longterm.saturating_add(steps.saturating_mul(self.mss));
        }
        if self.round_start {
            self.raise_longterm_slope();
        }
    }

    /// RaiseInflightLongtermSlope.
    fn raise_longterm_slope(&mut self) {
        let growth_this_round = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.up_acked_per_increment = Some((self.cwnd / growth_this_round).max(self.mss).max(1));
    }

    /// HandleInflightTooHigh: more was in flight than the path carries.
    pub(super) fn handle_inflight_too_high(&mut self, now: Instant, in_flight: u32, app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_probe_sample = false;
        if !app_limited {
            self.bounds.inflight_longterm = in_flight.max(share(self.target_inflight(), BETA));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::RateSample;
    use super::super::super::testing::sample;
    use super::super::tests::known;
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn signal(sample: &RateSample) -> Signal<'_> {
        Signal {
            now: at(10),
            rtt: None,
            in_fast_recovery: false,
            newly_acked: 1000,
            rate: 10_000_000,
            app_limited: sample.app_limited,
            sample,
        }
    }

    #[test]
    fn a_probes_queue_is_drained_within_a_second() {
        // A second carries 1,250,000 bytes.
        for (inflight, gain) in
            [(0, 90), (250_000, 90), (375_000, 80), (500_000, 70), (750_000, 50), (9_000_000, 50)]
        {
            let mut bbr = known(State::Up);
            bbr.inflight = inflight;
            bbr.start_down(at(5));
            assert_eq!((bbr.state, bbr.cycle.down_gain), (State::Down, gain), "{inflight}");
            assert_eq!(bbr.cycle.ack_phase, AckPhase::ProbeStopping);
            assert_eq!((bbr.cycle.stamp, bbr.cycle.up_acked_per_increment), (at(5), None));
        }
    }

    /// "2 to 3 s", or as many rounds as Reno takes, 63 at most.
    #[test]
    fn the_next_probe_waits_for_seconds_or_rounds() {
        let mut waits = alloc::collections::BTreeSet::new();
        let mut bbr = known(State::Up);
        for _ in 0..200 {
            bbr.start_down(at(0));
            let wait = bbr.cycle.wait;
            assert!(wait >= Duration::from_secs(2) && wait <= Duration::from_secs(3), "{wait:?}");
            assert!(bbr.cycle.rounds_since_probe_up < 2);
            waits.insert((bbr.cycle.rounds_since_probe_up, wait.as_millis() / 100));
        }
        assert!(waits.len() > 15, "{waits:?}");
        let is_time = |cwnd, rounds, millis, phase| {
            let mut bbr = known(State::Cruise);
            bbr.cwnd = cwnd;
            (bbr.cycle.stamp, bbr.cycle.wait) = (at(1000), Duration::from_secs(2));
            (bbr.cycle.rounds_since_probe_up, bbr.cycle.ack_phase) = (rounds, phase);
            bbr.is_time_to_probe(at(millis))
        };
        let init = AckPhase::Init;
        assert_eq!([3000, 3001].map(|millis| is_time(250_000, 0, millis, init)), [false, true]);
        assert_eq!([62, 63].map(|rounds| is_time(250_000, rounds, 0, init)), [false, true]);
        assert_eq!([49, 50].map(|rounds| is_time(50_000, rounds, 0, init)), [false, true]);
        assert!(!is_time(250_000, 99, 9000, AckPhase::ProbeStopping), "the last one is not over");
    }

    #[test]
    fn cruising_begins_below_the_bounds() {
        let is_time = |inflight, longterm| {
            let mut bbr = known(State::Down);
            (bbr.inflight, bbr.bounds.inflight_longterm) = (inflight, longterm);
            bbr.is_time_to_cruise()
        };
        assert_eq!([125_000, 125_001].map(|inflight| is_time(inflight, NO_VOLUME)), [true, false]);
        assert_eq!([85_000, 85_001].map(|inflight| is_time(inflight, 100_000)), [true, false]);
    }

    #[test]
    fn a_cycle_goes_on_when_it_is_time() {
        let sample = sample(0, 1000);
        let after = |mut bbr: Bbr| {
            bbr.update_cycle_phase(&signal(&sample));
            bbr.state
        };
        let mut down = known(State::Down);
        (down.cycle.wait, down.inflight) = (Duration::from_secs(9), 200_000);
        assert_eq!(after(down), State::Down);
        let mut down = known(State::Down);
        down.cycle.wait = Duration::from_secs(9);
        assert_eq!(after(down), State::Cruise);
        assert_eq!(after(known(State::Cruise)), State::Refill);
        assert_eq!(after(known(State::Refill)), State::Refill);
        let mut refill = known(State::Refill);
        refill.round_start = true;
        assert_eq!(after(refill), State::Up);
        let mut empty = known(State::Cruise);
        empty.full_pipe.reached = false;
        assert_eq!(after(empty), State::Cruise, "not before the pipe was full");
    }

    #[test]
    fn a_refill_forgets_the_probe_before() {
        let mut bbr = known(State::Cruise);
        (bbr.cycle.up_rounds, bbr.cycle.up_acked, bbr.cycle.prev_probe_precautionary) = (3, 4, true);
        bbr.bounds.inflight_shortterm = 9;
        bbr.start_refill();
        assert_eq!(
            (bbr.cycle.up_rounds, bbr.cycle.up_acked, bbr.cycle.prev_probe_precautionary),
            (0, 0, false)
        );
        assert_eq!((bbr.bounds.inflight_shortterm, bbr.cycle.ack_phase), (NO_VOLUME, AckPhase::Refilling));
        bbr.round_start = true;
        bbr.update_cycle_phase(&signal(&sample(0, 1000)));
        assert!(bbr.cycle.is_probe_sample && bbr.cycle.ack_phase == AckPhase::ProbeStarting);
        assert_eq!((bbr.cycle.up_rounds, bbr.cycle.up_acked_per_increment), (1, Some(250_000)));
    }

    /// Each round the bound may grow twice as fast: by a segment for half as many that are acknowledged.
    #[test]
    fn the_bound_grows_faster_each_round() {
        let mut bbr = known(State::Up);
        let slopes = [0; 10].map(|_| {
            bbr.raise_longterm_slope();
            bbr.cycle.up_acked_per_increment
        });
        let expected = [250_000, 125_000, 62_500, 31_250, 15_625, 7812, 3906, 1953, 1000, 1000];
        assert_eq!(slopes, expected.map(Some));
        (0..50).for_each(|_| bbr.raise_longterm_slope());
        assert_eq!(bbr.cycle.up_rounds, 30);
    }

    #[test]
    fn what_is_acknowledged_while_the_window_is_used_raises_the_bound() {
        let longterm = |used, cwnd, acked, round_start| {
            let mut bbr = known(State::Up);
            (bbr.cwnd, bbr.bounds.inflight_longterm, bbr.round_start) = (cwnd, 100_000, round_start);
            bbr.usage.on_ack(&super::super::super::testing::ack(0, used));
            bbr.cycle.up_acked_per_increment = Some(2000);
            bbr.probe_longterm_upward(acked);
            (bbr.bounds.inflight_longterm, bbr.cycle.up_acked, bbr.cycle.up_acked_per_increment)
        };
        assert_eq!(longterm(100_000, 100_000, 1999, false), (100_000, 1999, Some(2000)));
        assert_eq!(longterm(100_000, 100_000, 2000, false), (101_000, 0, Some(2000)));
        assert_eq!(longterm(100_000, 100_000, 5500, false), (102_000, 1500, Some(2000)));
        assert_eq!(longterm(98_000, 100_000, 2000, false).0, 101_000, "to two segments");
        assert_eq!(longterm(97_999, 100_000, 2000, false).0, 100_000, "the window is not used");
        assert_eq!(longterm(99_999, 99_999, 2000, false).0, 100_000, "the bound is not reached");
        assert_eq!(longterm(100_000, 100_000, 0, true).2, Some(100_000), "a new round");
    }

    #[test]
    fn a_safe_round_raises_the_bound_to_what_was_in_flight() {
        let longterm = |in_flight, lost, before| {
            let mut bbr = known(State::Cruise);
            (bbr.bounds.inflight_longterm, bbr.cycle.wait) = (before, Duration::from_secs(9));
            let sample = RateSample { in_flight, lost, ..sample(0, 1000) };
            assert!(!bbr.adapt_long_term_model(&signal(&sample)));
            bbr.bounds.inflight_longterm
        };
        assert_eq!(longterm(120_000, 0, 100_000), 120_000);
        assert_eq!(longterm(120_000, 2400, 100_000), 120_000, "two percent are tolerated");
        assert_eq!(longterm(120_000, 2401, 100_000), 100_000);
        assert_eq!(longterm(90_000, 0, 100_000), 100_000);
        assert_eq!(longterm(90_000, 0, NO_VOLUME), NO_VOLUME);
    }

    #[test]
    fn a_round_later_the_feedback_on_a_probe_is_over() {
        let after = |phase, round_start, state, app_limited, cut_short| {
            let mut bbr = known(state);
            (bbr.cycle.ack_phase, bbr.round_start, bbr.cycle.cut_short) = (phase, round_start, cut_short);
            bbr.cycle.is_probe_sample = true;
            let sample = RateSample { app_limited, ..sample(0, 1000) };
            bbr.adapt_long_term_model(&signal(&sample));
            // A cycle later the bandwidth of this one is the last one's.
            bbr.model.on_rate(1, false);
            bbr.model.advance_cycle();
            (bbr.cycle.ack_phase, bbr.cycle.is_probe_sample, bbr.model.max_bw() == 1)
        };
        use AckPhase::{Init, ProbeFeedback, ProbeStarting, ProbeStopping};
        assert_eq!(after(ProbeStarting, true, State::Up, false, false), (ProbeFeedback, true, false));
        assert_eq!(after(ProbeStarting, false, State::Up, false, false), (ProbeStarting, true, false));
        assert_eq!(after(ProbeStopping, false, State::Down, false, false), (ProbeStopping, true, false));
        assert_eq!(after(ProbeStopping, true, State::Down, false, false), (Init, false, true));
        assert_eq!(after(ProbeStopping, true, State::Down, true, false), (Init, false, false));
        assert_eq!(after(ProbeStopping, true, State::Startup, false, false), (Init, false, false));
        assert_eq!(after(ProbeStopping, true, State::Startup, false, true), (Init, false, true));
        assert_eq!(after(ProbeStopping, true, State::Startup, true, true), (Init, false, false));
    }

    #[test]
    fn a_probe_that_ended_as_a_precaution_is_repeated() {
        for (precautionary, too_high, repeats) in
            [(true, false, true), (true, true, false), (false, false, false)]
        {
            let mut bbr = known(State::Down);
            (bbr.cycle.ack_phase, bbr.round_start) = (AckPhase::ProbeStopping, true);
            bbr.cycle.prev_probe_precautionary = precautionary;
            bbr.cycle.prev_probe_too_high = too_high;
            let sample = sample(0, 1000);
            assert_eq!(bbr.adapt_long_term_model(&signal(&sample)), repeats);
            assert_eq!(bbr.state == State::Refill, repeats);
        }
    }

    #[test]
    fn a_probe_ends_by_precaution_by_its_queue_or_with_a_full_pipe() {
        let end = |too_high, inflight, queue, now, rate| {
            let mut bbr = known(State::Up);
            bbr.bounds.inflight_longterm = 200_000;
            (bbr.cycle.prev_probe_too_high, bbr.inflight) = (too_high, inflight);
            bbr.full_pipe.reset(10_000_000);
            bbr.full_pipe.now = now;
            let min = Duration::from_millis(100);
            bbr.standing_queue.on_ack(min + Duration::from_millis(queue), min, 1 << 20, 1);
            let sample = sample(0, 1000);
            bbr.go_down_if_it_is_time(&Signal { rate, ..signal(&sample) });
            (bbr.state == State::Down, bbr.cycle.prev_probe_precautionary)
        };
        let flat = 10_000_000;
        assert_eq!(end(false, 0, 0, false, flat), (false, false));
        assert_eq!(end(true, 200_000, 0, false, flat), (true, true));
        assert_eq!(end(true, 199_999, 0, false, flat), (false, false));
        assert_eq!(end(false, 200_000, 0, false, flat), (false, false));
        assert_eq!(end(false, 0, 51, false, flat), (true, false));
        assert_eq!(end(false, 0, 50, false, flat), (false, false));
        assert_eq!(end(false, 0, 51, false, 11_000_000), (false, false), "it yields more");
        assert_eq!(end(false, 0, 0, true, flat), (true, false));
    }

    #[test]
    fn too_much_in_flight_lowers_the_bound() {
        let after = |state, in_flight, app_limited| {
            let mut bbr = known(state);
            bbr.cycle.is_probe_sample = true;
            bbr.handle_inflight_too_high(at(3), in_flight, app_limited);
            assert!(bbr.cycle.prev_probe_too_high && !bbr.cycle.is_probe_sample);
            (bbr.bounds.inflight_longterm, bbr.state)
        };
        assert_eq!(after(State::Up, 110_000, false), (110_000, State::Down));
        // Seven tenths of 125,000 bytes.
        assert_eq!(after(State::Cruise, 20_000, false), (87_500, State::Cruise));
        assert_eq!(after(State::Cruise, 20_000, true), (NO_VOLUME, State::Cruise));
    }
}
