//! The commands that the feature `full` adds: experiments, real networks, the gateway.

use std::process::ExitCode;

use clap::{CommandFactory as _, Subcommand};

use crate::failure::{exit, exit_as};
use crate::{Arguments, kernel, lab, live, manuals, parent_death, supervisor, trunk, words};

/// One of them.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run experiments from files: sweeps, results that resume, claims that are checked
    Lab(lab::LabArguments),
    /// Run the papers' figures and tables
    Paper(lab::PaperArguments),
    /// Measure throughput and latency over real networks
    Perf(live::PerfArguments),
    /// Pipe standard input and output through a connection
    Nc(Box<live::NcArguments>),
    /// Serve the files of a folder over HTTP
    Serve(Box<live::ServeArguments>),
    /// Fetch a file over HTTP, or put one there
    Fetch(Box<live::FetchArguments>),
    /// Run a shell or a command behind an emulated link, with a server at its other end
    Shell(Box<live::ShellArguments>),
    /// Put a link that delays, loses and damages packets between two interfaces
    Box(Box<live::BoxArguments>),
    /// Carry TCP connections of other hosts across a lossy link, through a gateway at each end
    Trunk(trunk::Arguments),
    /// Have programs over the kernel's TCP use HACK, by eBPF
    Kernel(kernel::Arguments),
    /// Say what this machine and a path can do, and which carrier to use
    Doctor(Box<live::DoctorArguments>),
    /// Print completions for a shell
    Completions(manuals::CompletionsArguments),
    /// Write manual pages
    Man(manuals::ManArguments),
    #[command(hide = true)]
    ParentDeath(parent_death::Arguments),
    #[command(hide = true)]
    Supervise(supervisor::Arguments),
}

impl Command {
    /// Runs it, to the end of the program.
    pub(crate) fn run(self) -> ExitCode {
        match self {
            Self::Lab(arguments) => exit(lab::run_lab(&arguments)),
            Self::Paper(arguments) => exit(lab::run_paper(&arguments)),
            Self::Perf(arguments) => exit(live::run_perf(&arguments, &words())),
            Self::Nc(arguments) => exit(live::run_nc(&arguments)),
            Self::Serve(arguments) => exit(live::run_serve(&arguments)),
            Self::Fetch(arguments) => exit(live::run_fetch(&arguments)),
            Self::Shell(arguments) => exit_as(live::run_shell(&arguments)),
            Self::Box(arguments) => exit(live::run_box(&arguments)),
            Self::Trunk(arguments) => exit(trunk::run(&arguments)),
            Self::Kernel(arguments) => exit(kernel::run(&arguments)),
            Self::Doctor(arguments) => exit(live::run_doctor(&arguments)),
            Self::Completions(arguments) => {
                exit(manuals::print_completions(&arguments, Arguments::command()))
            }
            Self::Man(arguments) => exit(manuals::write_pages(&arguments, Arguments::command())),
            Self::ParentDeath(arguments) => exit(parent_death::run(&arguments)),
            Self::Supervise(arguments) => exit_as(supervisor::run(&arguments)),
        }
    }
}
