//! A router: forwards by destination address.

use std::collections::BTreeMap;
use std::net::IpAddr;

use headway_wire::ip::Datagram;

use crate::network::node::{Next, Node, NodeContext};
use crate::network::packet::Packet;
use crate::network::parts::Port;
use crate::network::tap::Tap;

#[derive(Default)]
pub(in crate::network) struct Router {
    /// A thousand flows have two thousand.
    routes: BTreeMap<IpAddr, Port>,
    forwarded: Option<(Port, Packet)>,
}

impl Router {
    pub(in crate::network) fn add_route(&mut self, destination: IpAddr, port: Port) {
        self.routes.entry(destination).or_insert(port);
    }
}

impl<T: Tap> Node<T> for Router {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        // A router drops a packet whose IP header is damaged.
        let route =
            Datagram::parse(packet.bytes()).ok().and_then(|datagram| self.routes.get(&datagram.header.dst));
        match route {
            Some(&port) => self.forwarded = Some((port, packet)),
            None => {
                cx.counters.unroutable += 1;
                cx.discard(packet);
            }
        }
    }

    fn poll(&mut self, _cx: &mut NodeContext<'_, T>) -> Next {
        match self.forwarded.take() {
            Some((port, packet)) => Next::Transmit(port, packet),
            None => Next::Wait(None),
        }
    }
}
