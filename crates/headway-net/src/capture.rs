//! Captures and event logs of a running stack.

use std::io::Write;

use headway_trace::{Capture, Direction, EventLog, Qlog, TraceError};
use headway_units::Instant;

/// The capture file of a stack, in pcapng.
pub type CaptureFile = Capture<Box<dyn Write + Send>>;

/// The event log of a stack, as lines of JSON.
pub type LogFile = EventLog<Box<dyn Write + Send>>;

/// The events of a stack as qlog.
pub type QlogFile = Qlog<Box<dyn Write + Send>>;

/// A capture that stops at its first error, while the stack continues.
#[derive(Default)]
pub(crate) struct Recorder {
    file: Option<CaptureFile>,
    failed: Option<TraceError>,
}

impl Recorder {
    pub(crate) fn new(file: Option<CaptureFile>) -> Self {
        Self { file, failed: None }
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.file.is_some()
    }

    #[inline]
    pub(crate) fn record(&mut self, at: Instant, packet: &[u8], direction: Direction, remark: Option<&str>) {
        self.record_at(0, at, packet, direction, remark);
    }

    /// As [`Recorder::record`], for one of several interfaces.
    #[inline]
    pub(crate) fn record_at(
        &mut self,
        interface: usize,
        at: Instant,
        packet: &[u8],
        direction: Direction,
        remark: Option<&str>,
    ) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.packet(interface, at, packet, direction, remark) {
            tracing::error!(%error, "the capture ends");
            self.failed = Some(error);
            self.file = None;
        }
    }

    pub(crate) fn finish(self) -> Result<(), TraceError> {
        match (self.failed, self.file) {
            (Some(error), _) => Err(error),
            (None, Some(file)) => file.finish_all().and_then(|(first, others)| {
                let flush = |mut writer: Box<dyn Write + Send>| writer.flush();
                Ok(std::iter::once(first).chain(others).try_for_each(flush)?)
            }),
            (None, None) => Ok(()),
        }
    }
}
