//! The network of a run: three namespaces in a row, that of the sender, that of the box, that of the
//! receiver.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use headway_lab::LabError;
use headway_net::{EthernetConfig, Namespace, Prefix, UdpConfig};
use headway_sim::race::{Frames, Scenario};

use crate::error::{no_namespace, real_time_error};
use crate::interfaces::{hardware_text, inside, ip, silence_ipv6, wait_for_carrier};

/// The interface of a host.
const HOSTS: &str = "hw0";
/// The interfaces of the box: towards the sender, towards the receiver.
pub(crate) const BOXES: [&str; 2] = ["sender", "receiver"];

/// Where receivers listen, whoever they are.
pub(crate) const PORT: u16 = 5001;

/// The port of datagrams that contain our segments.
const UDP_PORT: u16 = 5002;

/// An address with its port.
pub(crate) const fn at(address: Ipv4Addr, port: u16) -> SocketAddr {
    SocketAddr::V4(SocketAddrV4::new(address, port))
}

/// Which host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Sender, Self::Receiver];

    const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }

    pub(crate) const fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, 1 + self as u8)
    }

    /// Locally administered (IEEE 802).
    const fn hardware(self) -> [u8; 6] {
        [2, 0x68, 0x77, 0, 0, 1 + self as u8]
    }
}

/// Whose address a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Our stack: the kernel has none and stays silent.
    Ours,
    /// Our stack over the kernel's UDP.
    OursOverUdp,
    Kernel,
}

/// Three namespaces without names: they end with this process, however it ends.
pub(crate) struct RunNetwork {
    hosts: [Namespace; 2],
    pub(crate) between: Namespace,
    owner: Owner,
    mtu: u16,
    frames: Frames,
}

impl RunNetwork {
    /// A network whose hosts can hold what `scenario` has under way.
    pub(crate) fn new(owner: Owner, scenario: &Scenario) -> Result<Self, LabError> {
        let namespace = || Namespace::new().map_err(no_namespace);
        let network = Self {
            hosts: [namespace()?, namespace()?],
            between: namespace()?,
            owner,
            mtu: scenario.mtu,
            frames: scenario.frames,
        };
        let cables = Side::BOTH.map(|side| network.cable(side)).concat();
        inside(&network.between, || {
            silence_ipv6().map_err(real_time_error("the box's namespace"))?;
            ip(&cables)
        })?;
        for side in Side::BOTH {
            inside(network.host(side), || {
                silence_ipv6().map_err(real_time_error("a host's namespace"))?;
                ip(&network.plug(side, owner))?;
                if owner == Owner::Kernel {
                    tune(scenario.window.bytes()).map_err(real_time_error("the kernel's TCP"))?;
                }
                Ok(())
            })?;
        }
        inside(&network.between, || BOXES.into_iter().try_for_each(wait_for_carrier))?;
        Ok(network)
    }

    pub(crate) fn host(&self, side: Side) -> &Namespace {
        &self.hosts[side as usize]
    }

    /// How our stack attaches to the interface of a host.
    pub(crate) fn ethernet(&self, side: Side) -> Result<EthernetConfig, LabError> {
        let address: Prefix = format!("{}/24", side.address())
            .parse()
            .map_err(|error: headway_net::PrefixError| LabError::RealTime(error.to_string()))?;
        let peer = side.other();
        Ok(EthernetConfig {
            interface: HOSTS.into(),
            address,
            gateway: None,
            mtu: Some(self.mtu),
            rx_all: false,
            neighbours: vec![(peer.address().into(), peer.hardware())],
            only_peer: (self.frames == Frames::Count).then(|| peer.address().into()),
        })
    }

    /// How our stack sends over UDP, if it does.
    pub(crate) fn udp(&self, side: Side) -> Option<UdpConfig> {
        let [local, peer] = [side, side.other()].map(|side| at(side.address(), UDP_PORT));
        (self.owner == Owner::OursOverUdp).then(|| UdpConfig { mtu: self.mtu, ..UdpConfig::new(local, peer) })
    }

    /// The words for `ip` that lay a cable from the box to a host. The end that comes up last carries at once;
    /// that shall be the host's, which speaks first.
    fn cable(&self, side: Side) -> String {
        let (mtu, boxes, path) = (self.mtu, BOXES[side as usize], self.host(side).path());
        let ours = hardware_text(side.hardware());
        format!(
            "link add {boxes} mtu {mtu} type veth peer name {HOSTS} address {ours} mtu {mtu} netns {path}\n\
             link set {boxes} up\n"
        )
    }

    /// The commands for `ip` that set up a host. No ARP is needed: a request would take a round
    /// trip through the box before the first SYN.
    fn plug(&self, side: Side, owner: Owner) -> String {
        let mut words = format!("link set lo up\nlink set {HOSTS} up\n");
        if owner != Owner::Ours {
            let peer = side.other();
            words.push_str(&format!(
                "addr add {}/24 dev {HOSTS}\n\
                 neigh add {} lladdr {} dev {HOSTS} nud permanent\n",
                side.address(),
                peer.address(),
                hardware_text(peer.hardware())
            ));
        }
        words
    }
}

/// What an administrator of hosts on a long fat path does, and no more: buffers may grow to what the window
/// needs, from where they start by default; nothing is remembered from another run.
fn tune(window: u64) -> io::Result<()> {
    const LARGEST: u64 = 1 << 30;
    let set = |name: &str, value: String| {
        fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
            .map_err(|error| io::Error::new(error.kind(), format!("net.ipv4.{name}: {error}")))
    };
    // The kernel counts what it keeps beside the payload too: it offers half of the receive buffer.
    set("tcp_rmem", format!("4096 131072 {}", (2 * window).clamp(131_072, LARGEST)))?;
    set("tcp_wmem", format!("4096 16384 {}", (4 * window).clamp(65_536, LARGEST)))?;
    set("tcp_no_metrics_save", "1".into())
}
