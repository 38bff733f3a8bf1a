//! `headway trunk`: the gateway.
#![forbid(unsafe_code)]

mod control;
mod error;
mod examples;
mod keys;
mod log;
mod metrics;
mod pairing;
mod run;
mod status;
mod top;
mod watch;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use headway_command::{Failure, notice, output};
use headway_trunk::Config;
use headway_watch::WatchArguments;

use control::{Request, RunningGateway};
use error::TrunkCommandError;
use log::{Log, LogFormat};
use pairing::{InviteArguments, JoinArguments, RevokeArguments};

/// Carry TCP connections of other hosts across a lossy link, through a gateway at each end
#[derive(Args)]
#[command(after_help = examples::ALL)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a gateway
    #[command(after_help = examples::RUN)]
    Run {
        /// Its configuration, a TOML file. It is read again on SIGHUP
        config: PathBuf,
        /// How the log is written to standard error
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        log_format: LogFormat,
        #[command(flatten)]
        watch: WatchArguments,
    },
    /// Invite another near gateway to this far one: prints one line for `headway trunk join`
    ///
    /// Writes the configuration and the key of this gateway if there are none, and adds the other one as a peer. The line
    /// contains the key of the near gateway: it is a secret.
    #[command(after_help = examples::INVITE)]
    Invite(InviteArguments),
    /// Set up this near gateway by an invitation
    #[command(after_help = examples::JOIN)]
    Join(JoinArguments),
    /// Remove a peer from a configuration
    #[command(after_help = examples::REVOKE)]
    Revoke(RevokeArguments),
    /// Make a secret key and print its public key
    #[command(after_help = examples::KEYGEN)]
    Keygen {
        /// The file for the secret key; it must not exist. Without it, the secret key is printed
        file: Option<PathBuf>,
        /// Make a preshared key, which both gateways get, instead
        #[arg(long)]
        preshared: bool,
    },
    /// Print the public key of a secret key
    #[command(after_help = examples::PUBKEY)]
    Pubkey {
        /// The file with the secret key; `-` for standard input
        file: PathBuf,
    },
    /// Check a configuration and the files that it names
    #[command(after_help = examples::CHECK)]
    Check {
        /// The configuration
        config: PathBuf,
    },
    /// Print the rules of nftables and routing that a gateway makes for its transparent entries
    ///
    /// It makes those of entries with `interfaces`, and removes them at its end.
    #[command(after_help = examples::RULES)]
    Rules {
        /// The configuration
        config: PathBuf,
    },
    /// Print the JSON schema of configurations
    #[command(after_help = examples::SCHEMA)]
    Schema,
    /// Say what a running gateway does
    #[command(after_help = examples::STATUS)]
    Status {
        /// The configuration of the gateway, which names its status socket
        config: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Have a running gateway read its configuration again; its streams go on
    #[command(after_help = examples::RELOAD)]
    Reload {
        /// The configuration of the gateway, which names its status socket
        config: PathBuf,
    },
    /// Write what became of the last packets from a peer, for `headway race --damage trace:FILE`
    #[command(after_help = examples::RECORD)]
    Record {
        /// The configuration of the gateway, which names its status socket
        config: PathBuf,
        /// The file, which is written anew
        file: PathBuf,
        /// The peer; may be left out if there is one
        #[arg(long, value_name = "NAME")]
        peer: Option<String>,
    },
    /// Watch a running gateway: goodput, losses by cause, round-trip times, streams
    ///
    /// Keys: q ends, p pauses, up and down select a peer, left and right order its streams.
    #[command(after_help = examples::TOP)]
    Top {
        /// The configuration of the gateway, which names its status socket
        config: PathBuf,
        /// Print one frame; also done where standard output is no terminal
        #[arg(long)]
        once: bool,
    },
}

/// Runs one of the commands.
pub fn run(arguments: &Arguments) -> Result<(), impl Failure> {
    run_command(&arguments.command)
}

fn run_command(command: &Command) -> Result<(), TrunkCommandError> {
    match command {
        Command::Run { config: path, log_format, watch } => {
            let config = Config::load(path)?;
            let log = Log::start(*log_format, config.gateway.log_level);
            run::run(path, &config, &log, watch.address())
        }
        Command::Invite(arguments) => Ok(pairing::invite(arguments)?),
        Command::Join(arguments) => Ok(pairing::join(arguments)?),
        Command::Revoke(arguments) => Ok(pairing::revoke(arguments)?),
        Command::Keygen { file, preshared } => keys::make(file.as_deref(), *preshared),
        Command::Pubkey { file } => keys::public(file),
        Command::Check { config } => {
            let mut remarks = Config::load(config)?.remarks();
            let last = remarks.pop();
            for remark in remarks {
                notice!("headway: {}", remark.at(config));
            }
            last.map_or(Ok(()), |last| Err(last.at(config)))?;
            Ok(output::print(&format!("{}: good\n", config.display()))?)
        }
        Command::Rules { config } => {
            let text = headway_trunk::rules(&Config::load(config)?)?;
            let none = "# no [[transparent]] has interfaces: the gateway makes no rules\n".to_owned();
            Ok(output::print(if text.is_empty() { &none } else { &text })?)
        }
        Command::Schema => Ok(output::print(&headway_trunk::schema())?),
        Command::Status { config, json } => status::print(&RunningGateway::of(config)?, *json),
        Command::Reload { config } => {
            let done = RunningGateway::of(config)?.request(&Request::Reload)?;
            Ok(output::print(&format!("{done}\n"))?)
        }
        Command::Record { config, file, peer } => {
            let trace = RunningGateway::of(config)?.request(&Request::Record(peer.clone()))?;
            Ok(output::write(file, trace)?)
        }
        Command::Top { config, once } => top::run(&RunningGateway::of(config)?, *once),
    }
}
