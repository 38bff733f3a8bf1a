//! Pacing: when the next segment of a connection may leave.

use headway_units::Rate;

use super::{Connection, Context};
use crate::congestion::pacer::{min_rate, window_rate};
use crate::event::Timer;

impl Connection {
    /// Whether the next segment has to wait; then the timer that ends the wait is set.
    pub(super) fn is_paced_out<O>(&mut self, cx: &mut Context<'_, O>) -> bool {
        if !self.profile.features.pacing {
            return false;
        }
        let Some(ready) = cx.domain.wait_for_pacing(cx.now) else { return false };
        self.timers.set_exactly(Timer::Pace, ready);
        true
    }

    /// A segment with that many bytes of data leaves.
    pub(super) fn pace<O>(&mut self, cx: &mut Context<'_, O>, bytes: u32) {
        let pipe = cx.domain.total(self.snd.pipe()).saturating_sub(bytes);
        cx.domain.control().on_sent(cx.now, pipe, self.snd.is_app_limited());
        if let Some(rate) = self.pacing_rate(cx) {
            // Windows and delivery rates count payload, so this does too.
            cx.domain.pace(cx.now, bytes, rate);
        }
    }

    /// The rate at which segments leave; `None`: they are not paced, or nothing is known yet.
    pub(super) fn pacing_rate<O>(&self, cx: &mut Context<'_, O>) -> Option<Rate> {
        if !self.profile.features.pacing {
            return None;
        }
        let control = cx.domain.control();
        match (control.pacing_rate(), self.snd.rtt().estimate()) {
            // A model that has seen next to nothing delivered, as when a segment comes through after
            // many timeouts, may say next to nothing. No TCP sends less than a segment each round trip.
            (Some(rate), _) => Some(rate.max(min_rate(self.snd.mss(), self.snd.rtt().smoothed()))),
            (None, Some(smoothed)) => Some(window_rate(control.window(), smoothed, control.doubles())),
            (None, None) => None,
        }
    }
}
