//! Results: one row a run.

mod columns;
mod journal;
mod manifest;
mod tables;

use std::collections::BTreeMap;
use std::path::Path;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use columns::{COLUMNS, Column, Kind, Value};
pub(crate) use journal::{Journal, Made};
pub use manifest::{Manifest, ManifestCell};
pub(crate) use tables::write_tables;

use crate::error::LabError;
use crate::experiment::{Experiment, Measure, Sender};

/// What the results of this code are known by: the digest of its packets in `results.lock`, where that is of
/// this code; otherwise a fingerprint of the sources of the TCP, the link and the simulator. Each row is stored
/// with it. Where the program was built from a package, it is the version.
pub const CODE: &str = env!("HEADWAY_CODE");

/// The code that determines the results of some cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code {
    /// What rows are stored with.
    pub(crate) name: &'static str,
    /// Other code that gives the same, separated by spaces.
    same: &'static str,
}

impl Code {
    const OURS: Self = Self { name: CODE, same: env!("HEADWAY_SAME") };
    const LINK: Self = Self { name: env!("HEADWAY_LINK_CODE"), same: env!("HEADWAY_LINK_SAME") };

    /// The code of a cell with these settings. Other TCPs have their own; only the link is ours. What moves
    /// packets in real time is not in it.
    pub(crate) fn of(settings: &IndexMap<String, String>) -> Self {
        let variant = settings.get("variant").map(|name| name.parse());
        if matches!(variant, Some(Ok(Sender::Foreign(_)))) { Self::LINK } else { Self::OURS }
    }

    /// Whether a row that is stored with `name` is what this code gives.
    pub(crate) fn gives(self, name: &str) -> bool {
        name == self.name || self.same.split_whitespace().any(|same| same == name)
    }
}

/// What was measured of one run. What a sender does not tell is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The run within its cell, from 0.
    pub run: u32,
    /// The seed of the run.
    pub seed: u64,
    /// Whether all arrived within the time limit.
    pub finished: bool,
    /// Seconds until the last octet arrived, or until the run was ended.
    pub seconds: f64,
    /// Payload bits per second.
    pub goodput_bps: f64,
    /// As a share of the bound.
    pub share_of_bound: Option<f64>,
    /// Payload bits per second of the oracle in the same run.
    #[serde(default)]
    pub oracle_bps: Option<f64>,
    /// Goodput as a share of that.
    #[serde(default)]
    pub share_of_oracle: Option<f64>,
    /// Whether the SHA-256 of what arrived is right.
    pub sha256_ok: Option<bool>,
    /// Octets delivered although damaged.
    pub damaged_bytes_delivered: u64,
    /// Damaged packets that passed every check.
    pub undetected_packets: Option<u64>,
    /// Octets delivered.
    pub delivered_bytes: u64,
    /// Payload octets sent.
    pub octets_sent: Option<u64>,
    /// Segments sent again.
    pub retransmissions: Option<u64>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<u64>,
    /// Falls of the window to one segment.
    pub slow_starts: Option<u64>,
    /// Times that fast recovery began.
    pub fast_recoveries: Option<u64>,
    /// Special ACKs sent.
    pub special_acks: Option<u64>,
    /// Packets that the queue dropped.
    pub queue_drops: Option<u64>,
    /// Of those, for each 10^6 octets delivered to anybody.
    #[serde(default)]
    pub drops_per_megabyte: f64,
    /// Jain's fairness index.
    pub jain: f64,
    /// The same of the flows alone that have the sender that is measured.
    #[serde(default)]
    pub jain_alike: f64,
    /// Mean goodput of the rivals, bits per second.
    #[serde(default)]
    pub rival_goodput_bps: Option<f64>,
    /// Goodput of each other flow, bits per second: companions and rivals in the file's order.
    #[serde(default)]
    pub companions_bps: Vec<f64>,
    /// Of a run in real time: how late the box let packets go, seconds; 99 % of them by no more than this.
    #[serde(default)]
    pub box_late_s: Option<f64>,
    /// And the latest of them.
    #[serde(default)]
    pub box_latest_s: Option<f64>,
    /// Why the connection failed, if it did.
    pub failure: Option<String>,
}

impl Row {
    /// A measure in its own unit.
    pub fn measure(&self, measure: Measure) -> Option<f64> {
        Some(match measure {
            Measure::Time => self.seconds,
            Measure::Goodput => self.goodput_bps,
            Measure::ShareOfBound => self.share_of_bound?,
            Measure::ShareOfOracle => self.share_of_oracle?,
            Measure::Finished => f64::from(u8::from(self.finished)),
            Measure::Retransmissions => self.retransmissions? as f64,
            Measure::Timeouts => self.timeouts? as f64,
            Measure::SlowStarts => self.slow_starts? as f64,
            Measure::FastRecoveries => self.fast_recoveries? as f64,
            Measure::SpecialAcks => self.special_acks? as f64,
            Measure::QueueDrops => self.queue_drops? as f64,
            Measure::DamagedBytes => self.damaged_bytes_delivered as f64,
            Measure::OctetsSent => self.octets_sent? as f64,
            Measure::Jain => self.jain,
            Measure::JainAlike => self.jain_alike,
            Measure::RivalGoodput => self.rival_goodput_bps?,
            Measure::DropsPerMegabyte => self.drops_per_megabyte,
        })
    }
}

/// An experiment's results: the rows of each cell, in the order of the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// What was run.
    pub manifest: Manifest,
    /// For each cell of the manifest.
    pub rows: Vec<Vec<Row>>,
    /// How many of them were made by other code than this program's ([`CODE`]).
    pub outdated: usize,
}

impl Results {
    /// Of an experiment of which nothing has been run.
    pub fn none(experiment: &Experiment) -> Self {
        Self::assemble(experiment, &BTreeMap::new())
    }

    /// Reads the results of a finished or unfinished experiment from its folder.
    ///
    /// # Errors
    ///
    /// The folder holds no results, or they are damaged.
    pub fn load(folder: &Path) -> Result<Self, LabError> {
        let manifest = Manifest::load(folder)?;
        Ok(Self::pick(manifest, &Journal::read(folder)?))
    }

    /// Runs that were asked for.
    pub fn wanted(&self) -> usize {
        self.manifest.cells.iter().map(|cell| cell.keys.len()).sum()
    }

    /// Runs that are still missing.
    pub fn missing(&self) -> usize {
        self.wanted() - self.rows.iter().map(Vec::len).sum::<usize>()
    }

    /// Runs that did not finish.
    pub fn unfinished(&self) -> usize {
        self.rows.iter().flatten().filter(|row| !row.finished).count()
    }

    pub(crate) fn assemble(experiment: &Experiment, journal: &BTreeMap<String, Made>) -> Self {
        Self::pick(Manifest::of(experiment), journal)
    }

    /// The rows that belong to the experiment.
    fn pick(manifest: Manifest, journal: &BTreeMap<String, Made>) -> Self {
        let mut outdated = 0;
        let mut row = |key: &String, code: Code| {
            let made = journal.get(key)?;
            outdated += usize::from(!code.gives(&made.code));
            Some(made.row.clone())
        };
        let rows = manifest
            .cells
            .iter()
            .map(|cell| {
                let code = Code::of(&cell.settings);
                cell.keys.iter().filter_map(|key| row(key, code)).collect()
            })
            .collect();
        Self { manifest, rows, outdated }
    }
}
