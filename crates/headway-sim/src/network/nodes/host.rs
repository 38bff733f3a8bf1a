//! A host and the program on it.

use headway_tcp::{Host, OnlyPeer};
use headway_wire::{ChecksumTrust, Received};

use super::arrivals::Arrivals;
use crate::application::Application;
use crate::network::node::{Next, Node, NodeContext};
use crate::network::packet::Packet;
use crate::network::parts::Port;
use crate::network::tap::Tap;

/// Sends everything by its first port.
pub(in crate::network) struct HostNode<A: Application> {
    pub(in crate::network) host: Host<A::Observer>,
    pub(in crate::network) application: A,
    /// The other end of the only link to it, if that is a host.
    pub(in crate::network) only_peer: Option<OnlyPeer>,
    /// What its packets took, if that is measured.
    pub(in crate::network) arrivals: Option<Box<Arrivals>>,
    /// The program has come to an end.
    pub(in crate::network) has_ended: bool,
}

impl<A: Application> HostNode<A> {
    /// Something happened to the host.
    #[inline]
    fn progress<T: Tap>(&mut self, cx: &mut NodeContext<'_, T>) {
        self.application.progress(&mut self.host, cx.now);
        let has_ended = self.application.has_ended();
        cx.counters.ended += u64::from(has_ended && !self.has_ended);
        self.has_ended = has_ended;
    }
}

impl<A, T> Node<T> for HostNode<A>
where
    A: Application,
    T: Tap,
{
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        cx.counters.arrived += 1;
        cx.observe(&packet, false);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.add(cx.now.saturating_since(packet.sent()));
        }
        let received = Received::parse(packet.bytes(), ChecksumTrust::None);
        match &mut self.only_peer {
            Some(peer) => self.host.receive_from_only_peer(cx.now, peer, packet.bytes(), &received),
            None => self.host.receive(cx.now, &received),
        }
        if packet.damage().is_some() && matches!(received, Received::Intact(_)) {
            cx.counters.undetected += 1;
        }
        self.progress(cx);
        cx.discard(packet);
    }

    fn handle_timeout(&mut self, cx: &mut NodeContext<'_, T>) {
        self.host.handle_timeout(cx.now);
        self.progress(cx);
    }

    fn wake(&mut self, cx: &mut NodeContext<'_, T>) {
        self.progress(cx);
    }

    fn poll(&mut self, cx: &mut NodeContext<'_, T>) -> Next {
        let now = cx.now;
        let Some(packet) = cx.packet(|buffer| Some(self.host.poll_transmit(now, buffer)?.len)) else {
            return Next::Wait(self.host.next_deadline());
        };
        cx.counters.sent += 1;
        cx.observe(&packet, true);
        Next::Transmit(Port(0), packet)
    }
}
