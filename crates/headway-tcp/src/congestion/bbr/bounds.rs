//! Short-term and long-term bounds on rate and volume, from losses
//! (draft-ietf-ccwg-bbr, section 5.5.10).

use super::super::bbr_common::holes::Holes;
use super::super::bbr_common::quantities::{bytes, share};
use super::super::bbr_common::{BETA, HEADROOM, LOSS_THRESH, NO_RATE, NO_VOLUME};
use super::super::{LostSegment, RateSample};

/// Losses are tolerated up to the share that a probe tolerates; where a round has few segments, over several. As many segments
/// may be saved, or owed, as this (a round number).
const TOLERANCE: i64 = 16;

/// Bounds, and the delivery of the last round from which they follow. Rates in bits per second, volumes
/// in bytes.
#[derive(Debug)]
pub(super) struct Bounds {
    pub(super) bw_shortterm: u64,
    pub(super) inflight_shortterm: u32,
    pub(super) inflight_longterm: u32,
    bw_latest: u64,
    pub(super) inflight_latest: u32,
    loss_round_delivered: u64,
    /// The current ACK is the first of a round of loss counting.
    pub(super) loss_round_start: bool,
    pub(super) loss_in_round: bool,
    /// Holes detected in this round.
    holes: Holes,
    /// Bytes that may be lost and are still tolerated.
    tolerance: i64,
}

impl Bounds {
    pub(super) fn new() -> Self {
        Self {
            bw_shortterm: NO_RATE,
            inflight_shortterm: NO_VOLUME,
            inflight_longterm: NO_VOLUME,
            bw_latest: 0,
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            holes: Holes::default(),
            tolerance: 0,
        }
    }

    /// UpdateLatestDeliverySignals, near the start of an ACK.
    pub(super) fn update_latest(&mut self, sample: &RateSample, rate: u64) {
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(bytes(sample.delivered));
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = sample.total_delivered;
        }
    }

    /// AdvanceLatestDeliverySignals, near its end.
    pub(super) fn advance_latest(&mut self, sample: &RateSample, rate: u64) {
        if self.loss_round_start {
            self.bw_latest = rate;
            self.inflight_latest = bytes(sample.delivered);
            self.holes.start_round();
        }
    }

    /// NoteLoss. `total_delivered` is the current value.
    pub(super) fn note_loss(&mut self, total_delivered: u64) {
        if !self.loss_in_round {
            self.loss_round_delivered = total_delivered;
        }
        self.loss_in_round = true;
    }

    /// A segment was lost.
    pub(super) fn count_hole(&mut self, lost: &LostSegment) {
        self.holes.on_lost(lost);
        self.tolerance -= i64::from(lost.bytes);
    }

    /// Bytes were delivered.
    pub(super) fn on_delivered(&mut self, bytes: u32, mss: u32) {
        let most = TOLERANCE * i64::from(mss);
        let more = i64::from(bytes) * i64::from(LOSS_THRESH) / 100;
        self.tolerance = (self.tolerance + more).clamp(-most, most);
    }

    /// Something other than lost segments says that the path carries less.
    pub(super) fn exceed_tolerance(&mut self, mss: u32) {
        self.tolerance = -TOLERANCE * i64::from(mss);
    }

    /// Whether no larger share was lost than a probe tolerates.
    pub(super) fn tolerate(&self) -> bool {
        self.tolerance >= 0
    }

    /// "discontiguous sequence ranges lost in that round trip".
    pub(super) fn holes(&self) -> u32 {
        self.holes.count()
    }

    /// InitLowerBounds and LossLowerBounds: "Adjust model once per round based on loss". What was delivered in the round is the
    /// least.
    pub(super) fn lower(&mut self, max_bw: u64, cwnd: u32) {
        let rate = if self.bw_shortterm == NO_RATE { max_bw } else { self.bw_shortterm };
        let volume = if self.inflight_shortterm == NO_VOLUME { cwnd } else { self.inflight_shortterm };
        self.bw_shortterm = self.bw_latest.max(rate.saturating_mul(BETA) / 100);
        self.inflight_shortterm = self.inflight_latest.max(share(volume, BETA));
    }

    /// ResetShortTermModel.
    pub(super) fn forget_short_term(&mut self) {
        self.bw_shortterm = NO_RATE;
        self.inflight_shortterm = NO_VOLUME;
    }

    /// What was lost before is no sign of a full pipe.
    pub(super) fn forget_long_term(&mut self) {
        self.inflight_longterm = NO_VOLUME;
    }

    /// ResetCongestionSignals.
    pub(super) fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    /// InflightWithHeadroom: "headroom = max(1*C.SMSS, BBR.Headroom * BBR.inflight_longterm)".
    pub(super) fn with_headroom(&self, mss: u32, min: u32) -> u32 {
        if self.inflight_longterm == NO_VOLUME {
            return NO_VOLUME;
        }
        let headroom = share(self.inflight_longterm, HEADROOM).max(mss);
        self.inflight_longterm.saturating_sub(headroom).max(min)
    }
}

