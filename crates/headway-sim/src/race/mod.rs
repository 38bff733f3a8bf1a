//! The race: one file, one lossy link, several senders side by side.

mod arena;
mod check;
mod oracle;
mod outcome;
mod queue_size;
mod run;
mod scenario;
mod sender;
mod summary;
mod switches;

pub use arena::{FORWARD_LINK, REVERSE_LINK, Racer};
pub use check::Unraceable;
pub use oracle::{OracleOutcome, oracle};
pub use outcome::{CompanionOutcome, RunOutcome};
pub use queue_size::QueueSize;
pub use run::{Recording, RunError, run, run_recorded};
pub use scenario::{Companion, CrossTraffic, ProfileName, Scenario, UnknownName};
pub use sender::{Entrant, TcpSender, congestion_name, parse_congestion};
pub use summary::{Spread, Summary, summarize};
pub use switches::{Part, Switches};
