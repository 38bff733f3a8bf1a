//! What a gateway knows of one peer.

#[cfg(test)]
mod limits;

use std::net::{Ipv6Addr, SocketAddr};

use headway_units::{Duration, Instant};
use headway_wire::{Ecn, TcpFlags};

use crate::counters::PeerCounters;
use crate::flight::FlightRecorder;
use crate::handshake::{Boot, Initiator, Introduction};
use crate::keys::{PresharedKey, PublicKey};
use crate::message::MAC;
use crate::mtu::PathMtu;
use crate::path::Paths;
use crate::seal::{IP_HEADER, Inner, LONGER, inner_mtu};
use crate::session::Session;
use crate::udp_checksum::UdpChecksum;

/// A session is given up when it is this old. It is longer than an outage that streams survive: the old keys serve
/// until a handshake gets through.
pub(crate) const REJECT_AFTER: Duration = Duration::from_secs(900);
/// Data was sent, and nothing has arrived for this long, or for two round trips: the peer may have been restarted.
const SILENCE: Duration = Duration::from_secs(2);
/// While the peer does not answer, it is asked once a round trip, but not more often than the first and not less often than the second:
/// what waits is sent when it is heard.
const ASK_EVERY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// The first initiations follow one another in this time, later ones in twice the time before, up to [`MOST_WAIT`];
/// where there is a session, all of them.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MOST_WAIT: Duration = Duration::from_secs(5);
/// Initiations whose response is waited for: on a long path a second one is sent before the first is answered.
const INITIATIONS: usize = 6;
/// Sessions that the peer has begun and not used yet. A replayed initiation makes one that is never used.
const UNCONFIRMED: usize = 8;
/// Addresses that one initiation is known to have come from.
const ADDRESSES: usize = 4;

/// A session that the peer has begun and not used yet.
struct Offered {
    session: Session,
    /// The index in its initiation.
    theirs: u32,
    /// What it was answered.
    response: Vec<u8>,
    /// From where it came, and the bytes that may be sent there after the answer: someone on the path may have repeated it from elsewhere.
    asked_from: Vec<(SocketAddr, usize)>,
}

/// One peer.
pub(crate) struct Peer {
    pub(crate) key: PublicKey,
    pub(crate) preshared: PresharedKey,
    /// It was removed.
    pub(crate) is_removed: bool,
    /// Our inner address in the tunnel to it, and its.
    pub(crate) inner: (Ipv6Addr, Ipv6Addr),
    pub(crate) paths: Paths,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) initiations: Vec<Initiator>,
    /// The indices of those whose answers are not needed any more, and may still come.
    superseded: Vec<u32>,
    /// In use; the one before it, whose packets may still arrive; and those that the peer has not used yet.
    pub(crate) current: Option<Session>,
    pub(crate) previous: Option<Session>,
    unconfirmed: Vec<Offered>,
    pub(crate) checksum: UdpChecksum,
    pub(crate) mtu: PathMtu,
    /// A segment whose header is not compact was too long.
    pub(crate) has_long_headers: bool,
    /// The process that the last session was made with.
    pub(crate) boot: Option<Boot>,
    pub(crate) cookie: Option<([u8; MAC], Instant)>,
    pub(crate) counters: PeerCounters,
    pub(crate) recorder: FlightRecorder,
    /// When the first of the initiations was sent that were not answered.
    trying_since: Option<Instant>,
    /// Initiations in a row, and when the next one is due.
    attempts: u32,
    next_attempt: Option<Instant>,
    pub(crate) last_received: Option<Instant>,
    pub(crate) last_sent: Option<Instant>,
    /// The first packet with data since something arrived.
    unanswered: Option<Instant>,
    /// The last packet since the peer sent data, unless it was asked since then whether it is still there.
    listening: Option<Instant>,
    /// When it was last asked.
    last_asked: Option<Instant>,
    /// The shortest time until a probe or an initiation was answered, at its present address.
    pub(crate) min_rtt: Option<Duration>,
}

