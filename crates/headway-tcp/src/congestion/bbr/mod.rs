//! Modified BBR: BBR version 3 (draft-ietf-ccwg-bbr) with changes for damaged and for long paths. It is based on a model of the
//! path's bandwidth and delay, rather than on losses. [`super::draft_bbr`] is the draft's without changes.
//!
//! [`model`] measures the path, [`full_pipe`] detects a full pipe, [`bounds`] has the bounds from losses,
//! [`startup`], [`probe_bw`] and [`probe_rtt`] are the states, and [`control`] computes window and rate. [`standing_queue`] is
//! not the draft's: it ends Startup and the probes for bandwidth before they fill a queue of a round-trip time.
//! Names are the draft's.
//!
//! Corruption is not a loss. Corrupted segments passed the bottleneck, so they count as delivered in the
//! samples ([`RateSample`]): a sender that counted only intact segments would measure 80 % of the link if
//! a fifth is corrupted, send at that rate, then measure 64 %, and so on.
//!
//! It differs from the draft in this:
//!
//! 1. On paths of 50 ms and more the initial window is sent in an eighth of a round trip, and the window is what arrives of it then
//!    ([`super::trial`]). Startup ends at the rate that an earlier connection found.
//! 2. A queue of its own ends a search. A probe ends when a standing queue that was not there when it began exceeds 12 % of the
//!    round-trip time and 50 ms, while the rate is the same to a sixteenth. Startup grows by a fourth as much once such a queue
//!    stands (as in HyStart++), and ends after one round without growth if the queue is half a round trip.
//! 3. The first damage begins a Startup again that losses had ended, if no queue was there when it ended nor is now, no mark
//!    came, and it was no more than 64 rounds ago. In that round and the two after it losses end it only if a queue shows, since
//!    they may be older. Before that they end it only if a queue shows, or the rate of the last round was no quarter higher.
//! 4. Rounds without a trusted rate do not count as rounds without growth.
//! 5. What a probe showed is used before the next one begins, also where a round trip is longer than the wait, or ProbeRTT comes
//!    in between.
//! 6. A sample that equals the minimum postpones ProbeRTT: the queue is empty ([`model`] says when not). One that is sooner than
//!    the minimum, after a retransmission, answers an earlier transmission, and measures no rate.
//! 7. ProbeBW_DOWN drains the queue of a long path faster than a gain of 0.9 does.
//! 8. Losses that probably crossed the bottleneck do not lower the short-term bounds, and the loss of a block (of partial
//!    recovery) counts as that of a full-sized packet: queues drop packets, whatever their length.
//! 9. What an undo restores is saved once for each recovery, not once for each round with losses.
//! 10. The send quantum is at least one segment, not two.
//! 11. Startup begins at a told rate that the path has confirmed ([`super::start`]), and searches from there with the gains that
//!     it has while a queue stands.
//! 12. Losses that a probe tolerates (2 %) do not lower the short-term bounds either, where no one else seems to use the path. Nor do
//!     they end a probe while the queue is short, though of few segments two are more than 2 %.
//! 13. Where the ledger asks for less, ProbeRTT begins at once and lasts until it asks no more. What is lost meanwhile lowers no bound.
//!
//! The draft does not specify ECN except "MUST treat any CE marks as congestion": here a mark counts as a
//! round trip whose losses exceeded the threshold.

mod bounds;
mod control;
mod full_pipe;
mod model;
mod probe_bw;
mod probe_rtt;
mod standing_queue;
mod startup;

use core::num::NonZeroU64;

use headway_units::{Duration, Instant, Rate};

