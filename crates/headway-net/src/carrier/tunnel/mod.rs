//! The sealed tunnel to other gateways over UDP: each segment in one datagram, sealed for itself.
//!
//! The protocol is [`headway_trunk_proto::Tunnel`]'s. Here are the socket, and what the host is given: a segment whose
//! header and payload were authenticated is intact, one of which only the header was is corrupted. Datagrams leave
//! without UDP checksum where the path is known to leave such alone and damage is possible, so that damaged ones arrive.

mod end;
mod frames;
mod merged;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd};

use headway_tcp::Transmit;
use headway_trunk_proto::{HEADROOM, Tunnel, inner_mtu};
use headway_units::Instant;
use headway_wire::ip::Datagram;
use headway_wire::{Dscp, IpHeader};
use socket2::Socket;

use super::batch::{Inbox, Outbox};
use super::udp::socket::{open_socket, set_unchecked, set_unfragmented};
use super::{Arrival, Carrier, CarrierProperties, Housekeeping};
use crate::sys::{Control, Name};
use crate::{Clock, NetError};
use end::TunnelEnd;
pub use end::{TunnelChange, TunnelMonitor};
pub use frames::SealedFramesCarrier;
use merged::Merged;

/// IP and UDP header of the outer packet.
const OUTER_V4: u16 = 20 + 8;
const OUTER_V6: u16 = 40 + 8;

/// How a [`TunnelCarrier`] is set up.
#[derive(Clone, Copy, Debug)]
pub struct TunnelConfig {
    /// The local address of datagrams.
    pub local: SocketAddr,
    /// The longest outer IP packet, UDP header included.
    pub mtu: u16,
    /// The DSCP of datagrams.
    pub dscp: OuterDscp,
}

/// The DSCP of the datagrams of a tunnel (RFC 2983, 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OuterDscp {
    /// One for all datagrams: the "pipe" model.
    Own(Dscp),
    /// That of the packet inside; the tunnel's own datagrams have the default one.
    Copied,
}

impl OuterDscp {
    fn of_outer(self, inner: Dscp) -> Dscp {
        match self {
            Self::Own(dscp) => dscp,
            Self::Copied => inner,
        }
    }
}

/// The sealed tunnel to other gateways over UDP.
pub struct TunnelCarrier {
    socket: Socket,
    local: SocketAddr,
    end: TunnelEnd,
    mtu: u16,
    dscp: OuterDscp,
    merged: Merged,
    inbox: Inbox,
    /// Datagrams without checksum, and with.
    outbox: Outbox,
    checked: Outbox,
    /// Whether those without were queued first.
    unchecked_first: bool,
    is_unchecked: bool,
}

impl TunnelCarrier {
    /// Opens the socket.
    ///
    /// # Errors
    ///
    /// The address is in use, or not this machine's.
    pub fn open(config: &TunnelConfig, tunnel: Tunnel) -> Result<Self, NetError> {
        let socket = open_socket(config.local, None).map_err(|(what, source, expected)| NetError::Udp {
            what,
            source,
            expected,
        })?;
        // Their length is probed, so routers must not cut them.
        if let Err(error) = set_unfragmented(&socket, config.local.is_ipv4()) {
            tracing::warn!(%error, "long datagrams may be fragmented on the way");
        }
        let bound = socket.local_addr().ok().and_then(|name| name.as_socket()).unwrap_or(config.local);
        let outer = if bound.is_ipv4() { OUTER_V4 } else { OUTER_V6 };
        let longest = config.mtu.saturating_sub(outer);
        let mtu = inner_mtu(longest);
        // Of a datagram, and of the packet that is sealed in it, which may be longer. A peer may have a larger MTU.
        let room = usize::from(longest.max(mtu)).max(2048);
        let merged = Merged::new(&socket);
        Ok(Self {
            socket,
            local: bound,
            end: TunnelEnd::new(tunnel),
            mtu,
            dscp: config.dscp,
            merged,
            inbox: Inbox::new(HEADROOM, room),
            outbox: Outbox::new(HEADROOM, room),
            checked: Outbox::new(0, room).in_trains(),
            unchecked_first: true,
            is_unchecked: true,
        })
    }

