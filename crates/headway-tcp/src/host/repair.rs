//! Unreadable packets: repaired, or counted.

use headway_units::Instant;
use headway_wire::{Segment, ip::Datagram};

use super::{ConnectionId, Host};
use crate::event::{Event, Observer};
use crate::hack::repair::Repaired;
use crate::path::table::PathKey;

impl<O: Observer> Host<O> {
    /// A packet whose TCP header is corrupted. It is repaired if the connections that received data last
    /// leave no doubt about what it was; otherwise it is counted.
    pub(super) fn receive_unreadable(&mut self, at: Instant, datagram: &Datagram<'_>) {
        let (ip, body) = (datagram.header, datagram.body);
        let key = PathKey { local: ip.dst, remote: ip.src };
        let Some((id, repaired)) = self.repair(&key, at, datagram) else {
            self.count_unreadable(&key, at, body.len());
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
    fn repair(
        &mut self,
        key: &PathKey,
        now: Instant,
        datagram: &Datagram<'_>,
    ) -> Option<(ConnectionId, Repaired)> {
        let path = self.paths.find(key)?;
        let knowledge = self
            .paths
            .receivers(path)
            .filter_map(|id| Some((id, self.connections.get(id)?.connection().knowledge(now)?)));
        self.repairer.get_or_insert_default().repair_for_one(datagram, knowledge)
    }

    /// "Header bad: drop and count, on the path (there is no connection to blame)." With HACK v2 the
    /// connection that received data last notifies the peer at once. `body` is the length behind the IP
    /// header.
    pub(super) fn count_unreadable(&mut self, key: &PathKey, at: Instant, body: usize) {
        /// The longest TCP header: what is longer carried data.
        const LONGEST_HEADER: usize = 60;
        self.counters.unreadable += 1;
        let Some(found) = self.paths.find(key) else { return };
        let Some(path) = self.paths.get_mut(found) else { return };
        path.unreadable += 1;
        if body <= LONGEST_HEADER {
            return;
        }
        path.damaged_data += 1;
        if let Some(id) = self.paths.receivers(found).next() {
            self.with_connection(id, at, |connection, _| connection.report_unreadable());
        }
    }
}