use super::bbr_common::phases::State;
use super::bbr_common::quantities::rate_of;
use super::bbr_common::random::Random;
use super::bbr_common::{LOSS_THRESH, MIN_PIPE_SEGMENTS, is_too_high};
use super::careful_resume::{CarefulResume, SavedPath};
use super::rounds::Rounds;
use super::usage::Usage;
use super::{Ack, CongestionControl, Load, Loss, LostSegment, RateSample, Setup};
use crate::rules::{Rule, RulesOff};
use bounds::{Bounds, inflight_at_loss};
use full_pipe::FullPipe;
use model::Model;
use probe_bw::Cycle;
use probe_rtt::ProbeRtt;
use standing_queue::{StandingQueue, micros};
use startup::Doubt;

/// Modified BBR.
#[derive(Debug)]
pub struct Bbr {
    mss: u32,
    initial_segments: u32,
    cwnd: u32,
    /// Bits per second; zero before the first sample.
    pacing_rate: u64,
    /// `BBR.bw`: bits per second.
    bw: u64,
    state: State,
    rounds: Rounds,
    round_start: bool,
    round_count: u64,
    /// The count when Drain began, modulo 2^32.
    drain_start_round: u32,
    doubt: Doubt,
    total_delivered: u64,
    /// Bytes in the network.
    inflight: u32,
    /// Bytes that arrived corrupted since the last ACK.
    damaged: u32,
    model: Model,
    full_pipe: FullPipe,
    bounds: Bounds,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    usage: Usage,
    /// The last RTT exceeded the minimum by more than an eighth.
    queued: bool,
    standing_queue: StandingQueue,
    idle_restart: bool,
    in_fast_recovery: bool,
    /// After a timeout: until this many bytes are delivered.
    timeout_recovery: Option<NonZeroU64>,
    prior_cwnd: u32,
    /// The state to restore after a spurious recovery.
    undo: Undo,
    undo_saved: bool,
    resume: CarefulResume,
    /// Startup goes on from a rate that was told, and arrived.
    is_told: bool,
    /// No one else seems to use the path.
    is_alone: bool,
    random: Random,
    rules_off: RulesOff,
}

/// 5.5.11: the state to restore after a spurious loss.
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// The accelerating state that the loss ended.
    state: Option<State>,
    bw_shortterm: u64,
    inflight_shortterm: u32,
    inflight_longterm: u32,
}

/// The draft's per-ACK state (RS) that is not in the sample.
struct Signal<'a> {
    now: Instant,
    rtt: Option<Duration>,
    in_fast_recovery: bool,
    newly_acked: u32,
    /// Bits per second; zero if the sample is invalid.
    rate: u64,
    app_limited: bool,
    sample: &'a RateSample,
}

impl Bbr {
    /// A controller at the start of a connection.
    pub fn new(setup: &Setup) -> Self {
        let mss = 536;
        let initial_segments = setup.initial_window.max(1);
        let mut model = Model::new();
        model.delay.ignores_equal = !setup.rules_off.hold(Rule::EqualMinimum);
        Self {
            mss,
            initial_segments,
            cwnd: initial_segments.saturating_mul(mss),
            pacing_rate: 0,
            bw: 0,
            state: State::Startup,
            rounds: Rounds::default(),
            round_start: false,
            round_count: 0,
            drain_start_round: 0,
            doubt: Doubt::default(),
            total_delivered: 0,
            inflight: 0,
            damaged: 0,
            model,
            full_pipe: FullPipe::default(),
            bounds: Bounds::new(),
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            usage: Usage::default(),
            queued: false,
            standing_queue: StandingQueue::new(),
            idle_restart: false,
            in_fast_recovery: false,
            timeout_recovery: None,
            prior_cwnd: 0,
            undo: Undo { state: None, bw_shortterm: 0, inflight_shortterm: 0, inflight_longterm: 0 },
            undo_saved: false,
            resume: CarefulResume::default(),
            is_told: false,
            is_alone: false,
            random: Random(setup.seed),
            rules_off: setup.rules_off,
        }
    }

    fn initial_window(&self) -> u32 {
        self.initial_segments.saturating_mul(self.mss)
    }

    fn min_pipe_cwnd(&self) -> u32 {
        MIN_PIPE_SEGMENTS.saturating_mul(self.mss)
    }

