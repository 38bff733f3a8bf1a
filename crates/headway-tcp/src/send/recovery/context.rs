//! What every recovery engine works on, what it learns of an ACK, and what it answers.

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use crate::ConnectionId;
use crate::congestion::{Ack, CongestionDomain, RateSample};
use crate::event::{RecoveryPhase, RetransmitReason};
use crate::path::ledger::{Cause, CauseLedger, Missing};
use crate::ring::Ring;
use crate::send::rtt::{RttEstimator, TimeoutPace};
use crate::send::scoreboard::Scoreboard;
use crate::send::sent_queue::{Acknowledged, SentQueue};

/// What an engine works on, lent for one call.
pub(crate) struct RecoveryContext<'a> {
    pub(crate) now: Instant,
    pub(crate) queue: &'a mut SentQueue,
    pub(crate) sacks: &'a mut Scoreboard,
    pub(crate) rtt: &'a mut RttEstimator,
    /// The congestion domain, and which of its members the connection is.
    pub(crate) domain: &'a mut CongestionDomain,
    pub(crate) member: ConnectionId,
    /// The path's ledger, where the profile uses it.
    pub(crate) ledger: Option<&'a mut CauseLedger>,
    /// What the application wrote, from `buffer_start` on.
    pub(crate) buffer: &'a Ring,
    pub(crate) buffer_start: SeqNumber,
    /// `SND.UNA` and `SND.NXT`.
    pub(crate) una: SeqNumber,
    pub(crate) nxt: SeqNumber,
    pub(crate) mss: u32,
    /// The window has been reduced for this window of data, in answer to a mark (RFC 3168).
    pub(crate) answered: bool,
}

impl RecoveryContext<'_> {
    /// Notifies the controller of an ACK that acknowledged data.
    pub(crate) fn report_acknowledged(&mut self, ack: &AckInfo, in_recovery: bool) {
        let acked = ack.acknowledged.bytes;
        if acked == 0 {
            return;
        }
        let (prior_pipe, pipe) = (self.domain.total(ack.prior_pipe), self.domain.total(self.queue.pipe()));
        self.domain.control().on_ack(&Ack {
            now: self.now,
            acked,
            delivered: acked,
            prior_pipe,
            pipe,
            rtt: ack.rtt,
            in_recovery: in_recovery || ack.holds_window,
            duplicate: false,
            retransmitted: ack.acknowledged.retransmitted,
            damages: false,
            asks_for_less: false,
            alone: false,
            rate: None,
        });
    }

    /// A loss was found that congestion may have caused, with `flight` bytes outstanding.
    pub(crate) fn report_loss(&mut self, flight: u32) {
        let sent_at = self.queue.head().map_or(self.now, |head| head.sent_at);
        self.domain.on_loss(self.member, self.now, flight, sent_at);
    }

    /// Everything outstanding at the start of the recovery is acknowledged.
    pub(crate) fn report_recovery_end(&mut self) {
        self.domain.on_recovery_end(self.member, self.now, self.queue.outstanding());
    }

    /// The retransmission timer expired; `first` unless it already had for the same data.
    pub(crate) fn report_timeout(&mut self, flight: u32, first: bool) {
        let sent_at = self.queue.head().map_or(self.now, |head| head.sent_at);
        self.domain.on_timeout(self.member, self.now, flight, (sent_at, first));
    }

    /// A segment of that many bytes arrived damaged.
    pub(crate) fn report_damage(&mut self, bytes: u32) {
        self.domain.control().on_damage(self.now, bytes);
    }

    /// Takes a round-trip sample.
    pub(crate) fn sample_rtt(&mut self, sample: Duration) {
        let segments = self.domain.window() / self.mss.max(1);
        self.rtt.sample(sample, segments);
    }

    /// Takes the round-trip sample of a segment of `bytes`, for the ledger too.
    pub(crate) fn sample_path(&mut self, sample: Duration, bytes: u32) {
        self.sample_rtt(sample);
        let (packet, full) = (self.packet_time(), bytes > self.mss / 2);
        if let Some(ledger) = &mut self.ledger {
            ledger.on_rtt(self.now, sample, packet, full);
        }
    }

    /// Moves the ledger's window to now, before anything is entered: after a pause it would be
    /// forgotten with what is too old.
    pub(crate) fn advance_ledger(&mut self) {
        if let (Some(ledger), Some(delay)) = (&mut self.ledger, self.rtt.delay()) {
            ledger.advance(self.now, delay);
        }
    }

    /// In how long a full-sized segment is transmitted at the rate at which the controller sends.
    fn packet_time(&mut self) -> Duration {
        let control = self.domain.control();
        match control.bandwidth() {
            Some(bandwidth) => bandwidth.transmit_time(self.mss.into()),
            None => self.rtt.smoothed() * self.mss / control.window().max(1),
        }
    }

    /// The cause of a loss that nothing reported.
    pub(crate) fn attribute(&mut self, missing: Missing) -> Cause {
        let tolerated = self.domain.control().tolerates();
        self.ledger.as_mut().map_or(Cause::Unknown, |ledger| ledger.attribute(missing, tolerated))
    }
}

