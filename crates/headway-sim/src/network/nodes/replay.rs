//! Cross traffic that was recorded: UDP datagrams with the lengths and times of a trace.

use std::net::IpAddr;

use headway_units::Instant;

use super::source::{LEAST, write_datagram};
use crate::network::node::{Next, Node, NodeContext};
use crate::network::packet::Packet;
use crate::network::parts::Port;
use crate::network::tap::Tap;
use crate::packet_trace::PacketTrace;

/// Sends the packets of a trace by its first port, round after round.
pub(in crate::network) struct Replay {
    trace: PacketTrace,
    src: IpAddr,
    dst: IpAddr,
    /// When the round began; `None`: it has not been started.
    round: Option<Instant>,
    /// The packet of the round that comes next.
    next: usize,
}

impl Replay {
    /// Datagrams from `src` to `dst`, the first of them at `start`.
    pub(in crate::network) fn new(
        src: IpAddr,
        dst: IpAddr,
        trace: PacketTrace,
        start: Option<Instant>,
    ) -> Self {
        Self { trace, src, dst, round: start, next: 0 }
    }

    pub(in crate::network) fn start(&mut self, at: Instant) {
        self.round = Some(at);
        self.next = 0;
    }
}

impl<T: Tap> Node<T> for Replay {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        cx.discard(packet);
    }

    fn poll(&mut self, cx: &mut NodeContext<'_, T>) -> Next {
        let Some(round) = self.round else { return Next::Wait(None) };
        let packets = self.trace.packets();
        let packet = packets[self.next];
        let at = round + packet.at;
        // The end of virtual time, beyond which there are no rounds.
        if at > cx.now || at == Instant::MAX {
            return Next::Wait(Some(at));
        }
        self.next += 1;
        if self.next == packets.len() {
            self.start(round + self.trace.period());
        }
        let len = (packet.len as usize).max(LEAST);
        let (src, dst) = (self.src, self.dst);
        let datagram =
            cx.packet(|buffer| write_datagram(buffer.get_mut(..len)?, src, dst).ok().map(|()| len));
        datagram.map_or(Next::Wait(Some(at)), |datagram| Next::Transmit(Port(0), datagram))
    }
}
