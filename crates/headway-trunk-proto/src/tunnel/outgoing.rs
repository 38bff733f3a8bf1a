//! Packets that are sealed, and control messages.

use std::net::{Ipv6Addr, SocketAddr};
use std::ops::Range;

use headway_units::Instant;
use headway_wire::Ecn;

use super::{Event, PeerId, SealedPacket, Transmit, Tunnel};
use crate::control::Control;
use crate::mtu::{ASK, SHORTEST};
use crate::peer::asks;
use crate::seal::{Inner, SealError};

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
        let (Some(session), Some(to)) = (&mut peer.current, peer.paths.endpoint()) else {
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
        peer.on_sent(now, asks);
        peer.mtu.on_sent(datagram.len());
        peer.counters.sealed += 1;
        let checksum = peer.checksum.on_sealed();
        Ok(SealedPacket { datagram, to, checksum })
    }

    pub(super) fn send_control(&mut self, now: Instant, id: PeerId, control: Control) {
        if let Some(own) = self.seal_control(now, id, control) {
            self.queue(own);
        }
    }

    /// To an address at which the peer may be.
    pub(super) fn send_control_to(&mut self, now: Instant, id: PeerId, control: Control, to: SocketAddr) {
        if let Some(own) = self.seal_control_to(now, id, control, to) {
            self.queue(own);
        }
    }

    fn seal_control(&mut self, now: Instant, id: PeerId, control: Control) -> Option<Transmit> {
        let to = self.peers[id.0].paths.endpoint()?;
        self.seal_control_to(now, id, control, to)
    }

    fn seal_control_to(
        &mut self,
        now: Instant,
        id: PeerId,
        control: Control,
        to: SocketAddr,
    ) -> Option<Transmit> {
        let peer = &mut self.peers[id.0];
        let datagram = peer.current.as_mut()?.sealer.control(&control.bytes())?;
        if peer.paths.endpoint() == Some(to) {
            peer.on_sent(now, false);
        }
        peer.paths.on_sent(to, datagram.len());
        Some(Transmit { to, datagram, checksum: control != Control::Probe })
    }

    /// RFC 8899: sends a probe, or takes note that none arrives.
    pub(super) fn probe_mtu(&mut self, now: Instant, id: PeerId) {
        let step = self.peers[id.0].mtu.step(now);
        self.tell_mtu(id);
        let Some(size) = step else { return };
        let checksum = self.peers[id.0].checksum.is_needed();
        for size in [size, SHORTEST] {
            self.send_probe(now, id, size, checksum);
        }
    }

    /// Asks the peer whether it is there. It is asked again until something of it arrives.
    pub(super) fn ask(&mut self, now: Instant, id: PeerId) {
        // One may be lost, and a peer believes that we have moved if two say so.
        for _ in 0..2 {
            self.send_probe(now, id, ASK, true);
        }
        self.peers[id.0].on_asked(now);
    }

    /// Sends a datagram of `size` bytes that is answered if it arrives whole.
    fn send_probe(&mut self, now: Instant, id: PeerId, size: u16, checksum: bool) {
        let peer = &mut self.peers[id.0];
        let (Some(session), Some(to)) = (&mut peer.current, peer.paths.endpoint()) else { return };
        let message = Control::MtuProbe(size).bytes();
        let Some(datagram) = session.sealer.padded(&message, size.into()) else { return };
        peer.on_sent(now, false);
        self.queue(Transmit { to, datagram, checksum });
    }

    /// Datagrams of `size` bytes to `to` cannot be sent: the interface of this host carries shorter ones. To be called for
    /// what the host itself says; what routers say can be forged.
    pub fn refused(&mut self, now: Instant, to: SocketAddr, size: usize) {
        let Ok(size) = u16::try_from(size) else { return };
        for id in (0..self.peers.len()).map(PeerId) {
            if self.peers[id.0].paths.endpoint() == Some(to) {
                self.peers[id.0].mtu.on_refused(now, size);
                self.tell_mtu(id);
            }
        }
    }

    /// Says how long datagrams may be, if that has changed.
    pub(super) fn tell_mtu(&mut self, id: PeerId) {
        if let Some(used) = self.peers[id.0].mtu.take_change() {
            self.events.push_back(Event::Mtu(id, used));
        }
    }

    /// Tells every peer that this gateway ends: they reset what is open at once. As what is sent may be lost, it is to be
    /// called again when it was sent.
    pub fn close(&mut self, now: Instant) {
        for id in (0..self.peers.len()).map(PeerId) {
            // There are as many as peers, so they need no other bound.
            let own = self.seal_control(now, id, Control::Close);
            self.waiting.extend(own);
        }
    }
}
