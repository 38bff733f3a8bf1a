//! BBR's model of the path: its bandwidth, its delay, and ACK aggregation
//! (draft-ietf-ccwg-bbr, section 5.5).

use headway_units::{Duration, Instant};

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

/// The bytes at `bw` bits per second in `nanos`, times `percent`.
pub(super) fn volume(bw: u64, nanos: u64, percent: u64) -> u32 {
    let bytes = u128::from(bw) * u128::from(nanos) * u128::from(percent) / (8 * 100 * 1_000_000_000);
    u32::try_from(bytes).unwrap_or(u32::MAX)
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
/// a tenth of the throughput at an RTT of 600 ms.
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
}

/// "MinRTTFilterLen is 10 secs", "ProbeRTTInterval: 5 secs".
const FILTER_LENGTH: Duration = Duration::from_secs(10);
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// A sample equals the minimum if it exceeds it by at most this part of it.
const EQUAL_MIN: u32 = 64;

impl MinRtt {
    /// 5.3.4.3, UpdateMinRTT.
    pub(super) fn on_ack(&mut self, now: Instant, rtt: Option<Duration>) {
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
            self.probe_stamp = now;
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

/// 5.5.9: the recent excess of acknowledged over expected bytes.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    start: Instant,
    delivered: u64,
    /// The largest excess of each of the last rounds: (the round's low bits, bytes).
    excess: [(u32, u32); FILTER_ROUNDS],
}

/// "ExtraAckedFilterLen: [...] 10 (in units of packet-timed round trips)".
const FILTER_ROUNDS: usize = 10;

impl Aggregation {
    /// The sender restarts from idle.
    pub(super) fn restart(&mut self, now: Instant) {
        self.start = now;
    }

    /// 5.5.9, UpdateACKAggregation: `newly_acked` bytes were delivered in `round`, at an expected rate of
    /// `bw`.
    pub(super) fn on_ack(&mut self, now: Instant, newly_acked: u32, bw: u64, cwnd: u32, round: u64) {
        let mut expected = u64::from(volume(bw, now.saturating_since(self.start).as_nanos(), 100));
        // "Reset interval if ACK rate is below expected rate".
        if self.delivered <= expected {
            self.delivered = 0;
            self.start = now;
            expected = 0;
        }
        self.delivered += u64::from(newly_acked);
        let extra = u32::try_from(self.delivered - expected).unwrap_or(u32::MAX).min(cwnd);
        let slot = &mut self.excess[(round % FILTER_ROUNDS as u64) as usize];
        let round = round as u32;
        *slot = if slot.0 == round { (round, slot.1.max(extra)) } else { (round, extra) };
    }

    /// `BBR.extra_acked`: the largest excess of this round and of the nine before; in Startup ("just
    /// remember 1 round") of this round only.
    pub(super) fn extra_acked(&self, round: u64, startup: bool) -> u32 {
        let length = if startup { 1 } else { FILTER_ROUNDS as u32 };
        let recent = self.excess.iter().filter(|(at, _)| (round as u32).wrapping_sub(*at) < length);
        recent.map(|&(_, extra)| extra).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
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

    /// 10 Mbit/s are 1250 bytes per millisecond.
    #[test]
    fn acks_that_bunch_are_remembered() {
        let mut aggregation = Aggregation::default();
        aggregation.on_ack(at(1000), 20_000, 10_000_000, 100_000, 1);
        assert_eq!(aggregation.extra_acked(1, false), 20_000);
        // 16 ms later 20,000 bytes were expected: the aggregate has ended.
        aggregation.on_ack(at(1016), 20_000, 10_000_000, 100_000, 2);
        assert_eq!(aggregation.extra_acked(2, false), 20_000);
        // 8 ms after that, 10,000 more: an excess.
        aggregation.on_ack(at(1024), 20_000, 10_000_000, 100_000, 3);
        assert_eq!(aggregation.extra_acked(3, false), 30_000);
        aggregation.on_ack(at(1025), 200_000, 10_000_000, 100_000, 4);
        assert_eq!(aggregation.extra_acked(4, false), 100_000, "never more than the window");
        assert_eq!(aggregation.extra_acked(13, false), 100_000);
        assert_eq!(aggregation.extra_acked(14, false), 0, "ten rounds later it is forgotten");
        assert_eq!(aggregation.extra_acked(5, true), 0, "in Startup after one");
    }
}