impl Peer {
    /// `longest`: bytes of a datagram at most.
    pub(crate) fn new(
        key: PublicKey,
        preshared: PresharedKey,
        inner: (Ipv6Addr, Ipv6Addr),
        longest: u16,
    ) -> Self {
        Self {
            key,
            preshared,
            is_removed: false,
            inner,
            paths: Paths::default(),
            keep_alive: None,
            initiations: Vec::new(),
            superseded: Vec::new(),
            current: None,
            previous: None,
            unconfirmed: Vec::new(),
            checksum: UdpChecksum::probing(Instant::ZERO),
            mtu: PathMtu::new(longest),
            has_long_headers: false,
            boot: None,
            cookie: None,
            counters: PeerCounters::default(),
            recorder: FlightRecorder::default(),
            trying_since: None,
            attempts: 0,
            next_attempt: None,
            last_received: None,
            last_sent: None,
            unanswered: None,
            listening: None,
            last_asked: None,
            min_rtt: None,
        }
    }

    /// The ends of what arrives from it.
    pub(crate) fn arriving(&self, ecn: Ecn) -> Inner {
        Inner { src: self.inner.1, dst: self.inner.0, ecn }
    }

    /// The session with this index of ours.
    pub(crate) fn session(&self, index: u32) -> Option<&Session> {
        let offered = self.unconfirmed.iter().map(|offered| &offered.session);
        let mut sessions = self.current.iter().chain(&self.previous).chain(offered);
        sessions.find(|session| session.index == index)
    }

    /// The same, to be changed.
    pub(crate) fn session_mut(&mut self, index: u32) -> Option<&mut Session> {
        let offered = self.unconfirmed.iter_mut().map(|offered| &mut offered.session);
        let mut sessions = self.current.iter_mut().chain(self.previous.iter_mut()).chain(offered);
        sessions.find(|session| session.index == index)
    }

    /// Whether the session `index` is with the peer's process that is known last.
    pub(crate) fn is_of_last_process(&mut self, index: u32) -> bool {
        let last = self.boot;
        self.session_mut(index).is_some_and(|session| Some(session.peer.boot) == last)
    }

    /// The indices of all sessions and initiations.
    pub(crate) fn indices(&self) -> impl Iterator<Item = u32> {
        let offered = self.unconfirmed.iter().map(|offered| &offered.session);
        let sessions = self.current.iter().chain(&self.previous).chain(offered);
        sessions
            .map(|session| session.index)
            .chain(self.initiations.iter().map(|initiation| initiation.index))
            .chain(self.superseded.iter().copied())
    }

    /// Whether `index` is that of an initiation whose answer is not needed any more.
    pub(crate) fn is_superseded(&self, index: u32) -> bool {
        self.superseded.contains(&index)
    }

    /// A session that both ends have: we began it and the peer has answered, or the peer began it and has used it.
    pub(crate) fn start(&mut self, session: Session) {
        let others = self.initiations.drain(..).map(|initiation| initiation.index);
        self.superseded = others.filter(|index| *index != session.index).collect();
        self.trying_since = None;
        self.attempts = 0;
        self.next_attempt = None;
        // Who has kept back what a process of the peer sent before it was replaced must not bring it back.
        self.unconfirmed.retain(|offered| !offered.session.is_of_process_before(&session));
        // Whatever the order in which handshakes that crossed are completed, both ends come to use the same session. What the
        // peer sends under the other one until then is opened.
        let prefers_ours = self.inner.0 < self.inner.1;
        let is_superseded = |current: &Session| {
            current.peer.boot == session.peer.boot && current.supersedes(&session, prefers_ours)
        };
        if self.current.as_ref().is_some_and(is_superseded) {
            self.previous = Some(session);
            return;
        }
        // Something was not answered, so what gets through to the peer is open again.
        if self.current.as_ref().is_none_or(|old| old.is_followed_early_by(&session)) {
            self.checksum = UdpChecksum::probing(session.since);
        }
        self.previous = self.current.replace(session);
    }

    /// What was answered to an initiation, if its session waits to be used: a copy of it makes no other session. This one came from
    /// an address to which `budget` bytes may be sent after the answer.
    pub(crate) fn response_to(
        &mut self,
        theirs: u32,
        introduction: Introduction,
        (from, budget): (SocketAddr, usize),
    ) -> Option<&[u8]> {
        let is_its =
            |offered: &&mut Offered| offered.theirs == theirs && offered.session.peer == introduction;
        let offered = self.unconfirmed.iter_mut().find(is_its)?;
        if offered.asked_from.len() < ADDRESSES && offered.asked_from.iter().all(|(known, _)| *known != from)
        {
            offered.asked_from.push((from, budget));
        }
        Some(&offered.response)
    }

