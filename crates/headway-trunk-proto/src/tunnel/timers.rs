//! What is due, and when.

use headway_units::Instant;

use super::{Event, PeerId, Tunnel};
use crate::control::Control;
use crate::peer::Peer;

impl Tunnel {
    /// When [`Tunnel::handle_timeout`] must be called at the latest.
    pub fn next_deadline(&self) -> Option<Instant> {
        let of = |peer: &Peer| {
            let asks = [peer.handshake_at(), peer.keep_alive_at(), peer.ask_at()];
            let probes = [peer.probe_at(), peer.mtu_at(), peer.expiry(), peer.paths.due()];
            asks.into_iter().chain(probes).flatten().min()
        };
        self.peers.iter().filter_map(of).min()
    }

    /// Does what is due: handshakes, keep-alives, probes.
    pub fn handle_timeout(&mut self, now: Instant) {
        for id in (0..self.peers.len()).map(PeerId) {
            let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            if is_due(self.peers[id.0].expiry()) {
                let peer = &mut self.peers[id.0];
                (peer.current, peer.previous) = (None, None);
                self.events.push_back(Event::Lost(id));
                self.forget_indices();
            }
            if is_due(self.peers[id.0].handshake_at()) {
                self.initiate(now, id);
            }
            if is_due(self.peers[id.0].keep_alive_at()) {
                self.send_control(now, id, Control::KeepAlive);
            }
            if is_due(self.peers[id.0].ask_at()) {
                self.ask(now, id);
            }
            if is_due(self.peers[id.0].paths.due()) {
                self.check_paths(now, id);
            }
            if is_due(self.peers[id.0].mtu_at()) {
                self.probe_mtu(now, id);
            }
            if is_due(self.peers[id.0].probe_at()) {
                if self.peers[id.0].checksum.probe(now) {
                    self.send_control(now, id, Control::Probe);
                } else {
                    self.events.push_back(Event::Unchecked(id, false));
                }
            }
        }
    }
}
