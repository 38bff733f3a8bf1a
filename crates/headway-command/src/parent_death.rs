//! Programs that must not outlive this one, whatever ends it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::Args;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::Failure;

/// The name of the subcommand.
const NAME: &str = "parent-death";

/// Runs a program that the kernel kills when the thread that started it ends.
#[derive(Args)]
pub struct Arguments {
    /// The process that starts it
    parent: i32,
    /// The program
    program: OsString,
    /// Its words
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// A command that starts `program` which the kernel kills when the thread that spawns it ends.
///
/// # Errors
///
/// The running executable cannot be found.
pub fn command(program: &OsStr) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([NAME, &std::process::id().to_string()]).arg(program).arg("--");
    Ok(command)
}

/// The program cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("{program}: {source}")]
pub struct StartError {
    program: String,
    source: io::Error,
}

impl Failure for StartError {
    /// As of a shell.
    fn code(&self) -> u8 {
        if self.source.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
    }
}

/// Becomes the program.
///
/// # Errors
///
/// It cannot be started.
pub fn run(arguments: &Arguments) -> Result<(), StartError> {
    let fail = |source| StartError { program: arguments.program.to_string_lossy().into_owned(), source };
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| fail(error.into()))?;
    // Whoever ended before the line above sends no signal.
    if getppid() != Pid::from_raw(arguments.parent) {
        return Err(fail(io::Error::other("who started it is gone")));
    }
    Err(fail(Command::new(&arguments.program).args(&arguments.words).exec()))
}
