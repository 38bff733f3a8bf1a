//! Unreadable packets: repaired, or counted, where it was the peer who sent them.

use alloc::vec::Vec;
use core::net::SocketAddr;

use headway_units::Instant;
use headway_wire::{Segment, ip::Datagram};

use super::{ConnectionId, Host};
use crate::connection::Endpoints;
use crate::event::{Event, Observer};
use crate::hack::repair::{Knowledge, Repaired, resembles};
use crate::path::table::PathKey;

/// A connection that a damaged header resembles one of, with what it knows.
type Suspect = (ConnectionId, Knowledge);

impl PathKey {
    /// The ends of the connection with these ports, as a packet of the peer's has them.
    fn ends(&self, ports: u32) -> Endpoints {
        Endpoints {
            local: SocketAddr::new(self.local, ports as u16),
            remote: SocketAddr::new(self.remote, (ports >> 16) as u16),
        }
    }
}

impl<O: Observer> Host<O> {
    /// A packet whose TCP header is corrupted. It is repaired if the connections whose headers it resembles
    /// leave no doubt about what it was; otherwise it is counted.
    #[inline(never)]
    pub(super) fn receive_unreadable(&mut self, at: Instant, datagram: &Datagram<'_>) {
        let (ip, body) = (datagram.header, datagram.body);
        let key = PathKey { local: ip.dst, remote: ip.src };
        let suspects = self.suspects(&key, at, body);
        let Some((id, repaired)) = self.repair(at, datagram, &suspects) else {
            self.count_unreadable(&key, at, body.len(), &suspects);
            return;
        };
        let segment = Segment {
            ip,
            tcp: repaired.tcp,
            options: repaired.options,
            payload: body.get(repaired.header_len..).unwrap_or_default(),
            blocks: &[],
            ip_header_len: datagram.header_len,
            header_len: datagram.header_len + repaired.header_len,
        }
        .with_blocks();
        self.counters.repaired += 1;
        self.with_connection(id, at, |connection, cx| {
            cx.path.repaired += 1;
            cx.emit(|| Event::Repaired {
                header: repaired.tcp,
                timestamps: repaired.options.timestamps,
                len: (body.len() - repaired.header_len) as u32,
                flips: repaired.flips,
            });
            connection.handle_repaired(cx, &segment);
        });
    }

    /// `packet` may be one of the only peer's, at `key.remote`, and its IP header is corrupted. It is counted if
    /// what is behind that header resembles a connection's. Only the length of the packet as it arrived is known:
    /// an IPv4 header has up to 60 bytes, one of IPv6 with an extension header or two as well.
    #[inline(never)]
    pub(super) fn receive_without_ip_header(&mut self, at: Instant, key: &PathKey, packet: &[u8]) {
        /// Hosts that use TCP HACK send no IP options.
        const IPV4_HEADER: usize = 20;
        const IPV6_HEADER: usize = 40;
        const LONGEST_HEADER: usize = 60;
        let header = if key.remote.is_ipv4() { IPV4_HEADER } else { IPV6_HEADER };
        let body = packet.get(header..).unwrap_or_default();
        let suspects = self.suspects(key, at, body);
        self.count_unreadable(key, at, packet.len().saturating_sub(LONGEST_HEADER), &suspects);
    }

    /// The connections that the TCP header at the start of `body` may belong to. They are looked for among those
    /// that received data last, and those whose ports it has except for one bit.
    fn suspects(&mut self, key: &PathKey, now: Instant, body: &[u8]) -> Vec<Suspect> {
        /// Connections that are asked at most.
        const MOST: usize = 12;
        let Some(path) = self.paths.find(key) else { return Vec::new() };
        let mut ids: Vec<ConnectionId> = Vec::with_capacity(MOST);
        let ports = body.first_chunk().map_or(0, |ports| u32::from_be_bytes(*ports));
        let with_flip = |flip: u32| self.connections.find(&key.ends(ports ^ flip));
        let named = with_flip(0).into_iter().chain(self.paths.receivers(path));
        for id in named.chain((0..u32::BITS).filter_map(|bit| with_flip(1 << bit))) {
            if !ids.contains(&id) && ids.len() < MOST {
                ids.push(id);
            }
        }
        ids.into_iter()
            .filter_map(|id| Some((id, self.connections.get(id)?.connection().knowledge(now)?)))
            .filter(|(_, known)| resembles(known, body))
            .collect()
    }

    /// The connection that the packet belongs to, and its header.
    fn repair(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        suspects: &[Suspect],
    ) -> Option<(ConnectionId, Repaired)> {
        let suspects: Vec<_> = suspects.iter().filter(|(_, known)| known.repairs).collect();
        if suspects.is_empty() {
            return None;
        }
        self.repairer.get_or_insert_default().repair_for_one(now, datagram, &suspects)
    }

    /// "Header bad: drop and count, on the path (there is no connection to blame)." If it resembles a header of
    /// a connection, was longer than any segment without data, and HACK v2 is in use, the peer is notified at
    /// once. `body` is the length behind the IP header.
    fn count_unreadable(&mut self, key: &PathKey, at: Instant, body: usize, suspects: &[Suspect]) {
        /// The longest TCP header: what is longer carried data.
        const LONGEST_HEADER: usize = 60;
        self.counters.unreadable += 1;
        let Some(found) = self.paths.find(key) else { return };
        let Some(path) = self.paths.get_mut(found) else { return };
        path.unreadable += 1;
        let Some(&(id, _)) = suspects.first().filter(|_| body > LONGEST_HEADER) else { return };
        path.damaged_data += 1;
        self.with_connection(id, at, |connection, _| connection.report_unreadable());
    }
}
