//! Packet mode: IP packets in one TCP connection (paper 004, III.B).

use std::net::SocketAddr;

use headway_link::EnqueueResult;
use headway_tcp::{ConnectionId, ListenerId, OnlyPeer, State};
use headway_trunk_proto::packets::{PacketReader, PacketWriter};
use headway_units::{Duration, Instant};

use super::end::TrunkEnd;
use super::gateway::{Gateway, GatewayStatistics, PacketGatewayConfig};
use crate::network::node::{Next, Node, NodeContext};
use crate::network::packet::Packet;
use crate::network::parts::Port;
use crate::network::tap::Tap;

/// Where the other gateway listens.
const PORT: u16 = 2;
/// How long the gateway waits after a connection that failed.
const PAUSE: Duration = Duration::from_secs(1);
const HOSTS: Port = Port(0);
const TRUNK: Port = Port(1);

pub(in crate::network) struct PacketGateway {
    end: TrunkEnd,
    listener: Option<ListenerId>,
    connection: Option<ConnectionId>,
    /// No connection is opened before.
    opens_at: Instant,
    writer: PacketWriter<Packet>,
    reader: PacketReader,
    mtu: u16,
    cost: Duration,
    /// When the packet that is being taken over can be written.
    taken_over_at: Option<Instant>,
    /// Of the connections that are over.
    past: GatewayStatistics,
}

impl PacketGateway {
    pub(in crate::network) fn new(config: PacketGatewayConfig, mtu: u16) -> Self {
        let PacketGatewayConfig { gateway, queue, aqm, seed, cost } = config;
        let mut end = TrunkEnd::new(gateway);
        let listener = (!end.config.opens).then(|| {
            let local = SocketAddr::new(end.config.local, PORT);
            match end.host.listen(local, 1, end.config.profile.clone()) {
                Ok(listener) => listener,
                Err(error) => panic!("a fresh gateway refuses to listen: {error}"),
            }
        });
        Self {
            end,
            listener,
            connection: None,
            opens_at: Instant::ZERO,
            writer: PacketWriter::new(queue, aqm, seed),
            reader: PacketReader::new(mtu),
            mtu,
            cost,
            taken_over_at: None,
            past: GatewayStatistics::default(),
        }
    }

    /// Opens and accepts connections, and gives up those that are over.
    fn keep_connection(&mut self, now: Instant) {
        let host = &mut self.end.host;
        while host.poll_notification().is_some() {}
        if self.connection.is_some_and(|id| host.error(id).is_some() || host.is_finished(id)) {
            self.give_up(now);
        }
        if let Some(id) = self.listener.and_then(|listener| self.end.host.accept(listener)) {
            // The other gateway has given up the one before.
            self.give_up(now);
            self.connection = Some(id);
        }
        if self.connection.is_none() && self.end.config.opens && now >= self.opens_at {
            let (local, remote) = (self.end.config.local, self.end.config.remote);
            let ends = (SocketAddr::new(local, 0), SocketAddr::new(remote, PORT));
            match self.end.host.connect(now, ends.0, ends.1, self.end.config.profile.clone()) {
                Ok(id) => self.connection = Some(id),
                Err(error) => panic!("a gateway refuses to connect: {error}"),
            }
        }
    }

    fn give_up(&mut self, now: Instant) {
        let Some(id) = self.connection.take() else { return };
        self.past.add_connection(self.end.host.statistics(id));
        self.past.failures += 1;
        // The connection is known: nothing else can fail.
        let _ = self.end.host.abort(now, id);
        self.end.host.release(now, id);
        self.writer.restart();
        self.reader = PacketReader::new(self.mtu);
        self.opens_at = now + PAUSE;
    }

    /// The next packet that has come through the trunk.
    fn deliver<T: Tap>(&mut self, cx: &mut NodeContext<'_, T>) -> Option<Packet> {
        let id = self.connection?;
        loop {
            let (first, second) = self.end.host.peek(id);
            let piece = if first.is_empty() { second } else { first };
            if piece.is_empty() {
                return None;
            }
            let mut rest = piece;
            let read = self.reader.read(&mut rest);
            let taken = piece.len() - rest.len();
            self.end.host.consume(id, taken);
            match read {
                Ok(None) => {}
                Ok(Some(bytes)) => {
                    return cx.packet(|buffer| {
                        buffer[..bytes.len()].copy_from_slice(bytes);
                        Some(bytes.len())
                    });
                }
                Err(_) => {
                    self.give_up(cx.now);
                    return None;
                }
            }
        }
    }

    /// Writes what the connection takes.
    fn fill<T: Tap>(&mut self, cx: &mut NodeContext<'_, T>) {
        let Some(id) = self.connection.filter(|&id| self.end.host.state(id) == State::Established) else {
            return;
        };
        while !self.writer.is_empty() {
            if !self.writer.is_within_packet() && !self.cost.is_zero() {
                let ready = *self.taken_over_at.get_or_insert(cx.now + self.cost);
                if cx.now < ready {
                    return;
                }
            }
            let host = &mut self.end.host;
            // One that fails is given up at the next event.
            let Some(packet) = self.writer.write(cx.now, |bytes| host.write(id, bytes).unwrap_or(0)) else {
                return;
            };
            self.taken_over_at = None;
            cx.discard(packet);
        }
    }
}

impl Gateway for PacketGateway {
    fn statistics(&self) -> GatewayStatistics {
        let mut statistics = self.past;
        statistics.add_connection(self.connection.and_then(|id| self.end.host.statistics(id)));
        statistics.queue_drops = self.writer.counters().dropped;
        statistics
    }

    fn is_open(&self) -> bool {
        self.connection.is_some_and(|id| self.end.host.state(id) == State::Established)
    }

    fn set_only_peer(&mut self, peer: OnlyPeer) {
        self.end.set_only_peer(peer);
    }
}

impl<T: Tap> Node<T> for PacketGateway {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        if self.end.is_from_peer(&packet) {
            self.end.receive(cx, packet);
            return;
        }
        let len = packet.bytes().len();
        if let EnqueueResult::Dropped(packet) = self.writer.enqueue(cx.now, packet, len) {
            cx.discard(packet);
        }
    }

    fn handle_timeout(&mut self, cx: &mut NodeContext<'_, T>) {
        self.end.host.handle_timeout(cx.now);
    }

    fn poll(&mut self, cx: &mut NodeContext<'_, T>) -> Next {
        self.keep_connection(cx.now);
        if let Some(packet) = self.deliver(cx) {
            return Next::Transmit(HOSTS, packet);
        }
        self.fill(cx);
        if let Some(packet) = self.end.transmit(cx) {
            return Next::Transmit(TRUNK, packet);
        }
        let opens_at = (self.connection.is_none() && self.end.config.opens).then_some(self.opens_at);
        // One that is taken over already waits for the connection.
        let taken_over_at = self.taken_over_at.filter(|&at| at > cx.now);
        Next::Wait([self.end.host.next_deadline(), opens_at, taken_over_at].into_iter().flatten().min())
    }
}
