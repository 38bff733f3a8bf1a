//! One run: one sender, one seed.

use headway_tcp::{ConnectionError, Observer, Variant};
use headway_units::{Duration, Instant};

use super::Scenario;
use super::arena::Arena;
use crate::content::{Content, ContentError};
use crate::tap::Tap;

/// Virtual time that both sides get to close after the content has arrived.
const CLOSING: Duration = Duration::from_secs(600);

/// One run that cannot be made, or whose result cannot be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The content cannot be read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// Bytes differ although no damaged packet passed its checksums: a defect of the simulator or
    /// of the TCP.
    #[error(
        "{variant}, seed {seed}: {damaged} delivered bytes differ from what was sent, but no damaged \
         packet had passed its checksums; this is a defect of headway, please report it"
    )]
    Inexplicable {
        /// The sender.
        variant: Variant,
        /// The run's seed.
        seed: u64,
        /// How many bytes.
        damaged: u64,
    },
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The sender.
    pub variant: Variant,
    /// The seed of the run.
    pub seed: u64,
    /// Whether all had arrived within the time limit.
    pub finished: bool,
    /// Virtual time from the first SYN to the last octet's arrival, or until the run was ended.
    pub time: Duration,
    /// Octets that were to be sent.
    pub size: u64,
    /// Octets that were delivered.
    pub delivered: u64,
    /// Payload bits delivered per second of virtual time.
    pub goodput: f64,
    /// Goodput as a share of the scenario's bound.
    pub share_of_bound: Option<f64>,
    /// Whether the SHA-256 of what arrived is the content's; `None` where nothing was hashed or
    /// the run did not finish.
    pub sha256_ok: Option<bool>,
    /// Octets that were delivered although damaged: they had passed every check.
    pub damaged_bytes_delivered: u64,
    /// Damaged packets, of both directions, that passed every check.
    pub undetected_packets: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Falls of the window to one segment.
    pub slow_starts: u64,
    /// Times that fast recovery began.
    pub fast_recoveries: u64,
    /// Special ACKs that the receiver sent.
    pub special_acks: u64,
    /// Data packets that the queue dropped.
    pub queue_drops: u64,
    /// Payload octets sent, repeats included.
    pub octets_sent: u64,
    /// Jain's fairness index of what all flows had received when the first of them was done.
    pub jain: f64,
    /// What the companions had received then.
    pub companions: Vec<CompanionOutcome>,
    /// Why the connection failed, if it did.
    pub failure: Option<ConnectionError>,
    /// Packet events of the simulation.
    pub events: u64,
}

/// What became of a flow beside the one that is raced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompanionOutcome {
    /// Its sender.
    pub variant: Variant,
    /// Octets delivered when the first of all flows was done.
    pub delivered: u64,
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

/// Runs `variant` over `scenario`; `hash` also takes the SHA-256 of what arrives.
///
/// Runs with the same `seed` face the same fates, packet by packet, whatever the variant.
///
/// # Errors
///
/// The content cannot be read, or the result is inexplicable.
pub fn run(
    scenario: &Scenario,
    variant: Variant,
    content: &Content,
    seed: u64,
    hash: bool,
) -> Result<RunOutcome, RunError> {
    Ok(run_recorded(scenario, variant, content, seed, hash, || (), ())?.outcome)
}

