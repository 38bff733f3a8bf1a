//! One run: one sender, one seed.

use headway_tcp::Observer;
use headway_units::{Duration, Instant};

use super::arena::Arena;
use super::check::InvalidScenario;
use super::oracle::oracle;
use super::outcome::{RunOutcome, Shares, Start, judge};
use super::run_settings::RunSettings;
use super::sample::{Sampler, Sampling};
use super::scenario::Scenario;
use super::sender::{Entrant, TcpSender};
use crate::content::{Content, ContentError};
use crate::network::{NodeId, Tap};

/// Virtual time that both sides get to close after the content has arrived.
const CLOSING: Duration = Duration::from_secs(600);

/// One run that cannot be made, or whose result cannot be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The content cannot be read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The sender cannot be raced over the scenario.
    #[error(transparent)]
    InvalidScenario(#[from] InvalidScenario),
    /// The tap ended the run ([`Tap::is_stopped`]).
    #[error("the run was stopped before its end")]
    Stopped,
    /// Bytes differ although no damaged packet passed its checksums: a defect of the simulator or
    /// of the TCP.
    #[error(
        "{sender}, seed {seed}: {damaged} delivered bytes differ from what was sent, but no damaged \
         packet had passed its checksums; this is a defect of headway, please report it"
    )]
    UnexplainedCorruption {
        /// The sender.
        sender: Entrant,
        /// The run's seed.
        seed: u64,
        /// How many bytes.
        damaged: u64,
    },
}

/// A run together with what was recorded of it.
pub struct Recording<O, T> {
    /// What came of it.
    pub outcome: RunOutcome,
    /// The sender's observer.
    pub sender: O,
    /// The receiver's observer.
    pub receiver: O,
    /// The tap.
    pub tap: T,
}

/// Runs `entrant`; the other arguments are those of [`RunSettings`].
///
/// # Errors
///
/// The content cannot be read, the sender cannot be raced here, or the result shows unexplained corruption.
pub fn run(
    scenario: &Scenario,
    entrant: impl Into<Entrant>,
    content: &Content,
    seed: u64,
    hash: bool,
) -> Result<RunOutcome, RunError> {
    let settings = RunSettings { scenario, content, seed, hash };
    Ok(run_recorded(settings, entrant, || (), ())?.outcome)
}

/// As [`run`], with an observer on each host and a tap on the packets. The oracle is not a TCP:
/// nothing of it is recorded.
///
/// # Errors
///
/// As [`run`], or the tap ended the run.
pub fn run_recorded<O: Observer + 'static, T: Tap>(
    settings: RunSettings<'_>,
    entrant: impl Into<Entrant>,
    observer: impl FnMut() -> O,
    tap: T,
) -> Result<Recording<O, T>, RunError> {
    run_sampled(settings, entrant, observer, tap, &mut ())
}

/// As [`run_recorded`], with samples of the run while it is made. Packets and results are the same. Of the oracle,
/// and of the first transfer of a warm scenario, there are none.
///
/// # Errors
///
/// As [`run`].
pub fn run_sampled<O: Observer + 'static, T: Tap, S: Sampler>(
    settings: RunSettings<'_>,
    entrant: impl Into<Entrant>,
    mut observer: impl FnMut() -> O,
    tap: T,
    sampler: &mut S,
) -> Result<Recording<O, T>, RunError> {
    let RunSettings { scenario, content, seed, .. } = settings;
    let entrant = entrant.into();
    scenario.check(entrant)?;
    if let Entrant::Tcp(sender) = entrant {
        return run_tcp(settings, sender, &mut observer, tap, sampler);
    }
    let Some(oracle) = oracle(scenario, content.len(), seed) else {
        unreachable!("the check finds what the oracle cannot do");
    };
    let outcome = RunOutcome::of_oracle(&oracle, scenario, content.len());
    Ok(Recording { outcome, sender: observer(), receiver: observer(), tap })
}

