//! How long datagrams to a peer may be: packetization layer path MTU discovery for datagrams (RFC 8899).
//!
//! The longest one is used from the start, and probed: on most paths it passes, and nothing is lost by waiting. Where
//! probes do not arrive, though short ones that were sent with them do, a shorter one is used at once, and the longest
//! that passes is searched. While long datagrams are sent their length is probed again and again, so that a path that
//! has become narrower is noticed: no router has to say so.

use headway_units::{Duration, Instant};

use crate::message::PADDED_LEN;

/// RFC 8899, 5.1.2: BASE_PLPMTU, for IPv4 and IPv6 alike; bytes of UDP payload.
const BASE: u16 = 1200;
/// MIN_PLPMTU: what a link is taken to carry whatever was lost. Every host has to take IPv4 packets of 576 bytes (RFC
/// 791, 3.1).
const LEAST: u16 = 576 - 28;
/// A probe of this length goes with each: if it is answered and the long one is not, it is the length. Nothing else has
/// it.
pub(crate) const SHORTEST: u16 = PADDED_LEN as u16;
/// The length of a probe whose answer says that the peer is there, and nothing of lengths.
pub(crate) const ASK: u16 = SHORTEST + 1;
/// MAX_PROBES. The default of RFC 8899, 5.1.2, is 3, for a path that loses few packets; here one of five may be.
const MAX_PROBES: u32 = 6;
/// After the first probe of a length, which is the only one where the path is as it was.
const SECOND_PROBE_AFTER: Duration = Duration::from_secs(1);
/// Between two of the others: a burst of damage is shorter.
const PROBE_EVERY: Duration = Duration::from_millis(250);
/// PROBE_TIMER, of the last: longer than a round trip.
const PROBE_TIMER: Duration = Duration::from_secs(3);
/// CONFIRMATION_TIMER: while long datagrams are sent,
const CONFIRM_EVERY: Duration = Duration::from_secs(10);
/// and while at least `MANY` were.
const CONFIRM_SOON: Duration = Duration::from_secs(2);
/// Then a probe costs at most this share of what is sent.
const MANY: u32 = 256;
/// PMTU_RAISE_TIMER.
const RAISE_AFTER: Duration = Duration::from_secs(600);
/// The search ends when it is known as exactly as this, in bytes.
const EXACT: u16 = 16;

/// What is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probing {
    size: u16,
    sent: u32,
    /// When the last was sent, and when the next is due.
    last: Instant,
    next: Instant,
    /// How many of the short ones were answered.
    short_seen: u32,
    /// None of them decided anything: the path is down, and probing goes on when the peer is heard.
    is_paused: bool,
}

/// The search for the longest datagram that reaches a peer. Lengths are of UDP payload.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    longest: u16,
    /// The longest that is known to pass, and the shortest known not to.
    passes: u16,
    fails: Option<u16>,
    used: u16,
    /// What was last said of `used`.
    told: u16,
    probing: Option<Probing>,
    /// When the last probe was settled; `None` before the first session.
    settled: Option<Instant>,
    /// How many datagrams that may be too long were sent since.
    long_sent: u32,
    /// When the longest is tried again.
    raise_at: Option<Instant>,
}

impl PathMtu {
    /// Before anything is known; `longest` bytes are what the configuration allows.
    pub(crate) fn new(longest: u16) -> Self {
        Self {
            longest,
            passes: LEAST.min(longest),
            fails: None,
            used: longest,
            told: longest,
            probing: None,
            settled: None,
            long_sent: 0,
            raise_at: None,
        }
    }

    /// The longest datagram to be sent.
    pub(crate) fn used(&self) -> u16 {
        self.used
    }

    /// The longest datagram to be sent, if it is another one than was said last.
    pub(crate) fn take_change(&mut self) -> Option<u16> {
        let told = std::mem::replace(&mut self.told, self.used);
        (told != self.used).then_some(self.used)
    }

    /// There is a path, or another than before.
    pub(crate) fn restart(&mut self, now: Instant) {
        *self = Self { told: self.told, ..Self::new(self.longest) };
        self.probe(self.longest, now);
    }

    fn probe(&mut self, size: u16, now: Instant) {
        let probing = Probing { size, sent: 0, last: now, next: now, short_seen: 0, is_paused: false };
        self.probing = (size > LEAST).then_some(probing);
    }

    /// Something of the peer has arrived.
    pub(crate) fn on_heard(&mut self, now: Instant) {
        if let Some(probing) = self.probing.as_mut().filter(|probing| probing.is_paused) {
            (probing.is_paused, probing.next) = (false, now);
        }
    }

