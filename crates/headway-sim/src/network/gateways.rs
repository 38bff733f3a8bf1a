//! Trunk gateways of a network: added, and asked.

use headway_tcp::OnlyPeer;

use super::nodes::trunk::{
    Gateway, GatewayStatistics, PacketGateway, PacketGatewayConfig, SplitGateway, SplitGatewayConfig,
};
use super::parts::NodeId;
use super::{Network, Tap};
use crate::application::Application;

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
