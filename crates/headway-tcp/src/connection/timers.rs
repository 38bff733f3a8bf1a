//! Timers, and what happens when they expire.

use headway_units::{Duration, Instant};

use super::{Connection, Context, Notification, State};
use crate::ConnectionError;
use crate::event::{Event, Observer, RecoveryPhase, RetransmitReason, Timer};
use crate::send::recovery::TimerUpdate;

/// The value of a timer that is not set.
const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// One deadline for each kind of timer, on the ticks of the profile's clock.
pub(super) struct Timers {
    deadlines: [Instant; Timer::COUNT],
    clock: Duration,
    /// The earliest deadline, unless `moved`. Stored, since it is read more often than it changes.
    first: Instant,
    /// Whether the timer with the earliest deadline was set to a later time or stopped, so that `first` is outdated.
    moved: bool,
}

impl Timers {
    pub(super) fn new(clock: Duration) -> Self {
        Self { deadlines: [NEVER; Timer::COUNT], clock, first: NEVER, moved: false }
    }

    pub(super) fn set(&mut self, timer: Timer, at: Instant) {
        // A coarse clock notices a deadline at the first tick that is not before it.
        let tick = self.clock.as_nanos().max(1);
        let at = at.as_nanos().div_ceil(tick).saturating_mul(tick);
        self.set_exactly(timer, Instant::from_nanos(at));
    }

    /// As [`Timers::set`], but not rounded up to a tick.
    #[inline]
    pub(super) fn set_exactly(&mut self, timer: Timer, at: Instant) {
        let before = core::mem::replace(&mut self.deadlines[timer as usize], at);
        self.moved |= before == self.first && before < at;
        self.first = self.first.min(at);
    }

    #[inline]
    pub(super) fn stop(&mut self, timer: Timer) {
        // Most timers that are stopped are not set.
        if self.is_set(timer) {
            self.set_exactly(timer, NEVER);
        }
    }

    pub(super) fn stop_all(&mut self) {
        *self = Self::new(self.clock);
    }

    #[inline]
    pub(super) fn get(&self, timer: Timer) -> Option<Instant> {
        Some(self.deadlines[timer as usize]).filter(|&at| at != NEVER)
    }

    #[inline]
    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.get(timer).is_some()
    }

    #[inline]
    fn is_due(&self, timer: Timer, now: Instant) -> bool {
        self.get(timer).is_some_and(|at| at <= now)
    }

    /// The earliest deadline, also considering `other`.
    #[inline]
    pub(super) fn next(&mut self, other: Option<Instant>) -> Option<Instant> {
        if core::mem::take(&mut self.moved) {
            // NEVER is later than every deadline.
            self.first = self.deadlines.iter().copied().fold(NEVER, Instant::min);
        }
        let first = self.first.min(other.unwrap_or(NEVER));
        Some(first).filter(|&at| at != NEVER)
    }
}

