//! The network of a race: two hosts and a link; or, where others share the link, a router at each
//! of its ends with everybody's hosts behind it. Several links in a row have a router between them.

use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_link::LinkConfig;
use headway_tcp::ledger::Attributed;
use headway_tcp::{Host, HostConfig, Observer, OnlyPeer, Profile};
use headway_units::{Duration, Instant};

use super::gateways::Gateways;
use super::run_settings::RunSettings;
use super::scenario::{CrossTraffic, Frames, Scenario};
use super::sender::TcpSender;
use super::trunk::{Edge, Trunk};
use crate::application::Application;
use crate::content::{Content, ContentError};
use crate::network::{Exposure, LinkId, LinkPorts, Network, NodeId, SplitRoute, Tap};
use crate::seed::derive_seed;
use crate::transfer::{Receiver, Sender};

/// The networks of those who send, and of those who receive.
const SOURCES: u8 = 1;
const SINKS: u8 = 2;
const SENDER_PORT: u16 = 40_000;
const RECEIVER_PORT: u16 = 5_001;
/// The label from which the seed of the forward link is derived.
pub const FORWARD_LINK: &str = "forward link";
/// The label of the reverse link.
pub const REVERSE_LINK: &str = "reverse link";

/// The program of either side.
pub enum Racer<O> {
    /// The sending side.
    Sender(Box<Sender>, PhantomData<O>),
    /// The receiving side.
    Receiver(Box<Receiver>),
}

impl<O: Observer + 'static> Application for Racer<O> {
    type Observer = O;

    fn progress(&mut self, host: &mut Host<O>, now: Instant) {
        match self {
            Self::Sender(sender, _) => sender.progress(host, now),
            Self::Receiver(receiver) => receiver.progress(host, now),
        }
    }

    /// Whether all has arrived, or the connection failed.
    fn has_ended(&self) -> bool {
        match self {
            Self::Sender(sender, _) => sender.failure().is_some(),
            Self::Receiver(receiver) => receiver.is_complete(),
        }
    }
}

/// The hosts of one flow.
#[derive(Clone, Copy)]
pub(super) struct Flow {
    pub(super) name: TcpSender,
    pub(super) rival: bool,
    pub(super) sender: NodeId,
    pub(super) receiver: NodeId,
    /// When it begins, after the race.
    pub(super) start: Duration,
    /// It has a size of its own, and does not last as long as the race.
    pub(super) is_sized: bool,
}

pub(super) struct Arena<O: Observer + 'static, T: Tap> {
    pub(super) network: Network<Racer<O>, T>,
    /// The flow that is raced, then its companions.
    pub(super) flows: Vec<Flow>,
    /// The forward links, in the order of the hops.
    pub(super) forward: Vec<LinkId>,
    /// The reverse links, in the same order.
    pub(super) reverse: Vec<LinkId>,
    pub(super) gateways: Option<Gateways>,
    /// Recorded cross traffic.
    replay: Option<NodeId>,
    /// When the flows may begin: a trunk opens before.
    pub(super) epoch: Instant,
}

