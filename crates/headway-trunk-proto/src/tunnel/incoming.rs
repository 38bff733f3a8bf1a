//! Datagrams that arrive.

use std::net::SocketAddr;

use headway_units::Instant;
use headway_wire::Ecn;

use super::{Arrival, Event, PeerId, Tunnel};
use crate::control::Control;
use crate::flight::Arrived;
use crate::message::{Message, MessageKind};
use crate::seal::{Opened, SegmentIntegrity};

impl Tunnel {
    /// A datagram has arrived: the bytes of `room` from `start` on, which is at least [`HEADROOM`](crate::HEADROOM).
    /// It is opened in place. `ecn` is the outer packet's ECN field.
    pub fn receive(
        &mut self,
        now: Instant,
        from: SocketAddr,
        room: &mut [u8],
        start: usize,
        ecn: Ecn,
    ) -> Option<Arrival> {
        let datagram = room.get(start..)?;
        match Message::parse(datagram) {
            Some(Message::Sealed { receiver, low, kind }) => {
                return self.receive_sealed((now, from, ecn), room, start, (receiver, low, kind));
            }
            Some(Message::Initiation { sender }) => self.receive_initiation(now, from, sender, datagram),
            Some(Message::Response { sender, receiver }) => {
                self.receive_response(now, from, (sender, receiver), datagram);
            }
            Some(Message::CookieReply { receiver }) => self.receive_cookie(now, from, receiver, datagram),
            None => self.counters.ignored += 1,
        }
        None
    }

    fn receive_sealed(
        &mut self,
        (now, from, ecn): (Instant, SocketAddr, Ecn),
        room: &mut [u8],
        start: usize,
        (index, low, kind): (u32, u32, MessageKind),
    ) -> Option<Arrival> {
        let found = self.indices.get(&index).copied();
        let peer = found.and_then(|id| Some((id, self.peers.get_mut(id.0)?)));
        let opened = peer.and_then(|(id, peer)| {
            let inner = peer.arriving(ecn);
            Some((id, peer.session_mut(index)?.opener.open(room, start, (low, kind), inner)))
        });
        let bytes = room.len() - start;
        let Some((id, opened)) = opened else {
            self.counters.ignored += 1;
            return None;
        };
        let verdict = match &opened {
            Opened::Nothing | Opened::Disbelieved => None,
            Opened::Segment { verdict, .. } => Some(*verdict),
            Opened::Control { .. } => Some(SegmentIntegrity::Intact),
        };
        if let Some(verdict) = verdict {
            let bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
            let packet = Arrived { at: now, session: index, number: low, bytes, verdict };
            self.peers[id.0].recorder.add(packet);
            if verdict != SegmentIntegrity::Intact {
                self.peers[id.0].checksum.on_damage();
            }
        }
        match opened {
            Opened::Nothing => {
                self.counters.ignored += 1;
                self.peers[id.0].counters.ignored += 1;
                None
            }
            Opened::Disbelieved => {
                self.peers[id.0].counters.disbelieved += 1;
                None
            }
            Opened::Segment { verdict: SegmentIntegrity::Unreadable, packet, .. } => {
                self.counters.unreadable += 1;
                self.peers[id.0].counters.unreadable += 1;
                Some(Arrival { peer: id, verdict: SegmentIntegrity::Unreadable, packet, seal: None })
            }
            Opened::Segment { verdict, packet, newest, seal } => {
                let (all, peer) = (&mut self.counters, &mut self.peers[id.0].counters);
                let (all, peer) = match verdict {
                    SegmentIntegrity::Intact => (&mut all.intact, &mut peer.intact),
                    _ => (&mut all.corrupted, &mut peer.corrupted),
                };
                *all += 1;
                *peer += 1;
                match verdict {
                    SegmentIntegrity::Intact => self.authenticated(now, id, index, (from, bytes, newest)),
                    _ => self.received_from(now, id),
                }
                self.peers[id.0].on_segment(now, &room[packet.clone()]);
                Some(Arrival { peer: id, verdict, packet, seal })
            }
            Opened::Control { message, newest } => {
                self.authenticated(now, id, index, (from, bytes, newest));
                match Control::parse(&room[message]) {
                    // What has arrived is reported, and not what was sent.
                    Some(Control::MtuProbe(size)) if usize::from(size) == bytes => {
                        self.send_control(now, id, Control::MtuSeen(size));
                    }
                    // A process that has been replaced has nothing left to end.
                    Some(Control::Close) if !self.peers[id.0].is_of_last_process(index) => {}
                    control => self.receive_control(now, id, from, control),
                }
                None
            }
        }
    }

    /// A packet of the session `index` was authenticated: from where it came, its bytes, and whether it is the newest.
    fn authenticated(
        &mut self,
        now: Instant,
        id: PeerId,
        index: u32,
        (from, bytes, newest): (SocketAddr, usize, bool),
    ) {
        let confirmed = self.peers[id.0].confirm(index);
        if confirmed.is_some() {
            self.connected(now, id);
        }
        let current = &self.peers[id.0].current;
        let is_current = current.as_ref().is_some_and(|session| session.index == index);
        if let Some(addresses) = confirmed.filter(|_| is_current) {
            self.handshake_came_from(now, id, &addresses);
        }
        self.came_from(now, id, from, bytes, newest && is_current);
        self.received_from(now, id);
    }

    fn received_from(&mut self, now: Instant, id: PeerId) {
        if self.peers[id.0].on_received(now) {
            self.events.push_back(Event::Returned(id));
        }
    }

    /// A session is in use from now on.
    pub(super) fn connected(&mut self, now: Instant, id: PeerId) {
        self.counters.handshakes += 1;
        let peer = &mut self.peers[id.0];
        peer.counters.handshakes += 1;
        let Some(boot) = peer.current.as_ref().map(|session| session.peer.boot) else { return };
        if peer.boot.replace(boot).is_some_and(|before| before != boot) {
            self.events.push_back(Event::Restarted(id));
        }
        if peer.previous.is_none() {
            peer.mtu.restart(now);
            self.events.push_back(Event::Connected(id));
        }
        self.forget_indices();
    }

    fn receive_control(&mut self, now: Instant, id: PeerId, from: SocketAddr, control: Option<Control>) {
        match control {
            Some(Control::Probe) => self.send_control(now, id, Control::ProbeSeen),
            Some(Control::ProbeSeen) => {
                if self.peers[id.0].checksum.on_probe_seen() {
                    self.events.push_back(Event::Unchecked(id, true));
                }
            }
            Some(Control::Close) => self.events.push_back(Event::Restarted(id)),
            Some(Control::MtuSeen(size)) => {
                let peer = &mut self.peers[id.0];
                if let Some(rtt) = peer.mtu.on_seen(now, size) {
                    peer.on_rtt(rtt);
                }
                self.tell_mtu(id);
            }
            Some(Control::PathChallenge(token)) => self.answer_challenge(now, id, from, token),
            Some(Control::PathResponse(token)) => self.on_path_response(now, id, token),
            Some(Control::MtuProbe(_) | Control::KeepAlive) | None => {}
        }
    }
}
