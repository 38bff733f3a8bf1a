//! Trunk gateways: two nodes with the lossy link between them, each with hosts behind it.
//!
//! In packet mode ([`packet_mode`]) they carry IP packets in one TCP connection, as the papers' TCP Trunk. In split
//! mode ([`split_mode`]) they end the hosts' connections and carry the bytes of each in a connection of their own.
//!
//! The first port of a gateway leads to its hosts, the second to the other gateway.

mod end;
mod packet_mode;
mod preface;
mod split_mode;

use std::net::IpAddr;
use std::ops::{Add, Sub};
use std::sync::Arc;

use headway_link::{Aqm, QueueLimit};
use headway_tcp::{Host, OnlyPeer, Profile, Statistics};
use headway_units::Duration;

use super::{Network, NodeId};
use crate::application::Application;
use crate::tap::Tap;
use packet_mode::PacketGateway;
use split_mode::SplitGateway;

/// One end of a trunk.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Its address on the link between the gateways, which no host has.
    pub local: IpAddr,
    /// That of the other gateway.
    pub remote: IpAddr,
    /// Secret of its host ([`headway_tcp::HostConfig::secret`]).
    pub secret: [u8; 16],
    /// The connections between the gateways.
    pub profile: Arc<Profile>,
    /// It opens them; the other one listens.
    pub opens: bool,
}

/// A gateway in packet mode.
#[derive(Clone, Debug)]
pub struct PacketGatewayConfig {
    /// What every gateway has.
    pub gateway: GatewayConfig,
    /// How many packets wait for the connection.
    pub queue: QueueLimit,
    /// What else manages that queue.
    pub aqm: Aqm,
    /// Seed of its randomness.
    pub seed: u64,
    /// Time that it takes to take one packet over, one after the other.
    pub cost: Duration,
}

/// A gateway in split mode.
#[derive(Clone, Debug)]
pub struct SplitGatewayConfig {
    /// What every gateway has.
    pub gateway: GatewayConfig,
    /// The connections that it carries.
    pub routes: Vec<SplitRoute>,
    /// The TCP ports of the hosts that are connected to.
    pub ports: Vec<u16>,
}

/// Connections from one host to another, which gateways in split mode end on both sides.
#[derive(Clone, Debug)]
pub struct SplitRoute {
    /// The host that connects. The far gateway connects with its address.
    pub source: IpAddr,
    /// The host that it connects to. The near gateway accepts with its address.
    pub sink: IpAddr,
    /// The gateways' ends of the connections with these hosts.
    pub profile: Arc<Profile>,
}

/// What a gateway counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayStatistics {
    /// Payload bytes sent to the other gateway, retransmissions included.
    pub bytes_sent: u64,
    /// Segments retransmitted to the other gateway.
    pub retransmissions: u64,
    /// Expiries of the retransmission timers of the connections between the gateways.
    pub timeouts: u64,
    /// Packets that the queue in front of the trunk dropped.
    pub queue_drops: u64,
    /// Connections to the other gateway that failed: damage that no checksum detected made them useless.
    pub failures: u64,
}

impl GatewayStatistics {
    fn add_connection(&mut self, statistics: Option<Statistics>) {
        let Some(statistics) = statistics else { return };
        self.bytes_sent += statistics.bytes_sent;
        self.retransmissions += statistics.retransmissions;
        self.timeouts += statistics.timeouts;
    }
}

impl Add for GatewayStatistics {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            bytes_sent: self.bytes_sent + other.bytes_sent,
            retransmissions: self.retransmissions + other.retransmissions,
            timeouts: self.timeouts + other.timeouts,
            queue_drops: self.queue_drops + other.queue_drops,
            failures: self.failures + other.failures,
        }
    }
}

/// What was counted since `earlier`.
impl Sub for GatewayStatistics {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            bytes_sent: self.bytes_sent - earlier.bytes_sent,
            retransmissions: self.retransmissions - earlier.retransmissions,
            timeouts: self.timeouts - earlier.timeouts,
            queue_drops: self.queue_drops - earlier.queue_drops,
            failures: self.failures - earlier.failures,
        }
    }
}

/// A gateway of either mode, as the network looks at it.
trait Gateway {
    fn statistics(&self) -> GatewayStatistics;
    fn is_open(&self) -> bool;
    fn set_only_peer(&mut self, peer: OnlyPeer);
}

impl<A: Application, T: Tap> Network<A, T> {
    /// Adds a gateway in packet mode. Its first port has to lead to its hosts, its second to the other gateway.
    ///
    /// # Panics
    ///
    /// The profile cannot work.
    pub fn add_packet_gateway(&mut self, config: PacketGatewayConfig) -> NodeId {
        let mtu = self.mtu();
        self.add(PacketGateway::new(config, mtu))
    }

    /// Adds a gateway in split mode, with ports like those of [`Network::add_packet_gateway`].
    ///
    /// # Panics
    ///
    /// A profile cannot work.
    pub fn add_split_gateway(&mut self, config: SplitGatewayConfig) -> NodeId {
        self.add(SplitGateway::new(config))
    }

    /// What a gateway counted.
    ///
    /// # Panics
    ///
    /// `node` is not a gateway.
    pub fn gateway_statistics(&self, node: NodeId) -> GatewayStatistics {
        self.gateway(node).statistics()
    }

    /// Whether a gateway is ready to carry. One in split mode opens connections when hosts ask for them.
    ///
    /// # Panics
    ///
    /// `node` is not a gateway.
    pub fn is_gateway_open(&self, node: NodeId) -> bool {
        self.gateway(node).is_open()
    }

    /// As [`Network::set_only_peer`], of the gateway's host: the link between the gateways has no other ends.
    ///
    /// # Panics
    ///
    /// `node` is not a gateway.
    pub fn set_gateway_peer(&mut self, node: NodeId, peer: OnlyPeer) {
        let gateway: &mut dyn Gateway = if self.is::<PacketGateway>(node) {
            self.node_mut::<PacketGateway>(node, "gateway")
        } else {
            self.node_mut::<SplitGateway>(node, "gateway")
        };
        gateway.set_only_peer(peer);
    }

    fn gateway(&self, node: NodeId) -> &dyn Gateway {
        if self.is::<PacketGateway>(node) {
            self.node::<PacketGateway>(node, "gateway")
        } else {
            self.node::<SplitGateway>(node, "gateway")
        }
    }
}

/// A host without an observer.
type PlainHost = Host<()>;
