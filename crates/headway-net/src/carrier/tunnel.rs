//! The sealed tunnel to other gateways over UDP: each segment in one datagram, sealed for itself.
//!
//! The protocol is [`headway_trunk_proto::Tunnel`]'s. Here are the socket, and what the host is given: a segment whose
//! header and payload were authenticated is intact, one of which only the header was is corrupted. Datagrams leave
//! without UDP checksum where the path is known to leave such alone, so that damaged ones arrive.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use headway_tcp::Transmit;
use headway_tcp::hack::PayloadTag;
use headway_trunk_proto::{
    Event, FlightRecorder, HEADROOM, PayloadSeal, PeerId, PeerStatus, RefusedHandshake, SegmentIntegrity,
    Tunnel, TunnelCounters, inner_mtu,
};
use headway_units::{Duration, Instant};
use headway_wire::ip::Datagram;
use headway_wire::{ChecksumTrust, Dscp, IpHeader, Received, Segment};
use parking_lot::Mutex;
use socket2::Socket;

use super::batch::{Inbox, Outbox};
use super::udp::socket::{open_socket, set_unchecked, set_unfragmented};
use super::{Arrival, Carrier, CarrierProperties, Housekeeping};
use crate::sys::{BATCH, Control, Name};
use crate::{Clock, NetError};

/// IP and UDP header of the outer packet.
const OUTER_V4: u16 = 20 + 8;
const OUTER_V6: u16 = 40 + 8;
/// How often the monitor is brought up to date.
const MONITOR_EVERY: Duration = Duration::from_millis(200);
/// Events that wait to be taken; older ones are dropped.
const MOST_EVENTS: usize = 1024;

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

/// What is known of a tunnel, to be read by others while it runs.
#[derive(Clone, Debug, Default)]
pub struct TunnelMonitor {
    shared: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    peers: Vec<PeerStatus>,
    counters: TunnelCounters,
    last_refusal: Option<RefusedHandshake>,
    events: Vec<Event>,
}

impl TunnelMonitor {
    /// The peers, in the order of the configuration; at most 200 ms old. Times are those of the [stack's clock](crate::Stack::now).
    pub fn peers(&self) -> Vec<PeerStatus> {
        self.shared.lock().peers.clone()
    }

    /// What was counted; at most 200 ms old.
    pub fn counters(&self) -> TunnelCounters {
        self.shared.lock().counters
    }

    /// The last handshake message that was refused.
    pub fn last_refusal(&self) -> Option<RefusedHandshake> {
        self.shared.lock().last_refusal
    }

    /// What has happened since the last call.
    pub fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut self.shared.lock().events)
    }
}

/// What a datagram contained.
struct TunnelArrival {
    verdict: SegmentIntegrity,
    packet: Range<usize>,
    tag: Option<Arc<dyn PayloadTag>>,
}

/// The seal of a corrupted payload, as TCP asks for it.
#[derive(Debug)]
struct SealedPayload(PayloadSeal);

impl PayloadTag for SealedPayload {
    fn holds(&self, payload: &[u8]) -> bool {
        self.0.holds(payload)
    }
}

