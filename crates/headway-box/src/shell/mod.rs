//! `headway shell`: a shell or a command behind an emulated link, and a server at its other end.

mod arguments;
mod environment;
mod generated;
mod server;
mod summary;
mod web;

use std::process::ExitCode;

use headway_command::{Failure, OutputError, notice};
use headway_lab::LabError;
use headway_net::error_delay_box::BoxEnd;
use headway_net::{IsolationError, isolate};
use headway_testbed::ShellNetwork;
use headway_transport::{TransportError, open_ends, start_log};

use super::error_delay_box::{BoxError, start};
use crate::supervisor::{self, Role, Signals};
pub use arguments::Arguments;
use server::Server;

/// Why it failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShellError {
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// The links.
    #[error(transparent)]
    Box(#[from] BoxError),
    #[error("{0}")]
    Network(String),
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("the command cannot be run: {0}")]
    Command(std::io::Error),
}

impl Failure for ShellError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Box(error) => error.is_usage(),
            Self::Transport(error) => error.is_usage(),
            _ => false,
        }
    }
}

impl From<LabError> for ShellError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::RealTime(problem) => Self::Network(problem),
            other => Self::Network(other.to_string()),
        }
    }
}

/// Runs the shell or the command; its exit code.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, ShellError> {
    let links = arguments.link.links()?;
    let open = |path| open_ends(path, ShellNetwork::interfaces(), arguments.pcap_split);
    let capture = arguments.pcap.as_deref().map(open).transpose()?;
    // Before any thread is started.
    let isolation = isolate()?;
    start_log(arguments.verbose);
    let network = ShellNetwork::new(arguments.link.mtu())?;
    let (live, control) = network.open_box(arguments.link.seeded(links.clone(), 0), capture)?;
    isolation.end_setup().map_err(|error| ShellError::Network(error.to_string()))?;
    let runtime = tokio::runtime::Runtime::new().map_err(TransportError::NoRuntime)?;
    let outcome = runtime.block_on(async {
        // A signal from now on ends the command in order.
        let mut signals = Signals::new().map_err(TransportError::NoRuntime)?;
        let server = Server::open(&network, arguments.variant, arguments.kernel_cc.as_deref())?;
        let ended = start(live)?;
        let serving = tokio::spawn(server.run());
        if arguments.is_shell() && !arguments.quiet {
            summary::introduce(&links);
        }
        let status = supervise(arguments, &links, &mut signals).await;
        serving.abort();
        control.stop();
        let end = ended.await.map_err(|_| BoxError::Panicked)?;
        Ok::<_, ShellError>((status?, end))
    });
    runtime.shutdown_background();
    let (status, end) = outcome?;
    finish(arguments, end)?;
    Ok(supervisor::exit_code(status))
}

/// Runs the program, and ends whatever it leaves behind.
async fn supervise(
    arguments: &Arguments,
    links: &[headway_link::LinkConfig; 2],
    signals: &mut Signals,
) -> Result<std::process::ExitStatus, ShellError> {
    let terminal = environment::Terminal::new();
    let (program, words) = arguments.program();
    // Should the supervisor be killed, what it leaves is ended here.
    supervisor::adopt_orphans().map_err(ShellError::Command)?;
    let mut command = supervisor::command(&program, words).map_err(ShellError::Command)?;
    environment::set(&mut command, arguments.is_shell(), &program, links);
    let mut child = command.spawn().map_err(ShellError::Command)?;
    let status = supervisor::attend(&mut child, signals, Role::Starter).await;
    supervisor::end_children(std::time::Duration::ZERO).await;
    terminal.take_back();
    status.map_err(ShellError::Command)
}

/// Says what the link did.
fn finish(arguments: &Arguments, end: BoxEnd) -> Result<(), ShellError> {
    let BoxEnd { report, outcome, capture } = end;
    let written = match (capture, &arguments.pcap) {
        (Err(source), Some(path)) => Err(OutputError::capture(path, source)),
        _ => Ok(()),
    };
    if arguments.json {
        notice!("{}", super::error_delay_box::summary_json(&report, None));
    } else if !arguments.quiet {
        summary::conclude(&report);
    }
    outcome.map_err(|error| ShellError::Network(error.to_string()))?;
    Ok(written?)
}
