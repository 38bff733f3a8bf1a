//! `headway`: TCP that keeps making headway where packets arrive damaged.
//!
//! The command line and what every mistake in it is answered with; the products are crates of their own, whose `run` is
//! called with their arguments. Here are also the commands that have no crate: `race`, `trace`, `nc`, and `manuals` (manual pages,
//! completions).
#![forbid(unsafe_code)]

#[cfg(all(test, feature = "full"))]
mod documented;
#[cfg(feature = "full")]
mod full;
#[cfg(feature = "full")]
mod manuals;
#[cfg(feature = "full")]
mod nc;
mod race;
mod trace;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use headway_command::{OutputError, USAGE, exit, notice, words};

const EXAMPLES: &str = "\
Examples:
  headway race
      The TCPs of the papers and ours, side by side over a link that damages packets.
  headway race --help
      Every command has examples.";

/// TCP that keeps making headway where packets arrive damaged.
#[derive(Parser)]
#[command(name = "headway", version, about, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Send a file across an emulated lossy link with several TCPs, side by side
    Race(Box<race::Arguments>),
    /// Analyse the TCP connections of a capture
    Trace(trace::Arguments),
    #[cfg(feature = "full")]
    #[command(flatten)]
    Full(full::Command),
    /// Write the JavaScript libraries of pages into a folder, for machines without npm
    Libraries(headway_libraries::Arguments),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse_from(words_for_clap()) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    match arguments.command {
        Command::Race(arguments) => exit(race::run(&arguments, &words())),
        Command::Trace(arguments) => exit(trace::run(&arguments, &words())),
        #[cfg(feature = "full")]
        Command::Full(command) => command.run(),
        Command::Libraries(arguments) => exit(headway_libraries::run(&arguments)),
    }
}

/// All words, with `help --help` for `help`.
fn words_for_clap() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "help") {
        words.retain(|word| word != "--help" && word != "-h");
    }
    words
}

/// Help goes out as it is; a mistake is reported in one line.
fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => match error.print() {
            Ok(()) => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE)),
            Err(source) => exit(Err(OutputError::standard(source))),
        },
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            let line = line.strip_prefix("error: ").unwrap_or(line);
            let line = line
                .replace("invalid digit found in string", "expected a whole number")
                .replace("cannot parse integer from empty string", "expected a whole number")
                .replace("number too large to fit in target type", "expected a smaller whole number");
            let line = range_in_words(&line).unwrap_or(line);
            notice!("headway: {line}{}", expected(error).unwrap_or_default());
            ExitCode::from(USAGE)
        }
    }
}

/// A complaint that ends in "-1 is not in 0..=65535", in words.
fn range_in_words(line: &str) -> Option<String> {
    let (before, range) = line.rsplit_once(" is not in ")?;
    let (before, _value) = before.rsplit_once(": ")?;
    let (least, most) = range.split_once("..=")?;
    Some(format!("{before}: expected a whole number from {least} to {most}"))
}

/// What would have done, where the first line of a complaint does not say so.
fn expected(error: &clap::Error) -> Option<String> {
    let similar = |kind| match error.get(kind)? {
        ContextValue::String(name) => Some(name.clone()),
        ContextValue::Strings(names) => names.last().cloned(),
        _ => None,
    };
    let suggestion = similar(ContextKind::SuggestedArg).or_else(|| similar(ContextKind::SuggestedSubcommand));
    match (error.kind(), suggestion) {
        (ErrorKind::InvalidSubcommand, _) if cfg!(not(feature = "full")) => Some(
            "; this is a build of `race` and `trace` alone: `cargo build --release` builds all commands"
                .into(),
        ),
        (_, Some(name)) => Some(format!("; did you mean '{name}'?")),
        (ErrorKind::InvalidValue, None) => match error.get(ContextKind::ValidValue)? {
            ContextValue::Strings(names) if !names.is_empty() => {
                Some(format!(": expected one of {}", names.join(", ")))
            }
            _ => None,
        },
        // One is named in the complaint itself.
        (ErrorKind::ArgumentConflict, None) => match error.get(ContextKind::PriorArg)? {
            ContextValue::Strings(names) => Some(format!(" {}", names.join(", "))),
            _ => None,
        },
        (ErrorKind::MissingRequiredArgument, None) => match error.get(ContextKind::InvalidArg)? {
            ContextValue::Strings(names) => Some(format!(" {}", names.join(", "))),
            _ => None,
        },
        (ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand, None) => {
            Some(format!("; expected what `{} --help` lists", command_of(error)))
        }
        _ => None,
    }
}

/// The command that was being read.
fn command_of(error: &clap::Error) -> String {
    let text = error.to_string();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or("headway");
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    usage.split_whitespace().take_while(is_name).collect::<Vec<_>>().join(" ")
}
