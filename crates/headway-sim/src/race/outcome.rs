//! What came of a run.

use headway_tcp::{ConnectionError, Observer};
use headway_units::{Duration, Instant};

use super::Scenario;
use super::arena::Arena;
use super::oracle::OracleOutcome;
use super::sender::{Entrant, TcpSender};
use crate::tap::Tap;

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The sender.
    pub sender: Entrant,
    /// The seed of the run.
    pub seed: u64,
    /// Whether all had arrived within the time limit. A run of fixed duration finishes unless its
    /// connection fails.
    pub finished: bool,
    /// Virtual time from the first SYN to the last octet's arrival, or until the run was ended; the
    /// duration, where that is fixed.
    pub time: Duration,
    /// Octets that were to be sent; in a run of fixed duration those that were delivered.
    pub size: u64,
    /// Octets that were delivered.
    pub delivered: u64,
    /// Payload bits delivered per second of virtual time.
    pub goodput: f64,
    /// Goodput as a share of the scenario's bound.
    pub share_of_bound: Option<f64>,
    /// Goodput as a share of the oracle's in the same run, where [`RunOutcome::beside`] was told of it:
    /// for the same octets, the oracle's time as a share of this sender's.
    pub share_of_oracle: Option<f64>,
    /// Whether the SHA-256 of what arrived is the content's; `None` where nothing was hashed or
    /// not all arrived.
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
    /// Packets of all flows that the queue in the way of the data dropped.
    pub queue_drops: u64,
    /// Of those, how many for each 10^6 octets that were delivered to anybody.
    pub drops_per_megabyte: f64,
    /// Payload octets sent, repeats included.
    pub octets_sent: u64,
    /// Jain's fairness index of what all flows had received when the first of them was done, or at
    /// the end of a run of fixed duration.
    pub jain: f64,
    /// The same of those flows alone that have the sender that is raced and are no rivals.
    pub jain_alike: f64,
    /// What the companions had received then.
    pub companions: Vec<CompanionOutcome>,
    /// Why the connection failed, if it did.
    pub failure: Option<ConnectionError>,
    /// Packet events of the simulation.
    pub events: u64,
}

/// What became of a flow beside the one that is raced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompanionOutcome {
    /// Its sender.
    pub sender: TcpSender,
    /// Whether it stands for the others on the link.
    pub rival: bool,
    /// Octets delivered when the first of all flows was done, or at the end of a run of fixed duration.
    pub delivered: u64,
    /// The same in bits per second.
    pub goodput: f64,
}

impl RunOutcome {
    /// With the share of the oracle, from the run of the same seed.
    #[must_use]
    pub fn beside(self, oracle: Option<&OracleOutcome>) -> Self {
        let best = oracle.filter(|oracle| oracle.seed == self.seed).map(|oracle| oracle.goodput);
        let share_of_oracle = best.filter(|best| *best > 0.0).map(|best| self.goodput / best);
        Self { share_of_oracle, ..self }
    }

    /// Mean goodput of the rivals, bit/s; `None` if there are none.
    pub fn rival_goodput(&self) -> Option<f64> {
        let rivals: Vec<f64> =
            self.companions.iter().filter(|other| other.rival).map(|other| other.goodput).collect();
        crate::statistics::mean(&rivals)
    }

    /// An oracle's run.
    pub(super) fn of_oracle(oracle: &OracleOutcome, scenario: &Scenario, size: u64) -> Self {
        Self {
            sender: Entrant::Oracle,
            seed: oracle.seed,
            finished: oracle.finished,
            time: oracle.time,
            size: if scenario.duration.is_some() { oracle.delivered } else { size },
            delivered: oracle.delivered,
            goodput: oracle.goodput,
            share_of_bound: scenario.bound().map(|bound| oracle.goodput / bound),
            share_of_oracle: None,
            sha256_ok: None,
            damaged_bytes_delivered: 0,
            undetected_packets: 0,
            retransmissions: oracle.resent,
            timeouts: 0,
            slow_starts: 0,
            fast_recoveries: 0,
            special_acks: 0,
            queue_drops: 0,
            drops_per_megabyte: 0.0,
            octets_sent: oracle.octets_sent,
            jain: 1.0,
            jain_alike: 1.0,
            companions: Vec::new(),
            failure: None,
            events: 2 * oracle.packets,
        }
    }
}

