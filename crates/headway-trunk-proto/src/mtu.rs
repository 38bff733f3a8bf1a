//! How long datagrams to a peer may be: packetization layer path MTU discovery for datagrams (RFC 8899).
//!
//! The longest one is used from the start, and probed: on most paths it passes, and nothing is lost by waiting. Where
//! probes do not arrive, though other packets of the peer do, a shorter one is used at once, and the longest that passes
//! is searched. While long datagrams are sent their length is probed again and again, so that a path that has become
//! narrower is noticed: no router has to say so.

use headway_units::{Duration, Instant};

/// RFC 8899, 5.1.2: BASE_PLPMTU, for IPv4 and IPv6 alike; bytes of UDP payload.
const BASE: u16 = 1200;
/// MAX_PROBES. The default of RFC 8899, 5.1.2, is 3, for a path that loses few packets; here one of five may be.
const MAX_PROBES: u32 = 6;
/// Between two probes of a length.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// PROBE_TIMER, of the last: longer than a round trip.
const PROBE_TIMER: Duration = Duration::from_secs(3);
/// CONFIRMATION_TIMER: while long datagrams are sent.
const CONFIRM_EVERY: Duration = Duration::from_secs(10);
/// PMTU_RAISE_TIMER.
const RAISE_AFTER: Duration = Duration::from_secs(600);
/// The search ends when it is known as exactly as this, in bytes.
const EXACT: u16 = 16;

/// What is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probing {
    size: u16,
    sent: u32,
    next: Instant,
    /// When the last one was sent.
    last: Option<Instant>,
    /// After how many of them something else of the peer arrived.
    heard: u32,
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A probe of this many bytes is to be sent.
    Probe(u16),
    /// Nothing.
    Wait,
}

/// The search for the longest datagram that reaches a peer. Lengths are of UDP payload.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    longest: u16,
    /// The longest that is known to pass, and the shortest known not to.
    passes: u16,
    fails: Option<u16>,
    used: u16,
    probing: Option<Probing>,
    /// When a probe is due again; `None` before the first session.
    next_check: Option<Instant>,
    /// A datagram as long as the longest used was sent since the last check.
    is_active: bool,
    /// When the longest is tried again.
    raise_at: Option<Instant>,
}

impl PathMtu {
    /// Before anything is known; `longest` bytes are what the configuration allows.
    pub(crate) fn new(longest: u16) -> Self {
        let passes = BASE.min(longest);
        Self {
            longest,
            passes,
            fails: None,
            used: longest,
            probing: None,
            next_check: None,
            is_active: false,
            raise_at: None,
        }
    }

    /// The longest datagram to be sent.
    pub(crate) fn used(&self) -> u16 {
        self.used
    }

    /// There is a path, or another than before.
    pub(crate) fn restart(&mut self, now: Instant) {
        *self = Self::new(self.longest);
        self.probe(self.longest, now);
    }

    fn probe(&mut self, size: u16, now: Instant) {
        let is_known = size <= self.passes && size <= BASE;
        self.probing = (!is_known).then_some(Probing { size, sent: 0, next: now, last: None, heard: 0 });
    }

    /// A datagram of `len` bytes was sent.
    pub(crate) fn on_sent(&mut self, len: usize) {
        self.is_active |= len > usize::from(BASE) && len + usize::from(EXACT) >= usize::from(self.used);
    }

    /// The peer reports that a probe of `size` bytes has arrived. Says whether the length used is another one now.
    pub(crate) fn on_seen(&mut self, now: Instant, size: u16) -> bool {
        if size > self.longest || self.fails.is_some_and(|fails| size >= fails) {
            return false;
        }
        self.passes = self.passes.max(size);
        let used = self.used.max(self.passes);
        let before = std::mem::replace(&mut self.used, used);
        if self.probing.is_some_and(|probing| probing.size <= size) {
            self.go_on(now);
        }
        self.used != before
    }

    /// The length at hand is settled: the next one, or the end of the search.
    fn go_on(&mut self, now: Instant) {
        self.probing = None;
        self.is_active = false;
        self.next_check = Some(now + CONFIRM_EVERY);
        if let Some(fails) = self.fails {
            if fails - self.passes > EXACT {
                self.probe(self.passes + (fails - self.passes) / 2, now);
            } else {
                self.raise_at = Some(now + RAISE_AFTER);
            }
        }
    }

    /// When [`PathMtu::step`] is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self.probing {
            Some(probing) => Some(probing.next),
            None => self.next_check.filter(|_| self.is_active).into_iter().chain(self.raise_at).min(),
        }
    }

    /// Does what is due. `heard`: when something of the peer last arrived. Says also whether the length used is another
    /// one now.
    pub(crate) fn step(&mut self, now: Instant, heard: Option<Instant>) -> (Step, bool) {
        if self.probing.is_none() {
            if self.raise_at.is_some_and(|at| at <= now) {
                (self.raise_at, self.fails) = (None, None);
                self.probe(self.longest, now);
            } else if self.is_active && self.next_check.is_some_and(|at| at <= now) {
                self.probe(self.used, now);
                self.is_active = false;
            }
        }
        let Some(probing) = &mut self.probing else { return (Step::Wait, false) };
        if probing.next > now {
            return (Step::Wait, false);
        }
        probing.heard += u32::from(heard.zip(probing.last).is_some_and(|(heard, last)| heard >= last));
        if probing.sent < MAX_PROBES {
            probing.sent += 1;
            probing.last = Some(now);
            probing.next = now + if probing.sent < MAX_PROBES { PROBE_EVERY } else { PROBE_TIMER };
            return (Step::Probe(probing.size), false);
        }
        // Where nothing arrives at all, the path is down, and says nothing of lengths.
        if probing.heard < MAX_PROBES / 2 {
            (probing.sent, probing.last, probing.heard) = (0, None, 0);
            return (Step::Wait, false);
        }
        let size = probing.size;
        self.fails = Some(size);
        if size <= self.passes {
            // It passed before: the path is another one.
            self.passes = BASE.min(size);
        }
        let before = std::mem::replace(&mut self.used, self.passes);
        self.go_on(now);
        (Step::Wait, self.used != before)
    }
}
