//! A trunk between the hosts: gateways at both ends of the link.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;
use std::sync::Arc;

use headway_link::{Aqm, LinkConfig, QueueLimit};
use headway_tcp::{DelayedAck, OnlyPeer, Profile};
use headway_units::{Duration, Rate, Size};

use super::sender::TcpSender;
use super::unknown_name::UnknownName;
use super::{Frames, ProfileName, Scenario};
use crate::application::Application;
use crate::network::{
    GatewayConfig, GatewayStatistics, Network, NodeId, PacketGatewayConfig, SplitGatewayConfig, SplitRoute,
    Tap,
};
use crate::seed::derive_seed;

/// A trunk: what the gateways at both ends of the link do.
#[derive(Clone, Debug, PartialEq)]
pub struct Trunk {
    /// The TCP between the gateways.
    pub sender: TcpSender,
    /// What it carries.
    pub mode: TrunkMode,
    /// The largest window between the gateways.
    pub window: Size,
    /// How many packets wait for it, in packet mode.
    pub queue: QueueLimit,
    /// What else manages that queue.
    pub aqm: Aqm,
    /// Time that a gateway takes for one packet of the hosts, in packet mode.
    pub cost: Duration,
}

impl Trunk {
    /// Packets that wait for a trunk unless it says otherwise.
    const QUEUE: QueueLimit = QueueLimit::Packets(50);

    /// A trunk of this sender in packet mode, with this window.
    pub fn new(sender: TcpSender, window: Size) -> Self {
        let (queue, aqm, cost) = (Self::QUEUE, Aqm::None, Duration::ZERO);
        Self { sender, mode: TrunkMode::Packets, window, queue, aqm, cost }
    }
}

/// What a trunk carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrunkMode {
    /// IP packets in one connection, as the papers' TCP Trunk.
    #[default]
    Packets,
    /// The bytes of each connection of the hosts, which ends at the gateways, in a connection of its own.
    Split,
}

impl TrunkMode {
    /// Its name in options and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Split => "split",
        }
    }
}

impl fmt::Display for TrunkMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TrunkMode {
    type Err = UnknownName;

    fn from_str(input: &str) -> Result<Self, Self::Err> {
        [Self::Packets, Self::Split]
            .into_iter()
            .find(|mode| mode.name() == input)
            .ok_or_else(|| UnknownName { input: input.into(), expected: "packets or split" })
    }
}

/// The links between each host and the end of the shared link, which neither lose nor damage packets. The default
/// takes no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// Their rate, in both directions; `None`: infinitely fast.
    pub rate: Option<Rate>,
    /// Their one-way delay.
    pub delay: Duration,
}

impl Edge {
    /// With a delay in addition.
    pub(super) fn link(self, delay: Duration) -> LinkConfig {
        let queue = QueueLimit::Unlimited;
        LinkConfig { rate: self.rate, delay: self.delay + delay, queue, ..LinkConfig::default() }
    }
}

/// The gateways of a run.
#[derive(Clone, Copy)]
pub(super) struct Gateways {
    pub(super) near: NodeId,
    pub(super) far: NodeId,
}

impl Gateways {
    pub(super) fn addresses() -> [IpAddr; 2] {
        [1, 2].map(|last| Ipv4Addr::new(10, 0, 3, last).into())
    }

    /// Adds both; their first ports have to lead to the hosts, and their second to each other. `routes` and `ports` are
    /// of the connections that are carried in split mode.
    pub(super) fn add<A: Application, T: Tap>(
        network: &mut Network<A, T>,
        (scenario, trunk): (&Scenario, &Trunk),
        seed: u64,
        routes: &[SplitRoute],
        ports: &[u16],
    ) -> Self {
        let profile = Arc::new(scenario.trunk_profile(trunk));
        let [near, far] = Self::addresses();
        let mut add = |local, remote, purpose: &str| {
            let half = |half| derive_seed(seed, purpose, half).to_le_bytes();
            let secret = std::array::from_fn(|place| half(place as u64 / 8)[place % 8]);
            let gateway =
                GatewayConfig { local, remote, secret, profile: profile.clone(), opens: local == near };
            let node = match trunk.mode {
                TrunkMode::Packets => network.add_packet_gateway(PacketGatewayConfig {
                    gateway,
                    queue: trunk.queue,
                    aqm: trunk.aqm,
                    seed: derive_seed(seed, purpose, 2),
                    cost: trunk.cost,
                }),
                TrunkMode::Split => network.add_split_gateway(SplitGatewayConfig {
                    gateway,
                    routes: routes.to_vec(),
                    ports: ports.to_vec(),
                }),
            };
            if scenario.frames == Frames::Count {
                network.set_gateway_peer(node, OnlyPeer::new(local, remote));
            }
            node
        };
        // The one that listens comes first, as with hosts.
        let far_gateway = add(far, near, "far gateway");
        Self { near: add(near, far, "near gateway"), far: far_gateway }
    }

    /// What the near gateway counted, and the far one.
    pub(super) fn statistics<A: Application, T: Tap>(
        &self,
        network: &Network<A, T>,
    ) -> [GatewayStatistics; 2] {
        [self.near, self.far].map(|gateway| network.gateway_statistics(gateway))
    }
}

impl Scenario {
    /// The profile of the connections between the gateways.
    fn trunk_profile(&self, trunk: &Trunk) -> Profile {
        let mut profile = self.bare_profile(trunk.sender, trunk.window);
        profile.rto.retries = None;
        // A packet of the hosts, or a part of one, waits for no other.
        profile.nagle = false;
        if self.profile_name(trunk.sender) == ProfileName::Modern {
            profile.syn_retries = u32::MAX;
            // As a live gateway: a delayed ACK of one stream looks like a queue to those that share its window.
            profile.delayed_ack = DelayedAck { timeout: Duration::ZERO, ..profile.delayed_ack };
        }
        if trunk.mode == TrunkMode::Packets {
            // What the connection cannot send yet waits in the queue in front of it, which drops.
            profile.not_sent = 2 * usize::from(self.mtu);
        }
        profile
    }
}