    /// 5.2.3, UpdateModelAndState.
    fn update_model_and_state(&mut self, signal: &Signal<'_>) {
        self.total_delivered = signal.sample.total_delivered;
        self.bounds.update_latest(signal.sample, signal.rate);
        self.update_congestion_signals(signal);
        self.model.aggregation.on_ack(signal.now, signal.newly_acked, self.bw, self.cwnd, self.round_count);
        if self.round_start && !signal.app_limited && signal.rate > 0 {
            let queued = self.state == State::Startup && self.queue_stands(0, 50);
            self.full_pipe.on_round(signal.rate, queued);
        }
        self.check_startup_done(signal);
        self.check_drain_done(signal.now);
        self.update_cycle_phase(signal);
        self.model.delay.on_ack(signal.now, signal.rtt);
        self.check_probe_rtt(signal);
        self.bounds.advance_latest(signal.sample, signal.rate);
        // BoundBWForModel.
        self.bw = self.model.max_bw().min(self.bounds.bw_shortterm);
    }

    /// 5.5.10.3, UpdateCongestionSignals.
    fn update_congestion_signals(&mut self, signal: &Signal<'_>) {
        // UpdateRound.
        self.round_start = self.rounds.on_sample(signal.sample);
        if self.round_start {
            self.round_count += 1;
            self.cycle.rounds_since_probe_up += 1;
        }
        if signal.rate > 0 {
            self.model.on_rate(signal.rate, signal.app_limited);
        }
        if !self.bounds.loss_round_start {
            return;
        }
        // AdaptLowerBoundsFromCongestion: "Once per round trip respond to congestion".
        if self.bounds.loss_in_round
            && !self.tolerates_losses()
            && !self.state.accelerates()
            && !self.experiments()
        {
            self.bounds.lower(self.model.max_bw(), self.cwnd);
        }
        self.bounds.loss_in_round = false;
    }

    /// Whether no one else uses the path, and no more was lost than a probe tolerates.
    fn tolerates_losses(&self) -> bool {
        self.is_alone && self.bounds.tolerate()
    }

    /// Whether more was lost of a probe's volume than it tolerates. Of few segments that may be chance: losses at a short queue, of
    /// which over a longer time there are not too many, say nothing of the volume.
    fn is_probe_too_high(&self, lost: u64, in_flight: u32) -> bool {
        is_too_high(lost, in_flight) && (self.queued || !self.tolerates_losses())
    }

    /// Whether a queue stands that delays by more than `before` (microseconds) and a part of the path's RTT, in percent.
    /// A short one harms no one, and beside other flows the draft's patience is what gets a share.
    fn queue_stands(&self, before: u32, percent: u32) -> bool {
        const SHORT: Duration = Duration::from_millis(50);
        self.rules_off.hold(Rule::OwnQueue)
            && self.model.delay.min_rtt.is_some_and(|min| {
                let more = micros((min * percent / 100).max(SHORT));
                self.standing_queue.delay() > before.saturating_add(more)
            })
    }

    fn start_round(&mut self) {
        self.rounds.restart(self.total_delivered);
    }

    fn in_loss_recovery(&self) -> bool {
        self.in_fast_recovery || self.timeout_recovery.is_some()
    }

    /// NoteLoss and SaveStateUponLoss.
    fn note_loss(&mut self) {
        self.bounds.note_loss(self.total_delivered);
        // Once for each recovery: later changes of the recovery itself are undone too.
        if !self.undo_saved {
            self.undo_saved = true;
            self.save_cwnd();
            self.undo = Undo {
                state: None,
                bw_shortterm: self.bounds.bw_shortterm,
                inflight_shortterm: self.bounds.inflight_shortterm,
                inflight_longterm: self.bounds.inflight_longterm,
            };
        }
    }

