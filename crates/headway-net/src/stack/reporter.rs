//! Forwards events to `tracing` and to files.

use headway_tcp::{ConnectionId, Event, Observer};
use headway_trace::TraceError;
use headway_units::Instant;

use crate::{LogFile, QlogFile};

/// Forwards every event to `tracing` with the target `headway::tcp` (connection events as `debug`,
/// segment events as `trace`), and to logs.
pub(super) struct Reporter {
    log: Option<LogFile>,
    qlog: Option<QlogFile>,
}

impl Reporter {
    pub(super) fn new(log: Option<LogFile>, qlog: Option<QlogFile>) -> Self {
        Self { log, qlog }
    }

    /// Ends the logs; the first error is returned.
    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        let log = self.log.take().map_or(Ok(()), |log| log.finish().map(|_| ()));
        let qlog = self.qlog.take().map_or(Ok(()), |qlog| qlog.finish().map(|_| ()));
        log.and(qlog)
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
        self.log.event(now, connection, event);
        self.qlog.event(now, connection, event);
    }
}
