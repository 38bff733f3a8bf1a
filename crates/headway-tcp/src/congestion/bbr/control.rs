//! Window and pacing rate, derived from the model (draft-ietf-ccwg-bbr, section 5.6).

use headway_units::{Duration, Rate};

use super::super::Ack;
use super::super::bbr_common::NO_VOLUME;
use super::super::bbr_common::phases::State;
use super::super::bbr_common::quantities::{gained, rate_of, volume};
use super::super::careful_resume::CarefulResume;
use super::super::trial::Trial;
use super::Bbr;
use crate::rules::Rule;

/// "PacingMarginPercent constant of 1", "to help drive the network toward lower queues".
const PACING_MARGIN: u64 = 1;
/// "StartupPacingGain (2.77)", in percent, like all gains here.
const STARTUP_PACING_GAIN: u64 = 277;
/// Startup's gains while a queue stands. As conservative slow start does (RFC 9406, 4.2: "CSS_GROWTH_DIVISOR = 4"), the rate
/// grows by a fourth of what it did, which is still more than the quarter a round that keeps Startup going.
const CAUTIOUS_PACING_GAIN: u64 = 144;
const CAUTIOUS_CWND_GAIN: u64 = 150;

/// The initial window is a train in an eighth of a round trip. Fitted to links of 10 Mbit/s, among 4, 6, 8 and 10: what is more
/// shows more of the path, and loses more in a short queue.
const TRAIN_GAIN: u32 = 8;
/// A shorter path is soon full, and its queue is as short.
const LONG: Duration = Duration::from_millis(50);
/// "ProbeRTTCwndGain = 0.5".
const PROBE_RTT_CWND_GAIN: u64 = 50;
/// Half of what the path carries, less what the ledger's classes of volumes are wide (a quarter octave), is 0.42.
const EXPERIMENT_CWND_GAIN: u64 = 40;

impl Bbr {
    /// The table of 5.6.1.
    pub(super) fn pacing_gain(&self) -> u64 {
        match self.state {
            State::Startup if self.starts_cautiously() => CAUTIOUS_PACING_GAIN,
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => 50,
            State::Down => self.cycle.down_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 100,
            State::Up => 125,
        }
    }

    fn cwnd_gain(&self) -> u64 {
        match self.state {
            State::Startup if self.starts_cautiously() => CAUTIOUS_CWND_GAIN,
            State::Startup | State::Drain | State::Down | State::Cruise | State::Refill => 200,
            State::Up => 225,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
        }
    }

    /// 5.6.2, InitPacingRate.
    pub(super) fn init_pacing_rate(&mut self, rtt: Duration) {
        self.pacing_rate =
            self.pacing_rate.max(gained(rate_of(self.initial_window(), rtt), STARTUP_PACING_GAIN));
    }

