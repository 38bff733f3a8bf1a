//! Keep-alive (RFC 9293, 3.8.4).

use headway_units::Instant;

use super::{Connection, Context};
use crate::ConnectionError;
use crate::event::{Observer, Timer};
use crate::profile::KeepAlive;

/// When the last segment arrived, and how many probes it has not answered.
pub(super) struct KeepAliveState {
    last_received: Instant,
    probes: u32,
}

/// What an expiry of the timer leads to.
enum Action {
    /// Nothing yet: the timer is to expire again then.
    Wait(Instant),
    Probe,
    GiveUp,
}

impl KeepAliveState {
    pub(super) fn new(now: Instant) -> Self {
        Self { last_received: now, probes: 0 }
    }

    /// When the last segment arrived.
    pub(super) fn last_received(&self) -> Instant {
        self.last_received
    }

    /// A segment arrived. Says whether it answers a probe.
    #[inline]
    fn on_received(&mut self, now: Instant) -> bool {
        self.last_received = now;
        core::mem::take(&mut self.probes) > 0
    }

    fn reset(&mut self) {
        self.probes = 0;
    }

    fn on_timeout(&mut self, now: Instant, config: &KeepAlive, is_outstanding: bool) -> Action {
        let idle = now.saturating_since(self.last_received);
        if idle < config.idle && self.probes == 0 {
            return Action::Wait(self.last_received + config.idle);
        }
        // Keep-alive packets "MUST only be sent when no sent data is outstanding".
        if is_outstanding {
            self.probes = 0;
            return Action::Wait(now + config.idle);
        }
        if self.probes >= config.probes {
            return Action::GiveUp;
        }
        self.probes += 1;
        Action::Probe
    }
}

impl Connection {
    /// A segment arrived: the peer is alive.
    #[inline]
    pub(super) fn on_received(&mut self, now: Instant) {
        if self.keep_alive.on_received(now) {
            self.arm_keep_alive(now);
        }
    }

    pub(super) fn keep_alive_expired<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        let Some(config) = self.profile.keep_alive else { return };
        match self.keep_alive.on_timeout(cx.now, &config, self.snd.has_outstanding()) {
            Action::Wait(at) => self.timers.set(Timer::KeepAlive, at),
            Action::Probe => {
                self.pending.request_keep_alive();
                self.timers.set(Timer::KeepAlive, cx.now + config.interval);
            }
            Action::GiveUp => self.fail_by_timeout(cx, ConnectionError::TimedOut),
        }
    }

    pub(super) fn arm_keep_alive(&mut self, now: Instant) {
        if let Some(config) = self.profile.keep_alive {
            self.timers.set(Timer::KeepAlive, now + config.idle);
        }
    }

    /// The configuration has changed; the idle time runs from now.
    pub(super) fn restart_keep_alive(&mut self, now: Instant) {
        self.keep_alive.reset();
        self.timers.stop(Timer::KeepAlive);
        if self.state.is_synchronized() {
            self.arm_keep_alive(now);
        }
    }
}
