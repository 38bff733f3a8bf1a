//! BBR's model of the path: its bandwidth, its delay, and ACK aggregation
//! (draft-ietf-ccwg-bbr, section 5.5).

use headway_units::{Duration, Instant};

use super::super::bbr_common::aggregation::Aggregation;
use super::super::bbr_common::quantities::volume;

/// The path's model. Bandwidths in bits per second, volumes in bytes.
#[derive(Debug)]
pub(super) struct Model {
    bandwidth: MaxBandwidth,
    pub(super) delay: MinRtt,
    pub(super) aggregation: Aggregation,
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            bandwidth: MaxBandwidth::default(),
            delay: MinRtt::default(),
            aggregation: Aggregation::default(),
        }
    }

    /// `BBR.max_bw`.
    pub(super) fn max_bw(&self) -> u64 {
        self.bandwidth.this_cycle.max(self.bandwidth.last_cycle)
    }

    /// 5.5.5, UpdateMaxBw: "the estimator does use application-limited samples if the measured
    /// delivery rate happens to be larger than the current BBR.max_bw estimate".
    pub(super) fn on_rate(&mut self, rate: u64, app_limited: bool) {
        if rate >= self.max_bw() || !app_limited {
            self.bandwidth.this_cycle = self.bandwidth.this_cycle.max(rate);
        }
    }

    /// 5.5.6, AdvanceMaxBwFilter.
    pub(super) fn advance_cycle(&mut self) {
        // A cycle without a sample must not discard the estimate.
        if self.bandwidth.this_cycle > 0 {
            self.bandwidth.last_cycle = core::mem::take(&mut self.bandwidth.this_cycle);
        }
    }

    /// The bytes that `bw` delivers in a round trip, times `percent`; `None` before the first sample.
    pub(super) fn bdp(&self, bw: u64, percent: u64) -> Option<u32> {
        let nanos = self.delay.min_rtt?.as_nanos();
        Some(volume(bw, nanos, percent))
    }
}

/// 5.5.3: the maximum over the current ProbeBW cycle and the last, `BBR.MaxBwFilterLen` being 2.
#[derive(Debug, Default)]
struct MaxBandwidth {
    this_cycle: u64,
    last_cycle: u64,
}

/// 5.3.4.3: the minimum RTT of ten seconds, and that of five seconds, which determines the next ProbeRTT.
///
/// In the draft only a lower sample postpones the next ProbeRTT. Here an equal one does too, within one
/// part in [`EQUAL_MIN`]: it shows that the queue is empty, which is the purpose of ProbeRTT, which costs
/// a tenth of the throughput at an RTT of 600 ms. But where losses may be taken for damage and no queue was seen either, a
/// policer may be what drops packets. Then it postpones the next ProbeRTT for ten seconds at most: losses that depend on the
/// rate are fewer in it.
#[derive(Debug, Default)]
pub(super) struct MinRtt {
    pub(super) min_rtt: Option<Duration>,
    stamp: Instant,
    probe_min: Option<Duration>,
    pub(super) probe_stamp: Instant,
    /// `BBR.probe_rtt_expired`.
    pub(super) expired: bool,
    /// An equal sample postpones nothing, as in the draft.
    pub(super) ignores_equal: bool,
    /// When the last ProbeRTT ended, or the first sample was taken.
    probed: Instant,
    /// A queue was seen since the last sample that was equal.
    was_queued: bool,
    /// The path is known to damage packets, so losses may be taken for that.
    explains_losses: bool,
}

/// "MinRTTFilterLen is 10 secs", "ProbeRTTInterval: 5 secs".
const FILTER_LENGTH: Duration = Duration::from_secs(10);
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// A sample equals the minimum if it exceeds it by at most this part of it.
const EQUAL_MIN: u32 = 64;

impl MinRtt {
    /// Before the round-trip time of an ACK: whether a queue stands, and whether losses may be taken for damage.
    pub(super) fn on_queue(&mut self, stands: bool, explains_losses: bool) {
        self.was_queued |= stands;
        self.explains_losses = explains_losses;
    }

    /// A ProbeRTT is over.
    pub(super) fn on_probed(&mut self, now: Instant) {
        self.probe_stamp = now;
        self.probed = now;
    }

