//! `headway box`: the simulator's link between two interfaces.

mod arguments;
mod json;
mod output;
mod parameters;
mod table;
mod watch;

use std::fs::File;
use std::future::pending;
use std::thread;
use std::time::Duration;

use headway_command::{BadOption, Failure, OutputError, notice};
use headway_lab::LabError;
use headway_link::LinkConfig;
use headway_net::NetError;
use headway_net::error_delay_box::{BoxConfig, BoxControl, BoxEnd, BoxReport, LaneReport, LiveBox, Priority};
use headway_transport::{TransportError, open_ends, start_log};
use headway_watch::WatchError;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::sleep;

pub use arguments::Arguments;
use arguments::RealTime;
use output::Output;
pub(super) use parameters::LinkParameters;
use watch::WatchedBox;

/// Why it failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BoxError {
    #[error(transparent)]
    BadOption(#[from] BadOption),
    /// The file of links.
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error("the thread of the box panicked: a defect of headway")]
    Panicked,
}

impl Failure for BoxError {
    fn is_usage(&self) -> bool {
        match self {
            Self::BadOption(_) => true,
            Self::Lab(error) => error.is_of_input(),
            Self::Transport(error) => error.is_usage(),
            Self::Net(error) => error.is_of_input(),
            Self::Output(_) | Self::Watch(_) | Self::Panicked => false,
        }
    }
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), BoxError> {
    start_log(arguments.verbose);
    let interval = arguments.interval()?;
    let links = arguments.links()?;
    // A signal during setup must not end the box without output.
    let mut signals = Signals::new()?;
    let interfaces = arguments.interfaces();
    let lanes = arguments.seeded(links.clone(), 0);
    let names = [&*interfaces[0], &*interfaces[1]];
    // A port that is taken is said before the interfaces are touched.
    let watched = match arguments.watch.address() {
        Some(address) => Some(WatchedBox::start(address, names)?),
        None => None,
    };
    let capture =
        arguments.pcap.as_deref().map(|path| open_ends(path, names, arguments.pcap_split)).transpose()?;
    let real_time = arguments.real_time() != RealTime::Off;
    let (live, control) =
        LiveBox::open(BoxConfig { interfaces: interfaces.clone(), lanes, real_time, capture })?;
    let mut running = RunningBox { control, ended: start(live)? };
    let mut output = Output::new(arguments.json, interfaces).watched(watched);
    let announced = announce(arguments, &links, &running.control, &mut output);
    let attended = match announced {
        Ok(()) => attend(arguments, interval, &mut running, &mut signals, &mut output).await,
        Err(failure) => Err(failure),
    };
    let RunningBox { control, ended } = running;
    // In every case the box ends orderly: its capture is complete, its interfaces are restored.
    control.stop();
    match attended {
        Ok(Some(end)) => finish(arguments, &mut output, end),
        Ok(None) => finish(arguments, &mut output, ended.await.map_err(|_| BoxError::Panicked)?),
        Err(BoxError::Panicked) => Err(BoxError::Panicked),
        Err(failure) => {
            // The box does not run.
            let _ = ended.await;
            Err(failure)
        }
    }
}

/// A box in its own thread.
struct RunningBox {
    control: BoxControl,
    /// Its result, once it has ended.
    ended: oneshot::Receiver<BoxEnd>,
}

/// Says that the box runs, and with which links.
fn announce(
    arguments: &Arguments,
    links: &[LinkConfig; 2],
    control: &BoxControl,
    output: &mut Output,
) -> Result<(), BoxError> {
    if let Some(report) = control.report() {
        if arguments.real_time() == RealTime::On && report.priority == Priority::Refused {
            notice!("headway: real-time priority is not permitted: expected root or CAP_SYS_NICE");
        }
        output.ready(links, report.priority)?;
        if let Some(path) = &arguments.ready_file {
            File::create(path).map_err(|source| OutputError::File { path: path.clone(), source })?;
        }
    }
    Ok(())
}

/// Prints reports and handles signals, until the box ends or is to be stopped.
async fn attend(
    arguments: &Arguments,
    interval: Duration,
    RunningBox { control, ended }: &mut RunningBox,
    signals: &mut Signals,
    output: &mut Output,
) -> Result<Option<BoxEnd>, BoxError> {
    let mut ticks = tokio::time::interval(interval);
    ticks.tick().await;
    let time_is_up = async {
        match arguments.duration() {
            Some(duration) => sleep(duration).await,
            None => pending().await,
        }
    };
    tokio::pin!(time_is_up);
    let mut generation = 0;
    loop {
        tokio::select! {
            end = &mut *ended => return end.map(Some).map_err(|_| BoxError::Panicked),
            () = &mut time_is_up => return Ok(None),
            signal = signals.next() => match signal {
                Request::Stop => return Ok(None),
                Request::Reload => reload(arguments, control, &mut generation, output)?,
            },
            _ = ticks.tick() => {
                if let Some(report) = control.report() {
                    output.interval(&report)?;
                }
            }
        }
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> Result<Self, BoxError> {
        let listen = |kind| signal(kind).map_err(TransportError::NoRuntime);
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Request {
        tokio::select! {
            _ = self.interrupt.recv() => Request::Stop,
            _ = self.terminate.recv() => Request::Stop,
            _ = self.hangup.recv() => Request::Reload,
        }
    }
}

enum Request {
    Stop,
    Reload,
}

/// Runs the box in its own thread, which sends the result.
pub(super) fn start(live: LiveBox) -> Result<oneshot::Receiver<BoxEnd>, TransportError> {
    let (sender, receiver) = oneshot::channel();
    let run = move || {
        // It fails only when the command ends.
        let _ = sender.send(live.run());
    };
    thread::Builder::new().name("box".into()).spawn(run).map_err(TransportError::NoRuntime)?;
    Ok(receiver)
}

/// Reads the file again. An invalid file changes nothing.
fn reload(
    arguments: &Arguments,
    control: &BoxControl,
    generation: &mut u64,
    output: &mut Output,
) -> Result<(), OutputError> {
    if !arguments.has_config() {
        let problem = "SIGHUP: no --config to read again";
        notice!("headway: {problem}");
        return output.kept(problem);
    }
    match arguments.links() {
        Ok(links) => {
            *generation += 1;
            control.change(arguments.seeded(links.clone(), *generation));
            output.changed(&links)
        }
        Err(failure) => {
            notice!("headway: {failure}; the link does not change");
            output.kept(&failure.to_string())
        }
    }
}

/// The result, as a line of JSON with all counters.
pub(super) fn summary_json(report: &BoxReport, error: Option<String>) -> String {
    json::report(report, true, error)
}

/// What a link is, in words.
pub(super) fn describe_link(link: &LinkConfig) -> String {
    table::describe_link(link)
}

/// What is wrong with the frames of a direction, or concerns few of them.
pub(super) fn notes(lane: &LaneReport) -> Vec<String> {
    table::notes(lane)
}

fn finish(arguments: &Arguments, output: &mut Output, end: BoxEnd) -> Result<(), BoxError> {
    let BoxEnd { report, outcome, capture } = end;
    let written = match (capture, &arguments.pcap) {
        (Err(source), Some(path)) => Err(OutputError::capture(path, source)),
        _ => Ok(()),
    };
    let outcome = outcome.map_err(BoxError::Net).and(written.map_err(BoxError::from));
    output.end(&report, outcome.as_ref().err().map(ToString::to_string))?;
    outcome
}