/// The sealed tunnel to other gateways over UDP.
pub struct TunnelCarrier {
    socket: Socket,
    local: SocketAddr,
    tunnel: Tunnel,
    mtu: u16,
    dscp: OuterDscp,
    now: Instant,
    inbox: Inbox,
    arrived: [Option<TunnelArrival>; BATCH],
    /// Datagrams without checksum, and with.
    outbox: Outbox,
    checked: Outbox,
    is_unchecked: bool,
    restarted: Vec<IpAddr>,
    returned: Vec<IpAddr>,
    /// Of peers to which not the longest datagrams pass, or did not.
    path_mtus: Vec<(IpAddr, IpAddr, u16)>,
    monitor: TunnelMonitor,
    next_update: Instant,
    /// Something has been counted since the last update.
    is_stale: bool,
    /// A datagram was too long for this host: what is shorter now is due at once.
    has_refused: bool,
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
        let mut carrier = Self {
            socket,
            local: bound,
            tunnel,
            mtu,
            dscp: config.dscp,
            now: Instant::ZERO,
            inbox: Inbox::new(HEADROOM, room),
            arrived: [const { None }; BATCH],
            outbox: Outbox::new(HEADROOM, room),
            checked: Outbox::new(0, room),
            is_unchecked: true,
            restarted: Vec::new(),
            returned: Vec::new(),
            path_mtus: Vec::new(),
            monitor: TunnelMonitor::default(),
            next_update: Instant::ZERO,
            is_stale: true,
            has_refused: false,
        };
        carrier.update(Instant::ZERO);
        Ok(carrier)
    }

    /// The local address of datagrams.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// What the stack must have for addresses: one for each peer.
    pub fn inner_addresses(&self) -> Vec<IpAddr> {
        self.tunnel.peers().map(|peer| peer.inner.0.into()).collect()
    }

    /// What became of the last packets of each peer.
    pub fn recorders(&self) -> Vec<FlightRecorder> {
        self.tunnel.recorders()
    }

    /// What is known of the tunnel while it runs.
    pub fn monitor(&self) -> TunnelMonitor {
        self.monitor.clone()
    }

    /// Takes what has happened, and brings the monitor up to date.
    fn update(&mut self, now: Instant) {
        let events: Vec<Event> = std::iter::from_fn(|| self.tunnel.poll_event()).collect();
        if events.is_empty() && now < self.next_update {
            return;
        }
        self.next_update = now + MONITOR_EVERY;
        self.is_stale = false;
        let peers: Vec<PeerStatus> = self.tunnel.peers().collect();
        for event in &events {
            // A peer that is lost may come back as the same process: connections have time limits of their own.
            if let Event::Restarted(PeerId(peer)) = event {
                self.restarted.push(peers[*peer].inner.1.into());
            }
            // Without a session nothing was sent.
            if let Event::Returned(PeerId(peer)) | Event::Connected(PeerId(peer)) = event {
                self.returned.push(peers[*peer].inner.1.into());
            }
            if let Event::Mtu(PeerId(peer), _) | Event::LongHeaders(PeerId(peer)) = event {
                let PeerStatus { inner: (ours, theirs), inner_mtu: mtu, .. } = peers[*peer];
                self.path_mtus.retain(|path| path.1 != IpAddr::V6(theirs));
                self.path_mtus.push((ours.into(), theirs.into(), mtu));
            }
        }
        let mut seen = self.monitor.shared.lock();
        let room = MOST_EVENTS.saturating_sub(seen.events.len());
        seen.events.extend(events.into_iter().take(room));
        (seen.peers, seen.counters) = (peers, self.tunnel.counters());
        seen.last_refusal = self.tunnel.last_refusal();
    }

    /// Sends what is queued in one of the two batches.
    fn send(&mut self, unchecked: bool) -> io::Result<bool> {
        if self.is_unchecked != unchecked {
            set_unchecked(&self.socket, self.local.is_ipv4(), unchecked)?;
            self.is_unchecked = unchecked;
        }
        let outbox = if unchecked { &mut self.outbox } else { &mut self.checked };
        let result = outbox.send(self.socket.as_fd(), true);
        if let Some((to, len)) = outbox.take_too_long() {
            self.tunnel.refused(self.now, to, len);
            self.has_refused = true;
        }
        result
    }

    /// Queues the tunnel's own datagrams, as far as there is room. Returns whether those were all.
    fn queue_own(&mut self) -> bool {
        let dscp = self.dscp.of_outer(Dscp::DEFAULT);
        let header = IpHeader { dscp, ..IpHeader::new(self.local.ip(), self.local.ip()) };
        let own_control = Control::of_header(&header, self.local.is_ipv4());
        while !self.checked.is_full() && !self.outbox.is_full() {
            let Some(own) = self.tunnel.poll_transmit() else { return true };
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
        self.now = clock.now();
        match self.inbox.receive(self.socket.as_fd(), clock) {
            Ok(_) => {}
            Err(error) => {
                let error = super::unless_fatal(error)?;
                // No packet, or an ICMP error.
                if error.kind() != io::ErrorKind::WouldBlock {
                    tracing::debug!(%error, "reading from the tunnel's socket");
                }
                return Ok(0);
            }
        }
        for index in 0..self.inbox.len() {
            self.arrived[index] = None;
            let (_, ecn) = self.inbox.control(index).marks();
            let Some(from) = self.inbox.packet(index).2.place() else { continue };
            let (room, _) = self.inbox.place(index);
            let arrival = self.tunnel.receive(self.now, from, room, HEADROOM, ecn);
            self.arrived[index] = arrival.map(|arrival| TunnelArrival {
                verdict: arrival.verdict,
                packet: arrival.packet,
                tag: arrival.seal.map(|seal| Arc::new(SealedPayload(seal)) as Arc<dyn PayloadTag>),
            });
        }
        self.is_stale = true;
        self.update(self.now);
        Ok(self.inbox.len())
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        for index in 0..self.inbox.len() {
            let Some(TunnelArrival { verdict, packet, tag }) = &self.arrived[index] else { continue };
            let (room, at) = self.inbox.with_header(index, HEADROOM);
            let packet = &room[packet.clone()];
            let received = match verdict {
                SegmentIntegrity::Intact => Received::parse(packet, ChecksumTrust::Tcp),
                SegmentIntegrity::Corrupted => match Segment::parse(packet) {
                    Ok(segment) => Received::Corrupted(segment),
                    Err(error) => Received::Malformed(error),
                },
                // Whatever its own sums say: a header that was not authenticated is not believed.
                SegmentIntegrity::Unreadable => Received::Unreadable(Datagram::parse(packet).ok()),
            };
            packets.push(Arrival { packet, at, received, is_asking: false, tag: tag.clone() });
        }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        if self.checked.is_full() { None } else { self.outbox.slot() }
    }

    fn queue(&mut self, Transmit { len, .. }: Transmit) {
        let room = self.outbox.place();
        let inner = Datagram::parse(room.get(HEADROOM..HEADROOM + len).unwrap_or_default());
        let Ok(Datagram { header: inner, .. }) = inner else { return };
        self.is_stale = true;
        let sealed = match self.tunnel.seal(self.now, room, HEADROOM..HEADROOM + len) {
            Ok(sealed) => sealed,
            // As if lost on the way.
            Err(error) => return tracing::trace!(%error, "a segment was not sent"),
        };
        let outer = IpHeader { dscp: self.dscp.of_outer(inner.dscp), ..inner };
        let (name, control) = (Name::of(sealed.to), Control::of_header(&outer, self.local.is_ipv4()));
        let (start, end) = (sealed.datagram.start, sealed.datagram.end);
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
            // The order of the two matters little: a peer's packets are all in one of them.
            let checked = self.checked.is_empty() || self.send(false)?;
            let unchecked = self.outbox.is_empty() || self.send(true)?;
            if is_all || !(checked && unchecked) {
                return Ok(checked && unchecked);
            }
        }
    }
}

