//! Experiments as data.
//!
//! An [`Experiment`] is read from a TOML file: axes to sweep, a scenario, a figure, and claims to check.
//! [`run`] makes its runs over all cores and writes each as it comes, so that an interrupted sweep goes on
//! where it stopped; [`Results`] are one row a run, as CSV and Parquet; [`judge`] holds the claims against
//! them.
//!
//! - `experiment`: files read and checked; `[draw]`, links drawn at random; keys of `[figure]` and `[[claim]]`.
//! - `runner`, `sweep`: which runs are missing, and their rows; `remote`: runs of other machines.
//! - `results`: the journal and the tables; `claims`: numbers, orders, aims, readings.
#![forbid(unsafe_code)]

mod claims;
mod error;
mod experiment;
mod recorded;
mod remote;
mod replay;
mod results;
mod runner;
mod statistics;
mod sweep;
mod testbed;

pub use claims::{
    ClaimVerdict, Evidence, EvidenceError, Judgement, Mean, MissingCell, Reading, Spread, WorstCell, in_unit,
    judge, weigh,
};
pub use error::LabError;
pub use experiment::{
    Aim, Cell, Change, Claim, DrawnLinks, EvidenceSource, Experiment, Figure, FigureKind, Given, LINK_AXIS,
    Measure, Overrides, Scalar, Statistic, load_links, parse_links, schema,
};
pub use headway_scenario::{Clock, DamageError, Foreign, RealCarrier, Sender, Shards, Traces};
pub use headway_sim::{Value, ValueKind};
pub use remote::{RemoteMaker, describe};
pub use replay::{replay, replay_observed};
pub use results::{CODE, Column, Manifest, ManifestCell, Results, Row, columns, fingerprint, record};
pub use runner::{Progress, Request, run};
pub use statistics::Summary;
pub use sweep::{PlaceInSweep, Sweep};
pub use testbed::Testbed;
