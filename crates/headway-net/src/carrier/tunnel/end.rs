//! One end of a tunnel between carrier and host: what it makes of datagrams, and what is known of it while it runs.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;

use headway_tcp::hack::PayloadTag;
use headway_trunk_proto::{
    Event, FlightRecorder, HEADROOM, PayloadSeal, PeerConfig, PeerId, PeerStatus, RefusedHandshake,
    SegmentIntegrity, Tunnel, TunnelCounters,
};
use headway_units::{Duration, Instant};
use headway_wire::ip::Datagram;
use headway_wire::{ChecksumTrust, Ecn, Received, Segment};
use parking_lot::Mutex;

use super::super::batch::Inbox;
use super::super::{Arrival, Housekeeping};
use crate::sys::BATCH;

/// How often the monitor is brought up to date.
const MONITOR_EVERY: Duration = Duration::from_millis(200);
/// Events that wait to be taken; older ones are dropped.
const MOST_EVENTS: usize = 1024;

/// What is known of a tunnel, to be read by others while it runs, and what they change of it.
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
    recorders: Vec<FlightRecorder>,
    changes: Vec<TunnelChange>,
}

/// What is to be changed of a tunnel that runs.
#[derive(Clone, Debug)]
pub enum TunnelChange {
    /// Another peer ([`Tunnel::add_peer`]).
    Add(Box<PeerConfig>),
    /// A peer is removed ([`Tunnel::remove_peer`]).
    Remove(PeerId),
    /// A peer is looked for elsewhere ([`Tunnel::set_endpoint`]).
    Endpoint(PeerId, SocketAddr),
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

    /// What became of the last packets of each peer; at most 200 ms old, as regards the number of peers.
    pub fn recorders(&self) -> Vec<FlightRecorder> {
        self.shared.lock().recorders.clone()
    }

    /// Changes the tunnel, in this order, the next time that its stack is [woken](crate::Stack::wake).
    pub fn change(&self, changes: impl IntoIterator<Item = TunnelChange>) {
        self.shared.lock().changes.extend(changes);
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
    fn has_authentic_header(&self) -> bool {
        self.0.has_authentic_header()
    }

    fn holds(&self, payload: &[u8]) -> bool {
        self.0.holds(payload)
    }
}

/// One end of a tunnel.
pub(super) struct TunnelEnd {
    tunnel: Tunnel,
    now: Instant,
    arrived: [Option<TunnelArrival>; BATCH],
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

impl TunnelEnd {
    pub(super) fn new(tunnel: Tunnel) -> Self {
        let mut end = Self {
            tunnel,
            now: Instant::ZERO,
            arrived: [const { None }; BATCH],
            restarted: Vec::new(),
            returned: Vec::new(),
            path_mtus: Vec::new(),
            monitor: TunnelMonitor::default(),
            next_update: Instant::ZERO,
            is_stale: true,
            has_refused: false,
        };
        end.update();
        end
    }

    pub(super) fn tunnel(&self) -> &Tunnel {
        &self.tunnel
    }

    /// The tunnel and the time, to send by it.
    pub(super) fn sending(&mut self) -> (&mut Tunnel, Instant) {
        self.is_stale = true;
        (&mut self.tunnel, self.now)
    }

    /// The next datagram of the tunnel's own.
    pub(super) fn poll_transmit(&mut self) -> Option<headway_trunk_proto::Transmit> {
        self.tunnel.poll_transmit()
    }

    /// What the stack must have for addresses: one for each peer.
    pub(super) fn inner_addresses(&self) -> Vec<IpAddr> {
        self.tunnel.peers().map(|peer| peer.inner.0.into()).collect()
    }

    pub(super) fn monitor(&self) -> TunnelMonitor {
        self.monitor.clone()
    }

    /// Datagrams are read from now on.
    pub(super) fn on_time(&mut self, now: Instant) {
        self.now = now;
    }

    /// Opens the datagram at `index` of the inbox, which came `from` there; `None`: from nowhere.
    pub(super) fn open(&mut self, inbox: &mut Inbox, index: usize, from: Option<SocketAddr>, ecn: Ecn) {
        self.arrived[index] = None;
        let Some(from) = from else { return };
        let (room, _) = inbox.place(index);
        let arrival = self.tunnel.receive(self.now, from, room, HEADROOM, ecn);
        self.arrived[index] = arrival.map(|arrival| TunnelArrival {
            verdict: arrival.verdict,
            packet: arrival.packet,
            tag: arrival.seal.map(|seal| Arc::new(SealedPayload(seal)) as Arc<dyn PayloadTag>),
        });
    }

    /// All of a batch were opened.
    pub(super) fn on_opened(&mut self) {
        self.is_stale = true;
        self.update();
    }

    /// What was opened of the inbox.
    pub(super) fn received<'a>(&'a self, inbox: &'a Inbox, packets: &mut Vec<Arrival<'a>>) {
        for index in 0..inbox.len() {
            let Some(TunnelArrival { verdict, packet, tag }) = &self.arrived[index] else { continue };
            let (room, at) = inbox.with_header(index, HEADROOM);
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

    /// This host's interface does not carry datagrams of `len` bytes.
    pub(super) fn on_too_long(&mut self, to: SocketAddr, len: usize) {
        self.tunnel.refused(self.now, to, len);
        self.has_refused = true;
    }

    /// The peers are told of the end, as often as it is called.
    pub(super) fn close(&mut self) {
        self.tunnel.close(self.now);
    }

    /// Changes what others want to be changed.
    fn change(&mut self) {
        let changes = std::mem::take(&mut self.monitor.shared.lock().changes);
        // The monitor has them at once.
        if !changes.is_empty() {
            self.next_update = self.now;
        }
        for change in changes {
            match change {
                TunnelChange::Add(peer) => {
                    self.tunnel.add_peer(*peer);
                }
                TunnelChange::Remove(peer) => self.tunnel.remove_peer(self.now, peer),
                TunnelChange::Endpoint(peer, endpoint) => self.tunnel.set_endpoint(self.now, peer, endpoint),
            }
        }
    }

    /// Takes what has happened, and brings the monitor up to date.
    fn update(&mut self) {
        let events: Vec<Event> = std::iter::from_fn(|| self.tunnel.poll_event()).collect();
        if events.is_empty() && self.now < self.next_update {
            return;
        }
        self.next_update = self.now + MONITOR_EVERY;
        self.is_stale = false;
        let peers: Vec<PeerStatus> = self.tunnel.peers().collect();
        for event in &events {
            // A peer that is lost may come back as the same process: connections have time limits of their own.
            if let Event::Restarted(PeerId(peer)) | Event::Removed(PeerId(peer)) = event {
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
        if seen.recorders.len() != seen.peers.len() {
            seen.recorders = self.tunnel.recorders();
        }
    }
}

impl Housekeeping for TunnelEnd {
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
        let at_once = (self.has_refused || !self.restarted.is_empty()).then_some(Instant::ZERO);
        self.tunnel.next_deadline().into_iter().chain(update).chain(at_once).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.has_refused = false;
        self.change();
        self.tunnel.handle_timeout(now);
        self.update();
    }
}
