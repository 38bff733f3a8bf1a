//! What can be wrong with an experiment or its results.

use std::io;
use std::path::PathBuf;

use headway_sim::race::RunError;

/// Why an experiment cannot be read, run or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no experiment: the TOML is malformed, a key is unknown, a value of another kind.
    #[error("{file}:{line}: {problem}")]
    Malformed {
        /// The file.
        file: String,
        /// Where, counted from 1.
        line: usize,
        /// What was expected and what stands there.
        problem: String,
    },
    /// A value makes no sense.
    #[error("{file}:{line}: {key}: {problem}")]
    Invalid {
        /// The file.
        file: String,
        /// Where, counted from 1.
        line: usize,
        /// Which key.
        key: String,
        /// What was expected and what stands there.
        problem: String,
    },
    /// An override on the command line names nothing, or its value makes no sense.
    #[error("{option}: {problem}")]
    BadOverride {
        /// The option, as it was given.
        option: String,
        /// What was expected and what was given.
        problem: String,
    },
    /// A cell of stored results cannot be run again.
    #[error("stored settings: {key}: {problem}; run the experiment again to store them anew")]
    NotReplayable {
        /// Which key.
        key: String,
        /// What was expected and what stands there.
        problem: String,
    },
    /// The sender of a cell is no TCP of the simulator.
    #[error("{sender} is not a TCP in virtual time: it has no connection to inspect")]
    NoConnection {
        /// Its name.
        sender: String,
    },
    /// Results cannot be written.
    #[error("{}: cannot be written: {problem}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// Another sweep writes to the folder of the results.
    #[error(
        "{}: {writer} writes to it: expected one sweep at a time in a folder; wait for its end, or have the results \
         written elsewhere (`--out`)",
        folder.display()
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// Who writes, as far as the system tells it.
        writer: String,
    },
    /// The sweep was interrupted.
    #[error("interrupted; the runs that were made are stored, and the same sweep goes on from them")]
    Interrupted,
    /// The table of results is damaged, or holds other runs than the journal beside it.
    #[error("{}: {problem}; `headway lab run` with the experiment's file writes it anew, and keeps the runs", path.display())]
    BadTable {
        /// The file.
        path: PathBuf,
        /// What was expected and what stands there.
        problem: String,
    },
    /// What describes a sweep to another machine is damaged, or of another version.
    #[error("the description of the sweep: {problem}")]
    BadDescription {
        /// What was expected and what arrived.
        problem: String,
    },
    /// What another machine answered is no row of the runs that it was asked for.
    #[error("row {line} of an answer: {problem}")]
    BadLine {
        /// Which, from 1.
        line: usize,
        /// What was expected and what arrived.
        problem: String,
    },
    /// Cells run in real time, and no testbed was given.
    #[error("{name}: clock = \"real\": expected virtual; `headway lab live` runs what is real")]
    NoRealTime {
        /// The experiment.
        name: String,
    },
    /// Runs in real time cannot be made on this machine, or one of them cannot be trusted.
    #[error("in real time: {0}")]
    RealTime(String),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl LabError {
    /// Whether the experiment's file, or an override of it, is wrong.
    pub fn is_of_input(&self) -> bool {
        matches!(
            self,
            Self::Unreadable { .. }
                | Self::Malformed { .. }
                | Self::Invalid { .. }
                | Self::BadOverride { .. }
        )
    }
}
