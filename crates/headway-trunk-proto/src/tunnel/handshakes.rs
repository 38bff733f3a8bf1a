//! Handshakes: with whom, how many, and what follows.

use std::net::SocketAddr;

use headway_units::{Duration, Instant};

use super::{Event, PeerId, Refusal, Transmit, Tunnel};
use crate::cookie;
use crate::handshake::{Initiator, Introduction, Responder};
use crate::message::{COOKIE_NONCE, MAC, RESPONSE_LEN};
use crate::path::budget;
use crate::session::Session;

/// How long a cookie is used that a peer sent.
const COOKIE_LIFE: Duration = Duration::from_secs(120);

/// Events that wait, where anyone can give rise to another.
const MOST_EVENTS: usize = 16;

impl Tunnel {
    /// Whether an initiation is worth a look: all others cost nothing but a hash.
    fn admits(&mut self, now: Instant, from: SocketAddr, sender: u32, message: &[u8]) -> bool {
        if !self.is_for_us(from, message) {
            return false;
        }
        if !self.load.needs_cookie(now) {
            return true;
        }
        if self.jar.is_stale(now) {
            let mut secret = [0; 32];
            (self.random)(&mut secret);
            self.jar.renew(now, secret);
        }
        if self.jar.has_mac2(now, from, message) {
            let is_admitted = self.load.admits(from.ip());
            if !is_admitted {
                self.refuse(from, Refusal::TooMany);
            }
            return is_admitted;
        }
        let mut nonce = [0; COOKIE_NONCE];
        (self.random)(&mut nonce);
        if let Some(datagram) = self.jar.reply(&self.public, (from, sender), message, nonce) {
            self.counters.cookies_sent += 1;
            self.queue(Transmit { to: from, datagram, checksum: true });
        }
        false
    }

    /// Whether the sender of a handshake message knows our public key.
    fn is_for_us(&mut self, from: SocketAddr, message: &[u8]) -> bool {
        let is_for_us = cookie::has_mac1(&self.public, message);
        if !is_for_us {
            self.refuse(from, Refusal::NotForUs);
        }
        is_for_us
    }

    pub(super) fn receive_initiation(&mut self, now: Instant, from: SocketAddr, sender: u32, message: &[u8]) {
        if !self.admits(now, from, sender, message) {
            return;
        }
        let Some(responder) = Responder::read(&self.secret, message) else {
            return self.refuse(from, Refusal::NotAuthentic);
        };
        let Some(place) = self.peers.iter().position(|peer| peer.key == responder.peer && !peer.is_removed)
        else {
            if self.events.len() < MOST_EVENTS {
                self.events.push_back(Event::Unknown(responder.peer, from));
            }
            return self.refuse(from, Refusal::UnknownPeer(responder.peer));
        };
        let id = PeerId(place);
        // What remains after the answer.
        let from_there = (from, budget(message.len()).saturating_sub(RESPONSE_LEN));
        if let Some(response) = self.peers[id.0].response_to(sender, responder.introduction, from_there) {
            let datagram = response.to_vec();
            self.queue(Transmit { to: from, datagram, checksum: true });
            return;
        }
        let answer = (|| {
            let (theirs, index, ours) = (responder.introduction, self.free_index(), self.introduction(now));
            let (keys, datagram) =
                responder.answer(&self.peers[id.0].preshared, (index, sender), ours, &mut self.random)?;
            Some((Session::new(&keys, (index, sender), now, (ours.time, theirs), false), datagram))
        })();
        let Some((session, datagram)) = answer else { return };
        self.indices.insert(session.index, id);
        self.peers[id.0].offer(session, sender, datagram.clone(), from_there);
        self.forget_indices();
        self.queue(Transmit { to: from, datagram, checksum: true });
    }

