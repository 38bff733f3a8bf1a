//! What carriers ask of a host: packets in, packets out, and the time.

use alloc::sync::Arc;
use core::net::{IpAddr, SocketAddr};

use headway_units::Instant;
use headway_wire::{IpHeader, Received, Segment, SeqNumber, TcpFlags};

use super::connections::HeldConnection;
use super::listeners::PassiveOpen;
use super::{ConnectionId, Host, ListenerId};
use crate::connection::{Connection, Endpoints, Reply};
use crate::event::Observer;
use crate::hack::PayloadTag;
use crate::hack::partial::Evidence;

/// A packet to send, at the start of the buffer that [`Host::poll_transmit`] was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Its length, in bytes.
    pub len: usize,
    /// It has to be given the [compact form](headway_wire::compact::compact) if there is one, which the peer understands: with
    /// data it may be longer than the path carries whole segments. Never so without
    /// [`Profile::compact_headers`](crate::Profile::compact_headers).
    pub compact: bool,
}

impl<O: Observer> Host<O> {
    /// A packet arrived at `at`, on which round-trip samples depend.
    ///
    /// An ICMP echo request is answered, up to a thousand a second. An ICMP error message counts if it
    /// quotes the sequence number of a segment that is in flight: RFC 5927, 4.1 has "TCP should check that the TCP
    /// sequence number contained in the payload of the ICMP error message is within the range SND.UNA =<
    /// SEG.SEQ < SND.NXT". Then *packet too big* lowers the path's MTU ([`Host::set_path_mtu`]), for ten
    /// minutes; a hard error ends a connection that is being opened
    /// ([`ConnectionError::Unreachable`](crate::ConnectionError::Unreachable)); all others are
    /// reported ([`Event::Icmp`](crate::Event::Icmp)) and change nothing.
    pub fn receive(&mut self, at: Instant, received: &Received<'_>) {
        match received {
            Received::Intact(segment) if self.is_ours(&segment.ip.dst) => {
                let ends = ends_of(segment);
                match self.connections.find_arrival(&ends) {
                    Some(id) => self.receive_intact(id, &ends, at, segment),
                    None => self.receive_unmatched(&ends, at, segment),
                }
            }
            Received::Corrupted(segment) => self.receive_corrupted(at, segment, Evidence::Valid),
            Received::Unreadable(Some(datagram)) if self.is_ours(&datagram.header.dst) => {
                self.receive_unreadable(at, datagram);
            }
            Received::Icmp { dst, message } if self.is_ours(dst) => self.receive_icmp(at, *dst, message),
            Received::Intact(_) | Received::Unreadable(Some(_)) | Received::Icmp { .. } => {
                self.counters.not_ours += 1;
            }
            Received::Unreadable(None) => self.counters.unreadable += 1,
            Received::OtherProtocol(_) => self.counters.other_protocols += 1,
            Received::Malformed(_) => self.counters.malformed += 1,
        }
    }

    /// A corrupted segment arrived at `at`, by a carrier that has a `tag` of its payload. What is completed by partial recovery is
    /// believed if the tag holds ([`Profile::tagged_payloads`](crate::Profile::tagged_payloads)). Damaged
    /// [sums of blocks](Segment::blocks) behind an authentic header are taken as they are: each counts for itself.
    pub fn receive_tagged(&mut self, at: Instant, segment: &Segment<'_>, tag: &Arc<dyn PayloadTag>) {
        let is_ack = segment.options.v2.as_ref().is_some_and(|v2| v2.as_ack().is_some());
        if is_ack && tag.has_authentic_header() {
            self.receive(at, &Received::Intact(*segment));
        } else {
            self.receive_corrupted(at, segment, Evidence::Tagged(tag));
        }
    }

    /// Whether a packet, to be asked before [`Host::receive`] takes it, is surely from the peer of an open
    /// connection: it has numbers that only who sees the connection knows. So a carrier that finds it at another
    /// place may answer there.
    pub fn accepts(&self, at: Instant, received: &Received<'_>) -> bool {
        let Received::Intact(segment) = received else { return false };
        let id = self.connections.find(&ends_of(segment));
        self.is_ours(&segment.ip.dst)
            && id
                .and_then(|id| self.connection(id))
                .is_some_and(|connection| connection.is_surely_from_peer(segment, at))
    }

