//! Split mode: the hosts' connections end at the gateways, which carry the bytes of each in a connection of their own.
//!
//! The connections between the gateways share a congestion domain, as those of a live gateway do.

use std::net::{IpAddr, SocketAddr};

use headway_tcp::{ConnectionId, DomainId, HostConfig, ListenerId, OnlyPeer, State};
use headway_units::Instant;

use super::end::TrunkEnd;
use super::gateway::{Gateway, GatewayStatistics, PlainHost, SplitGatewayConfig, SplitRoute};
use super::preface;
use crate::network::node::{Next, Node, NodeContext};
use crate::network::packet::Packet;
use crate::network::parts::Port;
use crate::network::tap::Tap;

/// Where the other gateway listens.
const PORT: u16 = 1;
/// Connections that may wait to be accepted.
const BACKLOG: usize = 256;
const HOSTS: Port = Port(0);
const TRUNK: Port = Port(1);

pub(in crate::network) struct SplitGateway {
    /// Answers to the hosts in place of those beyond the link.
    outside: PlainHost,
    end: TrunkEnd,
    routes: Vec<SplitRoute>,
    /// Of the near gateway on the hosts' side, of the far one on the link's.
    listeners: Vec<ListenerId>,
    domain: DomainId,
    streams: Vec<Stream>,
    /// Of the connections that are over.
    past: GatewayStatistics,
}

/// A connection with a host, and the one between the gateways that carries its bytes.
struct Stream {
    /// `None` until the far gateway knows whom to connect to.
    outside: Option<ConnectionId>,
    inside: ConnectionId,
    preface: Preface,
    /// The end of what the host sends was passed on.
    host_ended: bool,
    /// The end of what the other gateway sends was passed on.
    peer_ended: bool,
}

/// What is left of it.
enum Preface {
    ToSend(Vec<u8>),
    ToReceive,
    Done,
}

impl SplitGateway {
    pub(in crate::network) fn new(config: SplitGatewayConfig) -> Self {
        let SplitGatewayConfig { gateway, routes, ports } = config;
        let opens = gateway.opens;
        let mut end = TrunkEnd::new(gateway);
        let mut secret = end.config.secret;
        // The two hosts have nothing in common.
        secret[0] ^= 0xff;
        let represented = |route: &SplitRoute| if opens { route.sink } else { route.source };
        let addresses = routes.iter().map(represented).collect();
        let mut outside =
            PlainHost::new(HostConfig { addresses, ..HostConfig::new(end.config.local, secret) });
        let Ok(domain) = end.host.open_domain(&end.config.profile) else {
            panic!("the profile of the trunk cannot work")
        };
        let mut listeners = Vec::new();
        let mut keep = |listener| match listener {
            Ok(listener) => listeners.push(listener),
            Err(error) => panic!("a fresh gateway refuses to listen: {error}"),
        };
        if opens {
            for (route, port) in routes.iter().flat_map(|route| ports.iter().map(move |port| (route, *port)))
            {
                keep(outside.listen(SocketAddr::new(route.sink, port), BACKLOG, route.profile.clone()));
            }
        } else {
            let local = SocketAddr::new(end.config.local, PORT);
            let listener = end.host.listen(local, BACKLOG, end.config.profile.clone());
            if let Ok(listener) = listener {
                let joined = end.host.set_listener_domain(listener, Some(domain));
                debug_assert!(joined.is_ok());
            }
            keep(listener);
        }
        Self {
            outside,
            end,
            routes,
            listeners,
            domain,
            streams: Vec::new(),
            past: GatewayStatistics::default(),
        }
    }

    fn accept(&mut self, now: Instant) {
        for listener in self.listeners.clone() {
            if self.end.config.opens {
                while let Some(outside) = self.outside.accept(listener) {
                    self.open(now, outside);
                }
            } else {
                while let Some(inside) = self.end.host.accept(listener) {
                    self.streams.push(Stream::new(None, inside, Preface::ToReceive));
                }
            }
        }
    }

    /// Opens the stream of a host's connection.
    fn open(&mut self, now: Instant, outside: ConnectionId) {
        let Some(ends) = self.outside.endpoints(outside) else { return };
        let (local, remote) = (SocketAddr::new(self.end.config.local, 0), self.end.config.remote);
        let remote = SocketAddr::new(remote, PORT);
        match self.end.host.connect_in(now, self.domain, local, remote, self.end.config.profile.clone()) {
            Ok(inside) => {
                let preface = Preface::ToSend(preface::emit(ends.remote, ends.local).into());
                self.streams.push(Stream::new(Some(outside), inside, preface));
            }
            Err(error) => panic!("a gateway refuses to connect: {error}"),
        }
    }

    /// Moves bytes on, and forgets streams that are over.
    fn relay(&mut self, now: Instant) {
        while self.outside.poll_notification().is_some() {}
        while self.end.host.poll_notification().is_some() {}
        self.accept(now);
        let Self { outside, end, routes, streams, past, .. } = self;
        for stream in &mut *streams {
            stream.relay(now, outside, &mut end.host, routes);
        }
        streams.retain(|stream| {
            let is_over = stream.is_over(outside, &end.host);
            if is_over {
                past.add_connection(end.host.statistics(stream.inside));
                end.host.release(now, stream.inside);
                if let Some(id) = stream.outside {
                    outside.release(now, id);
                }
            }
            !is_over
        });
    }
}