impl Housekeeping for TunnelCarrier {
    fn restarted_peers(&mut self) -> Vec<IpAddr> {
        std::mem::take(&mut self.restarted)
    }

    fn returned_peers(&mut self) -> Vec<IpAddr> {
        std::mem::take(&mut self.returned)
    }

    fn path_mtus(&self) -> &[(IpAddr, IpAddr, u16)] {
        &self.path_mtus
    }

    fn next_deadline(&self) -> Option<Instant> {
        let update = self.is_stale.then_some(self.next_update);
        let at_once = self.has_refused.then_some(Instant::ZERO);
        self.tunnel.next_deadline().into_iter().chain(update).chain(at_once).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.has_refused = false;
        self.tunnel.handle_timeout(now);
        self.update(now);
    }

    fn close(&mut self) {
        // What is sent may be lost. All are told once before one is told again.
        for _ in 0..3 {
            self.tunnel.close(self.now);
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
    use headway_wire::{SeqNumber, TcpFlags, TcpHeader, TcpOptions, emit};
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
            near.tunnel.peers().all(|peer| peer.passes_unchecked == Some(true))
        });
        near.flush().expect("a socket");
        own.extend(arrived(&mut far, clock));
        ([far, near], own)
    }

    /// Sends a segment with DSCP EF.
    fn send_segment(near: &mut TunnelCarrier) {
        let (src, dst) = near.tunnel.peers().next().expect("a peer").inner;
        let ip = IpHeader { dscp: Dscp::EF, ..IpHeader::new(src.into(), dst.into()) };
        let tcp = TcpHeader { seq: SeqNumber(1), flags: TcpFlags::SYN, ..TcpHeader::default() };
        let slot = near.slot().expect("room");
        let len = emit(slot, &ip, &tcp, &TcpOptions::default(), (&[], &[])).expect("a segment");
        near.queue(Transmit { len, compact: false });
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
