//! The search for the largest packet that a path carries, where no router says it: packetization layer path MTU discovery
//! (RFC 4821, RFC 8899).
//!
//! There is no search, and all that the interface allows is used, until [`crate::connection`] finds a black hole: packets are
//! repeatedly unanswered, and none as long as they arrives. That may be an interruption of the path just as well. So packets
//! become short at once, as RFC 4821, 7.7 recommends, and the first probe is as long as they were: if it arrives, the search is
//! over. If it does not, though shorter ones do, again and again, the longest that passes is found by bisection.

use headway_units::{Duration, Instant};

/// How often a probe is lost, among shorter packets that arrive, until its size is taken for too long. RFC 8899, 5.1.2 has 3,
/// for paths that lose few packets; here one of five may be lost.
const MAX_PROBES: u8 = 6;
/// RFC 8899, 5.1.1, PMTU_RAISE_TIMER: "the period a sender will continue to use the current PLPMTU, after which it reenters the
/// Search Phase".
const RAISE_AFTER: Duration = Duration::from_secs(600);
/// The search ends when it knows as exactly as this, in bytes, what passes: one percent of an Ethernet packet.
const EXACT: u16 = 16;

/// What every path is taken to carry, in bytes: what every host has to accept over IPv4 (RFC 791, 3.1), and every link over IPv6
/// (RFC 8200, 5). RFC 4821, 7.2 would begin with 1024 over IPv4, and go on to less with further timeouts.
pub(crate) const fn base(v4: bool) -> u16 {
    if v4 { 576 } else { 1280 }
}

/// Lengths of packets where a black hole is suspected.
#[derive(Clone, Copy)]
pub(crate) struct Lengths {
    /// What is sent, and does not seem to pass.
    pub(crate) used: u16,
    /// What would be sent without a search.
    pub(crate) top: u16,
    /// See [`base`]; less than both.
    pub(crate) base: u16,
}

/// What is known of the lengths of packets, in bytes with their IP headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MtuSearch {
    /// RFC 4821's search_low: the longest that is known to pass, or is taken to.
    passes: u16,
    /// The shortest that is known not to pass; above `top` before there is one.
    fails: u16,
    /// The longest that was ever to be sent.
    top: u16,
    /// What was sent when the search began: to be probed first.
    first: Option<u16>,
    /// Probes lost of the size that is being probed.
    lost: u8,
    /// When `passes` or `fails` last changed.
    since: Instant,
    /// When the next probe may be sent.
    next_at: Instant,
}

impl MtuSearch {
    /// A black hole is suspected. `before` is the search so far.
    pub(crate) fn begin(before: Option<&Self>, lengths: Lengths, now: Instant) -> Self {
        let Lengths { used, top, base } = lengths;
        let top = before.map_or(top, |before| before.top.max(top));
        let fails = before.map_or(top.saturating_add(1), |before| before.fails);
        Self { passes: base, fails, top, first: Some(used), lost: 0, since: now, next_at: now }
    }

    /// The longest packet to be sent.
    pub(crate) fn used(&self) -> u16 {
        self.passes
    }

    /// All that may be sent passes.
    pub(crate) fn is_over(&self) -> bool {
        self.passes >= self.top
    }

    /// What is known is so old that the path may be another.
    pub(crate) fn is_expired(&self, now: Instant) -> bool {
        now.saturating_since(self.since) >= RAISE_AFTER
    }

    /// The size of a probe, if one is to be sent now, of at most `limit` bytes.
    pub(crate) fn probe(&mut self, limit: u16, now: Instant) -> Option<u16> {
        if self.is_expired(now) {
            (self.first, self.fails, self.lost, self.since) =
                (Some(self.top), self.top.saturating_add(1), 0, now);
        }
        let bisected = (self.fails - self.passes > EXACT).then(|| self.passes.midpoint(self.fails));
        let size = self.first.or(bisected)?.min(limit);
        (size > self.passes && now >= self.next_at).then_some(size)
    }

    /// A probe was sent. The next one is sent when its loss would have been found: what loses one of them may lose all at that time.
    pub(crate) fn on_sent(&mut self, now: Instant, round_trip: Duration) {
        self.next_at = now + round_trip + round_trip / 2;
    }

