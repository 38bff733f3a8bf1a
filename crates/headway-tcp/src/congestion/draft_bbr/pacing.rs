//! Pacing rate and send quantum (draft-ietf-ccwg-bbr, sections 5.6.1 to 5.6.3).

use headway_units::Duration;

use super::super::bbr_common::phases::State;
use super::super::bbr_common::quantities::{gained, rate_of, volume};
use super::DraftBbr;

/// "StartupPacingGain (2.77)", in percent, like all gains here.
const STARTUP_PACING_GAIN: u64 = 277;
/// "DrainPacingGain = 0.5".
const DRAIN_PACING_GAIN: u64 = 50;
/// "PacingMarginPercent constant of 1".
const PACING_MARGIN_PERCENT: u64 = 1;

impl DraftBbr {
    /// `BBR.pacing_gain`: the table of 5.6.1.
    pub(super) fn pacing_gain(&self) -> u64 {
        match self.state {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => DRAIN_PACING_GAIN,
            State::Down => 90,
            State::Cruise | State::Refill | State::ProbeRtt => 100,
            State::Up => 125,
        }
    }

    /// InitPacingRate() (5.6.2).
    pub(super) fn init_pacing_rate(&mut self, srtt: Option<Duration>) {
        self.c.has_seen_rtt = srtt.is_some_and(|srtt| srtt > Duration::ZERO);
        let srtt = srtt.filter(|_| self.c.has_seen_rtt).unwrap_or(Duration::from_millis(1));
        self.c.pacing_rate = gained(rate_of(self.c.initial_cwnd(), srtt), STARTUP_PACING_GAIN);
        self.set_send_quantum();
    }

    /// "the initial C.srtt after the first non-zero RTT sample" (5.6.2): where the handshake gave none, the first ACK does.
    pub(super) fn take_first_rtt(&mut self, rtt: Duration) {
        if !self.c.has_seen_rtt && !self.full_bw.full_bw_reached {
            self.init_pacing_rate(Some(rtt));
        }
    }

    /// SetPacingRateWithGain() (5.6.2).
    pub(super) fn set_pacing_rate_with_gain(&mut self, pacing_gain: u64) {
        let rate = gained(gained(self.bw, pacing_gain), 100 - PACING_MARGIN_PERCENT);
        if self.full_bw.full_bw_reached || rate > self.c.pacing_rate {
            self.c.pacing_rate = rate;
        }
    }

    /// SetPacingRate() (5.6.2).
    pub(super) fn set_pacing_rate(&mut self) {
        self.set_pacing_rate_with_gain(self.pacing_gain());
    }

    /// SetSendQuantum() (5.6.3).
    pub(super) fn set_send_quantum(&mut self) {
        let quantum = volume(self.c.pacing_rate, Duration::from_millis(1).as_nanos(), 100);
        self.c.send_quantum = quantum.min(64 * 1024).max(2 * self.c.smss);
    }
}
