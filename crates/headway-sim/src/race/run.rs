//! One run: one sender, one seed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use headway_tcp::{ConnectionError, Host, HostConfig, Observer, Variant};
use headway_units::{Duration, Instant};

use super::Scenario;
use crate::content::{Content, ContentError};
use crate::network::{LinkPorts, Network, NodeId};
use crate::seed::derive_seed;
use crate::tap::Tap;
use crate::transfer::{Receiver, Sender};
use crate::{Application, LinkId};

const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const RECEIVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const SENDER_PORT: u16 = 40_000;
const RECEIVER_PORT: u16 = 5_001;

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
    /// Why the connection failed, if it did.
    pub failure: Option<ConnectionError>,
    /// Packet events of the simulation.
    pub events: u64,
}

/// The program of either side.
pub enum Racer<O> {
    /// The sending side.
    Sender(Box<Sender>, std::marker::PhantomData<O>),
    /// The receiving side.
    Receiver(Box<Receiver>),
}

impl<O: Observer> Application for Racer<O> {
    type Observer = O;

    fn progress(&mut self, host: &mut Host<O>, now: Instant) {
        match self {
            Self::Sender(sender, _) => sender.progress(host, now),
            Self::Receiver(receiver) => receiver.progress(host, now),
        }
    }
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
    let profile = scenario.profile_of(variant);
    let (source, sink) = (SocketAddr::new(SENDER, SENDER_PORT), SocketAddr::new(RECEIVER, RECEIVER_PORT));
    let mut network = Network::with_tap(scenario.mtu, tap);
    let mut host = |address, purpose| {
        let secret = [derive_seed(seed, purpose, 0), derive_seed(seed, purpose, 1)];
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&secret[0].to_le_bytes());
        bytes[8..].copy_from_slice(&secret[1].to_le_bytes());
        Host::with_observer(HostConfig::new(address, bytes), observer())
    };
    // The receiver comes first, so that it listens when the SYN arrives.
    let receiver = network.add_host(
        host(RECEIVER, "receiver"),
        Racer::Receiver(Box::new(Receiver::new(sink, profile.clone(), content, hash)?)),
    );
    let sender = network.add_host(
        host(SENDER, "sender"),
        Racer::Sender(Box::new(Sender::new(source, sink, profile, content)?), std::marker::PhantomData),
    );
    let forward = LinkPorts { from: sender, to: receiver };
    let forward = network.add_link(forward, scenario.forward, derive_seed(seed, "forward link", 0));
    let reverse = LinkPorts { from: receiver, to: sender };
    network.add_link(reverse, scenario.reverse, derive_seed(seed, "reverse link", 0));

    let limit = Instant::ZERO + scenario.time_limit;
    network.run(limit, |network| has_arrived(network, receiver) || has_failed(network, sender));
    let outcome = judge(&network, scenario, variant, content, seed, (sender, receiver), forward);
    if outcome.finished {
        network.run(network.now() + CLOSING, |network| has_closed(network, sender));
    }
    if outcome.damaged_bytes_delivered > 0 && outcome.undetected_packets == 0 {
        return Err(RunError::Inexplicable { variant, seed, damaged: outcome.damaged_bytes_delivered });
    }
    let (sender, receiver) = network.take_observers(sender, receiver);
    Ok(Recording { outcome, sender, receiver, tap: network.into_tap() })
}

fn receiver_of<O: Observer, T: Tap>(network: &Network<Racer<O>, T>, node: NodeId) -> &Receiver {
    match network.host(node).1 {
        Racer::Receiver(receiver) => receiver,
        Racer::Sender(..) => unreachable!("the receiver's node holds a receiver"),
    }
}

fn sender_of<O: Observer, T: Tap>(network: &Network<Racer<O>, T>, node: NodeId) -> &Sender {
    match network.host(node).1 {
        Racer::Sender(sender, _) => sender,
        Racer::Receiver(_) => unreachable!("the sender's node holds a sender"),
    }
}

fn has_arrived<O: Observer, T: Tap>(network: &Network<Racer<O>, T>, receiver: NodeId) -> bool {
    receiver_of(network, receiver).is_complete()
}

fn has_failed<O: Observer, T: Tap>(network: &Network<Racer<O>, T>, sender: NodeId) -> bool {
    sender_of(network, sender).failure().is_some()
}

fn has_closed<O: Observer, T: Tap>(network: &Network<Racer<O>, T>, sender: NodeId) -> bool {
    sender_of(network, sender).is_over(network.host(sender).0)
}

fn judge<O: Observer, T: Tap>(
    network: &Network<Racer<O>, T>,
    scenario: &Scenario,
    variant: Variant,
    content: &Content,
    seed: u64,
    (sender, receiver): (NodeId, NodeId),
    forward: LinkId,
) -> RunOutcome {
    let report = receiver_of(network, receiver).report();
    let sent = sender_of(network, sender).statistics(network.host(sender).0);
    let received = receiver_of(network, receiver).statistics(network.host(receiver).0);
    let time = report.completed.unwrap_or(network.now()).saturating_since(Instant::ZERO);
    let goodput = if time.is_zero() { 0.0 } else { report.delivered as f64 * 8.0 / time.as_secs_f64() };
    RunOutcome {
        variant,
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
        queue_drops: network.link_counters(forward).queue_drops,
        failure: sender_of(network, sender).failure(),
        events: network.events(),
    }
}
