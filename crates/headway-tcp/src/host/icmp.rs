//! What routers and hosts say of segments that they could not bring further.

use headway_units::Instant;
use headway_wire::icmp::{IcmpError, IcmpKind};
use headway_wire::ip::Datagram;

use super::Host;
use super::echo::Echo;
use crate::connection::Endpoints;
use crate::event::Observer;

/// A message that tells of less is taken to tell of this: 296 bytes are the least that RFC 1191, 7.1 knows
/// of a link. With the 68 that IPv4 permits, a segment would carry a dozen bytes, and whoever can forge
/// one message would have us send, and remember, a hundred times as many.
const LEAST_TOLD: u16 = 296;

impl<O: Observer> Host<O> {
    /// An ICMP or ICMPv6 message arrived, in its IP packet.
    ///
    /// An echo request is answered, up to a thousand a second. An error message counts if it quotes a
    /// sequence number that is in flight: RFC 5927, 4.1 has "TCP should check that the TCP sequence
    /// number contained in the payload of the ICMP error message is within the range SND.UNA =<
    /// SEG.SEQ < SND.NXT". Then *packet too big* lowers the path's MTU ([`Host::set_path_mtu`]), for ten
    /// minutes; a hard error ends a connection that is being opened
    /// ([`ConnectionError::Unreachable`](crate::ConnectionError::Unreachable)); all others are
    /// reported ([`Event::Icmp`](crate::Event::Icmp)) and change nothing.
    pub fn receive_icmp(&mut self, at: Instant, packet: &[u8]) {
        let Ok(datagram) = Datagram::parse(packet) else {
            self.counters.malformed += 1;
            return;
        };
        if !self.config.addresses.contains(&datagram.header.dst) {
            self.counters.not_ours += 1;
            return;
        }
        if let Some(error) = IcmpError::parse(&datagram) {
            let heard = self.receive_error(at, &error);
            *if heard { &mut self.counters.icmp_heard } else { &mut self.counters.icmp_ignored } += 1;
            return;
        }
        match self.echoes.answer(at, &datagram) {
            Echo::Answered => self.counters.echoes_sent += 1,
            Echo::Dropped => self.counters.echoes_dropped += 1,
            Echo::Other => self.counters.icmp_ignored += 1,
        }
    }

    /// Says whether the message is about something in flight.
    fn receive_error(&mut self, at: Instant, error: &IcmpError) -> bool {
        let quoted = error.segment;
        let ends = Endpoints { local: quoted.src, remote: quoted.dst };
        let Some(id) = self.connections.find(&ends) else { return false };
        let in_flight = self.connection(id).is_some_and(|connection| connection.is_in_flight(quoted.seq));
        if !in_flight {
            return false;
        }
        match error.kind {
            IcmpKind::PacketTooBig { mtu } => self.receive_too_big(at, error, mtu),
            kind => self.with_connection(id, at, |connection, cx| connection.unreachable(cx, kind)),
        };
        true
    }

    /// A router says that our packet is longer than its next link carries.
    fn receive_too_big(&mut self, at: Instant, error: &IcmpError, mtu: Option<u16>) -> Option<()> {
        let quoted = error.segment;
        let mtu = mtu.unwrap_or_else(|| plateau_below(quoted.len));
        // One that our packet would have passed is no reason to have dropped it. So the MTU never
        // grows by a message (RFC 8201, 4: it "MUST NOT").
        // RFC 8201, 4: "If a node receives a Packet Too Big message reporting a next-hop MTU that is
        // less than the IPv6 minimum link MTU, it must discard it."
        if mtu >= quoted.len || (quoted.dst.is_ipv6() && mtu < 1280) {
            return None;
        }
        let (local, remote) = (quoted.src.ip(), quoted.dst.ip());
        let mtu = mtu.max(LEAST_TOLD);
        if self.path(local, remote)?.mtu.is_some_and(|known| known <= mtu) {
            return None;
        }
        self.set_path_mtu(at, local, remote, mtu);
        self.expire_path_mtu(at, local, remote);
        Some(())
    }
}

/// RFC 1191, 7.1: the MTUs that links have; the next below that of a packet which was too long.
fn plateau_below(len: u16) -> u16 {
    const PLATEAUS: [u16; 10] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68];
    PLATEAUS.into_iter().find(|&plateau| plateau < len).unwrap_or(68)
}
