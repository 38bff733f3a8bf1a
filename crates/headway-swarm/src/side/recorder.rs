//! Prints what happens when one schedule is replayed.

use headway_tcp::{ConnectionId, Event, Observer, Timer};
use headway_units::Instant;
use headway_wire::SeqNumber;

/// The observer of a host: prints its events if it is asked to.
pub(crate) struct Recorder {
    pub(crate) host: usize,
    pub(crate) start: Instant,
    pub(crate) on: bool,
    /// Connections whose keep-alive timer expired, and when: those of the latest time.
    pub(crate) keep_alive: Vec<(Instant, ConnectionId)>,
    /// Segments made whole from damaged payloads and blocks that came again (partial recovery): first
    /// sequence number and bytes.
    pub(crate) completed: Vec<(SeqNumber, u32)>,
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
        if let Event::Completed { seq, len } = event {
            self.completed.push((*seq, *len));
        }
        if self.on && !matches!(event, Event::Sent { .. } | Event::Received { .. }) {
            self.say(now, format_args!("    {event:?}"));
        }
    }
}
