//! Restarting from idle (draft-ietf-ccwg-bbr, section 5.4).

use headway_units::Instant;

use super::super::bbr_common::phases::State;
use super::DraftBbr;

impl DraftBbr {
    /// HandleRestartFromIdle() (5.4.1). `inflight`: before what is sent now; `app_limited`: the sender's mark.
    pub(super) fn handle_restart_from_idle(&mut self, now: Instant, inflight: u32, app_limited: bool) {
        if inflight > 0 || !(app_limited || self.c.app_limited.covers(self.c.delivered)) {
            return;
        }
        self.idle_restart = true;
        self.extra_acked.restart_interval(now);
        if self.state.probes_bandwidth() {
            self.set_pacing_rate_with_gain(100);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}
