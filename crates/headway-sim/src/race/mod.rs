//! The race: one file, one lossy link, several senders side by side.

mod arena;
mod check;
mod features;
mod gateways;
mod hops;
mod metrics;
mod oracle;
mod outcome;
mod queue_size;
mod run;
mod run_settings;
mod sample;
mod scenario;
mod sender;
mod summary;
mod trunk;
mod unknown_name;

pub use arena::{FORWARD_LINK, REVERSE_LINK, Racer};
pub use check::InvalidScenario;
pub use features::{Feature, FeatureOverrides};
pub use hops::{Hop, HopRange};
pub use metrics::{FigureName, METRICS, Metric, RunMetrics};
pub use oracle::{OracleOutcome, oracle};
pub use outcome::{CompanionOutcome, RunOutcome};
pub use queue_size::QueueSize;
pub use run::{Recording, RunError, run, run_recorded, run_sampled};
pub use run_settings::RunSettings;
pub use sample::{LinkLosses, LossCauses, Sample, Sampler};
pub use scenario::{Companion, CrossTraffic, Frames, ProfileName, Scenario, parse_rules, rules_name};
pub use sender::{Entrant, TcpSender, congestion_name, parse_congestion};
pub use summary::{Spread, Summary, summarize};
pub use trunk::{Edge, Trunk, TrunkMode};
pub use unknown_name::{UnknownName, nearest};
