//! qlog files of a run: one of each end.

use std::path::{Path, PathBuf};

use headway_command::OutputError;
use headway_command::output::{self, NewFile};
use headway_report::ENDS;
use headway_sim::race::TcpSender;
use headway_trace::{Qlog, QlogClock, QlogHeader, VantagePoint};

/// Where qlog files go.
#[derive(Clone, Copy)]
pub(super) struct Qlogs<'a> {
    pub(super) directory: &'a Path,
}

/// The events of one end.
pub(super) type EndLog = Qlog<NewFile>;

impl Qlogs<'_> {
    /// The files of a run, the sender's first.
    pub(super) fn paths(self, sender: TcpSender, seed: u64) -> [PathBuf; 2] {
        // Not every file system takes a colon.
        let name = sender.to_string().replace(':', "-");
        ENDS.map(|end| self.directory.join(format!("{name}-{seed}-{end}.sqlog")))
    }

    /// Begins the files of a run, the sender's first.
    pub(super) fn create(self, sender: TcpSender, seed: u64) -> Result<[EndLog; 2], OutputError> {
        let [sending, receiving] = self.paths(sender, seed);
        let begin = |path: &Path, vantage_point| {
            let header = QlogHeader {
                title: format!("{sender}, run {seed}"),
                vantage_point,
                clock: QlogClock::Virtual,
            };
            output::begin(path).map(|file| Qlog::new(file, &header))
        };
        Ok([begin(&sending, VantagePoint::Client)?, begin(&receiving, VantagePoint::Server)?])
    }

    /// Ends the files of a run.
    pub(super) fn finish(
        self,
        sender: TcpSender,
        seed: u64,
        logs: [Option<EndLog>; 2],
    ) -> Result<(), OutputError> {
        for (log, path) in logs.into_iter().zip(self.paths(sender, seed)) {
            let Some(log) = log else { continue };
            let file = log.finish().map_err(|error| OutputError::capture(&path, error))?;
            output::finish(file, &path)?;
        }
        Ok(())
    }
}