    /// 5.6.2, SetPacingRateWithGain: "if (BBR.full_bw_reached || rate > C.pacing_rate)".
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        let rate = gained(gained(self.bw, gain), 100 - PACING_MARGIN);
        if rate > 0 && (self.full_pipe.reached || self.starts_cautiously() || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// 5.6.4.6, SetCwnd.
    pub(super) fn set_cwnd(&mut self, newly_acked: u32) {
        let max_inflight = self.max_inflight();
        let grown = self.cwnd.saturating_add(newly_acked);
        if self.full_pipe.reached {
            self.cwnd = grown.min(max_inflight);
        } else if !self.resume.holds_window()
            && (self.cwnd < max_inflight || self.total_delivered < u64::from(self.initial_window()))
        {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// Whether Startup seems to have filled the pipe, by the queue that stands or because it began at a rate that was told.
    fn starts_cautiously(&self) -> bool {
        self.state == State::Startup && (self.is_told || self.queue_stands(0, 12))
    }

    /// 5.6.4.7, BoundCwndForModel.
    fn bound_cwnd_for_model(&mut self) {
        let min = self.min_pipe_cwnd();
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_longterm,
            // Headroom is for cross traffic.
            State::ProbeRtt | State::Cruise => self.bounds.with_headroom(self.mss, min),
            State::Startup | State::Drain => NO_VOLUME,
        };
        let cap = cap.min(self.bounds.inflight_shortterm).max(min);
        self.cwnd = self.cwnd.min(cap);
    }

    /// 5.6.4.2, UpdateMaxInflight.
    fn max_inflight(&self) -> u32 {
        let multiple = self.bdp_multiple(self.bw, self.cwnd_gain());
        let extra = self.model.aggregation.extra_acked(self.round_count, !self.full_pipe.reached);
        self.with_quantization_budget(multiple.saturating_add(extra))
    }

    /// BDPMultiple: "no valid RTT samples yet" leaves the initial window.
    pub(super) fn bdp_multiple(&self, bw: u64, gain: u64) -> u32 {
        self.model.bdp(bw, gain).unwrap_or_else(|| self.initial_window())
    }

    /// Inflight(bw, gain).
    pub(super) fn inflight_target(&self, bw: u64, gain: u64) -> u32 {
        self.with_quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// QuantizationBudget, with the offload budget of TCP: "3 * C.send_quantum".
    fn with_quantization_budget(&self, inflight: u32) -> u32 {
        let up = if self.state == State::Up { 2 * self.mss } else { 0 };
        inflight.max(self.send_quantum().saturating_mul(3)).max(self.min_pipe_cwnd()).saturating_add(up)
    }

    /// 5.6.3, SetSendQuantum: what the pacing rate sends in a millisecond. "SHOULD attempt to use the
    /// smallest feasible quanta": segments are sent one by one, so the minimum is one and not two.
    fn send_quantum(&self) -> u32 {
        volume(self.pacing_rate, Duration::from_millis(1).as_nanos(), 100).min(65_536).max(self.mss)
    }

    /// 5.6.4.5, ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        let gain = if self.probe_rtt.asked { EXPERIMENT_CWND_GAIN } else { PROBE_RTT_CWND_GAIN };
        self.bdp_multiple(self.bw, gain).max(self.min_pipe_cwnd())
    }

    /// 5.6.4.4, SaveCwnd: "the latest C.cwnd unmodulated by loss recovery or ProbeRTT".
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.in_loss_recovery() || self.state == State::ProbeRtt {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// The handshake took `rtt`. Where nothing is known, the initial window is sent as a train, at a rate that is tried.
    pub(super) fn try_rate(&mut self, rtt: Duration) {
        if self.rules_off.hold(Rule::FirstTrain)
            && rtt >= LONG
            && self.resume.is_unused()
            && self.total_delivered == 0
            // No SYN was lost.
            && self.cwnd == self.initial_window()
        {
            let rate = gained(rate_of(self.cwnd, rtt), 100 * u64::from(TRAIN_GAIN));
            let trial = Trial::tried(Rate::from_bits_per_second(rate), (self.cwnd, TRAIN_GAIN), self.mss);
            self.resume = CarefulResume::testing(trial);
        }
    }

    /// A resumed connection jumps to a part of the saved window, paced over a round trip, or to what a train shows.
    pub(super) fn jump(&mut self, ack: &Ack) {
        let limited = self.usage.is_limited(self.cwnd, self.mss, self.state == State::Startup);
        let Some(jump) = self.resume.on_ack(ack, self.cwnd, limited) else { return };
        let window = jump.window;
        if self.state != State::Startup || window <= self.cwnd {
            return;
        }
        self.cwnd = window;
        if let Some(min_rtt) = self.model.delay.min_rtt {
            let rate = rate_of(window, min_rtt);
            self.pacing_rate = self.pacing_rate.max(rate);
            if jump.is_measured {
                self.model.on_rate(rate, false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Instant;

    use super::super::super::testing::setup;
    use super::super::tests::known;
    use super::*;

    const STATES: [State; 7] =
        [State::Startup, State::Drain, State::Down, State::Cruise, State::Refill, State::Up, State::ProbeRtt];

    /// A queue stands that delays by `micros`.
    fn queue(bbr: &mut Bbr, micros: u64) {
        let min = bbr.model.delay.min_rtt.expect("it is known");
        bbr.standing_queue = super::super::StandingQueue::new();
        bbr.standing_queue.on_ack(min + Duration::from_micros(micros), min, 1 << 20, 1);
        assert_eq!(u64::from(bbr.standing_queue.delay()), micros);
    }

    /// 5.6.1.
    #[test]
    fn each_state_has_its_gains() {
        let gains = STATES.map(|state| {
            let bbr = known(state);
            (bbr.pacing_gain(), bbr.cwnd_gain())
        });
        let expected = [(277, 200), (50, 200), (90, 200), (100, 200), (100, 200), (125, 225), (100, 50)];
        assert_eq!(gains, expected);
    }

    #[test]
    fn startup_is_cautious_while_a_queue_of_an_eighth_or_so_stands() {
        let gains = |millis: u64, queue_millis: u64| {
            let mut bbr = known(State::Startup);
            bbr.model.delay = super::super::model::MinRtt::default();
            bbr.model.delay.on_ack(Instant::ZERO, Some(Duration::from_millis(millis)));
            queue(&mut bbr, queue_millis * 1000);
            (bbr.pacing_gain(), bbr.cwnd_gain())
        };
        // A short queue harms no one.
        assert_eq!([gains(100, 50), gains(100, 51)], [(277, 200), (144, 150)]);
        assert_eq!([gains(1000, 120), gains(1000, 121)], [(277, 200), (144, 150)]);
        let mut drain = known(State::Drain);
        queue(&mut drain, 90_000);
        assert_eq!((drain.pacing_gain(), drain.cwnd_gain()), (50, 200));
    }

    #[test]
    fn a_hundredth_is_left_to_others() {
        let mut bbr = known(State::Cruise);
        bbr.set_pacing_rate(100);
        assert_eq!(bbr.pacing_rate, 9_900_000);
    }

    #[test]
    fn the_rate_falls_only_when_the_pipe_was_full_or_a_queue_stands() {
        let rate = |reached, micros, before| {
            let mut bbr = known(State::Startup);
            bbr.full_pipe.reached = reached;
            queue(&mut bbr, micros);
            bbr.pacing_rate = before;
            bbr.set_pacing_rate(100);
            bbr.pacing_rate
        };
        let (less, more) = (5_000_000, 50_000_000);
        assert_eq!([rate(false, 0, less), rate(false, 0, more)], [9_900_000, more]);
        assert_eq!([rate(true, 0, more), rate(false, 60_000, more)], [9_900_000; 2]);
        let mut nothing = known(State::Cruise);
        (nothing.bw, nothing.pacing_rate) = (0, 7);
        nothing.set_pacing_rate(100);
        assert_eq!(nothing.pacing_rate, 7, "nothing is known");
    }

    #[test]
    fn the_window_grows_by_what_is_acknowledged_to_what_the_model_says() {
        let cwnd = |reached, delivered, before| {
            let mut bbr = known(if reached { State::Cruise } else { State::Startup });
            (bbr.full_pipe.reached, bbr.total_delivered, bbr.cwnd) = (reached, delivered, before);
            bbr.set_cwnd(1000);
            bbr.cwnd
        };
        // Twice 125,000 bytes.
        assert_eq!(
            [100_000, 249_500, 400_000].map(|before| cwnd(true, 1 << 20, before)),
            [101_000, 250_000, 250_000]
        );
        assert_eq!([249_999, 250_000].map(|before| cwnd(false, 1 << 20, before)), [250_999, 250_000]);
        assert_eq!([9_999, 10_000].map(|delivered| cwnd(false, delivered, 300_000)), [301_000, 300_000]);
        assert_eq!(cwnd(true, 1 << 20, 1000), 4000, "four segments at least");
    }

    #[test]
    fn each_state_has_its_bound() {
        let cwnd = |longterm, shortterm| {
            STATES.map(|state| {
                let mut bbr = known(state);
                bbr.cwnd = 200_000;
                (bbr.bounds.inflight_longterm, bbr.bounds.inflight_shortterm) = (longterm, shortterm);
                bbr.set_cwnd(0);
                bbr.cwnd / 1000
            })
        };
        assert_eq!(cwnd(100_000, NO_VOLUME), [200, 200, 100, 85, 100, 100, 62]);
        assert_eq!(cwnd(60_000, NO_VOLUME), [200, 200, 60, 51, 60, 60, 51]);
        assert_eq!(cwnd(NO_VOLUME, 50_000), [50; 7]);
        assert_eq!(cwnd(NO_VOLUME, 1000), [4; 7]);
    }

    #[test]
    fn a_target_has_room_for_what_is_sent_at_once() {
        let target = |state, bw, pacing_rate| {
            let mut bbr = known(state);
            bbr.pacing_rate = pacing_rate;
            bbr.inflight_target(bw, 100)
        };
        assert_eq!(
            [target(State::Cruise, 10_000_000, 0), target(State::Up, 10_000_000, 0)],
            [125_000, 127_000]
        );
        assert_eq!(target(State::Cruise, 1000, 0), 4000, "four segments");
        // Three times what a millisecond sends, which is 64 KiB at most.
        assert_eq!(target(State::Cruise, 1000, 100_000_000), 37_500);
        assert_eq!(target(State::Cruise, 1000, 10_000_000_000), 3 << 16);
        assert_eq!(
            [known(State::ProbeRtt).probe_rtt_cwnd(), Bbr::new(&setup(10)).probe_rtt_cwnd()],
            [62_500, 5360]
        );
    }

    #[test]
    fn what_bunched_up_is_added_to_the_window() {
        let mut bbr = known(State::Cruise);
        bbr.cwnd = 240_000;
        bbr.model.aggregation.on_ack(Instant::ZERO, 30_000, 10_000_000, 240_000, 9);
        bbr.set_cwnd(50_000);
        assert_eq!(bbr.cwnd, 280_000);
    }

    /// 5.6.4.4.
    #[test]
    fn the_window_before_a_recovery_returns() {
        for (recovers, state, prior) in
            [(false, State::Cruise, 40_000), (true, State::Cruise, 90_000), (false, State::ProbeRtt, 90_000)]
        {
            let mut bbr = known(state);
            (bbr.in_fast_recovery, bbr.cwnd, bbr.prior_cwnd) = (recovers, 40_000, 90_000);
            bbr.save_cwnd();
            assert_eq!(bbr.prior_cwnd, prior, "{state:?}");
            bbr.cwnd = 4000;
            bbr.restore_cwnd();
            assert_eq!(bbr.cwnd, prior);
            bbr.cwnd = 200_000;
            bbr.restore_cwnd();
            assert_eq!(bbr.cwnd, 200_000);
        }
    }

    #[test]
    fn the_first_rate_is_the_initial_windows_and_never_lower() {
        let mut bbr = known(State::Startup);
        bbr.pacing_rate = 1_000_000;
        bbr.init_pacing_rate(Duration::from_millis(100));
        assert_eq!(bbr.pacing_rate, 2_216_000);
        bbr.init_pacing_rate(Duration::from_millis(200));
        assert_eq!(bbr.pacing_rate, 2_216_000);
    }
}