    /// A resumed connection jumped too far: the part of the window beyond was never validated. A rate that a train has shown is the path's,
    /// whatever is lost.
    fn retreat(&mut self) {
        if self.resume.tests_rate() {
            return;
        }
        let Some(retreat) = self.resume.on_congestion() else { return };
        self.cwnd = retreat.max(self.min_pipe_cwnd());
        self.prior_cwnd = self.cwnd;
        if let Some(min_rtt) = self.model.delay.min_rtt {
            self.pacing_rate = rate_of(self.cwnd, min_rtt);
        }
    }
}

impl CongestionControl for Bbr {
    fn window(&self) -> u32 {
        self.cwnd
    }

    /// There is none.
    fn ssthresh(&self) -> u32 {
        u32::MAX
    }

    fn load(&self) -> Load {
        match self.state {
            State::Drain | State::Down | State::ProbeRtt => Load::Below,
            State::Cruise => Load::At,
            State::Startup | State::Refill | State::Up => Load::Above,
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let own = || (self.pacing_rate > 0).then(|| Rate::from_bits_per_second(self.pacing_rate));
        self.resume.rate().or(self.resume.validated_rate()).or_else(own)
    }

    fn bandwidth(&self) -> Option<Rate> {
        let bandwidth = self.model.max_bw();
        (bandwidth > 0).then(|| Rate::from_bits_per_second(bandwidth))
    }

    fn set_mss(&mut self, mss: u32, initial: bool) {
        self.mss = mss;
        if initial {
            self.cwnd = self.initial_window();
        }
        self.cwnd = self.cwnd.max(mss);
    }

    fn on_sent(&mut self, now: Instant, pipe: u32, app_limited: bool) {
        // 5.4.1, HandleRestartFromIdle: "if (C.inflight == 0 and C.app_limited)". The network is empty too
        // where all was lost, or arrived damaged.
        if pipe > 0 || !app_limited || self.total_delivered == 0 {
            return;
        }
        self.inflight = 0;
        self.idle_restart = true;
        self.model.aggregation.restart(now);
        if self.state.probes_bandwidth() {
            self.set_pacing_rate(100);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let newly_acked = ack.delivered.saturating_add(core::mem::take(&mut self.damaged));
        self.inflight = ack.pipe;
        self.in_fast_recovery = ack.in_recovery;
        if ack.damages {
            self.reconsider_startup();
        }
        self.probe_rtt.asked = ack.asks_for_less;
        self.is_alone = ack.alone;
        self.bounds.on_delivered(newly_acked, self.mss);
        self.usage.on_ack(ack);
        if self.model.delay.min_rtt.is_none()
            && let Some(rtt) = ack.rtt
        {
            self.init_pacing_rate(rtt);
        }
        if let (Some(rtt), Some(min)) = (ack.rtt, self.model.delay.min_rtt) {
            self.queued = rtt > min + min / 8;
            let part = (self.bdp_multiple(self.model.max_bw(), 100) / 8).max(4 * self.mss);
            self.standing_queue.on_ack(rtt, min, self.total_delivered, part);
            // Shorter waits are no queue, since delay varies by as much. (Fitted to policers, as are the ten seconds.)
            let wait = (min / 8).max(Duration::from_millis(3));
            self.model.delay.on_queue(self.standing_queue.delay() > micros(wait), ack.damages);
        }
        if let Some(sample) = &ack.rate {
            // 4.1.2.3: a rate is no sample "if (RS.interval < C.min_rtt)".
            let trusted = self.model.delay.min_rtt.is_none_or(|min| sample.interval >= min);
            let signal = Signal {
                now: ack.now,
                rtt: ack.rtt,
                in_fast_recovery: ack.in_recovery,
                newly_acked,
                rate: if trusted { sample.rate().bits_per_second() } else { 0 },
                app_limited: sample.app_limited || self.probe_rtt.limited(sample.prior_delivered),
                sample,
            };
            self.update_model_and_state(&signal);
        }
        if self.timeout_recovery.is_some_and(|end| self.total_delivered >= end.get()) {
            self.timeout_recovery = None;
            self.restore_cwnd();
        }
        self.undo_saved &= self.in_loss_recovery();
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(newly_acked);
        self.jump(ack);
    }

    fn on_established(&mut self, _now: Instant, smoothed: Option<Duration>) {
        if let Some(rtt) = smoothed {
            self.try_rate(rtt);
        }
    }

    fn recovers_by_itself(&self) -> bool {
        true
    }

    fn tolerates(&self) -> u32 {
        LOSS_THRESH
    }

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        // 5.5.10.2, HandleLostPacket.
        self.note_loss();
        self.doubt.on_loss(self.state == State::Startup);
        self.bounds.count_hole(lost);
        if self.cycle.is_probe_sample && self.is_probe_too_high(lost.lost, lost.in_flight) {
            self.handle_inflight_too_high(lost.now, inflight_at_loss(lost), lost.app_limited);
        }
    }

    fn on_loss(&mut self, _loss: &Loss) {
        // 5.6.4.4, OnEnterFastRecovery.
        self.note_loss();
        self.in_fast_recovery = true;
        self.retreat();
    }

    fn on_timeout(&mut self, loss: &Loss, first: bool) {
        // 5.6.4.4, OnEnterRTO: "BBR conservatively reduces C.cwnd to a value that will allow 1 C.SMSS
        // to be transmitted". All bytes in the network are assumed lost.
        if first {
            self.note_loss();
            self.bounds.exceed_tolerance(self.mss);
            self.timeout_recovery = NonZeroU64::new(self.total_delivered + u64::from(loss.flight));
            self.retreat();
        }
        self.resume.forget();
        self.in_fast_recovery = false;
        self.cwnd = self.mss;
    }

    fn on_recovery_end(&mut self, _loss: &Loss) {
        self.in_fast_recovery = false;
        self.resume.on_recovery_end();
        self.restore_cwnd();
    }

    fn on_damage(&mut self, _now: Instant, bytes: u32) {
        self.resume.on_damage(bytes);
        self.damaged = self.damaged.saturating_add(bytes);
    }

    fn on_ecn(&mut self, loss: &Loss) {
        self.note_loss();
        self.bounds.exceed_tolerance(self.mss);
        self.retreat();
        self.doubt.dismiss();
        if self.state == State::Startup {
            self.leave_startup_for_congestion();
        } else if self.cycle.is_probe_sample {
            self.handle_inflight_too_high(loss.now, self.inflight, false);
        }
    }

    fn on_spurious(&mut self) {
        // 5.5.11.2, HandleSpuriousLossDetection.
        self.resume.forget();
        self.in_fast_recovery = false;
        self.timeout_recovery = None;
        self.restore_cwnd();
        self.bounds.loss_in_round = false;
        self.full_pipe.reset(0);
        let undo = self.undo;
        self.bounds.bw_shortterm = self.bounds.bw_shortterm.max(undo.bw_shortterm);
        self.bounds.inflight_shortterm = self.bounds.inflight_shortterm.max(undo.inflight_shortterm);
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(undo.inflight_longterm);
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => self.return_to_startup(),
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_refill();
            }
            _ => {}
        }
        self.undo.state = None;
    }

    /// 5.4.1: "BBR leaves C.cwnd as-is".
    fn on_idle(&mut self) {
        self.resume.on_idle();
        self.probe_rtt.on_idle();
    }

    fn on_syn_loss(&mut self) {
        // RFC 5681, 3.1: "the initial window used by a sender after a correctly transmitted SYN MUST
        // be one segment consisting of at most SMSS bytes".
        self.cwnd = self.mss;
    }

    fn resume(&mut self, saved: SavedPath) {
        self.resume = CarefulResume::new(saved);
    }

    fn start(&mut self, rate: Rate) {
        self.resume.tell(rate, self.cwnd, self.mss);
    }
}

#[cfg(test)]
mod tests;
