//! BBR version 3 as draft-ietf-ccwg-bbr-06 (July 2026) has it: our reading of the draft, beside modified BBR
//! ([`super::bbr`]), which says where it differs.
//!
//! Files follow the draft's sections: [`rate_sample`] (4.1), [`startup`], [`full_bw`] and [`drain`] (5.3.1, 5.3.2), [`probe_bw`],
//! [`probe_wait`] and [`long_term`] (5.3.3), [`probe_rtt`] (5.3.4), [`idle`] (5.4), [`max_bw`], [`min_rtt`] and [`extra_acked`]
//! (5.5), [`loss`] and [`short_term`] (5.5.10), [`undo`] (5.5.11), [`pacing`], [`cwnd`] and [`recovery`] (5.6). Functions and
//! fields have the draft's names.
//!
//! A lost segment is lost: the loss ledger has no hooks here.
//!
//! Where the draft leaves a choice, or contradicts itself:
//!
//! * ECN (3.7: "MUST treat any CE marks as congestion"): a mark counts as a loss, and as more than LossThresh.
//! * The delivery rate (4.1) is that of [`Deliveries`](super::Deliveries), which all controllers have: what arrives sooner than the
//!   minimum round-trip time after it was retransmitted gives no sample, as 4.1.3.5 permits.
//!   CheckIfApplicationLimited() (4.1.2.4) runs where output finds nothing to send although a whole segment would fit.
//!   After a damaged segment the estimator counts what passed the network as delivered; without HACK there is none.
//! * C.has_selective_acks is true: without SACK a connection has another loss recovery, which measures no deliveries, and then
//!   the model learns nothing (4.1.3.5.1 describes an extension, which this stack has not).
//! * What only a timeout takes for lost (RFC 8985, 6.3) is one event here, not one HandleLostPacket() for each segment.
//! * C.cwnd = C.inflight + 1 (5.6.4.4) is one segment: "a value that will allow 1 C.SMSS to be transmitted".
//! * OnEnterFastRecovery() (5.6.4.4) precedes HandleLostPacket() of the loss that begins the recovery. The other way
//!   round it would forget the state to be restored (BBR.undo_state) that this loss had just set.
//! * Drain: the pseudocode of BoundCwndForModel() (5.6.4.7) applies BBR.inflight_shortterm, the table (5.6.1) also
//!   BBR.inflight_longterm: the pseudocode decides. So it does for ProbeRTT, where the text of 5.6.4.5 has MinPipeCwnd, and
//!   the pseudocode half of the BDP.
//! * BBR.probe_rtt_min_delay and BBR.probe_rtt_min_stamp, which OnInit() (5.2.1) lacks, begin as BBR.min_rtt and the
//!   present.
//! * The time of a round trip in segments (5.3.3.8.2: T_reno) is TargetInflight() in units of C.SMSS.
//! * The discontiguous ranges of CheckStartupHighLoss() (5.3.1.3) are counted by the order of sending, and its whole round in
//!   fast recovery by what was delivered when that began.
//! * Segments leave one by one: C.send_quantum (5.6.3) serves the offload budget alone.
//!
//! Taken as it is written, although it hardly does what it is for:
//!
//! * After the loss that ends ProbeBW_UP the next one saves the state again (NoteLoss(), since ResetCongestionSignals() began
//!   another round of losses): a recovery of several losses that was spurious leads back to no probe, against A.18.
//! * AdvanceMaxBwFilter() is called in ProbeBW alone, for samples that nothing limits. Where a probe takes longer than the five
//!   seconds between two ProbeRTTs, as with a queue of two seconds, an outdated BBR.max_bw never expires, against A.16.
//! * ProbeRTT saves the window after it has set the state (CheckProbeRTT()), so the largest window that was ever saved is restored.
//!   BBR.max_inflight bounds it in the same ACK.

mod cwnd;
mod drain;
mod extra_acked;
mod full_bw;
mod idle;
mod long_term;
mod loss;
mod max_bw;
mod min_rtt;
mod pacing;
mod probe_bw;
mod probe_rtt;
mod probe_wait;
mod rate_sample;
mod recovery;
mod round;
mod short_term;
mod signals;
mod startup;
mod undo;

use headway_units::{Duration, Instant};