    /// 5.3.4.3, UpdateMinRTT.
    pub(super) fn on_ack(&mut self, now: Instant, rtt: Option<Duration>) {
        if self.min_rtt.is_none() {
            self.probed = now;
        }
        self.expired = self.probe_min.is_some() && now > self.probe_stamp + PROBE_INTERVAL;
        if let Some(rtt) = rtt
            && (self.expired || self.probe_min.is_none_or(|min| rtt < min))
        {
            self.probe_min = Some(rtt);
            self.probe_stamp = now;
        } else if let (Some(rtt), Some(min)) = (rtt, self.min_rtt)
            && !self.ignores_equal
            && rtt <= min + min / EQUAL_MIN
        {
            if self.was_queued || !self.explains_losses || now < self.probed + FILTER_LENGTH {
                self.probe_stamp = now;
            }
            self.was_queued = false;
            self.stamp = now;
        }
        let stale = now > self.stamp + FILTER_LENGTH;
        if let Some(candidate) = self.probe_min
            && (stale || self.min_rtt.is_none_or(|min| candidate < min))
        {
            self.min_rtt = Some(candidate);
            self.stamp = self.probe_stamp;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_bandwidth_is_the_maximum_of_two_cycles() {
        let mut model = Model::new();
        model.on_rate(10, false);
        model.on_rate(8, false);
        assert_eq!(model.max_bw(), 10);
        model.advance_cycle();
        model.on_rate(7, false);
        assert_eq!(model.max_bw(), 10, "of the cycle before");
        model.advance_cycle();
        assert_eq!(model.max_bw(), 7);
        model.advance_cycle();
        assert_eq!(model.max_bw(), 7, "nothing was measured since");
    }

    #[test]
    fn samples_that_the_application_limits_only_raise_the_bandwidth() {
        let mut model = Model::new();
        model.on_rate(10, false);
        model.advance_cycle();
        model.on_rate(3, true);
        model.advance_cycle();
        assert_eq!(model.max_bw(), 10);
        model.on_rate(12, true);
        assert_eq!(model.max_bw(), 12);
    }

    #[test]
    fn the_product_of_bandwidth_and_delay() {
        let mut model = Model::new();
        assert_eq!(model.bdp(10_000_000, 100), None);
        model.delay.on_ack(at(0), Some(Duration::from_millis(20)));
        assert_eq!(model.bdp(10_000_000, 100), Some(25_000));
        assert_eq!(model.bdp(10_000_000, 225), Some(56_250));
    }

    #[test]
    fn the_min_rtt_lasts_ten_seconds_and_is_probed_after_five() {
        let mut delay = MinRtt::default();
        delay.on_ack(at(0), Some(Duration::from_millis(20)));
        delay.on_ack(at(5000), Some(Duration::from_millis(30)));
        assert!(!delay.expired);
        delay.on_ack(at(5001), Some(Duration::from_millis(30)));
        assert!(delay.expired);
        assert_eq!(delay.min_rtt, Some(Duration::from_millis(20)), "remembered for ten");
        delay.on_ack(at(10_002), Some(Duration::from_millis(31)));
        assert_eq!(delay.min_rtt, Some(Duration::from_millis(31)), "the min of the last five");
        delay.on_ack(at(10_003), Some(Duration::from_millis(10)));
        assert_eq!(delay.min_rtt, Some(Duration::from_millis(10)));
    }

    #[test]
    fn a_minimum_that_no_queue_preceded_shows_nothing_where_losses_are_explained() {
        let expires = |explains_losses, queued: &[u64]| {
            let mut delay = MinRtt::default();
            let mut expires = |mut seconds: core::ops::Range<u64>| {
                seconds.find(|second| {
                    delay.on_queue(queued.contains(second), explains_losses);
                    let rtt = if second % 2 > 0 { 30 } else { 20 };
                    delay.on_ack(at(1000 * second), Some(Duration::from_millis(rtt)));
                    if delay.expired {
                        delay.on_probed(at(1000 * second));
                    }
                    delay.expired
                })
            };
            [expires(100..120), expires(115..140)]
        };
        let often: Vec<u64> = (101..140).step_by(2).collect();
        assert_eq!(expires(true, &[]), [Some(114), Some(128)], "the last that postpones is of 108 and 122");
        assert_eq!(
            expires(true, &[111]),
            [Some(118), Some(132)],
            "that of 112 does too, since a queue was seen"
        );
        for (explains_losses, queued) in [(true, &often[..]), (false, &often), (false, &[])] {
            assert_eq!(expires(explains_losses, queued), [None; 2]);
        }
    }

    #[test]
    fn a_sample_equal_to_the_minimum_shows_an_empty_queue() {
        let mut delay = MinRtt::default();
        let mut second = |second: u64, micros| {
            delay.on_ack(at(second * 1000), Some(Duration::from_micros(micros)));
            (delay.expired, delay.min_rtt.unwrap().as_micros())
        };
        second(0, 64_000);
        assert_eq!(second(4, 65_000), (false, 64_000));
        assert_eq!(second(8, 65_001), (false, 64_000), "the one before put it off");
        assert_eq!(second(10, 65_001), (true, 64_000));
    }
}