impl<O: Observer + 'static, T: Tap> Arena<O, T> {
    pub(super) fn new(
        settings: RunSettings<'_>,
        sender: TcpSender,
        observer: &mut dyn FnMut() -> O,
        tap: T,
    ) -> Result<Self, ContentError> {
        let RunSettings { scenario, seed, .. } = settings;
        let mut network = Network::with_tap(scenario.mtu, tap);
        let (sending, receiving) =
            add_flow(&mut network, scenario.profile_of(sender), settings, (0, Duration::ZERO), observer)?;
        network.measure_arrivals(receiving);
        let mut flows = vec![Flow {
            name: sender,
            rival: false,
            sender: sending,
            receiver: receiving,
            start: Duration::ZERO,
            is_sized: false,
        }];
        for other in &scenario.companions {
            let place = (flows.len() as u16, other.start);
            let own = other.size.map(Content::generated);
            let settings = RunSettings { content: own.as_ref().unwrap_or(settings.content), ..settings };
            let profile = scenario.profile_beside(other);
            let (sending, receiving) = add_flow(&mut network, profile, settings, place, observer)?;
            flows.push(Flow {
                name: other.sender,
                rival: other.rival,
                sender: sending,
                receiver: receiving,
                start: other.start,
                is_sized: other.size.is_some(),
            });
        }
        let links = scenario.links();
        let routers = if scenario.is_point_to_point() {
            let Flow { sender, receiver, .. } = flows[0];
            if scenario.frames == Frames::Count {
                network.set_only_peer(sender, OnlyPeer::new(source_address(0), sink_address(0)));
                network.set_only_peer(receiver, OnlyPeer::new(sink_address(0), source_address(0)));
            }
            vec![sender, receiver]
        } else {
            (0..=links.len()).map(|_| network.add_router()).collect()
        };
        let gateways = scenario
            .trunk
            .as_ref()
            .map(|trunk| add_gateways(&mut network, settings, trunk, &flows, (routers[0], routers[1])));
        let (mut forward, mut reverse) = (Vec::new(), Vec::new());
        for (place, (there, back)) in links.into_iter().enumerate() {
            // The routers lead to the gateways, if there are any, and these to each other.
            let (near, far) = gateways
                .as_ref()
                .map_or((routers[place], routers[place + 1]), |(gateways, _)| (gateways.near, gateways.far));
            let mut add = |from, to, link: &LinkConfig, purpose| {
                let seed = derive_seed(seed, purpose, place as u64);
                network.add_link(LinkPorts { from, to }, link.clone(), seed)
            };
            forward.push(add(near, far, there, FORWARD_LINK));
            reverse.push(add(far, near, back, REVERSE_LINK));
        }
        let (gateways, across) = match gateways {
            Some((gateways, (forward, reverse))) => (Some(gateways), (vec![forward], vec![reverse])),
            None => (None, (forward.clone(), reverse.clone())),
        };
        let mut arena =
            Self { network, flows, forward, reverse, gateways, replay: None, epoch: Instant::ZERO };
        if routers[0] != arena.flows[0].sender {
            arena.connect_edges(scenario, &routers, (&across.0, &across.1));
        }
        Ok(arena)
    }

    /// Lets a trunk open, which takes until `limit` at most, before the flows begin.
    pub(super) fn open_trunk(&mut self, limit: Instant) {
        let Some(Gateways { near, far }) = self.gateways else { return };
        self.network.run(limit, |network| network.is_gateway_open(near) && network.is_gateway_open(far));
        self.epoch = self.network.now();
        for flow in &self.flows {
            if let Racer::Sender(sender, _) = self.network.host_mut(flow.sender).1 {
                sender.start_at(self.epoch + flow.start);
            }
        }
        let at_once = self.flows.iter().filter(|flow| flow.start.is_zero());
        for sender in at_once.map(|flow| flow.sender).collect::<Vec<_>>() {
            self.network.wake(sender);
        }
        if let Some(replay) = self.replay {
            self.network.start_replay(replay, self.epoch);
        }
    }

    /// The links of each host alone, which have no limit, and the routes over the shared ones, or to the gateways:
    /// `forward` leads from each router to the next, `reverse` from each but the first to the one before it.
    fn connect_edges(
        &mut self,
        scenario: &Scenario,
        routers: &[NodeId],
        (forward, reverse): (&[LinkId], &[LinkId]),
    ) {
        let edge = || scenario.edge.link(Duration::ZERO);
        let network = &mut self.network;
        let mut exposed = Vec::new();
        for (place, flow) in self.flows.iter().enumerate() {
            let (source, sink) = (source_address(place as u16), sink_address(place as u16));
            let hops = match place.checked_sub(1) {
                Some(other) => scenario.companions[other].hops,
                None => scenario.flow_hops,
            };
            let hops = hops.places(forward.len());
            let (left, right) = (routers[hops.start], routers[hops.end]);
            // Its own delay is that of the link to its sender, on both paths.
            let delay = place.checked_sub(1).map_or(Duration::ZERO, |other| scenario.companions[other].delay);
            let far = || scenario.edge.link(delay);
            network.add_link(LinkPorts { from: flow.sender, to: left }, far(), 0);
            network.add_link(LinkPorts { from: flow.receiver, to: right }, edge(), 0);
            let home = network.add_link(LinkPorts { from: left, to: flow.sender }, far(), 0);
            network.add_route(left, source, home);
            for place in hops.clone() {
                network.add_route(routers[place + 1], source, reverse[place]);
            }
            let there = network.add_link(LinkPorts { from: right, to: flow.receiver }, edge(), 0);
            network.add_route(right, sink, there);
            for place in hops {
                network.add_route(routers[place], sink, forward[place]);
            }
            if place == 0 || scenario.companions[place - 1].damaged {
                exposed.push(source);
            }
        }
        if self.gateways.is_none() {
            for &link in forward {
                network.expose(link, Exposure::Sources(exposed.clone()));
            }
        }
        if let Some(cross) = &scenario.cross {
            let place = self.flows.len() as u16;
            let (source, sink) = (source_address(place), sink_address(place));
            let cross = match cross {
                CrossTraffic::Constant { rate, packet } => {
                    let len = usize::from((*packet).min(scenario.mtu)).max(28);
                    let Ok(cross) = network.add_source(source, sink, *rate, len) else {
                        unreachable!("both addresses are IPv4 and the datagram has room for its headers");
                    };
                    cross
                }
                CrossTraffic::Replay(trace) => {
                    // A trunk has to open before.
                    let start = self.gateways.is_none().then_some(Instant::ZERO);
                    let (source, sink) = (address(SOURCES, place), address(SINKS, place));
                    *self.replay.insert(network.add_replay(source, sink, trace.clone(), start))
                }
            };
            let hops = scenario.cross_hops.places(forward.len());
            let (left, right) = (routers[hops.start], routers[hops.end]);
            network.add_link(LinkPorts { from: cross, to: left }, edge(), 0);
            for place in hops {
                network.add_route(routers[place], sink, forward[place]);
            }
            let end = network.add_sink();
            let there = network.add_link(LinkPorts { from: right, to: end }, edge(), 0);
            network.add_route(right, sink, there);
        }
    }

    /// Begins a second transfer between the hosts of the first flow.
    pub(super) fn transfer_again(
        &mut self,
        RunSettings { scenario, content, hash, .. }: RunSettings<'_>,
    ) -> Result<(), ContentError> {
        let Flow { name, sender, receiver, .. } = self.flows[0];
        let (sending, receiving) =
            programs(scenario.profile_of(name), (content, hash), Duration::ZERO, 0, 1)?;
        *self.network.host_mut(receiver).1 = receiving;
        self.network.wake(receiver);
        *self.network.host_mut(sender).1 = sending;
        self.network.wake(sender);
        Ok(())
    }

    pub(super) fn receiver(&self, flow: usize) -> &Receiver {
        match self.network.host(self.flows[flow].receiver).1 {
            Racer::Receiver(receiver) => receiver,
            Racer::Sender(..) => unreachable!("the receiver's node holds a receiver"),
        }
    }

    /// What the sender of the first flow took losses for, on its path.
    pub(super) fn attributed(&self) -> Attributed {
        let (host, _) = self.network.host(self.flows[0].sender);
        host.path(source_address(0), sink_address(0)).map(|path| path.ledger.attributed()).unwrap_or_default()
    }

    pub(super) fn sender(&self, flow: usize) -> &Sender {
        match self.network.host(self.flows[flow].sender).1 {
            Racer::Sender(sender, _) => sender,
            Racer::Receiver(_) => unreachable!("the sender's node holds a sender"),
        }
    }
}