    /// The local address of datagrams.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// What the stack must have for addresses: one for each peer.
    pub fn inner_addresses(&self) -> Vec<IpAddr> {
        self.end.inner_addresses()
    }

    /// What is known of the tunnel while it runs.
    pub fn monitor(&self) -> TunnelMonitor {
        self.end.monitor()
    }

    /// Sends what is queued in one of the two batches.
    fn send(&mut self, unchecked: bool) -> io::Result<bool> {
        let outbox = if unchecked { &mut self.outbox } else { &mut self.checked };
        if outbox.is_empty() {
            return Ok(true);
        }
        if self.is_unchecked != unchecked {
            set_unchecked(&self.socket, self.local.is_ipv4(), unchecked)?;
            self.is_unchecked = unchecked;
        }
        let result = outbox.send(self.socket.as_fd(), true);
        if let Some((to, len)) = outbox.take_too_long() {
            self.end.on_too_long(to, len);
        }
        result
    }

    /// A datagram is queued.
    fn on_queued(&mut self, unchecked: bool) {
        if self.outbox.is_empty() && self.checked.is_empty() {
            self.unchecked_first = unchecked;
        }
    }

    /// Queues the tunnel's own datagrams, as far as there is room. Returns whether those were all.
    fn queue_own(&mut self) -> bool {
        let dscp = self.dscp.of_outer(Dscp::DEFAULT);
        let header = IpHeader { dscp, ..IpHeader::new(self.local.ip(), self.local.ip()) };
        let own_control = Control::of_header(&header, self.local.is_ipv4());
        while !self.checked.is_full() && !self.outbox.is_full() {
            let Some(own) = self.end.poll_transmit() else { return true };
            self.on_queued(!own.checksum);
            let outbox = if own.checksum { &mut self.checked } else { &mut self.outbox };
            let Some(slot) = outbox.slot() else { return false };
            let Some(place) = slot.get_mut(..own.datagram.len()) else { continue };
            place.copy_from_slice(&own.datagram);
            let start = if own.checksum { 0 } else { HEADROOM };
            outbox.queue_with((start, start + own.datagram.len()), Name::of(own.to), own_control);
        }
        false
    }
}

impl Carrier for TunnelCarrier {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn mtu(&self) -> u16 {
        self.mtu
    }

    fn name(&self) -> String {
        format!("tunnel at UDP {}", self.local)
    }

    fn properties(&self) -> CarrierProperties {
        CarrierProperties { tags_payloads: true, ..CarrierProperties::default() }
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        Some(self)
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.end.on_time(clock.now());
        if self.merged.is_empty()
            && let Err(error) = self.merged.receive(self.socket.as_fd(), clock)
        {
            let error = super::unless_fatal(error)?;
            // No packet, or an ICMP error.
            if error.kind() != io::ErrorKind::WouldBlock {
                tracing::debug!(%error, "reading from the tunnel's socket");
            }
            return Ok(0);
        }
        self.merged.take(&mut self.inbox);
        for index in 0..self.inbox.len() {
            let (_, ecn) = self.inbox.control(index).marks();
            let from = self.inbox.packet(index).2.place();
            self.end.open(&mut self.inbox, index, from, ecn);
        }
        self.end.on_opened();
        Ok(self.inbox.len())
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        self.end.received(&self.inbox, packets);
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        if self.checked.is_full() { None } else { self.outbox.slot() }
    }

