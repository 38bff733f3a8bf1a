//! ICMP error messages about our segments.

use core::net::IpAddr;

use headway_units::Instant;
use headway_wire::icmp::{IcmpError, IcmpKind, IcmpMessage};

use super::Host;
use crate::connection::Endpoints;
use crate::event::Observer;

/// A smaller MTU in a message counts as this: 296 bytes are the smallest that RFC 1191, 7.1 lists for a
/// link. With the 68 that IPv4 permits, a segment would carry a dozen bytes, and one forged message would
/// have us send, and remember, a hundred times as many.
const MIN_REPORTED_MTU: u16 = 296;

impl<O: Observer> Host<O> {
    /// See [`Host::receive`].
    #[inline(never)]
    pub(super) fn receive_icmp(&mut self, at: Instant, dst: IpAddr, message: &IcmpMessage<'_>) {
        let counters = &mut self.counters;
        match message {
            IcmpMessage::Error(error) => {
                let counts = self.receive_error(at, error);
                let counters = &mut self.counters;
                *if counts { &mut counters.icmp_heard } else { &mut counters.icmp_ignored } += 1;
            }
            // A connection may be to any address then, but an address that is not ours is for its owner to show.
            IcmpMessage::EchoRequest(_) if !self.config.addresses.contains(&dst) => {
                counters.icmp_ignored += 1;
            }
            IcmpMessage::EchoRequest(request) if self.echoes.answer(at, request) => counters.echoes_sent += 1,
            IcmpMessage::EchoRequest(_) => counters.echoes_dropped += 1,
            IcmpMessage::Other => counters.icmp_ignored += 1,
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
        let mtu = mtu.max(MIN_REPORTED_MTU);
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
