//! Captures of both ends of a run.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use headway_report::RunCapture;
use headway_sim::race::TcpSender;
use headway_sim::{Passing, Tap};

use crate::output::{self, NewFile, OutputError};

/// Where the capture of a run goes.
pub(super) fn path(directory: &Path, sender: TcpSender, seed: u64) -> PathBuf {
    // Not every file system takes a colon.
    let name = sender.to_string().replace(':', "-");
    directory.join(format!("{name}-{seed}.pcapng"))
}

/// The capture of one run, in the making.
pub(super) struct CaptureFile {
    path: PathBuf,
    packets: RunCapture<BufWriter<NewFile>>,
}

impl CaptureFile {
    pub(super) fn create(directory: &Path, sender: TcpSender, seed: u64) -> Result<Self, OutputError> {
        let path = path(directory, sender, seed);
        let file = BufWriter::new(output::begin(&path)?);
        match RunCapture::at_both_ends(file) {
            Ok(packets) => Ok(Self { path, packets }),
            Err(error) => Err(OutputError::capture(&path, error)),
        }
    }

    pub(super) fn finish(self) -> Result<(), OutputError> {
        let Self { path, packets } = self;
        let writer = match packets.finish() {
            Ok(writer) => writer,
            Err(error) => return Err(OutputError::capture(&path, error)),
        };
        let file = writer.into_inner().map_err(|error| OutputError::file(&path, error.into_error()))?;
        output::finish(file, &path)
    }
}

impl Tap for CaptureFile {
    fn pass(&mut self, passing: &Passing<'_>) {
        self.packets.pass(passing);
    }
}
