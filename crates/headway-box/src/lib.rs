//! An emulated link in real time: between two interfaces (`headway box`), or between a command and a server
//! (`headway shell`), and senders side by side on such links (`headway demo`).
//!
//! What a shell starts ends with it: a supervisor sees to it, a hidden command that runs the program.
#![forbid(unsafe_code)]

mod demo;
mod error_delay_box;
mod shell;
mod supervisor;

use std::process::ExitCode;

use headway_command::Failure;
use headway_transport::block_on;

pub use demo::Arguments as DemoArguments;
pub use error_delay_box::Arguments as BoxArguments;
pub use shell::Arguments as ShellArguments;
pub use supervisor::Arguments as SuperviseArguments;

/// Runs a box until its time is up, or until SIGINT or SIGTERM.
pub fn run_box(arguments: &BoxArguments) -> Result<(), impl Failure> {
    block_on(error_delay_box::run(arguments))
}

/// Runs the kernel's TCP and headway's on equal links, and shows what each brings.
pub fn run_demo(arguments: &DemoArguments) -> Result<(), impl Failure> {
    demo::run(arguments)
}

/// Runs a shell or a command behind a link; gives its exit code.
pub fn run_shell(arguments: &ShellArguments) -> Result<ExitCode, impl Failure> {
    shell::run(arguments)
}

/// Runs a program and ends what it leaves behind; gives its exit code.
pub fn supervise(arguments: &SuperviseArguments) -> Result<ExitCode, impl Failure> {
    supervisor::run(arguments)
}