/// Adds the hosts of the flow number `place`, which begins at `start`.
fn add_flow<O: Observer + 'static, T: Tap>(
    network: &mut Network<Racer<O>, T>,
    profile: Arc<Profile>,
    RunSettings { scenario, content, seed, hash }: RunSettings<'_>,
    (place, start): (u16, Duration),
    observer: &mut dyn FnMut() -> O,
) -> Result<(NodeId, NodeId), ContentError> {
    let mut host = |address: IpAddr, purpose| {
        let mut secret = [0; 16];
        for (half, bytes) in secret.chunks_exact_mut(8).enumerate() {
            let number = derive_seed(seed, purpose, 2 * u64::from(place) + half as u64);
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        Host::with_observer(HostConfig::new(address, secret), observer())
    };
    let (mut sender, receiver) = programs(profile, (content, hash), start, place, 0)?;
    if let (Racer::Sender(sender, _), true) = (&mut sender, scenario.trunk.is_some()) {
        // Until the trunk is open.
        sender.start_at(Instant::MAX);
    }
    // The receiver comes first, so that it listens when the SYN arrives.
    let receiver = network.add_host(host(sink_address(place), "receiver"), receiver);
    let sender = network.add_host(host(source_address(place), "sender"), sender);
    Ok((sender, receiver))
}

/// Adds the gateways and the links between them and the routers; gives the ways from the routers to the gateways.
fn add_gateways<O: Observer + 'static, T: Tap>(
    network: &mut Network<Racer<O>, T>,
    RunSettings { scenario, seed, .. }: RunSettings<'_>,
    trunk: &Trunk,
    flows: &[Flow],
    (left, right): (NodeId, NodeId),
) -> (Gateways, (LinkId, LinkId)) {
    let routes: Vec<SplitRoute> = (0..flows.len())
        .map(|place| SplitRoute {
            source: source_address(place as u16),
            sink: sink_address(place as u16),
            profile: match place.checked_sub(1) {
                Some(other) => scenario.profile_beside(&scenario.companions[other]),
                None => scenario.profile_of(flows[place].name),
            },
        })
        .collect();
    // A second transfer has a port of its own.
    let ports = [RECEIVER_PORT, RECEIVER_PORT + 1];
    let gateways = Gateways::add(network, (scenario, trunk), seed, &routes, &ports);
    let mut join =
        |from, to| network.add_link(LinkPorts { from, to }, Edge::default().link(Duration::ZERO), 0);
    join(gateways.near, left);
    join(gateways.far, right);
    let ways = (join(left, gateways.near), join(right, gateways.far));
    (gateways, ways)
}

