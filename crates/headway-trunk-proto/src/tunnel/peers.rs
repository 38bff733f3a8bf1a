//! Peers that come, go and are elsewhere while the tunnel runs.

use std::net::SocketAddr;

use headway_units::Instant;

use super::{Event, PeerConfig, PeerId, Tunnel};
use crate::addresses::inner_address;
use crate::control::Control;
use crate::keys::PresharedKey;
use crate::path::Paths;
use crate::peer::Peer;

impl Tunnel {
    /// Another peer, from now on. Its place is behind those of all that there were, removed ones among them. The caller sees to it
    /// that no peer has its key.
    pub fn add_peer(&mut self, config: PeerConfig) -> PeerId {
        let id = PeerId(self.peers.len());
        let ours = inner_address(&self.public, &config.key);
        let theirs = inner_address(&config.key, &self.public);
        let preshared = config.preshared.unwrap_or_else(PresharedKey::none);
        let mut peer = Peer::new(config.key, preshared, (ours, theirs), self.longest);
        peer.paths = Paths::new(config.endpoint);
        peer.keep_alive = config.keep_alive;
        self.inner.insert(theirs, id);
        self.peers.push(peer);
        id
    }

    /// Removes a peer: it is notified, its sessions are forgotten, and its handshakes are refused as those of an unknown
    /// one. Its place is not used again.
    pub fn remove_peer(&mut self, now: Instant, id: PeerId) {
        let Some(key) = self.peers.get(id.0).filter(|peer| !peer.is_removed).map(|peer| peer.key) else {
            return;
        };
        self.send_control(now, id, Control::Close);
        let peer = &mut self.peers[id.0];
        let inner = peer.inner;
        *peer = Peer::new(key, PresharedKey::none(), inner, self.longest);
        peer.is_removed = true;
        self.inner.remove(&inner.1);
        self.forget_indices();
        self.events.push_back(Event::Removed(id));
    }

    /// The peer is looked for at `endpoint` from now on: its name leads there.
    pub fn set_endpoint(&mut self, now: Instant, id: PeerId, endpoint: SocketAddr) {
        if let Some(peer) = self.peers.get_mut(id.0).filter(|peer| !peer.is_removed) {
            peer.move_to(now, endpoint);
            peer.try_at_once();
        }
    }
}
