//! Tail loss probes (RFC 8985, section 7).

use headway_units::Duration;
use headway_wire::SeqNumber;

use super::Rack;
use crate::path::ledger::Cause;
use crate::send::recovery::{AckInfo, RecoveryContext};
use crate::send::rtt::RttEstimator;
use crate::send::sent_queue::SentQueue;
use crate::send::transmissions::Delivery;

/// "WCDelAckT": the longest that the peer holds an ACK back.
const DELAYED_ACK: Duration = Duration::from_millis(200);

/// A probe that is out.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    end: SeqNumber,
    retransmitted: bool,
}

impl Probe {
    pub(super) fn new(end: SeqNumber, retransmitted: bool) -> Self {
        Self { end, retransmitted }
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
        if probe.retransmitted && !repaired && !duplicate {
            return;
        }
        self.probe = None;
        if !(probe.retransmitted && repaired) {
            return;
        }
        let delay = cx.delay();
        let cause = match &mut cx.ledger {
            Some(ledger) => ledger.attribute(delay),
            None => Cause::Unknown,
        };
        if cause != Cause::Damage && !cx.answered {
            cx.report_loss(ack.prior_flight);
        }
    }

    /// A D-SACK block reports that `[start, end)` arrived twice.
    pub(super) fn end_probe_by_duplicate(&mut self, start: SeqNumber, end: SeqNumber) {
        if self.probe.is_some_and(|probe| probe.retransmitted && start.lt(probe.end) && probe.end.le(end)) {
            self.probe = None;
        }
    }
}
