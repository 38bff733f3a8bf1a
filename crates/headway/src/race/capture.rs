//! Captures of both ends of a run.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use headway_link::Hit;
use headway_sim::{Passing, Tap};
use headway_tcp::Variant;
use headway_trace::{Capture, Direction, TraceError};
use tempfile::NamedTempFile;

use super::output;
use crate::failure::Failure;

/// Where the capture of a run goes.
pub(super) fn path(directory: &Path, variant: Variant, seed: u64) -> PathBuf {
    directory.join(format!("{variant}-{seed}.pcapng"))
}

/// The capture of one run, in the making.
pub(super) struct CaptureFile {
    path: PathBuf,
    capture: Capture<BufWriter<NamedTempFile>>,
    failure: Option<TraceError>,
    /// The interface of each host, in the order in which they first sent or received.
    hosts: Vec<headway_sim::NodeId>,
}

impl CaptureFile {
    pub(super) fn create(directory: &Path, variant: Variant, seed: u64) -> Result<Self, Failure> {
        let path = path(directory, variant, seed);
        let file = BufWriter::new(output::begin(&path)?);
        match Capture::new(file, &["sender", "receiver"]) {
            Ok(capture) => Ok(Self { path, capture, failure: None, hosts: Vec::new() }),
            Err(source) => Err(Failure::Capture { path, source }),
        }
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        let Self { path, capture, failure, .. } = self;
        let complete = match failure {
            Some(failure) => Err(failure),
            None => capture.finish(),
        };
        let writer = match complete {
            Ok(writer) => writer,
            Err(source) => return Err(Failure::Capture { path, source }),
        };
        let file = writer
            .into_inner()
            .map_err(|error| Failure::Output { path: path.clone(), source: error.into_error() })?;
        output::finish(file, &path)
    }

    fn interface(&mut self, host: headway_sim::NodeId) -> usize {
        self.hosts.iter().position(|&known| known == host).unwrap_or_else(|| {
            self.hosts.push(host);
            self.hosts.len() - 1
        })
    }
}

impl Tap for CaptureFile {
    fn pass(&mut self, passing: &Passing<'_>) {
        if self.failure.is_some() {
            return;
        }
        // The sender speaks first, so it is the first interface.
        let interface = self.interface(passing.host);
        let direction = if passing.outbound { Direction::Outbound } else { Direction::Inbound };
        let comment = passing.damage.map(describe);
        let written =
            self.capture.packet(interface, passing.at, passing.packet, direction, comment.as_deref());
        self.failure = written.err();
    }
}

fn describe(hit: Hit) -> String {
    let bits = if hit.flips == 1 { "bit" } else { "bits" };
    let place = if hit.header { ", header hit" } else { "" };
    format!("damaged: {} {bits} flipped{place}", hit.flips)
}
