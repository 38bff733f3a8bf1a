//! Forwards events to `tracing` and to a file.

use headway_tcp::{ConnectionId, Event, Observer};
use headway_trace::TraceError;
use headway_units::Instant;

use crate::LogFile;

/// Forwards every event to `tracing` with the target `headway::tcp` (connection events as `debug`,
/// segment events as `trace`), and to a log.
pub(super) struct Reporter {
    log: Option<LogFile>,
}

impl Reporter {
    pub(super) fn new(log: Option<LogFile>) -> Self {
        Self { log }
    }

    /// Ends the log.
    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        self.log.take().map_or(Ok(()), |log| log.finish().map(|_| ()))
    }
}

impl Observer for Reporter {
    fn event(&mut self, now: Instant, connection: ConnectionId, event: &Event) {
        match event {
            Event::StateChanged { .. } | Event::Recovery(_) | Event::TimerExpired(_) => {
                tracing::debug!(target: "headway::tcp", at = now.as_nanos(), ?connection, ?event);
            }
            _ => tracing::trace!(target: "headway::tcp", at = now.as_nanos(), ?connection, ?event),
        }
        if let Some(log) = &mut self.log {
            log.event(now, connection, event);
        }
    }
}