    /// A datagram of `len` bytes was sent.
    pub(crate) fn on_sent(&mut self, len: usize) {
        // Segments of a peer with a smaller MTU, and packets of programs, never are as long as may be.
        let is_long = len > usize::from(LEAST) && self.used > LEAST;
        self.long_sent = self.long_sent.saturating_add(is_long.into());
    }

    /// The peer reports that a probe of `size` bytes has arrived. Returns the round-trip time if it is sure which probe that was.
    pub(crate) fn on_seen(&mut self, now: Instant, size: u16) -> Option<Duration> {
        if size == SHORTEST {
            if let Some(probing) = &mut self.probing {
                probing.short_seen += 1;
            }
            return None;
        }
        if size > self.longest || self.fails.is_some_and(|fails| size >= fails) {
            return None;
        }
        let only = self.probing.filter(|probing| probing.size == size && probing.sent == 1);
        let rtt = only.map(|only| now.saturating_since(only.last));
        self.passes = self.passes.max(size);
        self.used = self.used.max(self.passes);
        if self.probing.is_some_and(|probing| probing.size <= size) {
            self.go_on(now);
        }
        rtt
    }

    /// This host cannot send datagrams of `size` bytes: its interface carries shorter ones.
    pub(crate) fn on_refused(&mut self, now: Instant, size: u16) {
        if (LEAST + 1..=self.longest).contains(&size) && self.fails.is_none_or(|fails| size < fails) {
            self.on_failed(now, size);
        }
    }

    /// Datagrams of `size` bytes do not pass.
    fn on_failed(&mut self, now: Instant, size: u16) {
        self.fails = Some(size);
        if size <= self.passes {
            // It passed before: the path is another one.
            self.passes = LEAST;
        }
        // What is shorter already is known to pass.
        self.used = if self.base_is_open() { self.used.min(BASE) } else { self.passes };
        self.go_on(now);
    }

    /// Whether it is not known if datagrams of the base length pass. Nearly all paths carry them.
    fn base_is_open(&self) -> bool {
        self.passes < BASE && self.fails.is_some_and(|fails| fails > BASE)
    }

    /// The length at hand is settled: the next one, or the end of the search.
    fn go_on(&mut self, now: Instant) {
        self.probing = None;
        (self.settled, self.long_sent) = (Some(now), 0);
        let Some(fails) = self.fails else { return };
        if self.base_is_open() {
            self.probe(BASE, now);
        } else if fails - self.passes > EXACT {
            self.probe(self.passes + (fails - self.passes) / 2, now);
        } else {
            self.raise_at.get_or_insert(now + RAISE_AFTER);
        }
    }

    /// When the length used is to be confirmed.
    fn confirm_at(&self) -> Option<Instant> {
        let after = match self.long_sent {
            0 => return None,
            1..MANY => CONFIRM_EVERY,
            _ => CONFIRM_SOON,
        };
        Some(self.settled? + after)
    }

    /// When [`PathMtu::step`] is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self.probing {
            Some(probing) => (!probing.is_paused).then_some(probing.next),
            None => self.confirm_at().into_iter().chain(self.raise_at).min(),
        }
    }

    /// Does what is due. Returns the length of a probe that is to be sent now, with one of the shortest.
    pub(crate) fn step(&mut self, now: Instant) -> Option<u16> {
        if self.probing.is_none() {
            if self.raise_at.is_some_and(|at| at <= now) {
                (self.raise_at, self.fails) = (None, None);
                self.probe(self.longest, now);
            } else if self.confirm_at().is_some_and(|at| at <= now) {
                self.probe(self.used, now);
            }
        }
        let probing = self.probing.as_mut().filter(|probing| probing.next <= now && !probing.is_paused)?;
        if probing.sent < MAX_PROBES {
            probing.sent += 1;
            let wait = match probing.sent {
                1 => SECOND_PROBE_AFTER,
                2..MAX_PROBES => PROBE_EVERY,
                _ => PROBE_TIMER,
            };
            (probing.last, probing.next) = (now, now + wait);
            return Some(probing.size);
        }
        // Where nothing arrives at all, the path is down, and says nothing of lengths.
        if probing.short_seen < MAX_PROBES / 2 {
            (probing.sent, probing.short_seen, probing.is_paused) = (0, 0, true);
            return None;
        }
        let size = probing.size;
        self.on_failed(now, size);
        None
    }
}
