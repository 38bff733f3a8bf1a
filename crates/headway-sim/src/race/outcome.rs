//! The result of a run.

use headway_link::{Histogram, LinkCounters, Quantiles};
use headway_tcp::Observer;
use headway_units::{Duration, Instant};

use super::arena::Arena;
use super::metrics::RunMetrics;
use super::oracle::OracleOutcome;
use super::scenario::Scenario;
use super::sender::{Entrant, TcpSender};
use crate::application::Application;
use crate::network::{Arrivals, GatewayStatistics, LinkId, Network, Tap};
use crate::statistics::mean;

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The sender.
    pub sender: Entrant,
    /// The seed of the run.
    pub seed: u64,
    /// Bytes that were to be sent; in a run of fixed duration those that were delivered.
    pub size: u64,
    /// What was measured.
    pub metrics: RunMetrics,
    /// What the companions had received when the first of all flows was done, or at the end of a run of
    /// fixed duration.
    pub companions: Vec<CompanionOutcome>,
    /// Packet events of the simulation.
    pub events: u64,
    /// What the links counted until the run was ended, a transfer before it included: of each hop the forward and the
    /// reverse one. None for an oracle.
    pub links: Vec<[LinkCounters; 2]>,
}

/// The result of a flow beside the one that is raced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompanionOutcome {
    /// Its sender.
    pub sender: TcpSender,
    /// Whether it represents the others on the link.
    pub rival: bool,
    /// Bytes delivered.
    pub delivered_bytes: u64,
    /// The same in bits per second.
    pub goodput_bps: f64,
}

impl RunOutcome {
    /// With the share of the oracle, from the run of the same seed.
    #[must_use]
    pub fn beside(self, oracle: Option<&OracleOutcome>) -> Self {
        let metrics = self.metrics.beside(oracle.filter(|oracle| oracle.seed == self.seed));
        Self { metrics, ..self }
    }

    /// An oracle's run.
    pub(super) fn of_oracle(oracle: &OracleOutcome, scenario: &Scenario, size: u64) -> Self {
        let metrics = RunMetrics {
            finished: oracle.finished,
            seconds: oracle.time.as_secs_f64(),
            delivered_bytes: oracle.delivered_bytes,
            undetected_packets: Some(0),
            bytes_sent: Some(oracle.bytes_sent),
            retransmissions: Some(oracle.retransmissions),
            timeouts: Some(0),
            slow_starts: Some(0),
            fast_recoveries: Some(0),
            special_acks: Some(0),
            queue_drops: Some(0),
            ..RunMetrics::default()
        };
        Self {
            sender: Entrant::Oracle,
            seed: oracle.seed,
            size: if scenario.duration.is_some() { oracle.delivered_bytes } else { size },
            metrics: metrics.of_single_flow(scenario),
            companions: Vec::new(),
            events: 2 * oracle.packets,
            links: Vec::new(),
        }
    }
}

/// What had been counted when the run began: there may have been a transfer before.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) at: Instant,
    /// Of each forward link.
    forward: Vec<(LinkCounters, Histogram)>,
    undetected: u64,
    link_bytes: u64,
    payload_bytes: u64,
    gateways: Option<[GatewayStatistics; 2]>,
    /// What the packets to the receiver of the first flow took.
    arrivals: Arrivals,
}

impl Start {
    pub(super) fn of<O: Observer + 'static, T: Tap>(arena: &Arena<O, T>) -> Self {
        Self {
            at: arena.network.now(),
            forward: arena
                .forward
                .iter()
                .map(|&link| (*arena.network.link_counters(link), arena.network.link_waits(link).clone()))
                .collect(),
            undetected: arena.network.counters().undetected,
            link_bytes: link_bytes(arena),
            payload_bytes: payload_bytes(arena),
            gateways: arena.gateways.map(|gateways| gateways.statistics(&arena.network)),
            arrivals: arena.network.arrivals(arena.flows[0].receiver).cloned().unwrap_or_default(),
        }
    }
}

/// Bytes of packets, of both directions.
fn link_bytes<O: Observer + 'static, T: Tap>(arena: &Arena<O, T>) -> u64 {
    let links = arena.forward.iter().chain(&arena.reverse);
    links.map(|&link| arena.network.link_counters(link).transmitted_bytes).sum()
}

/// Payload bytes that TCP sent over the forward path: that of the trunk, if there is one, or of the senders.
fn payload_bytes<O: Observer + 'static, T: Tap>(arena: &Arena<O, T>) -> u64 {
    match arena.gateways {
        Some(gateways) => gateways.statistics(&arena.network)[0].bytes_sent,
        None => (0..arena.flows.len())
            .map(|flow| {
                arena.sender(flow).statistics(arena.network.host(arena.flows[flow].sender).0).bytes_sent
            })
            .sum(),
    }
}

/// What a forward link did since the run began.
struct HopOutcome {
    queue_drops: u64,
    damaged: u64,
    waits: Quantiles,
}

