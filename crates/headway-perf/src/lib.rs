//! `headway perf`: throughput and latency between two ends.
//!
//! The server can also be had alone, for a listener that is there already: [`serve`].
#![forbid(unsafe_code)]

mod client;
mod connection;
mod cpu;
mod error;
mod flent;
mod json;
mod latency;
mod latency_summary;
mod page;
mod pattern;
mod progress;
mod protocol;
mod results;
mod server;
mod session;
mod stream;
mod text;

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
use headway_command::Failure;
use headway_transport::{Listen, Listener, NetworkArguments, TransportError, block_on};
use headway_units::{Duration, Size};

use error::PerfError;
use server::Prints;
use stream::Format;

const EXAMPLES: &str = "\
Examples:
  headway perf server --kernel
  headway perf client 10.77.2.1 --tun hw0 --address 10.77.2.2/24
      Our TCP sends to this machine's, through a TUN, for 10 seconds.
  headway perf client 10.77.2.1 --tun hw0 --address 10.77.2.2/24 --reverse --parallel 4 --json
      The other way, over four connections; the keys of the JSON are those of iperf3.
  headway perf server --udp 192.0.2.2:4000 any --variant headway
  headway perf client 192.0.2.2 --udp 192.0.2.1:4000 192.0.2.2:4000 --latency --time 5s
      One byte to and fro, as often as it goes.
  headway perf client 10.77.2.1 --kernel --rrul --report rrul.html
      Latency alone for 5 seconds, then while 4 connections send each way for 10 seconds; a page with graphs.
  headway perf client 10.77.2.1 --kernel --rrul --interval 200ms --flent rrul.flent.gz && flent-gui rrul.flent.gz
  headway perf client 10.77.2.1 --kernel --json-stream | jq 'select(.event == \"interval\").data.sum.bits_per_second'

As of iperf3, -t 5 is five seconds and -n 10M is 10 MiB. Intervals count what has arrived at the receiver. Retr, Cwnd and \
RTT are those of the sender, if it is this end: Retr and Cwnd summed over all connections, RTT the longest.";

/// Measure throughput and latency.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Answer clients until SIGINT or SIGTERM
    #[command(after_help = EXAMPLES)]
    Server(Box<ServerArguments>),
    /// Measure with a server
    #[command(after_help = EXAMPLES)]
    Client(Box<ClientArguments>),
}

/// The default port, as of iperf3.
pub const PORT: u16 = 5201;

#[derive(Args)]
struct ServerArguments {
    /// The port, or address and port, to listen at
    #[arg(long, value_name = "PORT", default_value = "5201")]
    listen: Listen,
    /// End after one test
    #[arg(long, short = '1', action = ArgAction::SetTrue)]
    one_off: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

#[derive(Args)]
struct ClientArguments {
    /// The server
    host: String,
    /// Its port
    #[arg(long, short, default_value_t = PORT)]
    port: u16,
    /// The duration, in seconds if no unit is given
    #[arg(long, short, value_name = "TIME", default_value = "10s", value_parser = parse_time, allow_hyphen_values = true)]
    time: Duration,
    /// Bytes that each connection sends, instead of a duration; 10M is 10 MiB, as of iperf3
    #[arg(long, short = 'n', value_name = "SIZE", value_parser = parse_size, conflicts_with_all = ["time", "latency", "rrul"])]
    bytes: Option<Size>,
    /// Parallel connections, in each direction [default: 1; with --rrul 4]
    #[arg(long, short = 'P', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    parallel: Option<u16>,
    /// The server sends
    #[arg(long, short = 'R', action = ArgAction::SetTrue, conflicts_with_all = ["latency", "bidir", "rrul"])]
    reverse: bool,
    /// Both ends send at the same time
    #[arg(long, action = ArgAction::SetTrue, conflicts_with_all = ["latency", "rrul"])]
    bidir: bool,
    /// Measure latency: send requests, each after the previous answer
    #[arg(long, action = ArgAction::SetTrue, conflicts_with = "rrul")]
    latency: bool,
    /// Measure latency without load and then under load (the RRUL test of flent): a request of one byte every 20 ms,
    /// at first alone, then while both ends send over --parallel connections each
    #[arg(long, action = ArgAction::SetTrue)]
    rrul: bool,
    /// The time without load, in seconds if no unit is given
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_time, requires = "rrul", allow_hyphen_values = true)]
    idle: Duration,
    /// Bytes of a write, or of a request and its answer [default: 128KiB; with --latency 1]
    #[arg(long, short = 'l', value_name = "SIZE", value_parser = parse_size)]
    length: Option<Size>,
    /// The interval of the report
    #[arg(long, short, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    interval: Duration,
    /// Print one JSON object, with the keys of iperf3, instead of lines
    #[arg(long, short = 'J', action = ArgAction::SetTrue)]
    json: bool,
    /// Print a JSON object for each event, on a line of its own, while the test runs: start, interval, end, with the keys
    /// of `iperf3 --json-stream`
    #[arg(long, action = ArgAction::SetTrue, conflicts_with = "json")]
    json_stream: bool,
    /// Print what the server prints about the test, too
    #[arg(long, action = ArgAction::SetTrue)]
    get_server_output: bool,
    /// Write a page with graphs over time to this file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the data over time to this file for flent, whose name should end in .flent.gz
    #[arg(long, value_name = "FILE.flent.gz")]
    flent: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkArguments,
}

impl ClientArguments {
    fn format(&self) -> Format {
        match (self.json, self.json_stream) {
            (true, _) => Format::Object,
            (false, true) => Format::Stream,
            (false, false) => Format::Lines,
        }
    }
}

/// A time, or a number of seconds as iperf3 takes it.
fn parse_time(input: &str) -> Result<Duration, String> {
    let seconds = if input.parse::<f64>().is_ok() { format!("{input}s") } else { input.to_owned() };
    seconds.parse().map_err(|_| format!("{input:?}: expected seconds, or a time such as 10s"))
}

/// A size, or one with iperf3's letters, which are powers of 1024.
fn parse_size(input: &str) -> Result<Size, String> {
    let binary = ["K", "M", "G", "T"].into_iter().find_map(|letter| {
        let (number, unit) = input.split_at_checked(input.len().checked_sub(1)?)?;
        unit.eq_ignore_ascii_case(letter).then(|| format!("{number}{letter}iB"))
    });
    let text = binary.unwrap_or_else(|| input.to_owned());
    text.parse().map_err(|error: headway_units::ParseUnitError| error.to_string())
}

/// Runs a server or a client. `words` are those of the command line, without the program's name.
pub fn run(arguments: &Arguments, words: &[String]) -> Result<(), impl Failure> {
    block_on(run_role(arguments, words))
}

async fn run_role(arguments: &Arguments, words: &[String]) -> Result<(), PerfError> {
    match &arguments.role {
        Role::Server(arguments) => Ok(server::run(arguments).await?),
        Role::Client(arguments) => client::run(arguments, words).await,
    }
}

/// Answers the clients of a listener until it fails, and prints nothing.
pub async fn serve(listener: Listener) -> Result<(), TransportError> {
    server::serve(listener, false, Prints::Nothing).await
}