    // By reference: a copy of what was written a moment ago would wait for it.
    pub(super) fn is_ours(&self, address: &IpAddr) -> bool {
        self.config.addresses.contains(address) || self.interception.is_some()
    }

    #[inline(never)]
    fn receive_corrupted(&mut self, at: Instant, segment: &Segment<'_>, evidence: Evidence<'_>) {
        if !self.is_ours(&segment.ip.dst) {
            self.counters.not_ours += 1;
            return;
        }
        let Some(id) = self.connections.find_arrival(&ends_of(segment)) else {
            self.counters.corrupted_unmatched += 1;
            return;
        };
        let plausible = self.with_connection(id, at, |connection, cx| {
            cx.path.corrupted += 1;
            connection.handle_corrupted(cx, segment, evidence)
        });
        if plausible == Some(true) {
            self.record_receiver(id);
        }
    }

    pub(super) fn receive_intact(
        &mut self,
        id: ConnectionId,
        ends: &Endpoints,
        at: Instant,
        segment: &Segment<'_>,
    ) {
        if segment.tcp.flags.contains(TcpFlags::SYN) && self.reopen(id, ends, at, segment) {
            return;
        }
        if !segment.payload.is_empty() {
            self.record_receiver(id);
        }
        let reply = self.with_connection(id, at, |connection, cx| {
            cx.path.intact += 1;
            connection.handle_segment(cx, segment)
        });
        if reply == Some(Reply::Reset) {
            let ip = self.connection(id).map(Connection::ip_header);
            if self.reap(id, at) {
                // It had ended before, and no one asks for it: the segment may begin another.
                return self.receive_unmatched(ends, at, segment);
            }
            self.reset_unmatched(ip, segment);
        }
        if self.connections.get(id).is_some_and(HeldConnection::is_released) {
            self.abort_unread(at, id);
        }
    }

    /// Lets a new connection take the place of one in TIME-WAIT, if the segment is for that; says whether it is.
    #[inline(never)]
    fn reopen(&mut self, id: ConnectionId, ends: &Endpoints, at: Instant, segment: &Segment<'_>) -> bool {
        let Some((listener, beyond)) = self.reopens(id, ends, segment) else { return false };
        self.remove(id, at);
        if let Some(listener) = listener {
            self.open_passively(&PassiveOpen { listener, ends, at, syn: segment }, Some(beyond));
        } else {
            self.intercept_syn(ends, at, segment, Some(beyond));
        }
        true
    }

    fn record_receiver(&mut self, id: ConnectionId) {
        if let Some(entry) = self.connections.get(id) {
            self.paths.record_receiver(entry.path(), id);
        }
    }

    /// RFC 9293, 3.6.1 and RFC 6191: a SYN may end TIME-WAIT early if it is surely a new one and
    /// someone listens there. Gives the listener, if it is one, and the number beyond which the new connection begins.
    fn reopens(
        &self,
        id: ConnectionId,
        ends: &Endpoints,
        segment: &Segment<'_>,
    ) -> Option<(Option<ListenerId>, SeqNumber)> {
        let flags = segment.tcp.flags;
        if !flags.contains(TcpFlags::SYN) || flags.intersects(TcpFlags::ACK | TcpFlags::RST | TcpFlags::FIN) {
            return None;
        }
        let connection = self.connection(id)?;
        // What has arrived and was acknowledged is not lost by that.
        if connection.readable() > 0 || !connection.may_be_replaced_by(segment) {
            return None;
        }
        let listener = self.listener_at(ends.local);
        (listener.is_some() || self.interception.is_some()).then(|| (listener, connection.last_sent()))
    }

