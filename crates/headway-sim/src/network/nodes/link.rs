//! One direction of a link as a node.

use std::net::IpAddr;

use headway_link::{EnqueueResult, Headers, Histogram, Link, LinkConfig, LinkCounters};
use headway_units::Instant;
use headway_wire::ip::Datagram;

use crate::network::node::{Next, Node, NodeContext, Precedence};
use crate::network::packet::Packet;
use crate::network::parts::Port;
use crate::network::tap::Tap;

/// Which packets the damage of a link may hit.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Exposure {
    /// Every packet.
    #[default]
    All,
    /// Packets from these addresses only.
    Sources(Vec<IpAddr>),
}

impl Exposure {
    fn includes(&self, packet: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Sources(sources) => {
                Datagram::parse(packet).is_ok_and(|datagram| sources.contains(&datagram.header.src))
            }
        }
    }
}

pub(in crate::network) struct LinkNode {
    link: Link<Packet>,
    exposure: Exposure,
    /// Packets arrive at the far end when the time of the link comes, and not within the event that sent
    /// them: so events at the same time keep the order of the agenda.
    is_due: bool,
}

impl LinkNode {
    pub(in crate::network) fn new(config: LinkConfig, seed: u64) -> Self {
        let link = Link::new(config, seed).with_classifier(headway_wire::flow_hash);
        Self { link, exposure: Exposure::All, is_due: false }
    }

    pub(in crate::network) fn expose(&mut self, exposure: Exposure) {
        self.exposure = exposure;
    }

    /// The next packet that has arrived at the far end.
    fn deliver(&mut self, now: Instant) -> Next {
        let delivery = self.link.poll(now);
        let next = self.link.next_event();
        // Most arrive alone.
        self.is_due = delivery.is_some() && next.is_some_and(|at| at <= now);
        let Some(delivery) = delivery else { return Next::Wait(next) };
        let mut packet = delivery.packet;
        packet.record_damage(delivery.damage);
        Next::Transmit(Port(0), packet)
    }

    pub(in crate::network) fn waits(&self) -> &Histogram {
        self.link.waits()
    }

    /// Packets and bytes.
    pub(in crate::network) fn queue(&self) -> (usize, u64) {
        (self.link.queue_len(), self.link.queue_bytes())
    }

    pub(in crate::network) fn counters(&self) -> &LinkCounters {
        self.link.counters()
    }
}

impl<T: Tap> Node<T> for LinkNode {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        let (bytes, len) = (packet.bytes(), packet.bytes().len());
        let headers =
            headway_wire::layout(bytes).map_or(Headers { ip_header_len: 0, header_len: len }, |layout| {
                Headers { ip_header_len: layout.ip_header_len, header_len: layout.header_len }
            });
        let exposed = self.exposure.includes(bytes);
        match self.link.enqueue(cx.now, packet, len, headers, exposed) {
            EnqueueResult::Queued => {}
            EnqueueResult::Dropped(packet) => cx.discard(packet),
        }
    }

    fn handle_timeout(&mut self, _cx: &mut NodeContext<'_, T>) {
        self.is_due = true;
    }

    fn poll(&mut self, cx: &mut NodeContext<'_, T>) -> Next {
        if self.is_due { self.deliver(cx.now) } else { Next::Wait(self.link.next_event()) }
    }

    fn precedence(&self) -> Precedence {
        Precedence::Link
    }
}
