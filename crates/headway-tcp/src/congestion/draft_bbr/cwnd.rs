//! The congestion window (draft-ietf-ccwg-bbr, section 5.6.4).

use super::super::Ack;
use super::super::bbr_common::NO_VOLUME;
use super::super::bbr_common::phases::State;
use super::super::bbr_common::quantities::volume;
use super::super::rounds::Rounds;
use super::DraftBbr;

/// "DefaultCwndGain [...] (2)", in percent, like all gains here.
const DEFAULT_CWND_GAIN: u64 = 200;
/// "ProbeRTTCwndGain: [...] 0.5".
const PROBE_RTT_CWND_GAIN: u64 = 50;

/// `C.is_cwnd_limited`: "True if the connection has fully utilized C.cwnd at any point in the last packet-timed round trip"
/// (2.2), which is this one and the one before.
#[derive(Debug, Default)]
pub(super) struct CwndUsage {
    rounds: Rounds,
    last: bool,
    current: bool,
}

impl CwndUsage {
    /// An ACK arrived. Before it, most was in flight since the last one.
    pub(super) fn on_ack(&mut self, ack: &Ack, cwnd: u32, smss: u32) {
        if ack.rate.is_some_and(|sample| self.rounds.on_sample(&sample)) {
            self.last = core::mem::take(&mut self.current);
        }
        // No segment more fits.
        self.current |= ack.prior_pipe.saturating_add(smss) > cwnd;
    }

    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.last || self.current
    }
}

impl DraftBbr {
    /// `BBR.cwnd_gain`: the table of 5.6.1.
    pub(super) fn cwnd_gain(&self) -> u64 {
        match self.state {
            State::Startup | State::Drain | State::Down | State::Cruise | State::Refill => DEFAULT_CWND_GAIN,
            State::Up => 225,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
        }
    }

    /// BDPMultiple() (5.6.4.2), of the bandwidth that its callers name.
    fn bdp_multiple(&self, bw: u64, gain: u64) -> u32 {
        match self.min_rtt.min_rtt {
            Some(min_rtt) => volume(bw, min_rtt.as_nanos(), gain),
            // "no valid RTT samples yet".
            None => self.c.initial_cwnd(),
        }
    }

    /// `BBR.bdp` (2.9.2): "BBR.bdp = BBR.bw * BBR.min_rtt".
    pub(super) fn bdp(&self) -> u32 {
        self.bdp_multiple(self.bw, 100)
    }

    /// UpdateOffloadBudget() (5.5.8.1): "3 * C.send_quantum".
    fn offload_budget(&self) -> u32 {
        self.c.send_quantum.saturating_mul(3)
    }

    /// QuantizationBudget() (5.6.4.2).
    fn quantization_budget(&self, inflight_cap: u32) -> u32 {
        let cap = inflight_cap.max(self.offload_budget()).max(self.min_pipe_cwnd());
        if self.state == State::Up { cap.saturating_add(2 * self.c.smss) } else { cap }
    }

    /// Inflight() (5.6.4.2).
    pub(super) fn inflight(&self, bw: u64, gain: u64) -> u32 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// UpdateMaxInflight() (5.6.4.2).
    fn max_inflight(&self) -> u32 {
        let inflight_cap = self.bdp_multiple(self.bw, self.cwnd_gain());
        self.quantization_budget(inflight_cap.saturating_add(self.extra_acked.extra_acked))
    }

    /// ProbeRTTCwnd() (5.6.4.5).
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp_multiple(self.bw, PROBE_RTT_CWND_GAIN).max(self.min_pipe_cwnd())
    }

    /// BoundCwndForProbeRTT() (5.6.4.5).
    fn bound_cwnd_for_probe_rtt(&mut self) {
        if self.state == State::ProbeRtt {
            self.c.cwnd = self.c.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    /// SetCwnd() (5.6.4.6).
    pub(super) fn set_cwnd(&mut self, newly_acked: u32) {
        let max_inflight = self.max_inflight();
        let grown = self.c.cwnd.saturating_add(newly_acked);
        if self.full_bw.full_bw_reached {
            self.c.cwnd = grown.min(max_inflight);
        } else if self.c.cwnd < max_inflight || self.c.delivered < u64::from(self.c.initial_cwnd()) {
            self.c.cwnd = grown;
        }
        self.c.cwnd = self.c.cwnd.max(self.min_pipe_cwnd());
        self.bound_cwnd_for_probe_rtt();
        self.bound_cwnd_for_model();
    }

    /// BoundCwndForModel() (5.6.4.7).
    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => NO_VOLUME,
        };
        let cap = cap.min(self.signals.inflight_shortterm).max(self.min_pipe_cwnd());
        self.c.cwnd = self.c.cwnd.min(cap);
    }
}
