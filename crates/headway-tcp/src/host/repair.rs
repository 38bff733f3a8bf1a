//! Damaged packets whose header cannot be read: repaired, or counted.

use headway_units::Instant;
use headway_wire::{Segment, ip::Datagram};

use super::{ConnectionId, Host};
use crate::event::{Event, Observer};
use crate::hack::repair::Repaired;
use crate::path::table::PathKey;

impl<O: Observer> Host<O> {
    /// A damaged packet whose header cannot be read. It is repaired, if the connections that
    /// received data last leave no doubt about what it was; and counted otherwise.
    pub(super) fn receive_damaged(&mut self, at: Instant, packet: &[u8]) {
        let Ok(datagram) = Datagram::parse(packet) else {
            self.counters.unreadable += 1;
            return;
        };
        if !self.config.addresses.contains(&datagram.header.dst) {
            self.counters.not_ours += 1;
            return;
        }
        let (ip, body) = (datagram.header, datagram.body);
        let key = PathKey { local: ip.dst, remote: ip.src };
        let Some((id, repaired)) = self.repair(&key, at, packet) else {
            self.receive_unreadable(&key, at, body.len());
            return;
        };
        let segment = Segment {
            ip,
            tcp: repaired.tcp,
            options: repaired.options,
            payload: body.get(repaired.header_len..).unwrap_or_default(),
            ip_header_len: datagram.header_len,
            header_len: datagram.header_len + repaired.header_len,
        };
        self.counters.repaired += 1;
        self.with_connection(id, at, |connection, cx| {
            cx.path.repaired += 1;
            cx.emit(|| Event::Repaired {
                header: repaired.tcp,
                timestamps: repaired.options.timestamps,
                len: segment.payload.len() as u32,
                flips: repaired.flips,
            });
            connection.handle_repaired(cx, &segment);
        });
    }

    /// The connection that the packet belongs to, and its header.
    fn repair(&mut self, key: &PathKey, now: Instant, packet: &[u8]) -> Option<(ConnectionId, Repaired)> {
        let path = self.paths.find(key)?;
        let knowledge = self
            .paths
            .receivers(path)
            .filter_map(|id| Some((id, self.connections.get(id)?.connection().knowledge(now)?)));
        self.repairer.get_or_insert_default().repair_for_one(packet, knowledge)
    }
}