/// The two ends of a flow's transfer, each transfer on ports of its own.
fn programs<O>(
    profile: Arc<Profile>,
    (content, hash): (&Content, bool),
    start: Duration,
    place: u16,
    transfer: u16,
) -> Result<(Racer<O>, Racer<O>), ContentError> {
    let source = SocketAddr::new(source_address(place), SENDER_PORT + transfer);
    let sink = SocketAddr::new(sink_address(place), RECEIVER_PORT + transfer);
    let receiver = Receiver::new(sink, profile.clone(), content, hash)?;
    let sender = Sender::new(source, sink, profile, content)?.starting_at(Instant::ZERO + start);
    Ok((Racer::Sender(Box::new(sender), PhantomData), Racer::Receiver(Box::new(receiver))))
}

fn source_address(place: u16) -> IpAddr {
    IpAddr::V4(address(SOURCES, place))
}

fn sink_address(place: u16) -> IpAddr {
    IpAddr::V4(address(SINKS, place))
}

/// 10.0.net.1 and what follows it, and after 255 hosts 10.1.net.0.
fn address(net: u8, place: u16) -> Ipv4Addr {
    let [high, low] = (place + 1).to_be_bytes();
    Ipv4Addr::new(10, high, net, low)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn thousands_of_hosts_have_addresses_of_their_own() {
        assert_eq!(address(SOURCES, 0), Ipv4Addr::new(10, 0, 1, 1));
        assert_eq!(address(SINKS, 255), Ipv4Addr::new(10, 1, 2, 0));
        let all: BTreeSet<Ipv4Addr> =
            (0..=2001).flat_map(|place| [SOURCES, SINKS].map(|net| address(net, place))).collect();
        assert_eq!(all.len(), 2 * 2002);
    }
}
