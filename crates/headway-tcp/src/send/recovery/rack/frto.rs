//! Forward RTO-recovery (RFC 5682, section 3.1): the algorithm for a sender that uses SACK.

use super::{Phase, Rack};
use crate::send::recovery::{AckInfo, RecoveryContext, RecoveryOutcome};
use crate::send::sent_queue::SentQueue;
use crate::send::transmissions::Delivery;

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Frto {
    Off,
    /// Step 2: the first segment has been retransmitted, and nothing else goes.
    Sent,
    /// Step 3: it is acknowledged; that many segments of new data may go, and the next ACK decides.
    Probing(u8),
}

/// Step 2b: "transmit up to two new (previously unsent) segments".
const SEGMENTS: u8 = 2;

impl Rack {
    /// An ACK may show whether the timeout was spurious.
    pub(super) fn watch_timeout(
        &mut self,
        cx: &mut RecoveryContext<'_>,
        ack: &AckInfo,
        delivery: &Delivery,
        outcome: &mut RecoveryOutcome,
    ) {
        let Phase::Timeout { point, order, frto } = self.phase else { return };
        let next = match frto {
            Frto::Off => return,
            // Step 2: duplicates are waited through; with all that was outstanding acknowledged,
            // there is nothing to find out.
            Frto::Sent if !ack.advanced => Frto::Sent,
            Frto::Sent if cx.una.lt(point) => Frto::Probing(SEGMENTS),
            Frto::Sent => Frto::Off,
            Frto::Probing(_) => match delivery.newest {
                // Step 3b: something arrives that was sent before the timer expired, and never again:
                // nothing was lost.
                Some(newest) if !newest.retransmitted && newest.order <= order => {
                    self.undo(cx, outcome);
                    return;
                }
                // Step 3a: what was sent after it arrives first.
                _ => Frto::Off,
            },
        };
        self.phase = Phase::Timeout { point, order, frto: next };
    }

    /// Whether new data may go.
    pub(super) fn frto_permits_new_data(&self) -> bool {
        !matches!(self.phase, Phase::Timeout { frto: Frto::Sent | Frto::Probing(0), .. })
    }

    /// Whether segment `index`, which is missing, waits: new data rather than retransmissions shows whether the
    /// timeout was spurious (step 2b). What was retransmitted and is known to be lost again does not wait, and
    /// nothing does when nothing is in the network that could be answered.
    pub(super) fn frto_holds_back(&self, index: usize, queue: &SentQueue) -> bool {
        let Phase::Timeout { frto, .. } = self.phase else { return false };
        match frto {
            Frto::Off => false,
            Frto::Sent => index > 0,
            Frto::Probing(SEGMENTS) => true,
            Frto::Probing(_) => queue.pipe() > 0,
        }
    }

    /// A segment of new data leaves.
    pub(super) fn on_new_data(&mut self) {
        if let Phase::Timeout { frto: Frto::Probing(left), .. } = &mut self.phase {
            *left = left.saturating_sub(1);
        }
    }

    /// There is no new data, or the peer's window has no room for it: conventional recovery goes on.
    pub(super) fn end_frto_without_new_data(&mut self) {
        if let Phase::Timeout { point, order, frto: Frto::Probing(SEGMENTS) } = self.phase {
            self.phase = Phase::Timeout { point, order, frto: Frto::Off };
        }
    }
}