/// What an acceptable ACK brought.
pub(crate) struct AckInfo {
    /// It moved `SND.UNA`.
    pub(crate) advanced: bool,
    /// `SND.UNA` before it.
    pub(crate) prior_una: SeqNumber,
    /// FlightSize before it.
    pub(crate) prior_flight: u32,
    /// The pipe before it.
    pub(crate) prior_pipe: u32,
    /// What the move took from the queue.
    pub(crate) acknowledged: Acknowledged,
    /// Bytes newly covered by SACK blocks.
    pub(crate) newly_sacked: u32,
    /// It is a duplicate (RFC 5681, section 2): no data, no window change, something outstanding.
    pub(crate) duplicate: bool,
    /// It carried payload.
    pub(crate) has_data: bool,
    /// It is a special ACK: never a duplicate (rule 1).
    pub(crate) special: bool,
    /// It echoes a mark: the window must not grow (RFC 3168).
    pub(crate) holds_window: bool,
    /// The TSecr, unless it is a special ACK's.
    pub(crate) tsecr: Option<u32>,
    /// The round-trip time that the acknowledged segments, or else the TSecr, measured.
    pub(crate) rtt: Option<Duration>,
}

/// What the retransmission timer does after an ACK.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum TimerUpdate {
    /// It goes on.
    #[default]
    Keep,
    /// It expires one timeout after the oldest segment was sent.
    FromOldest,
    /// RFC 6298 (5.3): "restart the retransmission timer so that it will expire after RTO seconds".
    Restart,
}

/// What an event led to.
#[derive(Default)]
pub(crate) struct RecoveryOutcome {
    /// A stage of recovery began or ended.
    pub(crate) phase: Option<RecoveryPhase>,
    pub(crate) timer: TimerUpdate,
    /// Something arrived that had not before, although `SND.UNA` may not have moved: the peer is there.
    pub(crate) progress: bool,
    /// When [`RecoveryEngine::on_reorder_timer`](super::RecoveryEngine::on_reorder_timer) is to be called.
    pub(crate) reorder_deadline: Option<Instant>,
    /// The delivery rate that the ACK measured.
    pub(crate) rate: Option<RateSample>,
    /// How the timer goes on after this timeout.
    pub(crate) pace: TimeoutPace,
}

/// What may be sent, bytes.
#[derive(Clone, Copy)]
pub(crate) struct Allowance {
    /// The congestion window, with what duplicate ACKs say has left the network.
    pub(crate) cwnd: u32,
    /// What is left of it, or what the recovery leaves where it decides.
    pub(crate) room: u32,
    pub(crate) mss: u32,
}

/// A segment to be retransmitted, by its place in the queue, and why.
pub(crate) type Retransmission = (usize, RetransmitReason);

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;
    use crate::Profile;
    use crate::congestion::{Algorithm, Setup};
    use crate::rules::RulesOff;

    #[test]
    fn without_a_model_of_the_path_a_window_is_sent_in_a_round_trip() {
        let setup = Setup {
            initial_window: 10_000,
            slow_start_limit: None,
            hystart: false,
            pacing: false,
            deliveries: false,
            seed: 0,
            rules_off: RulesOff::NONE,
        };
        let mut cx = RecoveryContext {
            now: Instant::ZERO,
            queue: &mut SentQueue::default(),
            sacks: &mut Scoreboard::default(),
            rtt: &mut RttEstimator::new(Arc::new(Profile::standard())),
            domain: &mut CongestionDomain::new(Algorithm::Reno.build(setup, None)),
            member: ConnectionId::of_test(),
            ledger: None,
            buffer: &Ring::new(1),
            buffer_start: SeqNumber(0),
            una: SeqNumber(0),
            nxt: SeqNumber(0),
            mss: 1000,
            answered: false,
        };
        cx.sample_rtt(Duration::from_millis(100));
        let packets = cx.domain.window() / cx.mss;
        assert_eq!(cx.packet_time(), Duration::from_millis(100) / packets);
    }
}