fn run_tcp<O: Observer + 'static, T: Tap, S: Sampler>(
    settings: RunSettings<'_>,
    sender: TcpSender,
    observer: &mut dyn FnMut() -> O,
    tap: T,
    sampler: &mut S,
) -> Result<Recording<O, T>, RunError> {
    let RunSettings { scenario, content, seed, .. } = settings;
    let mut arena = Arena::new(settings, sender, observer, tap)?;
    let lasts = scenario.duration.unwrap_or(scenario.time_limit);
    arena.open_trunk(Instant::ZERO + lasts);
    if scenario.warm {
        let limit = arena.epoch + lasts;
        run_until(&mut arena, limit, at_ends(|arena| is_over(arena, 0)), |_| {});
        // One that does not come to its end leaves nothing to compare: it represents the run.
        if arena.receiver(0).is_complete() {
            close(&mut arena);
            arena.transfer_again(settings)?;
        }
    }
    let start = Start::of(&arena);
    let limit = start.at + lasts;
    let mut sampling = Sampling::begin(sampler, &arena);
    // Companions run as long as the race does; how the link is shared shows while all of them run.
    let everyone: Vec<usize> = (0..arena.flows.len()).filter(|&flow| !arena.flows[flow].is_sized).collect();
    let is_shared_until = |arena: &Arena<O, T>| everyone.iter().any(|&flow| is_over(arena, flow));
    run_until(&mut arena, limit, at_ends(is_shared_until), |arena| sampling.after_event(arena));
    let shares = Shares::of(&arena);
    run_until(&mut arena, limit, at_ends(|arena| is_over(arena, 0)), |arena| sampling.after_event(arena));
    sampling.end(&arena);
    let outcome = judge(&arena, scenario, content.len(), seed, &start, &shares);
    if outcome.metrics.finished && scenario.duration.is_none() {
        close(&mut arena);
    }
    // One that was stopped says nothing of the sender.
    if arena.network.tap().is_stopped() {
        return Err(RunError::Stopped);
    }
    if outcome.metrics.damaged_bytes_delivered > 0 && arena.network.counters().undetected == 0 {
        let damaged = outcome.metrics.damaged_bytes_delivered;
        return Err(RunError::UnexplainedCorruption { sender: sender.into(), seed, damaged });
    }
    let first = arena.flows[0];
    let (sender, receiver) = arena.network.take_observers(first.sender, first.receiver);
    Ok(Recording { outcome, sender, receiver, tap: arena.network.into_tap() })
}

/// Lets the ends of the first flow part.
fn close<O: Observer + 'static, T: Tap>(arena: &mut Arena<O, T>) {
    let limit = arena.network.now() + CLOSING;
    run_until(
        arena,
        limit,
        |arena| arena.sender(0).is_over(arena.network.host(arena.flows[0].sender).0),
        |_| {},
    );
}

fn run_until<O: Observer + 'static, T: Tap>(
    arena: &mut Arena<O, T>,
    limit: Instant,
    mut done: impl FnMut(&Arena<O, T>) -> bool,
    mut after_event: impl FnMut(&Arena<O, T>),
) {
    let mut done = |arena: &Arena<O, T>| arena.network.tap().is_stopped() || done(arena);
    let mut step_until = |arena: &mut Arena<O, T>, limit| {
        // The arena is asked after each event, as the network itself would be.
        while !done(arena) && arena.network.step(limit) {
            after_event(arena);
        }
        done(arena)
    };
    let mut starting: Vec<(Instant, NodeId)> =
        arena.flows.iter().map(|flow| (arena.epoch + flow.start, flow.sender)).collect();
    starting.retain(|&(at, _)| at > arena.network.now() && at < limit);
    starting.sort_unstable_by_key(|&(at, _)| at);
    for (at, sender) in starting {
        if step_until(arena, at) {
            return;
        }
        arena.network.wake(sender);
    }
    step_until(arena, limit);
}

/// `done`, which changes by the end of a program only: so it is not asked after every event.
fn at_ends<O: Observer + 'static, T: Tap>(
    done: impl Fn(&Arena<O, T>) -> bool,
) -> impl FnMut(&Arena<O, T>) -> bool {
    let (mut asked_at, mut is_done) = (None, false);
    move |arena| {
        let ended = arena.network.counters().ended;
        if asked_at != Some(ended) {
            (asked_at, is_done) = (Some(ended), done(arena));
        }
        is_done
    }
}

/// Whether all has arrived, or the connection failed.
fn is_over<O: Observer + 'static, T: Tap>(arena: &Arena<O, T>, flow: usize) -> bool {
    arena.receiver(flow).is_complete() || arena.sender(flow).failure().is_some()
}