impl HopOutcome {
    fn of<A: Application, T: Tap>(
        network: &Network<A, T>,
        link: LinkId,
        (before, waits): &(LinkCounters, Histogram),
    ) -> Self {
        let counters = network.link_counters(link);
        Self {
            queue_drops: counters.queue_drops - before.queue_drops,
            damaged: counters.hit - before.hit,
            waits: network.link_waits(link).since(waits).quantiles(),
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
    start: &Start,
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
    let hops: Vec<HopOutcome> = arena
        .forward
        .iter()
        .zip(&start.forward)
        .map(|(&link, start)| HopOutcome::of(network, link, start))
        .collect();
    let queue_drops = hops.iter().map(|hop| hop.queue_drops).sum();
    // Of several queues the longest.
    let waits =
        hops.iter().map(|hop| hop.waits).reduce(|one, next| if next.p95 > one.p95 { next } else { one });
    let waits = waits.unwrap_or_default();
    let of_hops = if hops.len() > 1 { hops } else { Vec::new() };
    let arrivals =
        network.arrivals(first.receiver).map(|arrivals| arrivals.since(&start.arrivals)).unwrap_or_default();
    // What arrives behind a trunk was sent by its gateway.
    let is_direct = arena.gateways.is_none();
    let delays = Some(arrivals.delays().quantiles()).filter(|delays| is_direct && delays.count > 0);
    let variation = arrivals.mean_variation().filter(|_| is_direct);
    let everything: u64 = (0..arena.flows.len()).map(|flow| arena.receiver(flow).report().delivered).sum();
    let shared_for = if scenario.duration.is_some() { time } else { shares.at.saturating_since(start.at) };
    let alike: Vec<u64> = arena
        .flows
        .iter()
        .zip(&shares.delivered)
        .filter(|(flow, _)| flow.name == first.name && !flow.rival && !flow.is_sized)
        .map(|(_, &share)| share)
        .collect();
    let companions: Vec<CompanionOutcome> = arena.flows[1..]
        .iter()
        .zip(&shares.delivered[1..])
        .enumerate()
        .map(|(place, (flow, &shared))| {
            // One with a size of its own is measured from its own start to its own end.
            let (delivered_bytes, span) = if flow.is_sized {
                let report = arena.receiver(place + 1).report();
                let end = report.completed.unwrap_or(network.now());
                (report.delivered, end.saturating_since(start.at + flow.start))
            } else {
                (shared, shared_for - shared_for.min(flow.start))
            };
            let goodput_bps = rate(delivered_bytes, span);
            CompanionOutcome { sender: flow.name, rival: flow.rival, delivered_bytes, goodput_bps }
        })
        .collect();
    let rivals: Vec<f64> =
        companions.iter().filter(|other| other.rival).map(|other| other.goodput_bps).collect();
    let trunk = arena.gateways.zip(start.gateways).map(|(gateways, before)| {
        let [near, far] = gateways.statistics(network);
        (near - before[0]) + (far - before[1])
    });
    let metrics = RunMetrics {
        finished,
        seconds: time.as_secs_f64(),
        sha256_ok: report.sha256_ok,
        damaged_bytes_delivered: report.damaged,
        undetected_packets: Some(network.counters().undetected - start.undetected),
        delivered_bytes: report.delivered,
        bytes_sent: Some(sent.bytes_sent),
        retransmissions: Some(sent.retransmissions),
        timeouts: Some(sent.timeouts),
        slow_starts: Some(sent.slow_starts),
        fast_recoveries: Some(sent.fast_recoveries),
        special_acks: Some(received.special_acks_sent),
        queue_drops: Some(queue_drops),
        queue_delay_median_seconds: Some(waits.median.as_secs_f64()),
        queue_delay_p95_seconds: Some(waits.p95.as_secs_f64()),
        one_way_delay_median_seconds: delays.map(|delays| delays.median.as_secs_f64()),
        one_way_delay_p95_seconds: delays.map(|delays| delays.p95.as_secs_f64()),
        delay_variation_seconds: variation.map(Duration::as_secs_f64),
        drops_per_megabyte: queue_drops as f64 / (everything.max(1) as f64 / 1e6),
        jain: jain(&shares.delivered),
        jain_alike: jain(&alike),
        rival_goodput_bps: mean(&rivals),
        companions_bps: companions.iter().map(|other| other.goodput_bps).collect(),
        total_goodput_bps: rate(shares.delivered.iter().sum(), shared_for),
        link_bytes: Some(link_bytes(arena) - start.link_bytes),
        link_payload_bytes: Some(payload_bytes(arena).saturating_sub(start.payload_bytes)),
        trunk_retransmissions: trunk.map(|trunk| trunk.retransmissions),
        trunk_timeouts: trunk.map(|trunk| trunk.timeouts),
        trunk_queue_drops: trunk.map(|trunk| trunk.queue_drops),
        hop_queue_drops: of_hops.iter().map(|hop| hop.queue_drops).collect(),
        hop_queue_delay_p95_seconds: of_hops.iter().map(|hop| hop.waits.p95.as_secs_f64()).collect(),
        hop_damaged: of_hops.iter().map(|hop| hop.damaged).collect(),
        failure: failure.map(|failure| failure.to_string()),
        ..RunMetrics::default()
    };
    RunOutcome {
        sender: first.name.into(),
        seed,
        size,
        metrics: metrics.with_goodput(scenario),
        companions,
        events: network.events(),
        links: arena
            .forward
            .iter()
            .zip(&arena.reverse)
            .map(|(&forward, &reverse)| [forward, reverse].map(|link| *network.link_counters(link)))
            .collect(),
    }
}

/// Bits per second.
fn rate(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { bytes as f64 * 8.0 / time.as_secs_f64() }
}

/// Jain's fairness index of what each flow got: 1 if all got the same, 1/n if one got everything.
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64) * (share as f64)).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_lies_between_one_and_one_over_n() {
        assert!((jain(&[7, 7, 7]) - 1.0).abs() < 1e-12);
        assert!((jain(&[9, 0, 0]) - 1.0 / 3.0).abs() < 1e-12);
        assert!((jain(&[0, 0]) - 1.0).abs() < 1e-12, "no flow received anything");
    }
}