/// InflightAtLoss: the volume in flight at which the losses exceeded the threshold, within the segment.
///
/// "lost_prefix = (BBR.LossThresh * inflight_prev - lost_prev) / (1 - BBR.LossThresh)"
pub(super) fn inflight_at_loss(lost: &LostSegment) -> u32 {
    let inflight_prev = u64::from(lost.in_flight.saturating_sub(lost.bytes));
    let lost_prev = lost.lost.saturating_sub(u64::from(lost.bytes));
    let prefix = inflight_prev.saturating_sub(lost_prev.saturating_mul(50)) / 49;
    bytes(inflight_prev + prefix)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{lost, sample};
    use super::*;

    /// 99 segments before, none lost: 0.02 * 99,000 / 0.98 = 2020 bytes of the next may be lost.
    #[test]
    fn the_volume_at_which_losses_crossed_the_threshold() {
        assert_eq!(inflight_at_loss(&lost(1, 100_000, 1000)), 99_000 + 2020);
        // One lost before: (1980 - 1000) / 0.98 = 1000.
        assert_eq!(inflight_at_loss(&lost(1, 100_000, 2000)), 99_000 + 1000);
        // Five lost before: the threshold was exceeded already.
        assert_eq!(inflight_at_loss(&lost(1, 100_000, 6000)), 99_000);
    }

    #[test]
    fn losses_lower_the_bounds_by_three_tenths_or_to_what_was_delivered() {
        let mut bounds = Bounds::new();
        bounds.update_latest(&sample(0, 50_000), 6_000_000);
        bounds.lower(10_000_000, 100_000);
        assert_eq!((bounds.bw_shortterm, bounds.inflight_shortterm), (7_000_000, 70_000));
        bounds.lower(10_000_000, 100_000);
        assert_eq!((bounds.bw_shortterm, bounds.inflight_shortterm), (6_000_000, 50_000));
        bounds.forget_short_term();
        assert_eq!(bounds.inflight_shortterm, NO_VOLUME);
    }

    #[test]
    fn two_of_a_hundred_may_be_lost_and_sixteen_be_saved_or_owed() {
        let after = |delivered: u32, losses: u32| {
            let mut bounds = Bounds::new();
            bounds.on_delivered(delivered * 1000, 1000);
            (0..losses).for_each(|_| bounds.count_hole(&lost(1, 100_000, 1000)));
            bounds
        };
        assert!(after(100, 2).tolerate() && !after(100, 3).tolerate());
        assert!(after(10_000, 16).tolerate() && !after(10_000, 17).tolerate());
        let tolerates_again = |mut bounds: Bounds| {
            bounds.on_delivered(0, 1000);
            let rounds = (1..).find(|_| {
                bounds.on_delivered(50_000, 1000);
                bounds.tolerate()
            });
            rounds.expect("at some time")
        };
        assert_eq!([after(0, 3), after(0, 30)].map(tolerates_again), [3, 16]);
        let mut marked = after(10_000, 0);
        marked.exceed_tolerance(1000);
        assert!(!marked.tolerate());
        assert_eq!(tolerates_again(marked), 16);
    }

    #[test]
    fn headroom_is_three_twentieths_and_at_least_a_segment() {
        let mut bounds = Bounds::new();
        assert_eq!(bounds.with_headroom(1000, 4000), NO_VOLUME);
        bounds.inflight_longterm = 100_000;
        assert_eq!(bounds.with_headroom(1000, 4000), 85_000);
        bounds.inflight_longterm = 6000;
        assert_eq!(bounds.with_headroom(1000, 4000), 5000);
        assert_eq!(bounds.with_headroom(1000, 5500), 5500);
    }
}