    /// A session that the peer began with the index `theirs`, and the answer, to an address, with the bytes that may be sent there after
    /// it. It is used once the peer has used it.
    pub(crate) fn offer(
        &mut self,
        session: Session,
        theirs: u32,
        response: Vec<u8>,
        from: (SocketAddr, usize),
    ) {
        self.unconfirmed.push(Offered { session, theirs, response, asked_from: vec![from] });
        if self.unconfirmed.len() > UNCONFIRMED {
            // Replayed initiations are older than the one that the peer waits for, and displace each other; copies of
            // that one with another index, which is not authenticated, have the same time and came later. Older ones
            // are not refused: the peer's clock may have been set back.
            let newest_first = self.unconfirmed.iter().enumerate().rev();
            let oldest = newest_first.min_by_key(|(_, offered)| offered.session.peer.time);
            if let Some((at, _)) = oldest {
                self.unconfirmed.remove(at);
            }
        }
    }

    /// The peer has used the session `index`. If it had not before, returns from where it was begun, each address with the bytes
    /// that may be sent there: the peer has received what was answered to one of them.
    pub(crate) fn confirm(&mut self, index: u32) -> Option<Vec<(SocketAddr, usize)>> {
        let at = self.unconfirmed.iter().position(|offered| offered.session.index == index)?;
        let Offered { session, asked_from, .. } = self.unconfirmed.remove(at);
        // What was overtaken by a later initiation of the same process confirms its own session, and not that there is no other.
        let Introduction { boot, time } = session.peer;
        self.unconfirmed
            .retain(|Offered { session, .. }| session.peer.boot == boot && session.peer.time > time);
        self.start(session);
        Some(asked_from)
    }

    /// Something authenticated has arrived. Says whether it ends a silence in which the peer should have answered.
    pub(crate) fn on_received(&mut self, now: Instant) -> bool {
        let returned = self.unanswered.is_some_and(|since| now.saturating_since(since) >= self.silence());
        self.last_received = Some(now);
        self.trying_since = None;
        self.mtu.on_heard(now);
        self.unanswered = None;
        self.listening = self.listening.map(|_| now);
        if self.current.as_ref().is_some_and(|session| session.replace_at() > now) {
            self.attempts = 0;
            self.next_attempt = None;
        }
        returned
    }

    /// A segment of the peer's has arrived. After data, silence means that there is no more, or that the
    /// peer has been restarted, or that it sends to where we were: whoever only receives has to ask.
    pub(crate) fn on_segment(&mut self, now: Instant, packet: &[u8]) {
        if asks(packet) {
            self.listening = Some(now);
        }
        self.checksum.on_segment(packet);
    }

    /// When the peer is to be asked whether it is there.
    pub(crate) fn ask_at(&self) -> Option<Instant> {
        self.reachable()?;
        let again = self.unanswered.map(|since| {
            let every = self.min_rtt.unwrap_or(ASK_EVERY.1).clamp(ASK_EVERY.0, ASK_EVERY.1);
            let due = since + self.silence();
            self.last_asked.map_or(due, |last| due.max(last + every))
        });
        let listening = self.listening.map(|since| since + SILENCE);
        again.into_iter().chain(listening).min()
    }

    /// How long a silence may be in which the peer should have answered.
    fn silence(&self) -> Duration {
        SILENCE.max(self.min_rtt.unwrap_or_default() * 2)
    }

