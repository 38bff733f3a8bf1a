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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// The probes that are sent up to `until`, with their times in milliseconds, on a path that carries `carries` bytes and
    /// answers at once; `None`: nothing arrives.
    fn probes(mtu: &mut PathMtu, until: u64, carries: Option<u16>) -> Vec<(u64, u16)> {
        let mut probes = Vec::new();
        while let Some(due) = mtu.due().filter(|due| *due <= at(until)) {
            if let Some(size) = mtu.step(due) {
                probes.push((due.as_nanos() / 1_000_000, size));
                if carries.is_some_and(|carries| size <= carries) {
                    mtu.on_seen(due, size);
                } else if carries.is_some() {
                    mtu.on_seen(due, SHORTEST);
                }
            }
        }
        probes
    }

    /// At the start of a path of which nothing is known.
    fn started(longest: u16) -> PathMtu {
        let mut mtu = PathMtu::new(longest);
        assert_eq!(mtu.due(), None, "before the first session");
        mtu.restart(at(0));
        mtu
    }

    #[test]
    fn a_length_fails_after_six_probes() {
        let mut mtu = started(1400);
        let probed = probes(&mut mtu, 4_999, Some(BASE));
        assert_eq!(probed, [0, 1000, 1250, 1500, 1750, 2000].map(|at| (at, 1400)));
        assert_eq!(
            (mtu.used(), mtu.due()),
            (1400, Some(at(5000))),
            "the answer to the last may be under way"
        );
        let probed = probes(&mut mtu, 5000, Some(BASE));
        assert_eq!((probed[0], mtu.used()), ((5000, BASE), BASE));
    }

    /// The search halves what is not known, and ends when that is 16 bytes.
    #[test]
    fn the_search_ends_below_the_length_that_fails() {
        for carries in [LEAST, LEAST + 1, 700, BASE - 1, BASE, BASE + 1, 1300, 1383, 1384, 1399] {
            let mut mtu = started(1400);
            let probed = probes(&mut mtu, 100_000, Some(carries));
            assert!(mtu.used() <= carries && mtu.used() + EXACT >= carries, "{carries}: {}", mtu.used());
            assert!(probed.len() < 60 && probed.iter().all(|(_, size)| *size > LEAST), "{carries}");
        }
        let mut mtu = started(1400);
        assert_eq!((probes(&mut mtu, 100_000, Some(1400)), mtu.used()), (vec![(0, 1400)], 1400));
        // 16 bytes are exact enough, 17 are not.
        for (longest, lengths) in
            [(BASE + 16, vec![BASE + 16, BASE]), (BASE + 17, vec![BASE + 17, BASE, BASE + 8])]
        {
            let mut mtu = started(longest);
            let mut probed: Vec<u16> =
                probes(&mut mtu, 100_000, Some(BASE)).into_iter().map(|(_, size)| size).collect();
            probed.dedup();
            assert_eq!(probed, lengths);
        }
    }

    #[test]
    fn what_any_link_carries_is_not_probed() {
        for longest in [100, LEAST] {
            let mut mtu = started(longest);
            assert_eq!((mtu.due(), mtu.used()), (None, longest));
            mtu.on_sent(LEAST.into());
            assert_eq!(mtu.due(), None);
        }
        assert_eq!(started(LEAST + 1).due(), Some(at(0)));
    }

    /// After ten seconds in which a long datagram was sent, and after two with 256 of them.
    #[test]
    fn the_length_is_confirmed_while_long_datagrams_are_sent() {
        for (sent, len, due) in [
            (1, LEAST, None),
            (1, LEAST + 1, Some(at(10_000))),
            (MANY - 1, 1400, Some(at(10_000))),
            (MANY, 1400, Some(at(2000))),
        ] {
            let mut mtu = started(1400);
            probes(&mut mtu, 0, Some(1400));
            (0..sent).for_each(|_| mtu.on_sent(len.into()));
            assert_eq!(mtu.due(), due, "{sent} of {len} bytes");
            let expected: Vec<_> = due.map(|due| (due.as_nanos() / 1_000_000, 1400)).into_iter().collect();
            assert_eq!(probes(&mut mtu, 100_000, Some(1400)), expected);
        }
    }

    #[test]
    fn the_longest_is_tried_again_after_ten_minutes() {
        let mut mtu = started(1400);
        let searched = probes(&mut mtu, 100_000, Some(BASE));
        let again = mtu.due().expect("a time");
        let last = searched.last().expect("probes").0;
        assert!(again > at(last + 600_000) && again < at(last + 610_000), "{again:?} after {last} ms");
        assert_eq!(probes(&mut mtu, 800_000, Some(1400)), [(again.as_nanos() / 1_000_000, 1400)]);
        assert_eq!((mtu.used(), mtu.due()), (1400, None));
    }

    #[test]
    fn what_the_host_refuses_is_too_long_if_it_can_be() {
        for (size, used) in
            [(LEAST, 1400), (LEAST + 1, LEAST), (BASE, LEAST), (BASE + 1, BASE), (1400, BASE), (1401, 1400)]
        {
            let mut mtu = started(1400);
            mtu.on_refused(at(0), size);
            assert_eq!(mtu.used(), used, "{size} bytes refused");
        }
        // The same length, and a longer one, say nothing new; a shorter one does.
        let mut mtu = started(1400);
        mtu.on_refused(at(0), 1300);
        let probing = mtu.probing;
        mtu.step(at(0));
        for size in [1300, 1350] {
            mtu.on_refused(at(10), size);
            assert_eq!(mtu.probing.map(|probing| probing.sent), Some(1), "{size}: {probing:?}");
        }
        mtu.on_refused(at(10), 1299);
        assert_eq!(mtu.probing.map(|probing| probing.sent), Some(0));
    }

    /// Whom a peer tells of what was not sent, or fails.
    #[test]
    fn reports_of_other_lengths_have_no_effect() {
        let mut mtu = started(1400);
        mtu.step(at(0));
        assert_eq!(mtu.on_seen(at(30), 1401), None);
        assert_eq!(mtu.on_seen(at(30), 1300), None, "not the one that was sent");
        assert_eq!((mtu.used(), mtu.probing.map(|probing| probing.size)), (1400, Some(1400)));
        assert_eq!(mtu.on_seen(at(30), 1400), Some(Duration::from_millis(30)));
        let mut mtu = started(1400);
        mtu.step(at(0));
        mtu.step(at(1000));
        assert_eq!(mtu.on_seen(at(1030), 1400), None, "it may answer the first or the second");
        mtu.on_refused(at(2000), 1300);
        assert_eq!((mtu.on_seen(at(2030), 1300), mtu.used()), (None, LEAST.max(BASE)));
    }

    /// Where nothing arrives the path is down: its length stays, and is probed when the peer is heard.
    #[test]
    fn an_outage_pauses_the_search() {
        for (answered, is_paused) in [(2, true), (3, false)] {
            let mut mtu = started(1400);
            for number in 0..6 {
                let due = mtu.due().expect("a probe");
                assert_eq!(mtu.step(due), Some(1400));
                if number < answered {
                    mtu.on_seen(due, SHORTEST);
                }
            }
            let due = mtu.due().expect("the end of the last");
            assert_eq!(mtu.step(due), None);
            assert_eq!(
                (mtu.used() == 1400, mtu.due().is_none()),
                (is_paused, is_paused),
                "{answered} answered"
            );
            mtu.on_heard(at(60_000));
            if is_paused {
                assert_eq!((mtu.due(), mtu.step(at(60_000))), (Some(at(60_000)), Some(1400)));
            }
        }
    }

    #[test]
    fn each_change_is_told_once() {
        let mut mtu = started(1400);
        assert_eq!(mtu.take_change(), None);
        mtu.on_refused(at(0), 1300);
        assert_eq!((mtu.take_change(), mtu.take_change()), (Some(BASE), None));
        mtu.restart(at(1));
        assert_eq!((mtu.take_change(), mtu.take_change()), (Some(1400), None));
    }
}