/// What had been counted when the run began: there may have been a transfer before.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub(super) at: Instant,
    queue_drops: u64,
    undetected: u64,
}

impl Start {
    pub(super) fn of<O: Observer + 'static, T: Tap>(arena: &Arena<O, T>) -> Self {
        Self {
            at: arena.network.now(),
            queue_drops: arena.network.link_counters(arena.forward).queue_drops,
            undetected: arena.network.counters().undetected,
        }
    }
}

/// What each flow had received when the first was done.
pub(super) struct Shares {
    at: Instant,
    delivered: Vec<u64>,
}

impl Shares {
    pub(super) fn of<O: Observer + 'static, T: Tap>(arena: &Arena<O, T>) -> Self {
        let delivered = (0..arena.flows.len()).map(|flow| arena.receiver(flow).report().delivered);
        Self { at: arena.network.now(), delivered: delivered.collect() }
    }
}

pub(super) fn judge<O: Observer + 'static, T: Tap>(
    arena: &Arena<O, T>,
    scenario: &Scenario,
    size: u64,
    seed: u64,
    start: Start,
    shares: &Shares,
) -> RunOutcome {
    let (network, first) = (&arena.network, arena.flows[0]);
    let report = arena.receiver(0).report();
    let sent = arena.sender(0).statistics(network.host(first.sender).0);
    let received = arena.receiver(0).statistics(network.host(first.receiver).0);
    let failure = arena.sender(0).failure();
    let (finished, time, size) = match scenario.duration {
        Some(duration) => (failure.is_none(), duration, report.delivered),
        None => {
            let end = report.completed.unwrap_or(network.now());
            (report.completed.is_some(), end.saturating_since(start.at), size)
        }
    };
    let queue_drops = network.link_counters(arena.forward).queue_drops - start.queue_drops;
    let everything: u64 = (0..arena.flows.len()).map(|flow| arena.receiver(flow).report().delivered).sum();
    let shared_for = if scenario.duration.is_some() { time } else { shares.at.saturating_since(start.at) };
    let goodput = rate(report.delivered, time);
    let alike: Vec<u64> = arena
        .flows
        .iter()
        .zip(&shares.delivered)
        .filter(|(flow, _)| flow.name == first.name && !flow.rival)
        .map(|(_, &share)| share)
        .collect();
    RunOutcome {
        sender: first.name.into(),
        seed,
        finished,
        time,
        size,
        delivered: report.delivered,
        goodput,
        share_of_bound: scenario.bound().map(|bound| goodput / bound),
        share_of_oracle: None,
        sha256_ok: report.sha256_ok,
        damaged_bytes_delivered: report.damaged,
        undetected_packets: network.counters().undetected - start.undetected,
        retransmissions: sent.retransmissions,
        timeouts: sent.timeouts,
        slow_starts: sent.slow_starts,
        fast_recoveries: sent.fast_recoveries,
        special_acks: received.special_acks_sent,
        queue_drops,
        drops_per_megabyte: queue_drops as f64 / (everything.max(1) as f64 / 1e6),
        octets_sent: sent.bytes_sent,
        jain: jain(&shares.delivered),
        jain_alike: jain(&alike),
        companions: arena.flows[1..]
            .iter()
            .zip(&shares.delivered[1..])
            .map(|(flow, &delivered)| CompanionOutcome {
                sender: flow.name,
                rival: flow.rival,
                delivered,
                goodput: rate(delivered, shared_for),
            })
            .collect(),
        failure,
        events: network.events(),
    }
}

/// Bits per second.
fn rate(octets: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { octets as f64 * 8.0 / time.as_secs_f64() }
}

/// Jain's fairness index of what each flow got: 1 if all got the same, 1/n if one got everything.
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64) * (share as f64)).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
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