    /// A round trip to its present address took this long.
    pub(crate) fn on_rtt(&mut self, rtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt)));
    }

    /// It was asked.
    pub(crate) fn on_asked(&mut self, now: Instant) {
        self.listening = None;
        self.last_asked = Some(now);
        self.on_sent(now, true);
    }

    /// Something was sent; `asks`: the peer will answer if it is there.
    pub(crate) fn on_sent(&mut self, now: Instant, asks: bool) {
        self.last_sent = Some(now);
        if asks && self.unanswered.is_none() {
            self.unanswered = Some(now);
        }
    }

    /// An initiation was sent.
    pub(crate) fn on_initiation(&mut self, now: Instant, initiation: Initiator) {
        if self.initiations.len() == INITIATIONS {
            self.initiations.remove(0);
        }
        self.initiations.push(initiation);
        // While streams wait for the link to return, the peer may have been restarted.
        let doubled = if self.current.is_some() { 0 } else { self.attempts.min(8) };
        let wait = Duration::from_nanos(FIRST_WAIT.as_nanos() << doubled).min(MOST_WAIT);
        self.trying_since.get_or_insert(now);
        self.attempts += 1;
        self.next_attempt = Some(now + wait);
    }

    /// The next initiation is not waited for any longer: it goes elsewhere.
    pub(crate) fn try_at_once(&mut self) {
        self.attempts = 0;
        self.next_attempt = None;
    }

    /// Since when initiations are sent without an answer.
    pub(crate) fn trying_since(&self) -> Option<Instant> {
        self.trying_since
    }

    /// Since when a handshake is due, if one is.
    pub(crate) fn handshake_at(&self) -> Option<Instant> {
        self.paths.endpoint()?;
        let due = match &self.current {
            None => Instant::ZERO,
            Some(session) => {
                let old = session.replace_at();
                self.unanswered.map_or(old, |since| old.min(since + self.silence()))
            }
        };
        Some(self.next_attempt.map_or(due, |next| next.max(due)))
    }

    /// Whether anything can be sent to it: there is a session, and an address at which it has answered. (There is none while it is
    /// asked which of several it is at.)
    fn reachable(&self) -> Option<()> {
        self.current.as_ref().and(self.paths.endpoint()).map(|_| ())
    }

    /// When the session in use is given up.
    pub(crate) fn expiry(&self) -> Option<Instant> {
        Some(self.current.as_ref()?.since + REJECT_AFTER)
    }

    /// When a keep-alive is due.
    pub(crate) fn keep_alive_at(&self) -> Option<Instant> {
        self.reachable()?;
        Some(self.last_sent? + self.keep_alive?)
    }

    /// The longest IP packet inside the tunnel.
    pub(crate) fn inner_mtu(&self) -> u16 {
        let longer = if self.has_long_headers { LONGER } else { 0 };
        inner_mtu(self.mtu.used()) - longer as u16
    }

    /// When a probe for the length of datagrams is due.
    pub(crate) fn mtu_at(&self) -> Option<Instant> {
        self.reachable()?;
        self.mtu.due()
    }

    /// When a probe for datagrams without checksum is due.
    pub(crate) fn probe_at(&self) -> Option<Instant> {
        self.reachable()?;
        self.checksum.probe_at()
    }

    /// The peer is elsewhere, so what gets through to it is open again.
    pub(crate) fn move_to(&mut self, now: Instant, endpoint: SocketAddr) {
        self.paths.move_to(endpoint);
        self.checksum = UdpChecksum::probing(now);
        self.min_rtt = None;
        self.mtu.restart(now);
    }
}

/// Whether a TCP segment in an IPv6 packet asks for an answer: it has data, SYN or FIN. An ACK has none.
pub(crate) fn asks(packet: &[u8]) -> bool {
    let tcp = packet.get(IP_HEADER..).unwrap_or_default();
    let (Some(offset), Some(flags)) = (tcp.get(12), tcp.get(13)) else { return false };
    let header = usize::from(offset >> 4) * 4;
    tcp.len() > header || TcpFlags::from_bits(*flags).intersects(TcpFlags::SYN | TcpFlags::FIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::SessionKeys;
    use crate::secret::Secret;

    #[test]
    fn copies_of_an_initiation_with_other_indices_displace_each_other() {
        let key = PublicKey::from_bytes([1; 32]);
        let inner = (Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let mut peer = Peer::new(key, PresharedKey::none(), inner, 1472);
        let introduction = Introduction { boot: [1; 8], time: 5 };
        let from = (SocketAddr::from(([192, 0, 2, 1], 7)), 152);
        for index in 0..30 {
            let keys = SessionKeys::new(Secret::new(&[2; 32]), Secret::new(&[3; 32]));
            let session = Session::new(&keys, (index, index), Instant::ZERO, (0, introduction), false);
            peer.offer(session, index, vec![index as u8], from);
        }
        assert_eq!(peer.indices().count(), UNCONFIRMED);
        assert_eq!(peer.response_to(0, introduction, from), Some(&[0][..]));
        assert_eq!(peer.response_to(0, Introduction { time: 6, ..introduction }, from), None);
        assert_eq!(peer.confirm(0), Some(vec![from]));
        assert!(peer.confirm(0).is_none() && peer.response_to(0, introduction, from).is_none());
    }
}
