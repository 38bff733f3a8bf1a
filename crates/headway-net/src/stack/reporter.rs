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

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use headway_tcp::{Host, HostConfig, Profile};
    use headway_test_fixture::log::Log;
    use tracing::Level;

    use super::*;

    #[test]
    fn timers_of_a_connection_are_logged_as_debug_and_its_segments_as_trace() {
        let log = Log::up_to(Level::TRACE);
        let _guard = tracing::subscriber::set_default(log.clone());
        let [ours, theirs] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let mut host = Host::with_observer(HostConfig::new(ours, [0; 16]), Reporter::new(None, None));
        let profile = Arc::new(Profile::modern());
        host.connect(Instant::ZERO, (ours, 0).into(), (theirs, 80).into(), profile).expect("a free port");
        while host.poll_transmit(Instant::ZERO, &mut [0; 1500]).is_some() {}
        let timeout = host.next_deadline().expect("a retransmission");
        host.handle_timeout(timeout);
        for (event, level) in [("Sent", "TRACE"), ("TimerExpired", "DEBUG")] {
            let lines = log.lines(&format!("event={event}"));
            assert!(
                !lines.is_empty() && lines.iter().all(|line| line.starts_with(level)),
                "{:?}",
                log.lines("")
            );
        }
    }
}