    /// A packet of `size` bytes has arrived.
    pub(crate) fn on_passed(&mut self, size: u16, now: Instant) {
        if size <= self.passes {
            return;
        }
        if size >= self.fails {
            self.fails = self.top.saturating_add(1);
        }
        self.first = self.first.filter(|&first| first > size);
        (self.passes, self.lost, self.since) = (size, 0, now);
    }

    /// A probe of `size` bytes was lost, and what was sent after it was not.
    pub(crate) fn on_lost(&mut self, size: u16, now: Instant) {
        if size <= self.passes || size >= self.fails {
            return;
        }
        self.lost += 1;
        if self.lost == MAX_PROBES {
            (self.fails, self.first, self.lost, self.since) = (size, None, 0, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(second)
    }

    fn lengths(used: u16) -> Lengths {
        Lengths { used, top: 1500, base: 576 }
    }

    /// Probes a path that carries `carries` bytes, a probe a second, until nothing is left to probe. Gives the probes sent.
    fn search(search: &mut MtuSearch, carries: u16, from: u64) -> u32 {
        let mut probes = 0;
        while let Some(size) = search.probe(u16::MAX, at(from + u64::from(probes))) {
            let now = at(from + u64::from(probes));
            search.on_sent(now, Duration::from_millis(600));
            assert_eq!(search.probe(u16::MAX, now), None, "one at a time");
            if size <= carries {
                search.on_passed(size, now);
            } else {
                search.on_lost(size, now);
            }
            probes += 1;
        }
        probes
    }

    #[test]
    fn every_length_is_found_in_a_few_probes() {
        for carries in 576..=1500 {
            let mut found = MtuSearch::begin(None, lengths(1500), at(0));
            let probes = search(&mut found, carries, 0);
            assert!(
                (carries - found.used()) < EXACT && probes <= 42,
                "{carries}: {probes} probes, {found:?}"
            );
            assert_eq!(found.is_over(), carries == 1500);
        }
    }

    #[test]
    fn an_interruption_costs_one_probe() {
        let mut found = MtuSearch::begin(None, lengths(1500), at(0));
        assert_eq!(search(&mut found, 1500, 0), 1);
        // So does one of a path whose MTU was searched before.
        let mut found = MtuSearch::begin(None, lengths(1500), at(0));
        search(&mut found, 1400, 0);
        let used = found.used();
        let mut again = MtuSearch::begin(Some(&found), lengths(used), at(60));
        assert_eq!((search(&mut again, 1400, 60), again.used()), (1, used));
    }

    #[test]
    fn what_is_known_is_probed_again_after_ten_minutes() {
        let mut found = MtuSearch::begin(None, lengths(1500), at(0));
        let probes = u64::from(search(&mut found, 1300, 0));
        assert_eq!(found.probe(1500, at(599)), None);
        let used = found.used();
        assert_eq!((search(&mut found, 1500, 600 + probes), found.used()), (1, 1500));
        assert!(used <= 1300 && found.is_over());
    }

    #[test]
    fn few_losses_and_losses_of_other_lengths_decide_nothing() {
        let mut found = MtuSearch::begin(None, lengths(1500), at(0));
        for _ in 0..MAX_PROBES - 1 {
            found.on_lost(1500, at(0));
            found.on_lost(576, at(0));
            found.on_lost(1501, at(0));
        }
        assert_eq!(found.probe(1500, at(0)), Some(1500));
        // A limit of the peer's, say, or of a router's.
        assert_eq!(found.probe(1400, at(0)), Some(1400));
        assert_eq!(found.probe(576, at(0)), None);
    }

    #[test]
    fn what_is_longer_than_was_used_is_found_too() {
        let mut found = MtuSearch::begin(None, lengths(1400), at(0));
        search(&mut found, 1500, 0);
        assert!(found.used() + EXACT > 1500, "{found:?}");
    }

    #[test]
    fn the_next_probe_waits_for_a_round_trip_and_a_half() {
        let mut found = MtuSearch::begin(None, lengths(1500), at(0));
        found.on_sent(at(0), Duration::from_millis(600));
        let after = |millis| at(0) + Duration::from_millis(millis);
        assert_eq!(found.probe(1500, after(899)), None);
        assert_eq!(found.probe(1500, after(900)), Some(1500));
    }
}
