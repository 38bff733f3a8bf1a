//! The options of `headway box`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use headway_command::BadOption;
use headway_command::scenario_models;
use headway_link::LinkConfig;
use headway_net::error_delay_box::LaneConfig;
use headway_units::Duration;
use headway_watch::WatchArguments;

use super::BoxError;
use super::parameters::LinkParameters;

const EXAMPLES: &str = concat!(
    "\
Examples:
  headway box hw1 hw2 --rate 10mbit --delay 150ms --damage random:2% --reverse-damage random:2%
      What comes in at hw1 goes out at hw2, and the other way round, as over a link of \
      10 Mbit/s that damages 2 % of the packets each way.
  headway box hw1 hw2 --rate 1gbit --delay 1ms --queue 1bdp --damage none --loss 1% --json
      A line of JSON every second; the last one has \"end\": true.
  headway box hw1 hw2 --config link.toml
      The parameters from a file, with the keys that [scenario] has for a link in experiment \
      files: rate = \"10mbit\", delay = \"20ms\" and so on. `kill -HUP` makes it read the file again.
  headway box hw1 hw2 --duration 60s --pcap box.pcapng
      What the hosts at both ends sent and got, with a remark at what the link damaged.
  headway box hw1 hw2 --rate 10mbit --delay 150ms --damage random:2% --watch 127.0.0.1:8080
      A live page of throughput, queue, and what was dropped and damaged, for browsers.

The forward path is that from IFACE_A to IFACE_B.

",
    scenario_models!()
);

/// Put a link that delays, loses and damages packets between two interfaces.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// An interface without an address: an Ethernet card, one end of a veth, a TUN device
    #[arg(value_name = "IFACE_A")]
    first: String,
    /// The other interface
    #[arg(value_name = "IFACE_B")]
    second: String,

    #[command(flatten)]
    parameters: LinkParameters,
    /// End after this time [default: at SIGINT or SIGTERM]
    #[arg(long, value_name = "TIME")]
    duration: Option<Duration>,
    /// Whether the box runs with real-time priority (SCHED_FIFO): if permitted, with a message if not, or
    /// never
    #[arg(long, value_name = "WHEN", default_value = "try", default_missing_value = "on",
          num_args = 0..=1, require_equals = true)]
    realtime: RealTime,

    /// Create this file when packets pass
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) ready_file: Option<PathBuf>,
    /// Time between two lines of counters
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Output")]
    interval: Duration,
    /// Print lines of JSON instead of a table
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Output")]
    pub(super) json: bool,
    /// Write every IP packet, as the hosts at both ends see it, into this file (pcapng)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) pcap: Option<PathBuf>,
    /// Write a file for each end instead, FILE-NAME with the name of its interface: tools that expect one end take
    /// the second copy of a packet for a retransmission
    #[arg(long, requires = "pcap", help_heading = "Output")]
    pub(super) pcap_split: bool,
    #[command(flatten)]
    pub(super) watch: WatchArguments,
    /// Print more on standard error
    #[arg(long, short, action = ArgAction::Count, help_heading = "Output")]
    pub(super) verbose: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RealTime {
    Try,
    On,
    Off,
}

/// The minimum interval.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

impl Arguments {
    pub(super) fn interfaces(&self) -> [String; 2] {
        [self.first.clone(), self.second.clone()]
    }

    pub(super) fn real_time(&self) -> RealTime {
        self.realtime
    }

    /// Whether there is a configuration file.
    pub(super) fn has_config(&self) -> bool {
        self.parameters.config().is_some()
    }

    /// The links of both directions.
    pub(super) fn links(&self) -> Result<[LinkConfig; 2], BoxError> {
        self.parameters.links()
    }

    /// As [`LinkParameters::seeded`].
    pub(super) fn seeded(&self, links: [LinkConfig; 2], generation: u64) -> [LaneConfig; 2] {
        self.parameters.seeded(links, generation)
    }

    pub(super) fn interval(&self) -> Result<std::time::Duration, BadOption> {
        if self.interval < SHORTEST_INTERVAL {
            let value = self.interval.to_string();
            return Err(BadOption::new("--interval", value, "expected at least 10ms"));
        }
        Ok(std::time::Duration::from_nanos(self.interval.as_nanos()))
    }

    pub(super) fn duration(&self) -> Option<std::time::Duration> {
        self.duration.map(|duration| std::time::Duration::from_nanos(duration.as_nanos()))
    }
}
