//! The minimum round-trip time (draft-ietf-ccwg-bbr, sections 5.3.4.3 and 5.5.7).

use headway_units::{Duration, Instant};

/// "MinRTTFilterLen is 10 secs".
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
/// "ProbeRTTInterval: [...] 5 secs".
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);

/// `BBR.min_rtt` and the schedule of ProbeRTT (2.16). `None` is Infinity.
#[derive(Debug, Default)]
pub(super) struct MinRtt {
    pub(super) min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Instant,
    pub(super) probe_rtt_expired: bool,
}

impl MinRtt {
    pub(super) fn new(now: Instant, srtt: Option<Duration>) -> Self {
        Self {
            min_rtt: srtt,
            min_rtt_stamp: now,
            probe_rtt_min_delay: srtt,
            probe_rtt_min_stamp: now,
            probe_rtt_expired: false,
        }
    }

    /// UpdateMinRTT() (5.3.4.3).
    pub(super) fn update_min_rtt(&mut self, now: Instant, rtt: Option<Duration>) {
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = rtt
            && (self.probe_rtt_expired || is_less(Some(rtt), self.probe_rtt_min_delay))
        {
            self.probe_rtt_min_delay = Some(rtt);
            self.probe_rtt_min_stamp = now;
        }
        let min_rtt_expired = now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if min_rtt_expired || is_less(self.probe_rtt_min_delay, self.min_rtt) {
            self.min_rtt = self.probe_rtt_min_delay;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    /// Of CheckProbeRTTDone(): "schedule next ProbeRTT".
    pub(super) fn schedule_next_probe_rtt(&mut self, now: Instant) {
        self.probe_rtt_min_stamp = now;
    }
}

fn is_less(rtt: Option<Duration>, than: Option<Duration>) -> bool {
    rtt.is_some_and(|rtt| than.is_none_or(|than| rtt < than))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_min_rtt_lasts_ten_seconds_and_is_probed_after_five() {
        let mut delay = MinRtt::new(at(0), Some(Duration::from_millis(20)));
        delay.update_min_rtt(at(5000), Some(Duration::from_millis(20)));
        assert!(!delay.probe_rtt_expired);
        delay.update_min_rtt(at(5001), Some(Duration::from_millis(30)));
        assert!(delay.probe_rtt_expired, "an equal sample does not put it off");
        assert_eq!(delay.min_rtt, Some(Duration::from_millis(20)), "remembered for ten");
        delay.update_min_rtt(at(10_000), Some(Duration::from_millis(31)));
        assert_eq!(delay.min_rtt, Some(Duration::from_millis(20)));
        delay.update_min_rtt(at(10_001), Some(Duration::from_millis(31)));
        assert_eq!(delay.min_rtt, Some(Duration::from_millis(30)), "the min of the last five");
        delay.update_min_rtt(at(10_003), Some(Duration::from_millis(10)));
        assert_eq!(delay.min_rtt, Some(Duration::from_millis(10)));
    }

    #[test]
    fn without_a_sample_it_is_infinite() {
        let mut delay = MinRtt::new(at(0), None);
        delay.update_min_rtt(at(1), None);
        assert_eq!(delay.min_rtt, None);
        delay.update_min_rtt(at(2), Some(Duration::from_millis(20)));
        assert_eq!((delay.min_rtt, delay.probe_rtt_expired), (Some(Duration::from_millis(20)), false));
    }
}