/// As [`run`], with an observer on each host and a tap on the packets.
///
/// # Errors
///
/// As [`run`].
pub fn run_recorded<O: Observer, T: Tap>(
    scenario: &Scenario,
    variant: Variant,
    content: &Content,
    seed: u64,
    hash: bool,
    mut observer: impl FnMut() -> O,
    tap: T,
) -> Result<Recording<O, T>, RunError> {
    let mut arena = Arena::new(scenario, variant, content, seed, hash, &mut observer, tap)?;
    let limit = Instant::ZERO + scenario.time_limit;
    // Companions run as long as the race does; how the link is shared shows while all of them run.
    let everyone: Vec<usize> = (0..arena.flows.len()).collect();
    run_until(&mut arena, limit, |arena| everyone.iter().any(|&flow| is_over(arena, flow)));
    let shares: Vec<u64> = everyone.iter().map(|&flow| arena.receiver(flow).report().delivered).collect();
    run_until(&mut arena, limit, |arena| is_over(arena, 0));
    let outcome = judge(&arena, scenario, content, seed, &shares);
    if outcome.finished {
        let closing = arena.network.now() + CLOSING;
        run_until(&mut arena, closing, |arena| {
            arena.sender(0).is_over(arena.network.host(arena.flows[0].sender).0)
        });
    }
    if outcome.damaged_bytes_delivered > 0 && outcome.undetected_packets == 0 {
        return Err(RunError::Inexplicable { variant, seed, damaged: outcome.damaged_bytes_delivered });
    }
    let first = arena.flows[0];
    let (sender, receiver) = arena.network.take_observers(first.sender, first.receiver);
    Ok(Recording { outcome, sender, receiver, tap: arena.network.into_tap() })
}

fn run_until<O: Observer, T: Tap>(
    arena: &mut Arena<O, T>,
    limit: Instant,
    done: impl Fn(&Arena<O, T>) -> bool,
) {
    // The arena is asked after each event, as the network itself would be.
    while !done(arena) && arena.network.step(limit) {}
}

/// Whether all has arrived, or the connection failed.
fn is_over<O: Observer, T: Tap>(arena: &Arena<O, T>, flow: usize) -> bool {
    arena.receiver(flow).is_complete() || arena.sender(flow).failure().is_some()
}

/// Jain's fairness index of what each flow got: 1 if all got the same, 1/n if one got everything.
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64) * (share as f64)).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

fn judge<O: Observer, T: Tap>(
    arena: &Arena<O, T>,
    scenario: &Scenario,
    content: &Content,
    seed: u64,
    shares: &[u64],
) -> RunOutcome {
    let (network, first) = (&arena.network, arena.flows[0]);
    let report = arena.receiver(0).report();
    let sent = arena.sender(0).statistics(network.host(first.sender).0);
    let received = arena.receiver(0).statistics(network.host(first.receiver).0);
    let time = report.completed.unwrap_or(network.now()).saturating_since(Instant::ZERO);
    let goodput = if time.is_zero() { 0.0 } else { report.delivered as f64 * 8.0 / time.as_secs_f64() };
    RunOutcome {
        variant: first.variant,
        seed,
        finished: report.completed.is_some(),
        time,
        size: content.len(),
        delivered: report.delivered,
        goodput,
        share_of_bound: scenario.bound().map(|bound| goodput / bound),
        sha256_ok: report.sha256_ok,
        damaged_bytes_delivered: report.damaged,
        undetected_packets: network.counters().undetected,
        retransmissions: sent.retransmissions,
        timeouts: sent.timeouts,
        slow_starts: sent.slow_starts,
        fast_recoveries: sent.fast_recoveries,
        special_acks: received.special_acks_sent,
        queue_drops: network.link_counters(arena.forward).queue_drops,
        octets_sent: sent.octets_sent,
        jain: jain(shares),
        companions: arena.flows[1..]
            .iter()
            .zip(&shares[1..])
            .map(|(flow, &delivered)| CompanionOutcome { variant: flow.variant, delivered })
            .collect(),
        failure: arena.sender(0).failure(),
        events: network.events(),
    }
}

#[cfg(test)]
mod tests {
    use super::jain;

    #[test]
    fn jains_index_lies_between_one_and_one_over_n() {
        assert!((jain(&[7, 7, 7]) - 1.0).abs() < 1e-12);
        assert!((jain(&[9, 0, 0]) - 1.0 / 3.0).abs() < 1e-12);
        assert!((jain(&[0, 0]) - 1.0).abs() < 1e-12, "nobody got anything");
    }
}
