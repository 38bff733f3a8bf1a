//! Loss recovery: which segments to retransmit, and when new data may go.
//!
//! One [`RecoveryEngine`] a method. Each is notified of ACKs, damage reports and timeouts, marks segments in
//! the [`SentQueue`] and notifies the congestion controller; which segments to retransmit it says one by
//! one when asked. It never builds a packet.

mod context;
mod linux22;
mod patch;
mod rack;
mod reno;
mod retransmit_queue;

use alloc::boxed::Box;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::sent_queue::{Marks, Sent, SentQueue};
use crate::event::RetransmitReason;
use crate::path::ledger::{CauseLedger, Missing};
use crate::profile::{HackRules, LossRecovery, Profile};

pub(crate) use context::{AckInfo, Allowance, RecoveryContext, RecoveryOutcome, Retransmission, TimerUpdate};
use linux22::Linux22;
pub(crate) use patch::MIN_PAYLOAD;
use rack::Rack;
use reno::Reno;
pub(crate) use retransmit_queue::DamageReport;
use retransmit_queue::RetransmitQueue;

/// A method of loss recovery.
///
/// What most methods do not have is empty here: reordering and tail loss probes (RFC 8985), new data that
/// has to wait (RFC 5682), what is learnt from and for other connections (RFC 9040).
pub(crate) trait RecoveryEngine {
    /// An acceptable ACK was processed: the queue is trimmed, its SACK blocks are marked, its damage
    /// reports taken. The engine takes the round-trip sample and notifies the controller.
    fn on_ack(&mut self, cx: &mut RecoveryContext<'_>, ack: &AckInfo) -> RecoveryOutcome;

    /// Whether an ACK that acknowledges nothing says something all the same: one that a later one has
    /// overtaken, or else one that arrives when nothing is outstanding.
    fn reads_stale_ack(&self, _overtaken: bool, _sacks: &Scoreboard) -> bool {
        false
    }

    /// A special ACK reports a transmission that arrived damaged. Says whether none reported it before.
    fn on_damage_report(
        &mut self,
        cx: &mut RecoveryContext<'_>,
        reported: &mut RetransmitQueue,
        report: &DamageReport<'_>,
    ) -> bool {
        let accepted = reported.on_report(cx.queue, cx.rtt, report, cx.now);
        if accepted {
            cx.report_damage(cx.mss);
        }
        accepted
    }

    /// Whether the first segment was sent so long ago that it must have been lost, although the engine has
    /// not found that: it waits behind others.
    fn leaves_head_behind(&self, cx: &RecoveryContext<'_>) -> bool {
        cx.queue.head().is_some_and(|head| cx.now.saturating_since(head.sent_at) > cx.rtt.smoothed() * 2)
    }

    /// The retransmission timer expired; `last_received` is when something last arrived.
    fn on_timeout(&mut self, cx: &mut RecoveryContext<'_>, last_received: Instant) -> RecoveryOutcome;

    /// The time of [`RecoveryOutcome::reorder_deadline`] has come.
    fn on_reorder_timer(&mut self, _cx: &mut RecoveryContext<'_>) -> RecoveryOutcome {
        RecoveryOutcome::default()
    }

    /// New data of that many bytes leaves.
    fn on_sent(&mut self, _bytes: u32) {}

    /// A segment was retransmitted.
    fn on_retransmitted(&mut self, _sent: &Sent, _reason: RetransmitReason) {}

    /// Whether [`Self::next_retransmit`] may name a segment.
    fn may_retransmit(&self, queue: &SentQueue) -> bool {
        queue.any_missing()
    }

    /// The segment to retransmit now, if any.
    fn next_retransmit(&mut self, queue: &mut SentQueue, allowance: Allowance) -> Option<Retransmission>;

    /// Whether new data may be sent, the congestion window permitting.
    fn may_send_new(&self) -> bool {
        true
    }

    /// No new data can go: of `unsent` bytes the peer's window has room for `sendable`. Says whether
    /// [`Self::next_retransmit`] may name a segment that was held back for it.
    fn on_no_new_data(
        &mut self,
        _queue: &mut SentQueue,
        _allowance: Allowance,
        _unsent: u32,
        _sendable: u32,
    ) -> bool {
        false
    }

    /// A segment worth retransmitting where there is no new data to send.
    fn next_speculative(
        &mut self,
        _queue: &SentQueue,
        _sacks: &Scoreboard,
        _allowance: Allowance,
    ) -> Option<Retransmission> {
        None
    }

    /// Bytes that may be in the network beyond the congestion window: what duplicate ACKs say has left it.
    fn inflation(&self, _mss: u32) -> u32 {
        0
    }

    /// What may be sent now, where that is not what the congestion window leaves.
    fn room(&self) -> Option<u32> {
        None
    }

    /// When to probe for a tail loss, after data was sent or acknowledged; `None`: not at all. `ledger` is
    /// that of the path, where the profile uses it.
    fn probe_timeout(
        &self,
        _queue: &SentQueue,
        _rtt: &RttEstimator,
        _mss: u32,
        _ledger: Option<&CauseLedger>,
    ) -> Option<Duration> {
        None
    }

    /// A tail loss probe was sent that ends at `end`, and repeats a transmission if it carries no new data.
    fn on_probe_sent(&mut self, _end: SeqNumber, _repeats: Option<Missing>) {}

    /// An earlier connection over the path saw packets overtake each other, or did not. Says whether the
    /// engine measures what is delivered, so that the window may begin with what that one had.
    fn on_path_memory(&mut self, _reordering: bool) -> bool {
        false
    }

    /// Whether packets of this connection were seen to overtake each other.
    fn saw_reordering(&self) -> bool {
        false
    }

    /// Whether the loss of a segment that is longer than others, a probe of the path's MTU, is no congestion to it.
    fn spares_probes(&self) -> bool {
        false
    }

    /// Bytes of heap beyond its own size.
    fn allocated(&self) -> usize {
        0
    }
}

/// The engine of a connection.
enum Engine {
    Reno(Reno),
    Linux22(Linux22),
    Rack(Box<Rack>),
}

/// Calls the engine, whichever it is.
macro_rules! engine {
    ($recovery:expr, $engine:ident => $call:expr) => {
        match $recovery {
            Engine::Reno($engine) => $call,
            Engine::Linux22($engine) => $call,
            Engine::Rack($engine) => $call,
        }
    };
}

/// A connection's engine, and what is retransmitted before anything that it wants: segments that special ACKs
/// reported, where the engine leaves them to that, and those that were too long for the path.
pub(crate) struct Recovery {
    engine: Engine,
    reported: RetransmitQueue,
    literal: bool,
}

impl Recovery {
    pub(crate) fn new(profile: &Profile, sack: bool) -> Self {
        let engine = match profile.recovery {
            LossRecovery::Linux22 => Engine::Linux22(Linux22::new(sack)),
            LossRecovery::Reno => Engine::Reno(Reno::new(sack, sack, profile.limited_transmit)),
            // RFC 8985, 4: it needs SACK.
            LossRecovery::RackTlp if sack => Engine::Rack(Box::new(Rack::new(profile.features))),
            LossRecovery::Standard | LossRecovery::RackTlp => {
                Engine::Reno(Reno::new(sack, true, profile.limited_transmit))
            }
        };
        let literal = profile.hack_rules == HackRules::Literal;
        Self { engine, reported: RetransmitQueue::default(), literal }
    }

    // --- what happened ----------------------------------------------------------------------------

    /// Rule 3: ends the suppression of loss detection where it has lasted long enough. Called for each ACK,
    /// before what it reports is taken.
    #[inline]
    pub(crate) fn end_suppression(&mut self, cx: &mut RecoveryContext<'_>) {
        if self.reported.any_suppressed()
            && let Some(lowest) = self.reported.expire(cx.queue, cx.now, cx.rtt.suppression_time())
        {
            cx.sacks.rejudge(lowest);
        }
    }

    /// See [`RecoveryEngine::on_ack`].
    pub(crate) fn on_ack(&mut self, cx: &mut RecoveryContext<'_>, ack: &AckInfo) -> RecoveryOutcome {
        engine!(&mut self.engine, engine => engine.on_ack(cx, ack))
    }

    /// See [`RecoveryEngine::reads_stale_ack`].
    pub(crate) fn reads_stale_ack(&self, overtaken: bool, sacks: &Scoreboard) -> bool {
        engine!(&self.engine, engine => engine.reads_stale_ack(overtaken, sacks))
    }

    /// See [`RecoveryEngine::on_damage_report`].
    pub(crate) fn on_damage_report(
        &mut self,
        cx: &mut RecoveryContext<'_>,
        report: &DamageReport<'_>,
    ) -> bool {
        if self.literal {
            return self.reported.on_report_literally(cx.queue, report.seq);
        }
        let reported = &mut self.reported;
        engine!(&mut self.engine, engine => engine.on_damage_report(cx, reported, report))
    }

    /// The path takes no more than `mss` bytes. Segments in flight that are longer are lost to the path,
    /// not to congestion: they are cut and retransmitted (RFC 1191, 6.4).
    pub(crate) fn on_mss_reduced(&mut self, queue: &mut SentQueue, mss: u32) {
        let mut index = 0;
        while index < queue.len() {
            index += self.cut(queue, index, mss);
        }
    }

    /// Cuts segment `index`, if it is longer than `mss` bytes, and lines the pieces up. Says how many there are.
    pub(crate) fn cut(&mut self, queue: &mut SentQueue, index: usize, mss: u32) -> usize {
        let mut last = index;
        while queue.get(last).payload_len() > mss {
            queue.split(last, mss);
            last += 1;
        }
        if last > index {
            for piece in index..=last {
                queue.mark_damaged(piece);
                self.reported.push_cut(queue.get(piece).seq);
            }
        }
        last - index + 1
    }

    /// See [`RecoveryEngine::on_timeout`].
    pub(crate) fn on_timeout(
        &mut self,
        cx: &mut RecoveryContext<'_>,
        last_received: Instant,
    ) -> RecoveryOutcome {
        let outcome = engine!(&mut self.engine, engine => engine.on_timeout(cx, last_received));
        self.reported.clear();
        outcome
    }

    /// See [`RecoveryEngine::on_reorder_timer`].
    pub(crate) fn on_reorder_timer(&mut self, cx: &mut RecoveryContext<'_>) -> RecoveryOutcome {
        engine!(&mut self.engine, engine => engine.on_reorder_timer(cx))
    }

    /// New data of that many bytes leaves.
    pub(crate) fn on_sent(&mut self, bytes: u32) {
        engine!(&mut self.engine, engine => engine.on_sent(bytes));
    }

    /// Segment `index` was retransmitted.
    pub(crate) fn on_retransmitted(&mut self, queue: &SentQueue, index: usize, reason: RetransmitReason) {
        self.reported.on_retransmitted(queue, index);
        engine!(&mut self.engine, engine => engine.on_retransmitted(queue.get(index), reason));
    }

    /// See [`RecoveryEngine::on_probe_sent`].
    pub(crate) fn on_probe_sent(&mut self, end: SeqNumber, repeats: Option<Missing>) {
        engine!(&mut self.engine, engine => engine.on_probe_sent(end, repeats));
    }

    /// See [`RecoveryEngine::on_path_memory`].
    pub(crate) fn on_path_memory(&mut self, reordering: bool) -> bool {
        engine!(&mut self.engine, engine => engine.on_path_memory(reordering))
    }

    /// Nothing is outstanding, so nothing is to be retransmitted.
    pub(crate) fn clear_reported(&mut self) {
        self.reported.clear();
    }

    // --- what to send -----------------------------------------------------------------------------

    /// Whether [`Self::next_retransmit`] may name a segment.
    #[inline]
    pub(crate) fn may_retransmit(&self, queue: &SentQueue) -> bool {
        self.reported.any_waiting() || engine!(&self.engine, engine => engine.may_retransmit(queue))
    }

    /// The segment to retransmit now, if any.
    pub(crate) fn next_retransmit(
        &mut self,
        queue: &mut SentQueue,
        allowance: Allowance,
    ) -> Option<Retransmission> {
        if let Some(index) = self.reported.next(queue, self.literal) {
            // Rule 2: if the window forbids, it stays first in line. Read literally, the reported
            // segment is still in the pipe, and Linux 2.2 holds retransmissions to as many as the window
            // has room for, whatever else is in the network.
            let room = if self.literal {
                allowance.cwnd.saturating_sub(queue.retransmitted())
            } else {
                allowance.room
            };
            if queue.get(index).payload_bytes() > room {
                return None;
            }
            queue.mark_lost(index);
            return Some((index, self.reported.reason()));
        }
        engine!(&mut self.engine, engine => engine.next_retransmit(queue, allowance))
    }

    /// Whether new data may be sent, the congestion window permitting.
    pub(crate) fn may_send_new(&self) -> bool {
        engine!(&self.engine, engine => engine.may_send_new())
    }

    /// Rule 2: "If cwnd forbids, it stays first in line": no new data, however small, passes it.
    #[inline]
    pub(crate) fn holds_new_data_back(&mut self, queue: &SentQueue) -> bool {
        self.reported.any_waiting() && !self.literal && self.reported.next(queue, false).is_some()
    }

    /// No new data can go, of which `unsent` bytes wait and the peer's window has room for `sendable`: the
    /// segment to retransmit instead, if any.
    pub(crate) fn next_without_new_data(
        &mut self,
        (queue, sacks): (&mut SentQueue, &Scoreboard),
        allowance: Allowance,
        unsent: u32,
        sendable: u32,
    ) -> Option<Retransmission> {
        if engine!(&mut self.engine, engine => engine.on_no_new_data(queue, allowance, unsent, sendable)) {
            return self.next_retransmit(queue, allowance);
        }
        engine!(&mut self.engine, engine => engine.next_speculative(queue, sacks, allowance))
    }

    /// What may be sent with this congestion window, and `pipe` in the network.
    pub(crate) fn allowance(&self, window: u32, pipe: u32, mss: u32) -> Allowance {
        let (inflation, room) = engine!(&self.engine, engine => (engine.inflation(mss), engine.room()));
        let cwnd = window.saturating_add(inflation);
        Allowance { cwnd, room: room.unwrap_or(cwnd.saturating_sub(pipe)), mss }
    }

    /// Whether the first segment was left behind: it must have been lost, and is not the next to be
    /// retransmitted. One that a special ACK has reported is sent at once if it is first in line; one that
    /// is lost would have to wait for a window that retransmissions of others keep full.
    pub(crate) fn has_stale_head(&mut self, cx: &RecoveryContext<'_>) -> bool {
        let Some(head) = cx.queue.head() else { return false };
        let is_next = head.is_missing() && self.reported.next(cx.queue, false) == Some(0);
        engine!(&self.engine, engine => engine.leaves_head_behind(cx)) && !is_next
    }

    /// See [`RecoveryEngine::probe_timeout`].
    #[inline]
    pub(crate) fn probe_timeout(
        &self,
        queue: &SentQueue,
        rtt: &RttEstimator,
        mss: u32,
        ledger: Option<&CauseLedger>,
    ) -> Option<Duration> {
        engine!(&self.engine, engine => engine.probe_timeout(queue, rtt, mss, ledger))
    }

    // --- what it knows ----------------------------------------------------------------------------

    /// Whether packets of this connection were seen to overtake each other.
    pub(crate) fn saw_reordering(&self) -> bool {
        engine!(&self.engine, engine => engine.saw_reordering())
    }

    /// See [`RecoveryEngine::spares_probes`].
    pub(crate) fn spares_probes(&self) -> bool {
        engine!(&self.engine, engine => engine.spares_probes())
    }

    /// Bytes of heap beyond its own size.
    pub(crate) fn allocated(&self) -> usize {
        self.reported.allocated() + engine!(&self.engine, engine => engine.allocated())
    }
}

/// Whether `SND.UNA`'s own segment is known to be damaged, so that duplicate ACKs for it say
/// nothing new.
fn head_is_damaged(queue: &SentQueue) -> bool {
    queue.head().is_some_and(|head| head.has(Marks::DAMAGED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_memory_is_that_of_the_engine_and_of_what_waits() {
        let mut recovery = Recovery::new(&Profile::modern(), true);
        let engine = recovery.allocated();
        assert_eq!(engine, size_of::<Rack>());
        recovery.reported.push_cut(SeqNumber(0));
        assert_eq!(recovery.allocated(), engine + recovery.reported.allocated());
    }
}
