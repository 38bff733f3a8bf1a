//! `headway kernel`: HACK for programs over the kernel's TCP.
#![forbid(unsafe_code)]

#[cfg(feature = "programs")]
mod attach;
mod error;
#[cfg(feature = "programs")]
mod status;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use headway_command::Failure;

const ATTACH_EXAMPLES: &str = "\
Examples:
  headway kernel attach --cgroup /sys/fs/cgroup/hack --interface eth0
      Until stopped, connections of programs in the cgroup over eth0 use HACK if their peer does. Before it,
      `mkdir /sys/fs/cgroup/hack`; after it, `echo $$ >/sys/fs/cgroup/hack/cgroup.procs` puts a shell into the cgroup.
  headway kernel attach --cgroup /sys/fs/cgroup/hack --interface eth0 --encoding both --pin /sys/fs/bpf/hack
      Version 2 too, after `ip link set eth0 gso_max_segs 1`. The command ends, and the programs stay until `headway kernel detach --pin /sys/fs/bpf/hack`.";

const STATUS_EXAMPLES: &str = "\
Examples:
  headway kernel status
      What is attached to which cgroup and interfaces, and the counters that are not zero.
  headway kernel status --json | jq '.attached[].counters.special_acks_sent'
      One counter of each.";

const DETACH_EXAMPLES: &str = "\
Examples:
  headway kernel detach
      All programs of headway; the `attach` commands that hold them end.
  headway kernel detach --cgroup /sys/fs/cgroup/hack
      Those of one cgroup.
  headway kernel detach --pin /sys/fs/bpf/hack
      Those that `attach --pin /sys/fs/bpf/hack` has left.";

/// Have programs over the kernel's TCP use HACK, by eBPF: Linux 6.6, for all of it 6.10
#[derive(Args)]
#[command(after_help = ATTACH_EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Attach the eBPF programs to a cgroup and to interfaces, until stopped
    #[command(after_help = ATTACH_EXAMPLES)]
    Attach(AttachArguments),
    /// Print what is attached, and what it has counted
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Detach the eBPF programs of headway; connections go on without HACK
    #[command(after_help = DETACH_EXAMPLES)]
    Detach {
        /// Those of this cgroup alone
        #[arg(long, value_name = "FOLDER", conflicts_with = "pin")]
        cgroup: Option<PathBuf>,
        /// Those that `attach --pin` has put into this folder, which is removed
        #[arg(long, value_name = "FOLDER")]
        pin: Option<PathBuf>,
    },
}

/// The arguments of `attach`.
#[derive(Args)]
#[cfg_attr(not(feature = "programs"), allow(dead_code))]
struct AttachArguments {
    /// The folder of a cgroup, version 2; the programs in it, and below it, use HACK
    #[arg(long, value_name = "FOLDER")]
    cgroup: PathBuf,
    /// An interface that their connections pass; may be repeated
    #[arg(long = "interface", value_name = "NAME", required = true)]
    interfaces: Vec<String>,
    /// What is offered to peers; version 2 requires `ip link set NAME gso_max_segs 1`
    #[arg(long, value_name = "ENCODING", default_value = "classic")]
    encoding: Encoding,
    /// Which of the kernel's congestion controls are wrapped, so that they do not take damage for congestion
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "cubic,bbr")]
    congestion: Vec<Congestion>,
    /// Do not send copies of tails that are reported as damaged
    #[arg(long)]
    no_copies: bool,
    /// Keep the programs in this new folder of a BPF file system, and end
    #[arg(long, value_name = "FOLDER")]
    pin: Option<PathBuf>,
    /// Create this file when the programs are attached
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
}

/// What is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[cfg_attr(not(feature = "programs"), allow(dead_code))]
enum Encoding {
    /// Kinds 14 to 16.
    Classic,
    /// Version 2 alone.
    V2,
    /// Version 2, and classic for peers without it.
    Both,
}

/// Which congestion control is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[cfg_attr(not(feature = "programs"), allow(dead_code))]
enum Congestion {
    /// The kernel's `cubic`.
    Cubic,
    /// The kernel's `bbr`.
    Bbr,
    /// None: losses are congestion.
    None,
}

/// Runs one of the commands.
#[cfg(feature = "programs")]
pub fn run(arguments: &Arguments) -> Result<(), impl Failure> {
    match &arguments.command {
        Command::Attach(arguments) => attach::run(arguments),
        Command::Status { json } => status::print(*json),
        Command::Detach { cgroup, pin } => status::detach(cgroup.as_deref(), pin.as_deref()),
    }
}

/// Says how they are built.
#[cfg(not(feature = "programs"))]
pub fn run(arguments: &Arguments) -> Result<(), impl Failure> {
    let command = match &arguments.command {
        Command::Attach(_) => "attach",
        Command::Status { json: _ } => "status",
        Command::Detach { cgroup: _, pin: _ } => "detach",
    };
    Err(error::KernelError::NotBuilt(command))
}
