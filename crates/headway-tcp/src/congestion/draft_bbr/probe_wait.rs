//! When to probe for bandwidth (draft-ietf-ccwg-bbr, section 5.3.3.8).

use headway_units::{Duration, Instant};

use super::DraftBbr;

impl DraftBbr {
    /// IsTimeToProbeBW(): "Is it time to transition from DOWN or CRUISE to REFILL?"
    pub(super) fn is_time_to_probe_bw(&mut self, now: Instant) -> bool {
        let is_time =
            self.has_elapsed_in_phase(now, self.cycle.bw_probe_wait) || self.is_reno_coexistence_probe_time();
        if is_time {
            self.start_probe_bw_refill();
        }
        is_time
    }

    /// PickProbeWait().
    pub(super) fn pick_probe_wait(&mut self) {
        // "Decide random round-trip bound for wait: 0 or 1".
        self.cycle.rounds_since_probe_up = self.random.below(2) as u32;
        // "Decide the random wall clock bound for wait: 2 + 0..1 sec".
        self.cycle.bw_probe_wait =
            Duration::from_secs(2) + Duration::from_micros(self.random.below(1_000_001));
    }

    /// HasElapsedInPhase() (5.3.3.9).
    fn has_elapsed_in_phase(&self, now: Instant, interval: Duration) -> bool {
        now > self.cycle.cycle_stamp + interval
    }

    /// IsRenoCoexistenceProbeTime().
    fn is_reno_coexistence_probe_time(&self) -> bool {
        let reno_rounds = self.target_inflight() / self.c.smss.max(1);
        self.cycle.rounds_since_probe_up >= reno_rounds.min(63)
    }

    /// TargetInflight(): "Our estimated BDP, unless congestion cut C.cwnd".
    pub(super) fn target_inflight(&self) -> u32 {
        self.bdp().min(self.c.cwnd)
    }
}
