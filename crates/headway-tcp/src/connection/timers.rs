//! Deadlines, and what happens when they come.

use headway_units::{Duration, Instant};

use super::{Connection, Context, Notification, State};
use crate::ConnectionError;
use crate::event::{Event, Observer, RecoveryPhase, RetransmitReason, Timer};
use crate::send::recovery::{Board, Recovery};

/// Stands for a timer that is not set.
const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// One deadline for each kind of timer, on the ticks of the profile's clock.
pub(super) struct Timers {
    deadlines: [Instant; Timer::COUNT],
    clock: Duration,
}

impl Timers {
    pub(super) fn new(clock: Duration) -> Self {
        Self { deadlines: [NEVER; Timer::COUNT], clock }
    }

    pub(super) fn set(&mut self, timer: Timer, at: Instant) {
        // A clock of coarse ticks notices a deadline at the tick after it.
        let tick = self.clock.as_nanos().max(1);
        let at = at.as_nanos().div_ceil(tick).saturating_mul(tick);
        self.deadlines[timer as usize] = Instant::from_nanos(at);
    }

    /// As [`Timers::set`], between the ticks.
    pub(super) fn set_exactly(&mut self, timer: Timer, at: Instant) {
        self.deadlines[timer as usize] = at;
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.deadlines[timer as usize] = NEVER;
    }

    pub(super) fn stop_all(&mut self) {
        self.deadlines = [NEVER; Timer::COUNT];
    }

    pub(super) fn get(&self, timer: Timer) -> Option<Instant> {
        Some(self.deadlines[timer as usize]).filter(|&at| at != NEVER)
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.get(timer).is_some()
    }

    fn is_due(&self, timer: Timer, now: Instant) -> bool {
        self.get(timer).is_some_and(|at| at <= now)
    }

    /// The earliest deadline, also considering `other`.
    pub(super) fn next(&self, other: Option<Instant>) -> Option<Instant> {
        // NEVER is later than any.
        let first = self.deadlines.iter().copied().fold(other.unwrap_or(NEVER), Instant::min);
        Some(first).filter(|&at| at != NEVER)
    }
}

impl Connection {
    /// Handles every deadline that has come.
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
            // That the connection is asked again is all that it takes.
            Timer::DelayedAck | Timer::Pace => {}
        }
    }

    fn retransmit_expired<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.syn_expired(cx);
            return;
        }
        if self.snd.queue.is_empty() {
            return;
        }
        self.statistics.timeouts += 1;
        // RFC 9293, 3.8.6.1: a peer that closed its window is probed; that is no loss.
        if self.snd.wnd == 0 {
            self.snd.rtt.back_off();
            if self.probe_limit_reached(cx) {
                return;
            }
            self.resend_head(RetransmitReason::Probe);
            self.arm_retransmit(cx.now);
            return;
        }
        self.snd.timeouts_in_a_row += 1;
        if self.profile.rto.retries.is_some_and(|limit| self.snd.timeouts_in_a_row > limit) {
            self.fail_by_timeout(cx, ConnectionError::TimedOut);
            return;
        }
        let as_congestion = if matches!(self.snd.recovery, Recovery::Modern(_)) {
            self.modern_timeout(cx)
        } else {
            let board = Board {
                queue: &mut self.snd.queue,
                sacks: &mut self.snd.sacks,
                control: &mut *cx.domain.control,
            };
            self.snd.recovery.on_timeout(board, cx.now, self.snd.nxt);
            true
        };
        self.resends.clear();
        if as_congestion {
            if self.snd.timeouts_in_a_row == 1 {
                self.statistics.slow_starts += 1;
            }
            self.snd.rtt.back_off();
            self.ecn_reduced();
            cx.emit(|| Event::Recovery(RecoveryPhase::Timeout));
        }
        self.tell_window(cx);
        self.arm_retransmit(cx.now);
    }

    /// RFC 9293, 3.8.3 and the limit on retries: the peer is told, as far as it can hear.
    pub(super) fn fail_by_timeout<O: Observer>(&mut self, cx: &mut Context<'_, O>, error: ConnectionError) {
        let tells_peer = self.state.is_synchronized() && self.state != State::TimeWait;
        self.fail(cx, error);
        self.pending.set_reset(tells_peer);
    }

    /// A closed window, or one too small to be worth a segment, has lasted long enough.
    fn persist_expired<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        if self.snd.unsent() == 0 && !self.snd.owes_fin() {
            return;
        }
        if self.probe_limit_reached(cx) {
            return;
        }
        self.snd.rtt.back_off();
        self.snd.override_sws = true;
    }

    /// RFC 9293, 3.8.6.1: "As long as the receiving TCP peer continues to send acknowledgments in
    /// response to the probe segments, the sending TCP peer MUST allow the connection to stay
    /// open". A peer that answers none of them is treated like one that answers no data (3.8.3).
    fn probe_limit_reached<O: Observer>(&mut self, cx: &mut Context<'_, O>) -> bool {
        self.snd.probes += 1;
        let reached = self.profile.rto.retries.is_some_and(|limit| self.snd.probes > limit);
        if reached {
            self.fail_by_timeout(cx, ConnectionError::TimedOut);
        }
        reached
    }

    pub(super) fn arm_retransmit(&mut self, now: Instant) {
        self.timers.set(Timer::Retransmit, now + self.snd.rtt.timeout());
    }

    /// The user timeout runs from the last advance of SND.UNA.
    pub(super) fn arm_user_timeout(&mut self) {
        if let Some(limit) = self.profile.user_timeout
            && !self.timers.is_set(Timer::User)
        {
            self.timers.set(Timer::User, self.snd.last_advance + limit);
        }
    }

    pub(super) fn enter_time_wait<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        self.set_state(cx, State::TimeWait);
        self.timers.stop_all();
        self.timers.set(Timer::TimeWait, cx.now + self.profile.time_wait);
        self.snd.queue.release();
        self.snd.buffer.release();
        self.rcv.release();
        self.notify(Notification::Closed);
    }
}
