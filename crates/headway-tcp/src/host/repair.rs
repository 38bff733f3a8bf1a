//! Damaged packets whose header cannot be read: repaired, or counted.

use headway_units::Instant;
use headway_wire::{Segment, ip::Datagram};

use super::demux::PathKey;
use super::{ConnectionId, Host};
use crate::event::{Event, Observer};
use crate::hack::repair::Repaired;

/// Connections of a path that a packet is held against.
const ASKED: usize = 3;

/// The connections of a path that received data last, the latest first.
#[derive(Clone, Copy, Default)]
pub(super) struct Receiving([Option<ConnectionId>; ASKED]);

impl Receiving {
    pub(super) fn latest(&self) -> Option<ConnectionId> {
        self.0[0]
    }

    pub(super) fn note(&mut self, id: ConnectionId) {
        if self.latest() == Some(id) {
            return;
        }
        let place = self.0.iter().position(|other| *other == Some(id)).unwrap_or(ASKED - 1);
        self.0[..=place].rotate_right(1);
        self.0[0] = Some(id);
    }
}

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
        let receiving = self.paths.get(self.demux.path(key)?)?.receiving;
        let mut found: Option<(ConnectionId, Repaired)> = None;
        for id in receiving.0.into_iter().flatten() {
            let Some(known) = self.connection(id).and_then(|connection| connection.knowledge(now)) else {
                continue;
            };
            let Some(repaired) = self.repairer.get_or_insert_default().repair(packet, &known) else {
                continue;
            };
            // Two connections that both explain it: nobody knows.
            if found.is_some() {
                return None;
            }
            found = Some((id, repaired));
        }
        found
    }
}