    pub(super) fn receive_response(
        &mut self,
        now: Instant,
        from: SocketAddr,
        (theirs, ours): (u32, u32),
        message: &[u8],
    ) {
        // Under load too: a responder has no cookie of ours, and who does not see our initiation does not know its index.
        if !self.is_for_us(from, message) {
            return;
        }
        let waiting = self.indices.get(&ours).copied().and_then(|id| {
            let mut initiations = self.peers[id.0].initiations.iter_mut();
            Some((id, initiations.find(|initiation| initiation.index == ours)?))
        });
        let Some((id, initiation)) = waiting else {
            return self.refuse_without_initiation(from, ours);
        };
        let time = initiation.time;
        let Some((keys, introduction)) = initiation.finish(message) else {
            return self.refuse(from, Refusal::NotAuthenticResponse);
        };
        let session = Session::new(&keys, (ours, theirs), now, (time, introduction), true);
        let rtt = Duration::from_nanos(self.introduction(now).time.saturating_sub(time));
        let peer = &mut self.peers[id.0];
        peer.on_rtt(rtt);
        // It shows that the peer receives what is sent to where the initiation went. Where the answer came from says nothing.
        peer.start(session);
        let returned = peer.on_received(now);
        self.connected(now, id);
        if returned {
            self.events.push_back(Event::Returned(id));
        }
        // The responder uses the session once it has received something, and may not know where we are before.
        self.ask(now, id);
    }

    pub(super) fn receive_cookie(&mut self, now: Instant, from: SocketAddr, ours: u32, message: &[u8]) {
        let cookie = (|| {
            let id = *self.indices.get(&ours)?;
            let peer = &mut self.peers[id.0];
            let initiation = peer.initiations.iter().find(|initiation| initiation.index == ours)?;
            peer.cookie = Some((cookie::open_reply(&peer.key, &initiation.mac1, message)?, now));
            Some(())
        })();
        if cookie.is_none() {
            self.refuse_without_initiation(from, ours);
        }
    }

    /// An answer has come for which no initiation waits. Where the round trip is longer than the time between two initiations, a
    /// session begins before all of them are answered.
    fn refuse_without_initiation(&mut self, from: SocketAddr, ours: u32) {
        let id = self.indices.get(&ours).copied();
        if id.is_some_and(|id| self.peers[id.0].is_superseded(ours)) {
            self.counters.ignored += 1;
        } else {
            self.refuse(from, Refusal::NoInitiation);
        }
    }

    pub(super) fn initiate(&mut self, now: Instant, id: PeerId) {
        let (index, introduction) = (self.free_index(), self.introduction(now));
        let peer = &mut self.peers[id.0];
        let Some(to) = peer.paths.endpoint() else { return };
        let fresh = |(cookie, at): &([u8; MAC], Instant)| {
            (now.saturating_since(*at) < COOKIE_LIFE).then_some(*cookie)
        };
        let cookie = peer.cookie.as_ref().and_then(fresh);
        let begun = Initiator::begin(
            &self.secret,
            (&peer.key, &peer.preshared),
            index,
            introduction,
            cookie.as_ref(),
            &mut self.random,
        );
        let Some((initiation, datagram)) = begun else { return };
        peer.on_initiation(now, initiation);
        self.indices.insert(index, id);
        self.forget_indices();
        self.queue(Transmit { to, datagram, checksum: true });
    }

    fn introduction(&self, now: Instant) -> Introduction {
        Introduction { boot: self.boot, time: self.epoch.saturating_add(now.as_nanos()) }
    }

    /// A random index that is not in use.
    fn free_index(&mut self) -> u32 {
        let mut bytes = [0; 4];
        (self.random)(&mut bytes);
        let mut index = u32::from_be_bytes(bytes);
        // Also with a source of few different numbers.
        while self.indices.contains_key(&index) {
            index = index.wrapping_add(1);
        }
        index
    }

    pub(super) fn forget_indices(&mut self) {
        let peers = &self.peers;
        self.indices.retain(|index, id| peers[id.0].indices().any(|used| used == *index));
    }
}