    /// A segment without a connection: a listener's, or no one's.
    #[inline(never)]
    fn receive_unmatched(&mut self, ends: &Endpoints, at: Instant, segment: &Segment<'_>) {
        // RFC 9293, 3.9.2.3: "An incoming SYN with an invalid source address MUST be ignored", and who would
        // an answer to anything else go to?
        if !is_one_host(ends.remote.ip()) {
            self.counters.malformed += 1;
            return;
        }
        let flags = segment.tcp.flags;
        let mut ip = None;
        // RFC 9293, 3.10.7.2: LISTEN STATE.
        if let Some(listener) = self.listener_at(ends.local) {
            ip = self.listener_ip_header(listener, ends);
            if flags.contains(TcpFlags::RST) {
                return;
            }
            if flags.contains(TcpFlags::ACK) {
                if self.redeem_cookie(listener, ends, at, segment) {
                    return;
                }
            } else {
                // A FIN beside it is not processed: "Do not process the FIN if the state is CLOSED, LISTEN, or
                // SYN-SENT since the SEG.SEQ cannot be validated". It is not acknowledged, and comes again.
                if flags.contains(TcpFlags::SYN) {
                    self.open_passively(&PassiveOpen { listener, ends, at, syn: segment }, None);
                }
                return;
            }
        }
        if flags.contains(TcpFlags::RST) {
            self.intercept_reset(ends, segment);
        } else if flags.contains(TcpFlags::SYN)
            && !flags.contains(TcpFlags::ACK)
            && is_one_host(ends.local.ip())
            && self.intercept_syn(ends, at, segment, None)
        {
            return;
        }
        self.reset_unmatched(ip, segment);
    }

    /// `ip`: the header of the RST; without it, that of a packet of no one's.
    pub(super) fn reset_unmatched(&mut self, ip: Option<IpHeader>, segment: &Segment<'_>) {
        let ip = ip.unwrap_or(IpHeader::new(segment.ip.dst, segment.ip.src));
        if self.replies.refuse(ip, segment) {
            self.counters.resets += 1;
        }
    }

    /// Builds the next packet to send into `buffer`; `None` when there is nothing more to send now. `buffer` must hold the largest MTU of any profile in use, and
    /// [`LEFT_OUT`](headway_wire::compact::LEFT_OUT) bytes more if one has [`Profile::compact_headers`](crate::Profile::compact_headers).
    ///
    /// The table of [`Host`] says which calls may change the answer.
    ///
    /// # Panics
    ///
    /// `buffer` is shorter than a packet to be built.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Transmit> {
        if let Some(len) = self.replies.poll_transmit(buffer).or_else(|| self.echoes.poll_transmit(buffer)) {
            return Some(Transmit { len, compact: false });
        }
        while let Some(id) = self.connections.pop_ready() {
            let sent = self.lend(id, now, |connection, cx| {
                let len = connection.poll_transmit(cx, buffer)?;
                let sent = Transmit { len, compact: connection.negotiated().compact };
                Some((sent, connection.is_quiet() && !cx.domain.is_shared()))
            });
            if let Some((sent, is_quiet)) = sent.flatten() {
                if is_quiet {
                    self.set_idle(id);
                } else {
                    // Connections take turns.
                    self.connections.push_ready(id);
                }
                return Some(sent);
            }
            self.set_idle(id);
            self.reap(id, now);
        }
        None
    }

    /// A connection has nothing more to send now.
    fn set_idle(&mut self, id: ConnectionId) {
        if let Some(listener) = self.connections.set_idle(id) {
            self.listener_progress(id, listener);
        }
    }

    /// When [`Host::handle_timeout`] must be called at the latest. Valid after
    /// [`Host::poll_transmit`] returned `None`; the table of [`Host`] says which calls may change it.
    #[inline]
    pub fn next_deadline(&mut self) -> Option<Instant> {
        self.connections.next_deadline().into_iter().chain(self.paths.next_mtu_deadline()).min()
    }

    /// Lets every timer expire whose time has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(id) = self.connections.pop_due(now) {
            self.with_connection(id, now, Connection::handle_timeout);
        }
        self.forget_path_mtus(now);
    }
}

fn ends_of(segment: &Segment<'_>) -> Endpoints {
    Endpoints {
        local: SocketAddr::new(segment.ip.dst, segment.tcp.dst_port),
        remote: SocketAddr::new(segment.ip.src, segment.tcp.src_port),
    }
}

/// Whether an address is that of one host.
pub(super) fn is_one_host(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(is_broadcast || address.is_multicast() || address.is_unspecified())
}
