//! The gateways of a trunk, at both ends of the link.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use headway_tcp::{OnlyPeer, Profile};

use super::scenario::{Frames, ProfileName, Scenario};
use super::trunk::{Trunk, TrunkMode};
use crate::application::Application;
use crate::network::{
    GatewayConfig, GatewayStatistics, Network, NodeId, PacketGatewayConfig, SplitGatewayConfig, SplitRoute,
    Tap,
};
use crate::seed::derive_seed;

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
        profile.start = self.start();
        // A packet of the hosts, or a part of one, waits for no other.
        profile.nagle = false;
        if self.profile_name(trunk.sender) == ProfileName::Modern {
            profile.syn_retries = u32::MAX;
            // As a live gateway: a long delay of one stream's ACK looks like a queue to those that share its window.
            profile.delayed_ack.part = Some(32);
        }
        if trunk.mode == TrunkMode::Packets {
            // What the connection cannot send yet waits in the queue in front of it, which drops.
            profile.not_sent = 2 * usize::from(self.mtu);
        }
        profile
    }
}
