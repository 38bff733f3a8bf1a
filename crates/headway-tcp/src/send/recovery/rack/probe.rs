//! Tail loss probes (RFC 8985, section 7).

use headway_units::Duration;
use headway_wire::SeqNumber;

use super::Rack;
use crate::path::ledger::{Cause, Missing};
use crate::send::recovery::{AckInfo, RecoveryContext};
use crate::send::rtt::RttEstimator;
use crate::send::sent_queue::SentQueue;
use crate::send::transmissions::Delivery;

/// "WCDelAckT": the longest that the peer holds an ACK back.
const DELAYED_ACK: Duration = Duration::from_millis(200);

/// The same of a peer that reports damage: one of ours.
const OUR_DELAYED_ACK: Duration = Duration::from_millis(50);

/// A probe that is outstanding.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    end: SeqNumber,
    /// What it repeats; `None`: it carries new data.
    repeats: Option<Missing>,
}

impl Probe {
    pub(super) fn new(end: SeqNumber, repeats: Option<Missing>) -> Self {
        Self { end, repeats }
    }
}

impl Rack {
    /// When to probe (RFC 8985, 7.2); `None`: not at all.
    pub(super) fn tail_probe_timeout(
        &self,
        queue: &SentQueue,
        rtt: &RttEstimator,
        mss: u32,
        tolerates_holes: bool,
    ) -> Option<Duration> {
        if !self.features.tlp || self.recovering() || self.probe.is_some() || queue.is_empty() {
            return None;
        }
        if queue.sacked() > 0 && !tolerates_holes {
            return None;
        }
        let Some(smoothed) = rtt.estimate() else { return Some(Duration::from_secs(1)) };
        if tolerates_holes {
            let latest = self.detector.latest_rtt().map_or(smoothed, |latest| latest.min(smoothed));
            return Some(latest + latest / 4 + OUR_DELAYED_ACK);
        }
        let single = queue.outstanding() <= mss;
        Some(smoothed * 2 + if single { DELAYED_ACK } else { Duration::ZERO })
    }

    /// RFC 8985, 7.4.2: a probe that was a retransmission and was needed repaired a loss, which calls for
    /// an answer of congestion control.
    pub(super) fn end_probe(&mut self, cx: &mut RecoveryContext<'_>, ack: &AckInfo, delivery: &Delivery) {
        let Some(probe) = self.probe.filter(|probe| cx.una.ge(probe.end)) else { return };
        // What covers the probe may be the answer to the original, and that to the probe, a duplicate
        // without anything new, be on its way. It would come before later data is acknowledged.
        let repaired = cx.una.gt(probe.end);
        let duplicate = !ack.advanced && delivery.bytes == 0;
        if probe.repeats.is_some() && !repaired && !duplicate {
            return;
        }
        self.probe = None;
        let Some(missing) = probe.repeats.filter(|_| repaired) else { return };
        if !matches!(cx.attribute(missing), Cause::Damage | Cause::Silent) && !cx.answered {
            cx.report_loss(ack.prior_flight);
        }
    }

    /// A D-SACK block reports that `[start, end)` arrived twice: perhaps the probe was one of the two.
    pub(super) fn end_probe_by_duplicate(&mut self, start: SeqNumber, end: SeqNumber) {
        self.probe.take_if(|probe| probe.repeats.is_some() && start.lt(probe.end) && probe.end.le(end));
    }
}