use super::Setup;
use super::bbr_common::phases::State;
use super::bbr_common::random::Random;
use cwnd::CwndUsage;
use extra_acked::ExtraAcked;
use full_bw::FullBw;
use max_bw::MaxBw;
use min_rtt::MinRtt;
use probe_bw::Cycle;
use probe_rtt::ProbeRtt;
use rate_sample::{AppLimitedMark, Rs};
use recovery::Recovery;
use round::RoundCount;
use short_term::Signals;
use startup::StartupLosses;
use undo::Undo;

/// The controller of draft-ietf-ccwg-bbr-06. Rates are in bits per second, volumes in bytes.
#[derive(Debug)]
pub struct DraftBbr {
    c: Transport,
    state: State,
    round: RoundCount,
    /// `BBR.bw`.
    bw: u64,
    max_bw: MaxBw,
    min_rtt: MinRtt,
    extra_acked: ExtraAcked,
    full_bw: FullBw,
    startup_losses: StartupLosses,
    drain_start_round: u64,
    signals: Signals,
    /// `BBR.inflight_longterm`.
    inflight_longterm: u32,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    idle_restart: bool,
    recovery: Recovery,
    prior_cwnd: u32,
    undo: Undo,
    random: Random,
}

/// The state of the connection that the algorithm uses or sets (2.2, 2.4).
#[derive(Debug)]
struct Transport {
    smss: u32,
    initial_segments: u32,
    cwnd: u32,
    pacing_rate: u64,
    send_quantum: u32,
    inflight: u32,
    delivered: u64,
    /// "The minimum observed RTT over the lifetime of the connection" (4.1.2.1.1).
    min_rtt: Option<Duration>,
    /// ProbeRTT marks the connection; what the sender marks is in its samples.
    app_limited: AppLimitedMark,
    usage: CwndUsage,
    /// OnInit() was called.
    initialized: bool,
    /// A round-trip time was known when the pacing rate was initialized.
    has_seen_rtt: bool,
}

impl Transport {
    /// `C.InitialCwnd`.
    fn initial_cwnd(&self) -> u32 {
        self.initial_segments.saturating_mul(self.smss)
    }
}

impl DraftBbr {
    /// A controller before its connection is initialized.
    pub fn new(setup: &Setup) -> Self {
        let smss = 536;
        let initial_segments = setup.initial_window.max(1);
        Self {
            c: Transport {
                smss,
                initial_segments,
                cwnd: initial_segments.saturating_mul(smss),
                pacing_rate: 0,
                send_quantum: 0,
                inflight: 0,
                delivered: 0,
                min_rtt: None,
                app_limited: AppLimitedMark::default(),
                usage: CwndUsage::default(),
                initialized: false,
                has_seen_rtt: false,
            },
            state: State::Startup,
            round: RoundCount::default(),
            bw: 0,
            max_bw: MaxBw::default(),
            min_rtt: MinRtt::default(),
            extra_acked: ExtraAcked::default(),
            full_bw: FullBw::default(),
            startup_losses: StartupLosses::default(),
            drain_start_round: 0,
            signals: Signals::new(),
            inflight_longterm: super::bbr_common::NO_VOLUME,
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            idle_restart: false,
            recovery: Recovery::None,
            prior_cwnd: 0,
            undo: Undo::default(),
            random: Random(setup.seed),
        }
    }

    /// OnInit() (5.2.1). What it sets to a constant, [`DraftBbr::new`] does.
    fn on_init(&mut self, now: Instant, srtt: Option<Duration>) {
        if core::mem::replace(&mut self.c.initialized, true) {
            return;
        }
        self.min_rtt = MinRtt::new(now, srtt);
        self.c.min_rtt = srtt;
        self.extra_acked.restart_interval(now);
        self.init_pacing_rate(srtt);
        self.enter_startup();
    }

    /// UpdateModelAndState() (5.2.3).
    fn update_model_and_state(&mut self, rs: &Rs) {
        self.update_latest_delivery_signals(rs);
        self.update_congestion_signals(rs);
        self.update_ack_aggregation(rs);
        self.check_full_bw_reached(rs);
        self.check_startup_done(rs);
        self.check_drain_done(rs.now);
        self.update_probe_bw_cycle_phase(rs);
        self.min_rtt.update_min_rtt(rs.now, rs.rtt);
        self.check_probe_rtt(rs);
        self.advance_latest_delivery_signals(rs);
        self.bound_bw_for_model();
    }

    /// UpdateControlParameters() (5.2.3).
    fn update_control_parameters(&mut self, newly_acked: u32) {
        self.set_pacing_rate();
        self.set_send_quantum();
        self.set_cwnd(newly_acked);
    }
}

#[cfg(test)]
mod tests;
