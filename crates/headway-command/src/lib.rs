//! What the commands of headway share, whatever they do.
//!
//! - How they end: each has an error of its own, which is a [`Failure`]; [`exit`] reports it in a line and gives the
//!   exit code. [`BadOption`] is the commonest.
//! - What they print: [`output`] (files that are whole or not there, standard output) and [`notice!`] (standard error),
//!   both escaped where they may come from a peer; objects of JSON ([`json_object`]); numbers as a picture ([`bars`]).
//! - What they take: keys of scenarios as options ([`scenario_arguments`]); no file is read and written at once
//!   ([`require_distinct`]).
//! - Programs that they start and that end with them: [`parent_death`].
//!
//! It knows of no command, and of no network.
#![forbid(unsafe_code)]

mod bars;
mod distinct_files;
mod failure;
pub mod json_object;
pub mod output;
pub mod parent_death;
pub mod scenario_arguments;

pub use bars::bars;
pub use distinct_files::{Named, require_distinct};
pub use failure::{BadOption, Failure, USAGE, exit, exit_as};
pub use output::OutputError;

/// The words of the command line, without the program's name.
pub fn words() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}
