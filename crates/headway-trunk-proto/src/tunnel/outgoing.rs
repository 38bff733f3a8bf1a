//! Packets that are sealed, and control messages.

use std::net::Ipv6Addr;
use std::ops::Range;

use headway_units::Instant;
use headway_wire::Ecn;

use super::{Event, PeerId, SealedPacket, Transmit, Tunnel};
use crate::control::Control;
use crate::message::PADDED_LEN;
use crate::mtu::Step;
use crate::peer::{Unchecked, asks};
use crate::seal::{Inner, SealError};

/// The shortest probe for the length of datagrams.
const SHORTEST_PROBE: u16 = PADDED_LEN as u16;

impl Tunnel {
    /// Seals the IP packet at `packet` of `room`, in place; [`HEADROOM`](crate::HEADROOM) bytes must be before it.
    ///
    /// # Errors
    ///
    /// It is not a TCP segment over IPv6 to a peer, or there is no session with that.
    pub fn seal(
        &mut self,
        now: Instant,
        room: &mut [u8],
        packet: Range<usize>,
    ) -> Result<SealedPacket, SealError> {
        let dst = room.get(packet.start + 24..packet.start + 40).and_then(<[u8]>::first_chunk::<16>);
        let dst = Ipv6Addr::from(*dst.ok_or(SealError::NotASegment)?);
        let id = *self.inner.get(&dst).ok_or(SealError::NoPeer)?;
        let peer = &mut self.peers[id.0];
        let (Some(session), Some(to)) = (&mut peer.current, peer.endpoint) else {
            self.counters.without_session += 1;
            return Err(SealError::NoSession);
        };
        let asks = asks(&room[packet.clone()]);
        let inner = Inner { src: peer.inner.0, dst: peer.inner.1, ecn: Ecn::NotEct };
        let (datagram, is_compact) = session.sealer.segment(room, packet, inner)?;
        // It may pass all the same, and is sent. If not, TCP cuts what it sent and sends it again.
        if !is_compact && datagram.len() > peer.mtu.used().into() && !peer.has_long_headers {
            peer.has_long_headers = true;
            self.events.push_back(Event::LongHeaders(id));
        }
        let checksum = peer.unchecked != Unchecked::Passes;
        peer.on_sent(now, asks);
        peer.mtu.on_sent(datagram.len());
        peer.counters.sealed += 1;
        Ok(SealedPacket { datagram, to, checksum })
    }

    pub(super) fn send_control(&mut self, now: Instant, id: PeerId, control: Control) {
        let peer = &mut self.peers[id.0];
        let (Some(session), Some(to)) = (&mut peer.current, peer.endpoint) else { return };
        let Some(datagram) = session.sealer.control(&control.bytes()) else { return };
        peer.on_sent(now, false);
        self.queue(Transmit { to, datagram, checksum: control != Control::Probe });
    }

    /// RFC 8899: sends a probe, or takes note that none arrives.
    pub(super) fn probe_mtu(&mut self, now: Instant, id: PeerId) {
        let peer = &mut self.peers[id.0];
        let (step, changed) = peer.mtu.step(now, peer.last_received);
        if changed {
            self.events.push_back(Event::Mtu(id, peer.mtu.used()));
        }
        let Step::Probe(size) = step else { return };
        let checksum = peer.unchecked != Unchecked::Passes;
        // A short one goes with it: if that is answered and the long one is not, it is the length.
        for size in [size, SHORTEST_PROBE] {
            let peer = &mut self.peers[id.0];
            let (Some(session), Some(to)) = (&mut peer.current, peer.endpoint) else { return };
            let message = Control::MtuProbe(size).bytes();
            let Some(datagram) = session.sealer.padded(&message, size.into()) else { return };
            peer.on_sent(now, false);
            self.queue(Transmit { to, datagram, checksum });
        }
    }

    /// Tells every peer that this gateway ends: they reset what is open at once.
    pub fn close(&mut self, now: Instant) {
        for id in (0..self.peers.len()).map(PeerId) {
            // One of them may be lost.
            for _ in 0..3 {
                self.send_control(now, id, Control::Close);
            }
        }
    }
}