impl Connection {
    /// Handles every timer that has expired.
    pub(crate) fn handle_timeout<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        if self.rcv.expire_delayed_ack(cx.now) {
            cx.emit(|| Event::TimerExpired(Timer::DelayedAck));
        }
        for timer in Timer::ALL {
            if self.timers.is_due(timer, cx.now) {
                self.timers.stop(timer);
                cx.emit(|| Event::TimerExpired(timer));
                self.expire(cx, timer);
            }
        }
    }

    fn expire<O: Observer>(&mut self, cx: &mut Context<'_, O>, timer: Timer) {
        match timer {
            Timer::Retransmit => self.retransmit_expired(cx),
            Timer::Persist => self.persist_expired(cx),
            Timer::KeepAlive => self.keep_alive_expired(cx),
            Timer::User => self.fail_by_timeout(cx, ConnectionError::UserTimeout),
            Timer::TimeWait => self.finish(cx),
            Timer::Reorder => self.reorder_expired(cx),
            Timer::TailProbe => self.tail_probe_expired(cx),
            Timer::TailCopies => self.tail_copies_expired(cx),
            // Nothing to do here: the host polls the connection for output after each timeout.
            Timer::DelayedAck | Timer::Pace => {}
        }
    }

    /// Makes the retransmission timer and the persist timer, where they are set, expire at once.
    pub(crate) fn hasten_retransmission(&mut self, now: Instant) {
        for timer in [Timer::Retransmit, Timer::Persist] {
            if self.timers.get(timer).is_some_and(|at| at > now) {
                self.timers.set_exactly(timer, now);
            }
        }
    }

    fn retransmit_expired<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.syn_expired(cx);
            return;
        }
        if !self.snd.has_outstanding() {
            return;
        }
        // Nothing is in flight, so the timer shows no new loss: retransmissions wait for their turn in the congestion domain.
        if self.snd.pipe() == 0 && cx.domain.is_waiting(cx.id) {
            self.arm_retransmit(cx.now);
            return;
        }
        self.statistics.timeouts += 1;
        // RFC 9293, 3.8.6.1: a peer that closed its window is probed; that is not a loss.
        if self.snd.window().size() == 0 {
            self.snd.rtt_mut().back_off();
            if self.probe_limit_reached(cx) {
                return;
            }
            self.request_head(RetransmitReason::Probe);
            self.arm_retransmit(cx.now);
            return;
        }
        let counts = self.snd.rtt().counts_timeout(cx.now);
        let timeouts = self.snd.count_timeout(cx.now);
        if self.profile.rto.retries.is_some_and(|limit| timeouts > limit) {
            self.fail_by_timeout(cx, ConnectionError::TimedOut);
            return;
        }
        let last_received = self.last_arrival(cx);
        let (recovery, mut work) = self.recovery(cx);
        let outcome = recovery.on_timeout(&mut work, last_received);
        self.timers.stop(Timer::Reorder);
        self.timers.stop(Timer::TailProbe);
        self.snd.rtt_mut().on_timeout(cx.now, outcome.pace);
        // The response to congestion: a backoff and a window of one segment.
        if outcome.phase == Some(RecoveryPhase::Timeout) {
            if timeouts == 1 {
                self.statistics.slow_starts += 1;
            }
            self.ecn_reduced();
            cx.emit(|| Event::Recovery(RecoveryPhase::Timeout));
        }
        self.report_window(cx);
        self.arm_retransmit(cx.now);
        if counts {
            self.count_unanswered(cx, true);
        }
    }

    /// When a segment of the peer last arrived, or, if later, when any connection of a shared domain last had data acknowledged.
    fn last_arrival<O>(&self, cx: &Context<'_, O>) -> Instant {
        let received = self.keep_alive.last_received();
        cx.domain.delivered_at().map_or(received, |at| at.max(received))
    }

    /// RFC 8985, 6.2: sets when loss detection runs again.
    pub(super) fn set_reorder_timer(&mut self, now: Instant, deadline: Option<Instant>) {
        match deadline {
            Some(at) => self.timers.set(Timer::Reorder, at.max(now)),
            None => self.timers.stop(Timer::Reorder),
        }
    }

    fn reorder_expired<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        let (recovery, mut work) = self.recovery(cx);
        let outcome = recovery.on_reorder_timer(&mut work);
        if let Some(phase) = outcome.phase {
            self.record_phase(cx, phase);
        }
        if outcome.timer == TimerUpdate::Restart && self.snd.has_outstanding() {
            self.arm_retransmit(cx.now);
        }
        self.set_reorder_timer(cx.now, outcome.reorder_deadline);
        self.report_window(cx);
    }

    /// RFC 8985, 7.2: schedules a probe after new data was sent or acknowledged, or, on a path that damages packets, after any
    /// ACK (`restart`). Otherwise the timer is left as it is, or stopped if no probe is needed any more.
    #[inline]
    pub(super) fn arm_tail_probe<O>(&mut self, cx: &Context<'_, O>, restart: bool) {
        let ledger = self.profile.features.ledger.then_some(&cx.path.ledger);
        match self.snd.probe_timeout(ledger).map(|timeout| cx.now + timeout) {
            Some(_) if !restart => {}
            // "If Now() + PTO > TCP_RTO_expiration(): PTO = TCP_RTO_expiration() - Now()": if the
            // timeout would come first, the probe is sent in its place.
            Some(at) => {
                let rto = self.timers.get(Timer::Retransmit);
                self.timers.set(Timer::TailProbe, rto.map_or(at, |rto| at.min(rto)));
            }
            None => self.timers.stop(Timer::TailProbe),
        }
    }

    fn tail_probe_expired<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        if !self.snd.has_outstanding() || self.snd.window().size() == 0 {
            return;
        }
        self.pending.request_tail_probe();
        self.arm_retransmit(cx.now);
    }

    /// RFC 9293, 3.8.3 and the limit on retries: the peer is sent a RST, if the connection is synchronized.
    pub(super) fn fail_by_timeout<O: Observer>(&mut self, cx: &mut Context<'_, O>, error: ConnectionError) {
        let tells_peer = self.state.is_synchronized() && self.state != State::TimeWait;
        self.fail(cx, error);
        self.pending.set_reset(tells_peer);
    }

    /// The peer's window was closed, or too small for a full segment, until the persist timer expired.
    fn persist_expired<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        if !self.snd.has_unsent() {
            return;
        }
        if self.probe_limit_reached(cx) {
            return;
        }
        self.snd.rtt_mut().back_off();
        self.snd.override_silly_window();
    }

    /// RFC 9293, 3.8.6.1: "As long as the receiving TCP peer continues to send acknowledgments in
    /// response to the probe segments, the sending TCP peer MUST allow the connection to stay
    /// open". A peer that answers none of them is treated like one that answers no data (3.8.3).
    fn probe_limit_reached<O: Observer>(&mut self, cx: &mut Context<'_, O>) -> bool {
        let probes = self.snd.count_probe();
        let reached = self.profile.rto.retries.is_some_and(|limit| probes > limit);
        if reached {
            self.fail_by_timeout(cx, ConnectionError::TimedOut);
        }
        reached
    }

    pub(super) fn arm_retransmit(&mut self, now: Instant) {
        self.timers.set(Timer::Retransmit, now + self.snd.rtt().timeout());
    }

    /// The user timeout runs from the last advance of SND.UNA.
    pub(super) fn arm_user_timeout(&mut self) {
        if let Some(limit) = self.profile.user_timeout
            && !self.timers.is_set(Timer::User)
        {
            self.timers.set(Timer::User, self.snd.last_advance() + limit);
        }
    }

    pub(super) fn enter_time_wait<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        self.set_state(cx, State::TimeWait);
        self.timers.stop_all();
        self.timers.set(Timer::TimeWait, cx.now + self.profile.time_wait);
        self.snd.release();
        self.rcv.release();
        self.notify(Notification::Closed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest(moves in prop::collection::vec((0..Timer::COUNT, 0..20u64), 1..80)) {
            let mut timers = Timers::new(Duration::from_nanos(1));
            for (timer, at) in moves {
                let timer = Timer::ALL[timer];
                match at {
                    0..15 => timers.set(timer, Instant::from_nanos(at)),
                    15..18 => timers.stop(timer),
                    18 => timers.stop_all(),
                    // Asked for now and then only.
                    _ => prop_assert_eq!(timers.next(None), timers.deadlines.iter().copied().min().filter(|&at| at != NEVER)),
                }
            }
            let expected = timers.deadlines.iter().copied().min().filter(|&at| at != NEVER);
            prop_assert_eq!(timers.next(None), expected);
        }
    }
}
