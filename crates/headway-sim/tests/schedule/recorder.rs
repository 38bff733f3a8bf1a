//! Prints what happens when one schedule is replayed.

use headway_tcp::{ConnectionId, Event, Observer, Timer};
use headway_units::Instant;

/// The observer of a host: prints its events if it is asked to.
pub(crate) struct Recorder {
    pub(crate) host: usize,
    pub(crate) start: Instant,
    pub(crate) on: bool,
    /// Connections whose keep-alive timer expired, and when: those of the latest time.
    pub(crate) keep_alive: Vec<(Instant, ConnectionId)>,
}

impl Recorder {
    /// A line of the trace.
    pub(crate) fn say(&self, now: Instant, what: impl std::fmt::Display) {
        if self.on {
            let since = now.saturating_since(self.start).as_micros();
            println!("{:>6}.{:06} host {}: {what}", since / 1_000_000, since % 1_000_000, self.host);
        }
    }
}

impl Observer for Recorder {
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        if matches!(event, Event::TimerExpired(Timer::KeepAlive)) {
            self.keep_alive.retain(|&(at, _)| at == now);
            self.keep_alive.push((now, connection));
        }
        if self.on && !matches!(event, Event::Sent { .. } | Event::Received { .. }) {
            self.say(now, format_args!("    {event:?}"));
        }
    }
}
