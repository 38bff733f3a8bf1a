//! Where peers are: asked, answered, believed.

use std::net::SocketAddr;

use headway_units::Instant;

use super::{Event, PeerId, Tunnel};
use crate::control::{Control, Token};
use crate::path::Step;

impl Tunnel {
    /// A handshake of the peer's was answered, and the peer has received the answer at one of these addresses, to each of which so
    /// many bytes more may be sent. If it is only one, the peer is there.
    pub(super) fn handshake_came_from(
        &mut self,
        now: Instant,
        id: PeerId,
        addresses: &[(SocketAddr, usize)],
    ) {
        if let &[(at, _)] = addresses {
            return self.moved(now, id, at);
        }
        addresses.iter().for_each(|&place| self.ask_whether_at(now, id, place));
    }

    /// A datagram of `bytes` was authenticated; `newest`: as the newest packet of the session in use.
    pub(super) fn came_from(
        &mut self,
        now: Instant,
        id: PeerId,
        from: SocketAddr,
        bytes: usize,
        newest: bool,
    ) {
        let paths = &mut self.peers[id.0].paths;
        paths.on_received(from, bytes);
        if let Some(budget) = newest.then(|| paths.on_newest(from, bytes)).flatten() {
            self.ask_whether_at(now, id, (from, budget));
        }
    }

    fn ask_whether_at(&mut self, now: Instant, id: PeerId, place: (SocketAddr, usize)) {
        let tokens = [(); 2].map(|()| {
            let mut token = Token::default();
            (self.random)(&mut token);
            token
        });
        let peer = &mut self.peers[id.0];
        peer.paths.ask(now, place, tokens, peer.min_rtt);
        self.check_paths(now, id);
    }

    /// Sends the challenges that are due, and follows the peer.
    pub(super) fn check_paths(&mut self, now: Instant, id: PeerId) {
        for step in self.peers[id.0].paths.step(now) {
            match step {
                Step::Challenge(to, token) => {
                    self.send_control_to(now, id, Control::PathChallenge(token), to);
                }
                Step::Move(to) => self.moved(now, id, to),
            }
        }
    }

    fn moved(&mut self, now: Instant, id: PeerId, to: SocketAddr) {
        let peer = &mut self.peers[id.0];
        let known = peer.paths.endpoint();
        if known != Some(to) {
            peer.move_to(now, to);
        }
        if known.is_some_and(|known| known != to) {
            self.events.push_back(Event::Moved(id, to));
        }
    }

    /// Answers to where the peer is, as far as that is known: where the challenge came from says nothing.
    pub(super) fn answer_challenge(&mut self, now: Instant, id: PeerId, from: SocketAddr, token: Token) {
        let to = self.peers[id.0].paths.endpoint().unwrap_or(from);
        self.send_control_to(now, id, Control::PathResponse(token), to);
    }

    pub(super) fn on_path_response(&mut self, now: Instant, id: PeerId, token: Token) {
        self.peers[id.0].paths.on_answer(token);
        self.check_paths(now, id);
    }
}
