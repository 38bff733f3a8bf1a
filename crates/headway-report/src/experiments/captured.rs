//! A run that is made again and captured at its sender, as the papers' authors captured theirs with
//! tcpdump; what a figure shows of it is what `headway trace` reads from that capture.

use std::ops::Range;

use headway_lab::{Manifest, ManifestCell, replay};
use headway_sim::race::RunOutcome;
use headway_trace::analysis::{Connection, Direction, Graphs};
use headway_units::{Duration, Instant};
use tempfile::NamedTempFile;

use crate::error::ReportError;
use crate::run_capture::RunCapture;
use crate::trace::{AnalysedCapture, POINTS};

/// The raced connection is the last of its host, and the second at most: a warm run has one before.
/// Others share its link, never its host.
const CONNECTIONS: Range<usize> = 0..2;

/// What the capture of a run says.
pub(super) struct Captured {
    /// What came of the run.
    pub(super) outcome: RunOutcome,
    connection: Connection,
}

impl Captured {
    /// Makes the run of `cell`, one of those of `manifest`, with this seed again. The capture is a temporary file that holds the
    /// headers; nothing in memory grows with the length of the run but the figure's points, up to
    /// their limit.
    pub(super) fn record(manifest: &Manifest, cell: &ManifestCell, seed: u64) -> Result<Self, ReportError> {
        let not_made = |source| ReportError::Temporary { path: std::env::temp_dir(), source };
        let file = NamedTempFile::with_suffix(".pcapng").map_err(not_made)?;
        let writer = file.as_file().try_clone().map_err(not_made)?;
        let path = file.path().to_owned();
        let unwritten = |source| ReportError::Unwritable { path: path.clone(), source };
        let tap = RunCapture::at_sender(writer).map_err(unwritten)?;
        let recording = replay(manifest, cell, seed, tap)?;
        recording.tap.finish().map_err(unwritten)?;
        let graphs = Graphs { points: POINTS, connections: CONNECTIONS };
        let connection = AnalysedCapture::read(&path, None, Some(graphs))?.into_last_connection();
        let connection = connection.ok_or(ReportError::NothingCaptured { path })?;
        Ok(Self { outcome: recording.outcome, connection })
    }

    /// What the sender sent, and what came back for it.
    pub(super) fn data(&self) -> &Direction {
        &self.connection.directions[0]
    }

    /// What the receiver sent.
    pub(super) fn answers(&self) -> &Direction {
        &self.connection.directions[1]
    }

    /// The ACKs that reached the sender, as the time since the first packet and the furthest byte of
    /// the data that was acknowledged by then.
    pub(super) fn acks(&self) -> impl Iterator<Item = (Duration, u64)> {
        let edges = self.data().graph.iter().flat_map(|graph| graph.edges.points());
        let mut furthest = 0;
        edges.map(move |edge| {
            // The FIN counts as a byte, but is not data.
            furthest = edge.ack.min(self.outcome.size).max(furthest);
            (edge.at.saturating_since(self.start()), furthest)
        })
    }

    /// How long it took until all data was acknowledged, or until the last packet where that never
    /// came.
    pub(super) fn duration(&self) -> Duration {
        let size = self.outcome.size;
        let done = self.acks().find(|(_, acknowledged)| *acknowledged >= size);
        done.map_or(self.connection.duration(), |(at, _)| at)
    }

    /// When the first packet was captured.
    pub(super) fn start(&self) -> Instant {
        self.connection.first_at
    }
}
