//! Commands on real networks, in real time: with headway's TCP, or the kernel's for comparison.

mod captures;
mod doctor;
mod error;
mod error_delay_box;
mod fetch;
mod http;
mod names;
mod nc;
mod network_arguments;
mod perf;
mod serve;
mod shell;
mod transport;

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use headway_command::Failure;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

pub(crate) use doctor::Arguments as DoctorArguments;
use error::{LiveError, StopSignal};
pub(crate) use error_delay_box::Arguments as BoxArguments;
pub(crate) use fetch::Arguments as FetchArguments;
pub(crate) use nc::Arguments as NcArguments;
pub(crate) use perf::Arguments as PerfArguments;
pub(crate) use serve::Arguments as ServeArguments;
pub(crate) use shell::Arguments as ShellArguments;

/// How long a command waits at its end until all data is acknowledged.
const GRACE: Duration = Duration::from_secs(10);
/// The same after a signal.
const GRACE_STOPPED: Duration = Duration::from_secs(2);

/// `words` are those of the command line, without the program's name.
pub(crate) fn run_perf(arguments: &PerfArguments, words: &[String]) -> Result<(), impl Failure> {
    block_on(perf::run(arguments, words))
}

pub(crate) fn run_nc(arguments: &NcArguments) -> Result<(), impl Failure> {
    block_on(nc::run(arguments))
}

pub(crate) fn run_serve(arguments: &ServeArguments) -> Result<(), impl Failure> {
    block_on(serve::run(arguments))
}

pub(crate) fn run_fetch(arguments: &FetchArguments) -> Result<(), impl Failure> {
    block_on(fetch::run(arguments))
}

pub(crate) fn run_box(arguments: &BoxArguments) -> Result<(), impl Failure> {
    block_on(error_delay_box::run(arguments))
}

pub(crate) fn run_shell(arguments: &ShellArguments) -> Result<ExitCode, impl Failure> {
    shell::run(arguments)
}

pub(crate) fn run_doctor(arguments: &DoctorArguments) -> Result<(), impl Failure> {
    block_on(doctor::run(arguments))
}

fn block_on<E: From<LiveError>>(work: impl Future<Output = Result<(), E>>) -> Result<(), E> {
    let runtime = Runtime::new().map_err(LiveError::NoRuntime)?;
    let outcome = runtime.block_on(work);
    // A read of standard input cannot be cancelled.
    runtime.shutdown_background();
    outcome
}

/// Waits for SIGINT or SIGTERM, and returns which.
async fn stop_signal() -> Result<StopSignal, LiveError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(LiveError::NoRuntime)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(LiveError::NoRuntime)?;
    Ok(tokio::select! {
        _ = interrupt.recv() => StopSignal::Interrupt,
        _ = terminate.recv() => StopSignal::Terminate,
    })
}
