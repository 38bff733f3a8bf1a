//! The rate sample of an ACK, and application-limited phases (draft-ietf-ccwg-bbr, sections 2.3 and 4.1).
//!
//! UpdateRateSample() and the state of packets are those of [`Deliveries`](super::super::Deliveries).

use headway_units::{Duration, Instant};

use super::super::{Ack, RateSample};
use super::{DraftBbr, Transport};

/// RS, the sample that belongs to an ACK (2.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Rs {
    /// `Now()`.
    pub(super) now: Instant,
    pub(super) rtt: Option<Duration>,
    /// Zero: "no reliable rate sample".
    pub(super) delivery_rate: u64,
    pub(super) delivered: u64,
    pub(super) prior_delivered: u64,
    pub(super) newly_acked: u32,
    pub(super) is_app_limited: bool,
    pub(super) tx_in_flight: u32,
    pub(super) lost: u64,
}

/// MarkConnectionAppLimited() of ProbeRTT: packets that were sent while the delivered bytes were in this range are marked, both
/// inclusive. "Clear app-limited field if bubble is ACKed and gone": when more is delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AppLimitedMark(Option<(u64, u64)>);

impl AppLimitedMark {
    /// Whether a packet is marked that was sent when so much had been delivered.
    pub(super) fn covers(self, delivered: u64) -> bool {
        self.0.is_some_and(|(from, until)| (from..=until).contains(&delivered))
    }

    fn mark(&mut self, delivered: u64, inflight: u32) {
        let from = self.0.filter(|&(_, until)| delivered <= until).map_or(delivered, |(from, _)| from);
        self.0 = Some((from, (delivered + u64::from(inflight)).max(1)));
    }
}

impl Transport {
    /// MarkConnectionAppLimited() (4.1.2.4).
    pub(super) fn mark_connection_app_limited(&mut self) {
        self.app_limited.mark(self.delivered, self.inflight);
    }
}

impl DraftBbr {
    /// GenerateRateSample() (4.1.2.3).
    pub(super) fn generate_rate_sample(&self, ack: &Ack, sample: &RateSample) -> Rs {
        // "if (RS.interval < C.min_rtt) return /* no reliable rate sample */".
        let reliable = self.c.min_rtt.is_none_or(|min| sample.interval >= min);
        Rs {
            now: ack.now,
            rtt: ack.rtt,
            delivery_rate: if reliable { sample.rate().bits_per_second() } else { 0 },
            delivered: sample.delivered,
            prior_delivered: sample.prior_delivered,
            newly_acked: ack.delivered,
            is_app_limited: sample.app_limited || self.c.app_limited.covers(sample.prior_delivered),
            tx_in_flight: sample.in_flight,
            lost: sample.lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_ends_when_what_was_in_flight_is_delivered() {
        let mut mark = AppLimitedMark::default();
        assert!(!mark.covers(0));
        mark.mark(1000, 500);
        assert_eq!(
            [999, 1000, 1500, 1501].map(|delivered| mark.covers(delivered)),
            [false, true, true, false]
        );
        mark.mark(1400, 300);
        assert!(mark.covers(1000) && mark.covers(1700) && !mark.covers(1701));
        mark.mark(5000, 100);
        assert!(!mark.covers(1700) && mark.covers(5100), "another probe");
    }
}