    fn queue(&mut self, Transmit { len, .. }: Transmit) {
        let room = self.outbox.place();
        let inner = Datagram::parse(room.get(HEADROOM..HEADROOM + len).unwrap_or_default());
        let Ok(Datagram { header: inner, .. }) = inner else { return };
        let (tunnel, now) = self.end.sending();
        let sealed = match tunnel.seal(now, room, HEADROOM..HEADROOM + len) {
            Ok(sealed) => sealed,
            // As if lost on the way.
            Err(error) => return tracing::trace!(%error, "a segment was not sent"),
        };
        let outer = IpHeader { dscp: self.dscp.of_outer(inner.dscp), ..inner };
        let (name, control) = (Name::of(sealed.to), Control::of_header(&outer, self.local.is_ipv4()));
        let (start, end) = (sealed.datagram.start, sealed.datagram.end);
        self.on_queued(!sealed.checksum);
        if !sealed.checksum {
            return self.outbox.queue_with((start, end), name, control);
        }
        if let Some(slot) = self.checked.slot() {
            slot[..end - start].copy_from_slice(&self.outbox.place()[start..end]);
            self.checked.queue_with((0, end - start), name, control);
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        loop {
            let is_all = self.queue_own();
            // A peer's datagrams are in both where they begin to have checksums, or to have none.
            let unchecked = self.unchecked_first;
            let is_flushed = self.send(unchecked)? && self.send(!unchecked)?;
            if is_all || !is_flushed {
                return Ok(is_flushed);
            }
        }
    }
}

impl Housekeeping for TunnelCarrier {
    fn restarted_peers(&mut self) -> Vec<IpAddr> {
        self.end.restarted_peers()
    }

    fn returned_peers(&mut self) -> Vec<IpAddr> {
        self.end.returned_peers()
    }

    fn path_mtus(&self) -> &[(IpAddr, IpAddr, u16)] {
        self.end.path_mtus()
    }

    fn holds_packets(&self) -> bool {
        !self.merged.is_empty()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.end.next_deadline()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.end.handle_timeout(now);
    }

