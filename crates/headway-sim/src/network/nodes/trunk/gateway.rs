//! What gateways of both modes have in common: their configurations, and what they count.

use std::net::IpAddr;
use std::ops::{Add, Sub};
use std::sync::Arc;

use headway_link::{Aqm, QueueLimit};
use headway_tcp::{Host, OnlyPeer, Profile, Statistics};
use headway_units::Duration;

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
    pub(super) fn add_connection(&mut self, statistics: Option<Statistics>) {
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
pub(in crate::network) trait Gateway {
    fn statistics(&self) -> GatewayStatistics;
    fn is_open(&self) -> bool;
    fn set_only_peer(&mut self, peer: OnlyPeer);
}

/// A host without an observer.
pub(super) type PlainHost = Host<()>;
