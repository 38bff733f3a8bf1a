//! The commands that the feature `full` adds: experiments, real networks, the gateway.

use std::process::ExitCode;

use clap::{CommandFactory as _, Subcommand};
use headway_command::{exit, exit_as, parent_death, words};

use crate::{Arguments, manuals, nc};

/// One of them.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run experiments from files: sweeps, results that resume, claims that are checked
    Lab(headway_lab_commands::LabArguments),
    /// Run the papers' figures and tables
    Paper(headway_lab_commands::PaperArguments),
    /// Measure throughput and latency over real networks
    Perf(headway_perf::Arguments),
    /// Pipe standard input and output through a connection
    Nc(Box<nc::Arguments>),
    /// Serve the files of a folder over HTTP
    Serve(Box<headway_files::ServeArguments>),
    /// Fetch a file over HTTP, or put one there
    Fetch(Box<headway_files::FetchArguments>),
    /// See the kernel's TCP and headway's side by side on a lossy link, in real time
    Demo(headway_box::DemoArguments),
    /// Run a shell or a command behind an emulated link, with a server at its other end
    Shell(Box<headway_box::ShellArguments>),
    /// Put a link that delays, loses and damages packets between two interfaces
    Box(Box<headway_box::BoxArguments>),
    /// Carry TCP connections of other hosts across a lossy link, through a gateway at each end
    Trunk(headway_trunk_commands::Arguments),
    /// Have programs over the kernel's TCP use HACK, by eBPF
    Kernel(headway_kernel_commands::Arguments),
    /// Say what this machine and a path can do, and which carrier to use
    Doctor(Box<headway_doctor::Arguments>),
    /// Print completions for a shell
    Completions(manuals::CompletionsArguments),
    /// Write manual pages
    Man(manuals::ManArguments),
    #[command(hide = true)]
    ParentDeath(parent_death::Arguments),
    #[command(hide = true)]
    Supervise(headway_box::SuperviseArguments),
}

impl Command {
    /// Runs it, to the end of the program.
    pub(crate) fn run(self) -> ExitCode {
        match self {
            Self::Lab(arguments) => exit(headway_lab_commands::run_lab(&arguments)),
            Self::Paper(arguments) => exit(headway_lab_commands::run_paper(&arguments)),
            Self::Perf(arguments) => exit(headway_perf::run(&arguments, &words())),
            Self::Nc(arguments) => exit(nc::run(&arguments)),
            Self::Serve(arguments) => exit(headway_files::run_serve(&arguments)),
            Self::Fetch(arguments) => exit(headway_files::run_fetch(&arguments)),
            Self::Demo(arguments) => exit(headway_box::run_demo(&arguments)),
            Self::Shell(arguments) => exit_as(headway_box::run_shell(&arguments)),
            Self::Box(arguments) => exit(headway_box::run_box(&arguments)),
            Self::Trunk(arguments) => exit(headway_trunk_commands::run(&arguments)),
            Self::Doctor(arguments) => exit(headway_doctor::run(&arguments)),
            Self::Kernel(arguments) => exit(headway_kernel_commands::run(&arguments)),
            Self::Completions(arguments) => {
                exit(manuals::print_completions(&arguments, Arguments::command()))
            }
            Self::Man(arguments) => exit(manuals::write_pages(&arguments, Arguments::command())),
            Self::ParentDeath(arguments) => exit(parent_death::run(&arguments)),
            Self::Supervise(arguments) => exit_as(headway_box::supervise(&arguments)),
        }
    }
}