    fn close(&mut self) {
        // What is sent may be lost. All are told once before one is told again.
        for _ in 0..3 {
            self.end.close();
            match self.flush() {
                Ok(true) => {}
                Ok(false) => return tracing::debug!("not all peers were told of the end"),
                Err(error) => return tracing::debug!(%error, "the peers were not told of the end"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::Ipv4Addr;

    use headway_test_fixture::process::{say_skipped, wait_until};
    use headway_trunk_proto::{PeerConfig, SecretKey, TunnelConfig as Settings};
    use headway_wire::{Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, emit};
    use socket2::{Domain, Protocol, Type};

    use super::*;

    /// Where both ends are.
    const AT: [Ipv4Addr; 2] = [Ipv4Addr::new(127, 0, 0, 7), Ipv4Addr::new(127, 0, 0, 8)];

    fn carrier(own: u8, endpoint: Option<SocketAddr>, dscp: OuterDscp) -> TunnelCarrier {
        let keys = [1, 2].map(|byte| SecretKey::from_bytes([byte; 32]));
        let peer = PeerConfig { endpoint, ..PeerConfig::new(keys[usize::from(1 - own)].public()) };
        let mut next = own;
        let random = move |bytes: &mut [u8]| {
            bytes.fill_with(|| {
                next = next.wrapping_mul(5).wrapping_add(17);
                next
            });
        };
        let mut settings = Settings::new(keys[usize::from(own)].clone(), Box::new(random));
        settings.peers.push(peer);
        let local = SocketAddr::from((AT[usize::from(own)], 0));
        TunnelCarrier::open(&TunnelConfig { local, mtu: 1500, dscp }, Tunnel::new(settings)).expect("a port")
    }

    /// The DSCPs of the datagrams that arrive at `to` next.
    fn arrived(to: &mut TunnelCarrier, clock: &Clock) -> Vec<Dscp> {
        let count = to.fill(clock).expect("a socket");
        (0..count).map(|index| to.inbox.control(index).marks().0).collect()
    }

    /// The far and the near end of a tunnel, and the DSCPs of the datagrams of its handshake.
    fn connected(dscp: OuterDscp, clock: &Clock) -> ([TunnelCarrier; 2], Vec<Dscp>) {
        let mut far = carrier(0, None, OuterDscp::Own(Dscp::DEFAULT));
        let mut near = carrier(1, Some(far.local()), dscp);
        let mut own = Vec::new();
        wait_until("a session, and a path without checksums", || {
            near.handle_timeout(clock.now());
            near.flush().expect("a socket");
            own.extend(arrived(&mut far, clock));
            far.flush().expect("a socket");
            arrived(&mut near, clock);
            near.end.tunnel().peers().all(|peer| peer.passes_unchecked == Some(true))
        });
        near.flush().expect("a socket");
        own.extend(arrived(&mut far, clock));
        ([far, near], own)
    }

    /// Queues a segment with DSCP EF and this number.
    fn queue_segment(near: &mut TunnelCarrier, seq: u32) {
        let (src, dst) = near.end.tunnel().peers().next().expect("a peer").inner;
        let ip = IpHeader { dscp: Dscp::EF, ..IpHeader::new(src.into(), dst.into()) };
        let tcp = TcpHeader { seq: SeqNumber(seq), flags: TcpFlags::SYN, ..TcpHeader::default() };
        let slot = near.slot().expect("room");
        let len = emit(slot, &ip, &tcp, &TcpOptions::default(), (&[], &[])).expect("a segment");
        near.queue(Transmit { len, compact: false });
    }

    fn send_segment(near: &mut TunnelCarrier) {
        queue_segment(near, 1);
        assert!(near.flush().expect("a socket"));
    }

    /// The DSCPs of the datagrams of a handshake, and of one of a segment with DSCP EF.
    fn sent_with(dscp: OuterDscp) -> (Vec<Dscp>, Vec<Dscp>) {
        let clock = Clock::new();
        let ([mut far, mut near], own) = connected(dscp, &clock);
        send_segment(&mut near);
        (own, arrived(&mut far, &clock))
    }

    /// Whether each datagram to the port that arrived since has a checksum of UDP.
    fn checked(wire: &Socket, port: u16) -> Vec<bool> {
        let mut packet = [0; 2000];
        let mut all = Vec::new();
        while let Ok(len) = (&mut &*wire).read(&mut packet) {
            if len >= 28 && packet[22..24] == port.to_be_bytes() {
                all.push(packet[26..28] != [0, 0]);
            }
        }
        all
    }

    /// The kernel drops what is damaged under a checksum. A segment has sums of its own, and is to arrive.
    #[test]
    fn handshakes_have_a_checksum_and_segments_none() {
        let wire = match Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)) {
            Ok(wire) => wire,
            Err(error) => return say_skipped("root", &format!("a raw socket: {error}")),
        };
        wire.bind(&SocketAddr::from((AT[0], 0)).into()).expect("an address of the loopback");
        wire.set_nonblocking(true).expect("an option");
        let ([far, mut near], _) = connected(OuterDscp::Copied, &Clock::new());
        let port = far.local().port();
        let handshake = checked(&wire, port);
        assert!(handshake.first() == Some(&true), "{handshake:?}");
        send_segment(&mut near);
        assert_eq!(checked(&wire, port).last(), Some(&false));
    }

    /// Where nothing is damaged: the kernel passes on many of them at once. What was queued before they had any arrives before them.
    #[test]
    fn datagrams_that_begin_to_have_checksums_arrive_in_order() {
        let clock = Clock::new();
        let ([mut far, mut near], _) = connected(OuterDscp::Copied, &clock);
        // The last one without a checksum is queued third.
        for _ in 0..(1 << 18) - 3 {
            queue_segment(&mut near, 0);
            near.outbox.clear();
        }
        for seq in 0..6 {
            queue_segment(&mut near, seq);
            assert_eq!(near.checked.is_empty(), seq < 3);
        }
        assert!(near.flush().expect("a socket"));
        far.fill(&clock).expect("a socket");
        let mut packets = Vec::new();
        far.received(&mut packets);
        let seq = |arrival: &Arrival<'_>| Segment::parse(arrival.packet).map(|segment| segment.tcp.seq.0);
        assert!(packets.iter().map(seq).eq((0..6).map(Ok)), "{packets:?}");
    }

    #[test]
    fn datagrams_have_the_tunnels_dscp_or_that_of_the_packet_inside() {
        let own = Dscp::new(8).expect("a codepoint");
        let (handshake, data) = sent_with(OuterDscp::Own(own));
        assert!(!handshake.is_empty() && handshake.iter().all(|dscp| *dscp == own), "{handshake:?}");
        assert!(!data.is_empty() && data.iter().all(|dscp| *dscp == own), "{data:?}");
        let (handshake, data) = sent_with(OuterDscp::Copied);
        assert!(handshake.iter().all(|dscp| *dscp == Dscp::DEFAULT), "{handshake:?}");
        assert!(data.contains(&Dscp::EF), "{data:?}");
    }
}
