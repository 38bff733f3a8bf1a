//! The options of `headway trace`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use headway_command::BadOption;

const EXAMPLES: &str = "\
Examples:
  headway trace run.pcapng
      What each connection of a capture did, at the end where it was captured first.
  headway trace out/hack+sack-1.pcapng --interface receiver
      The same run as its receiver saw it, damage included.
  headway trace out/sack-1-sender.pcapng out/sack-1-receiver.pcapng
      Both ends of a run that were captured with --pcap-split.
  tcpdump -i eth0 -s 128 -w - tcp | headway trace -
      A pipe, which is analysed at its end.
  headway trace slow.pcap --html slow.html --xplot graphs
      Time-sequence graph, outstanding data, round-trip times and throughput, to look into.
  headway trace big.pcap --connection 3 --json | jq '.connections[0].directions[0].retransmitted_packets'
  headway trace big.pcap --csv > connections.csv
  headway trace big.pcap --csv=throughput > throughput.csv

Reads pcap and pcapng of headway, tcpdump, Wireshark and others; links: Ethernet, raw IP, PPP, \
Linux cooked (SLL, SLL2), loopback (NULL, LOOP). docs/traces.md defines each number.";

/// Analyse the TCP connections of a capture.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The capture, pcap or pcapng; `-` is standard input. Several are merged by time, such as those of
    /// both ends
    #[arg(value_name = "FILE", required = true)]
    pub(super) file: Vec<PathBuf>,
    /// Only packets of this interface [default: for each connection the interface that captured its
    /// first packet, so that nothing counts twice]
    #[arg(long, value_name = "NAME")]
    pub(super) interface: Option<String>,
    /// Only these connections, by number
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(super) connection: Vec<usize>,
    /// The statistics as JSON: times in seconds, sizes in bytes, rates in bit/s
    #[arg(long, conflicts_with = "csv", help_heading = "Output")]
    pub(super) json: bool,
    /// The statistics as comma-separated values: one row for each direction, or for each interval of time
    #[arg(
        long,
        value_name = "TABLE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "connections",
        help_heading = "Output"
    )]
    pub(super) csv: Option<Table>,
    /// Graphs as a self-contained page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) html: Option<PathBuf>,
    /// Graphs as files for xplot (xplot.org) in this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(super) xplot: Option<PathBuf>,
}

/// A table of comma-separated values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// A row for each direction of each connection
    Connections,
    /// A row for each interval of time of each direction
    Throughput,
}

impl Arguments {
    /// The range of the chosen connections, counted from 0.
    pub(super) fn span(&self) -> Result<(usize, usize), BadOption> {
        let least = self.connection.iter().min().copied().unwrap_or(1);
        let most = self.connection.iter().max().copied().unwrap_or(1);
        let first = least
            .checked_sub(1)
            .ok_or_else(|| BadOption::new("--connection", "0", "expected a number from 1 on"))?;
        Ok((first, most))
    }
}
