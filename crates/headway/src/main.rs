//! `headway`: TCP that keeps making headway where packets arrive damaged.
#![forbid(unsafe_code)]

mod failure;
mod race;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use failure::Failure;

/// TCP that keeps making headway where packets arrive damaged.
#[derive(Parser)]
#[command(name = "headway", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Send a file across an emulated lossy link with several TCPs, side by side
    Race(Box<race::Arguments>),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let outcome = match arguments.command {
        Command::Race(arguments) => race::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("headway: {failure}");
            failure.exit_code()
        }
    }
}

/// Help goes out as it is; a mistake is told in one line.
fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            eprintln!("headway: {}", line.strip_prefix("error: ").unwrap_or(line));
            ExitCode::from(Failure::USAGE)
        }
    }
}