impl Stream {
    fn new(outside: Option<ConnectionId>, inside: ConnectionId, preface: Preface) -> Self {
        Self { outside, inside, preface, host_ended: false, peer_ended: false }
    }

    fn relay(
        &mut self,
        now: Instant,
        outside: &mut PlainHost,
        inside: &mut PlainHost,
        routes: &[SplitRoute],
    ) {
        self.advance_preface(now, outside, inside, routes);
        let Some(host_side) = self.outside else { return };
        if outside.error(host_side).is_some() || inside.error(self.inside).is_some() {
            // One side failed: so does the other. It may be over already.
            let _ = (outside.abort(now, host_side), inside.abort(now, self.inside));
            return;
        }
        if matches!(self.preface, Preface::Done) {
            pass(now, (outside, host_side), (inside, self.inside), &mut self.host_ended);
            pass(now, (inside, self.inside), (outside, host_side), &mut self.peer_ended);
        }
    }

    fn advance_preface(
        &mut self,
        now: Instant,
        outside: &mut PlainHost,
        inside: &mut PlainHost,
        routes: &[SplitRoute],
    ) {
        match &mut self.preface {
            Preface::ToSend(rest) => {
                let written = inside.write(self.inside, rest).unwrap_or(0);
                rest.drain(..written);
                if rest.is_empty() {
                    self.preface = Preface::Done;
                }
            }
            Preface::ToReceive if inside.readable(self.inside) >= preface::LEN => {
                let mut bytes = [0; preface::LEN];
                let read = inside.read(self.inside, &mut bytes);
                debug_assert_eq!(read.ok(), Some(preface::LEN));
                self.preface = Preface::Done;
                self.outside = connect(now, outside, routes, &bytes);
                if self.outside.is_none() {
                    // Damage that no checksum detected: no one can be connected.
                    let _ = inside.abort(now, self.inside);
                }
            }
            Preface::ToReceive | Preface::Done => {}
        }
    }

    fn is_over(&self, outside: &PlainHost, inside: &PlainHost) -> bool {
        let is_over = |host: &PlainHost, id| matches!(host.state(id), State::Closed | State::TimeWait);
        is_over(inside, self.inside)
            && self.outside.is_none_or(|id| is_over(outside, id))
            && inside.readable(self.inside) == 0
    }
}

/// Connects to the host that a preface names, with the address of the one that it is for.
fn connect(
    now: Instant,
    outside: &mut PlainHost,
    routes: &[SplitRoute],
    bytes: &[u8; preface::LEN],
) -> Option<ConnectionId> {
    let (source, sink) = preface::parse(bytes);
    let is_for = |ip: IpAddr, end: SocketAddr| ip == end.ip();
    let route = routes.iter().find(|route| is_for(route.source, source) && is_for(route.sink, sink))?;
    outside.connect(now, source, sink, route.profile.clone()).ok()
}

/// Moves what has arrived on one connection to another, and its end after it.
fn pass(
    now: Instant,
    (from, source): (&mut PlainHost, ConnectionId),
    (to, sink): (&mut PlainHost, ConnectionId),
    has_ended: &mut bool,
) {
    loop {
        let (first, second) = from.peek(source);
        let piece = if first.is_empty() { second } else { first };
        let moved = if piece.is_empty() { 0 } else { to.write(sink, piece).unwrap_or(0) };
        if moved == 0 {
            break;
        }
        from.consume(source, moved);
    }
    // RFC 9293, 3.10.4: a CLOSE in SYN-SENT would delete the connection, with what was written to it.
    if !*has_ended && from.is_finished(source) && to.state(sink) != State::SynSent {
        *has_ended = true;
        // It may be over already.
        let _ = to.close(now, sink);
    }
}

impl Gateway for SplitGateway {
    fn statistics(&self) -> GatewayStatistics {
        let mut statistics = self.past;
        for stream in &self.streams {
            statistics.add_connection(self.end.host.statistics(stream.inside));
        }
        statistics
    }

    fn is_open(&self) -> bool {
        true
    }

    fn set_only_peer(&mut self, peer: OnlyPeer) {
        self.end.set_only_peer(peer);
    }
}

impl<T: Tap> Node<T> for SplitGateway {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        if self.end.is_from_peer(&packet) {
            self.end.receive(cx, packet);
        } else {
            let received = headway_wire::Received::parse(packet.bytes(), headway_wire::ChecksumTrust::None);
            self.outside.receive(cx.now, &received);
            cx.discard(packet);
        }
    }

    fn handle_timeout(&mut self, cx: &mut NodeContext<'_, T>) {
        self.outside.handle_timeout(cx.now);
        self.end.host.handle_timeout(cx.now);
    }

    fn poll(&mut self, cx: &mut NodeContext<'_, T>) -> Next {
        let now = cx.now;
        self.relay(now);
        if let Some(packet) = cx.packet(|buffer| Some(self.outside.poll_transmit(now, buffer)?.len)) {
            return Next::Transmit(HOSTS, packet);
        }
        if let Some(packet) = self.end.transmit(cx) {
            return Next::Transmit(TRUNK, packet);
        }
        Next::Wait([self.outside.next_deadline(), self.end.host.next_deadline()].into_iter().flatten().min())
    }
}
