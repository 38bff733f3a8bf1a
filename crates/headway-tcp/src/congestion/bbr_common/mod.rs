//! What modified BBR and the variant of the draft take from draft-ietf-ccwg-bbr in the same way.

pub(super) mod aggregation;
pub(super) mod holes;
pub(super) mod phases;
pub(super) mod quantities;
pub(super) mod random;

/// "BBR.LossThresh: A constant specifying the maximum tolerated per-round-trip packet loss rate when probing for bandwidth
/// (the default is 2%)".
pub(super) const LOSS_THRESH: u32 = 2;
/// "Beta: A constant specifying the default multiplicative decrease [...] (the value is 0.7)", in
/// percent, like all shares here.
pub(super) const BETA: u64 = 70;
/// "Headroom: [...] (the value is 0.15)".
pub(super) const HEADROOM: u64 = 15;
/// "MinPipeCwnd: [...] 4 * C.SMSS".
pub(super) const MIN_PIPE_SEGMENTS: u32 = 4;
/// "BBRStartupFullLossCnt=6 discontiguous sequence ranges lost in that round trip" (5.3.1.3).
pub(super) const STARTUP_FULL_LOSS_COUNT: u32 = 6;

/// No bound on a rate: the draft's Infinity.
pub(super) const NO_RATE: u64 = u64::MAX;
/// No bound on a volume: the draft's Infinity.
pub(super) const NO_VOLUME: u32 = u32::MAX;

/// IsInflightTooHigh (5.5.10.2): "RS.lost > RS.tx_in_flight * BBR.LossThresh".
pub(super) fn is_too_high(lost: u64, in_flight: u32) -> bool {
    lost.saturating_mul(100) > u64::from(in_flight) * u64::from(LOSS_THRESH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_percent_are_tolerated() {
        assert!(!is_too_high(2000, 100_000));
        assert!(is_too_high(2001, 100_000));
    }
}
