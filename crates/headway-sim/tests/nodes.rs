//! A node from outside of the crate plugs into the network.

use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_link::LinkConfig;
use headway_sim::race::Racer;
use headway_sim::{
    Content, LinkPorts, Network, Next, Node, NodeContext, Packet, Port, Receiver, Sender, Tap, derive_seed,
};
use headway_tcp::{Host, HostConfig, Profile};
use headway_units::{Duration, Instant, Rate};

/// Holds every packet for a time, and drops one in `drop_every`.
struct Satellite {
    hop: Duration,
    drop_every: u64,
    seen: u64,
    held: std::collections::VecDeque<(Instant, Packet)>,
    due: Option<Packet>,
}

impl<T: Tap> Node<T> for Satellite {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        self.seen += 1;
        if self.seen.is_multiple_of(self.drop_every) {
            cx.discard(packet);
        } else {
            self.held.push_back((cx.now + self.hop, packet));
        }
    }

    fn handle_timeout(&mut self, cx: &mut NodeContext<'_, T>) {
        if self.held.front().is_some_and(|held| held.0 <= cx.now) {
            self.due = self.held.pop_front().map(|held| held.1);
        }
    }

    fn poll(&mut self, _cx: &mut NodeContext<'_, T>) -> Next {
        match self.due.take() {
            Some(packet) => Next::Transmit(Port(0), packet),
            None => Next::Wait(self.held.front().map(|held| held.0)),
        }
    }
}

#[test]
fn a_node_of_the_users_carries_a_transfer() {
    let content = Content::from_bytes((0..200_000_u32).map(|i| (i >> 3) as u8).collect::<Vec<u8>>());
    let addresses: [IpAddr; 2] = [1, 2].map(|n| Ipv4Addr::new(192, 0, 2, n).into());
    let ends = [SocketAddr::new(addresses[0], 4000), SocketAddr::new(addresses[1], 5000)];
    let profile = Arc::new(Profile::modern());
    let mut network = Network::<Racer<()>>::new(1500);
    let host = |n: usize| Host::new(HostConfig::new(addresses[n], [n as u8; 16]));
    let sender = Sender::new(ends[0], ends[1], profile.clone(), &content).expect("content in memory");
    let receiver = Receiver::new(ends[1], profile, &content, true).expect("content in memory");
    let sender = network.add_host(host(0), Racer::Sender(Box::new(sender), PhantomData));
    let receiver = network.add_host(host(1), Racer::Receiver(Box::new(receiver)));
    let hop = Duration::from_millis(120);
    let satellite =
        network.add(Satellite { hop, drop_every: 20, seen: 0, held: Default::default(), due: None });
    let link = LinkConfig { rate: Some(Rate::from_bits_per_second(10_000_000)), ..LinkConfig::default() };
    network.add_link(LinkPorts { from: sender, to: satellite }, link.clone(), derive_seed(1, "there", 0));
    network.connect(satellite, receiver);
    network.add_link(LinkPorts { from: receiver, to: sender }, link, derive_seed(1, "back", 0));

    let complete = |network: &Network<Racer<()>>| matches!(network.host(receiver).1, Racer::Receiver(receiver) if receiver.is_complete());
    assert!(
        network.run(Instant::ZERO + Duration::from_secs(60), complete),
        "the bytes were compared on arrival"
    );
    let counters = network.counters();
    assert!(counters.arrived < counters.sent, "the node dropped packets: {counters:?}");
    assert!(network.now() > Instant::ZERO + hop * 2, "and delayed them");
}
