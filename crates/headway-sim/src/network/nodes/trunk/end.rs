//! The end of the link between the gateways: the host whose connections cross it.

use headway_tcp::{HostConfig, OnlyPeer};
use headway_wire::ip::Datagram;
use headway_wire::{ChecksumTrust, Received};

use super::gateway::{GatewayConfig, PlainHost};
use crate::network::node::NodeContext;
use crate::network::packet::Packet;
use crate::network::tap::Tap;

pub(super) struct TrunkEnd {
    pub(super) host: PlainHost,
    pub(super) config: GatewayConfig,
    only_peer: Option<OnlyPeer>,
}

impl TrunkEnd {
    pub(super) fn new(config: GatewayConfig) -> Self {
        let host = PlainHost::new(HostConfig::new(config.local, config.secret));
        Self { host, config, only_peer: None }
    }

    pub(super) fn set_only_peer(&mut self, peer: OnlyPeer) {
        self.only_peer = Some(peer);
    }

    /// Whether a packet came from the other gateway. The links to the hosts are clean, so one whose IP header is
    /// corrupted did.
    pub(super) fn is_from_peer(&self, packet: &Packet) -> bool {
        Datagram::parse(packet.bytes()).map_or_else(
            |_| headway_wire::ip::is_header_corrupted(packet.bytes()),
            |datagram| datagram.header.dst == self.config.local,
        )
    }

    pub(super) fn receive<T: Tap>(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        cx.counters.arrived += 1;
        let received = Received::parse(packet.bytes(), ChecksumTrust::None);
        match &mut self.only_peer {
            Some(peer) => self.host.receive_from_only_peer(cx.now, peer, packet.bytes(), &received),
            None => self.host.receive(cx.now, &received),
        }
        if packet.damage().is_some() && matches!(received, Received::Intact(_)) {
            cx.counters.undetected += 1;
        }
        cx.discard(packet);
    }

    /// The next segment for the other gateway.
    pub(super) fn transmit<T: Tap>(&mut self, cx: &mut NodeContext<'_, T>) -> Option<Packet> {
        let now = cx.now;
        let packet = cx.packet(|buffer| Some(self.host.poll_transmit(now, buffer)?.len))?;
        cx.counters.sent += 1;
        Some(packet)
    }
}
