//! What a scenario says of a trunk between the hosts, and of the links to its gateways.

use std::fmt;
use std::str::FromStr;

use headway_link::{Aqm, LinkConfig, QueueLimit};
use headway_units::{Duration, Rate, Size};

use super::sender::TcpSender;
use super::unknown_name::UnknownName;

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
            .ok_or_else(|| UnknownName::new(input, "packets or split"))
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
