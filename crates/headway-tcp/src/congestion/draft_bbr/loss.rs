//! Losses while probing for bandwidth (draft-ietf-ccwg-bbr, section 5.5.10.2).

use headway_units::Instant;

use super::super::LostSegment;
use super::super::bbr_common::phases::State;
use super::super::bbr_common::quantities::{bytes, share};
use super::super::bbr_common::{BETA, is_too_high};
use super::DraftBbr;

impl DraftBbr {
    /// NoteLoss().
    pub(super) fn note_loss(&mut self) {
        if !self.signals.is_loss_in_round {
            self.signals.loss_round_delivered = self.c.delivered;
            self.save_state_upon_loss();
        }
        self.signals.is_loss_in_round = true;
    }

    /// HandleLostPacket().
    pub(super) fn handle_lost_packet(&mut self, lost: &LostSegment) {
        self.note_loss();
        if !self.cycle.is_bw_probe_sample {
            return;
        }
        if is_too_high(lost.lost, lost.in_flight) {
            let app_limited = lost.app_limited || self.c.app_limited.covers(lost.prior_delivered);
            self.handle_inflight_too_high(lost.now, inflight_at_loss(lost), app_limited);
        }
    }

    /// HandleInflightTooHigh().
    pub(super) fn handle_inflight_too_high(&mut self, now: Instant, tx_in_flight: u32, app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        // "only react once per bw probe".
        self.cycle.is_bw_probe_sample = false;
        if !app_limited {
            self.inflight_longterm = tx_in_flight.max(share(self.target_inflight(), BETA));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_probe_bw_down(now);
        }
    }
}

/// InflightAtLoss(): "At what prefix of packet P did losses exceed BBR.LossThresh?" Where they did before it, the prefix is
/// negative, as the draft has it. LossThresh is 1/50: "lost_prefix = (BBR.LossThresh * inflight_prev - lost_prev) / (1 -
/// BBR.LossThresh)".
fn inflight_at_loss(lost: &LostSegment) -> u32 {
    let inflight_prev = i128::from(lost.in_flight) - i128::from(lost.bytes);
    let lost_prev = i128::from(lost.lost) - i128::from(lost.bytes);
    let lost_prefix = (inflight_prev - 50 * lost_prev) / 49;
    bytes(u64::try_from(inflight_prev + lost_prefix).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::lost;
    use super::*;

    /// 99 segments before, none lost: 0.02 * 99,000 / 0.98 = 2020 bytes of the next may be lost.
    #[test]
    fn the_volume_at_which_losses_crossed_the_threshold() {
        assert_eq!(inflight_at_loss(&lost(1, 100_000, 1000)), 99_000 + 2020);
        // One lost before: (1980 - 1000) / 0.98 = 1000.
        assert_eq!(inflight_at_loss(&lost(1, 100_000, 2000)), 99_000 + 1000);
        // Five lost before: (1980 - 5000) / 0.98 = -3081.
        assert_eq!(inflight_at_loss(&lost(1, 100_000, 6000)), 99_000 - 3081);
        assert_eq!(inflight_at_loss(&lost(1, 10_000, 90_000)), 0);
    }
}
