//! One run: a network, a box, two hosts, and what came of it.

use headway_lab::{Cell, LabError, RealCarrier, Sender};
use headway_net::CaptureFile;
use headway_net::error_delay_box::{BoxControl, BoxEnd};
use headway_sim::Content;
use headway_sim::race::{Entrant, RunMetrics};
use headway_tcp::Statistics;
use headway_units::Size;
use tokio::runtime;
use tokio::time::Duration;

use crate::error::real_time_error;
use crate::host::{Receiving, Sending};
use crate::interfaces::inside;
use crate::network::{Owner, RunNetwork, Side};
use crate::programs::Launcher;
use crate::run_box;
use crate::transfer::{Arrived, Transfer};

/// Makes one run, whose packets the box writes into `capture`.
///
/// Each host and the box has a thread in its namespace; all have the same clock.
pub(crate) fn run(
    cell: &Cell,
    seed: u64,
    capture: Option<CaptureFile>,
    launcher: Launcher,
) -> Result<RunMetrics, LabError> {
    let scenario = &cell.scenario;
    let owner = match cell.sender {
        Sender::Ours(_) if cell.carrier == RealCarrier::Udp => Owner::OursOverUdp,
        Sender::Ours(_) => Owner::Ours,
        Sender::Foreign(_) => Owner::Kernel,
    };
    let network = RunNetwork::new(owner, scenario)?;
    let (open_box, control) = run_box::open(&network, scenario, seed, capture)?;
    let limit = scenario.duration.unwrap_or(scenario.time_limit);
    let content = Content::generated(cell.size.map_or(u64::MAX, Size::bytes));
    let transfer = Transfer::new(content, Duration::from_nanos(limit.as_nanos()));
    let (sent, received, end) = std::thread::scope(|scope| {
        let middle = scope.spawn(|| {
            let end = inside(&network.between, || Ok(open_box.run()));
            transfer.fail("the box ended".into());
            end
        });
        // Whatever happens to the hosts, the box does not run on.
        let carrying = Carrying(control);
        let receiving = scope.spawn(|| receive(cell, &network, &transfer, launcher));
        let sent = send(cell, &network, &transfer, launcher);
        let received = join(receiving);
        drop(carrying);
        (sent, received, join(middle))
    });
    let (sender, arrived, end) = (sent?, received?, end?);
    let BoxEnd { report, outcome, capture } = end;
    outcome.map_err(|error| LabError::RealTime(format!("the box: {error}")))?;
    capture.map_err(|error| LabError::RealTime(format!("the capture: {error}")))?;
    let failure = transfer.failure();
    let seconds = if arrived.complete { arrived.last } else { Duration::from_nanos(limit.as_nanos()) };
    let late = report.lanes.iter().map(|lane| lane.lateness_overall);
    Ok(RunMetrics {
        finished: failure.is_none() && (cell.size.is_none() || arrived.complete),
        seconds: seconds.as_secs_f64(),
        delivered_bytes: arrived.delivered,
        damaged_bytes_delivered: arrived.differing,
        bytes_sent: sender.map(|sender| sender.bytes_sent),
        retransmissions: sender.map(|sender| sender.retransmissions),
        timeouts: sender.map(|sender| sender.timeouts),
        slow_starts: sender.map(|sender| sender.slow_starts),
        fast_recoveries: sender.map(|sender| sender.fast_recoveries),
        special_acks: arrived.statistics.map(|receiver| receiver.special_acks_sent),
        queue_drops: Some(report.lanes[0].link.queue_drops),
        box_late_seconds: late.clone().map(|late| late.p99.as_secs_f64()).reduce(f64::max),
        box_latest_seconds: late.map(|late| late.max.as_secs_f64()).reduce(f64::max),
        failure,
        ..RunMetrics::default()
    })
}

/// Stops a box when it goes.
struct Carrying(BoxControl);

impl Drop for Carrying {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Ends a run when a host goes, should it not have ended yet: the other host would wait.
struct Present<'a>(&'a Transfer);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.fail("a host ended".into());
    }
}

fn send(
    cell: &Cell,
    network: &RunNetwork,
    transfer: &Transfer,
    launcher: Launcher,
) -> Result<Option<Statistics>, LabError> {
    in_host(network, Side::Sender, transfer, async || {
        let mut host = match &cell.sender {
            Sender::Ours(entrant) => Sending::ours(network, &cell.scenario.profile_of(tcp(*entrant)?))?,
            Sender::Foreign(foreign) => Sending::foreign(foreign, &cell.scenario, launcher).await?,
        };
        let statistics = transfer.send(async || host.connect().await).await;
        transfer.remark(host.said());
        Ok(statistics)
    })
}

fn receive(
    cell: &Cell,
    network: &RunNetwork,
    transfer: &Transfer,
    launcher: Launcher,
) -> Result<Arrived, LabError> {
    in_host(network, Side::Receiver, transfer, async || {
        let mut host = match &cell.sender {
            Sender::Ours(entrant) => Receiving::ours(network, &cell.scenario.profile_of(tcp(*entrant)?))?,
            Sender::Foreign(foreign) => Receiving::foreign(foreign, &cell.scenario, launcher).await?,
        };
        let arrived = transfer.receive(async || host.accept().await).await;
        transfer.remark(host.said());
        Ok(arrived)
    })
}

fn tcp(entrant: Entrant) -> Result<headway_sim::race::TcpSender, LabError> {
    entrant.tcp().ok_or_else(|| LabError::RealTime(format!("{entrant} is no sender of packets")))
}

/// Does the work of a host in its namespace. What goes wrong ends the run at the other host too.
fn in_host<T: Send>(
    network: &RunNetwork,
    side: Side,
    transfer: &Transfer,
    work: impl AsyncFnOnce() -> Result<T, LabError> + Send,
) -> Result<T, LabError> {
    let _present = Present(transfer);
    let outcome = inside(network.host(side), || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(real_time_error("the runtime"))?.block_on(work())
    });
    outcome.inspect_err(|error| transfer.fail(error.to_string()))
}

fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
