//! Captures of both ends of a run.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use headway_command::OutputError;
use headway_command::output::{self, NewFile};
use headway_report::{ENDS, RunCapture};
use headway_sim::race::TcpSender;
use headway_sim::{Passing, Tap};

/// Where captures go.
pub(super) struct Captures<'a> {
    pub(super) directory: &'a Path,
    /// A file for each end, instead of one for both.
    pub(super) split: bool,
}

impl Captures<'_> {
    /// The files of a run, the sender's first.
    pub(super) fn paths(&self, sender: TcpSender, seed: u64) -> Vec<PathBuf> {
        // Not every file system takes a colon.
        let name = sender.to_string().replace(':', "-");
        let path = |end: &str| self.directory.join(format!("{name}-{seed}{end}.pcapng"));
        if self.split { ENDS.map(|end| path(&format!("-{end}"))).to_vec() } else { vec![path("")] }
    }

    /// Begins the capture of a run.
    pub(super) fn create(&self, sender: TcpSender, seed: u64) -> Result<CaptureFiles, OutputError> {
        let paths = self.paths(sender, seed);
        let mut files = paths.iter().map(|path| output::begin(path).map(BufWriter::new));
        let begun = match (files.next().transpose()?, files.next().transpose()?) {
            (Some(sender), Some(receiver)) => RunCapture::of_each_end(sender, receiver),
            (Some(both), None) => RunCapture::at_both_ends(both),
            (None, _) => unreachable!("a capture has a file"),
        };
        match begun {
            Ok(packets) => Ok(CaptureFiles { paths, packets }),
            Err(error) => Err(OutputError::capture(&paths[0], error)),
        }
    }
}

/// The capture of one run, in the making.
pub(super) struct CaptureFiles {
    paths: Vec<PathBuf>,
    packets: RunCapture<BufWriter<NewFile>>,
}

impl CaptureFiles {
    pub(super) fn finish(self) -> Result<(), OutputError> {
        let Self { paths, packets } = self;
        let (first, second) = packets.finish_all().map_err(|error| OutputError::capture(&paths[0], error))?;
        for (writer, path) in std::iter::once(first).chain(second).zip(&paths) {
            let file = writer.into_inner().map_err(|error| OutputError::file(path, error.into_error()))?;
            output::finish(file, path)?;
        }
        Ok(())
    }
}

impl Tap for CaptureFiles {
    fn pass(&mut self, passing: &Passing<'_>) {
        self.packets.pass(passing);
    }
}
