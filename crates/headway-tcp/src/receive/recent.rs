//! TS.Recent, and how old a timestamp may be (RFC 7323, sections 4.3 and 5).

use headway_units::{Duration, Instant};

/// RFC 7323, 5.5: a TS.Recent older than 24 days says nothing.
const IDLE: Duration = Duration::from_secs(24 * 24 * 3600);
/// How much less than another a packet may have waited on the way.
const AHEAD: Duration = Duration::from_secs(4);
/// How far back the lenient check looks at least, milliseconds.
const STEP: u32 = 500;

/// TS.Recent, when it was set, and what it was some time ago.
pub(crate) struct Recent {
    value: u32,
    at: Instant,
    /// Older values, the oldest first, each a [`STEP`] or more before the next, with the time in
    /// milliseconds.
    past: [(u32, u32); 2],
}

impl Recent {
    pub(crate) fn new() -> Self {
        Self { value: 0, at: Instant::ZERO, past: [(0, 0); 2] }
    }

    pub(crate) fn value(&self) -> u32 {
        self.value
    }

    /// When it was set.
    pub(crate) fn at(&self) -> Instant {
        self.at
    }

    /// The peer's SYN carried this timestamp.
    pub(crate) fn start(&mut self, value: u32, now: Instant) {
        (self.value, self.at) = (value, now);
        self.past = [(value, millis(now)); 2];
    }

    /// Whether TS.Recent is later than `tsval`.
    pub(crate) fn is_after(&self, tsval: u32) -> bool {
        (tsval.wrapping_sub(self.value) as i32) < 0
    }

    pub(crate) fn update(&mut self, value: u32, now: Instant) {
        (self.value, self.at) = (value, now);
        let since = millis(now).wrapping_sub(self.past[1].1);
        if since >= STEP * 4 {
            self.past = [(value, millis(now)); 2];
        } else if since >= STEP {
            self.past = [self.past[1], (value, millis(now))];
        }
    }

    /// RFC 7323, 5.3, R1: "If SEG.TSval < TS.Recent, and if TS.Recent is valid".
    ///
    /// `lenient`: TS.Recent as it was half a second to two seconds ago counts (`docs/protocol.md`, 5.1). Where damage is repaired all
    /// the time, a retransmission that fills the first hole raises TS.Recent above everything that was sent
    /// before it; what another packet overtook on the way would be dropped and taken for lost. Half a
    /// second is far less than old duplicates of a wrapped sequence space take.
    #[inline]
    pub(crate) fn is_older(&self, tsval: u32, now: Instant, lenient: bool) -> bool {
        let is_recent = |past: &&(u32, u32)| millis(now).wrapping_sub(past.1) <= STEP * 4;
        let past = if lenient { self.past.iter().find(is_recent) } else { None };
        let floor = past.map_or(self.value, |past| past.0);
        (tsval.wrapping_sub(floor) as i32) < 0 && now.saturating_since(self.at) < IDLE
    }

    /// Whether the peer's clock cannot have come to `tsval` yet. It ticks once a millisecond at the most
    /// (RFC 7323, 5.4), and what was sent later than TS.Recent may have been faster on the way by
    /// [`AHEAD`].
    pub(crate) fn is_ahead(&self, tsval: u32, now: Instant) -> bool {
        let elapsed = now.saturating_since(self.at);
        let ahead = tsval.wrapping_sub(self.value) as i32;
        elapsed < IDLE && ahead > 0 && ahead as u64 > (elapsed + AHEAD).as_nanos() / 1_000_000
    }
}

/// Wraps after 49 days: only differences count.
fn millis(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leniency_reaches_back_half_a_second_and_no_further_than_two() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut recent = Recent::new();
        recent.start(1000, at(0));
        for ms in (0..=3000).step_by(10) {
            recent.update(1000 + ms as u32, at(ms));
        }
        assert!(recent.is_older(3999, at(3000), false));
        assert!(!recent.is_older(3500, at(3000), true), "half a second old");
        assert!(recent.is_older(2500, at(3000), true), "a second and a half");
        assert!(
            recent.is_older(3999, at(5100), true),
            "nothing of the last two seconds is older than TS.Recent"
        );
        assert!(!recent.is_ahead(8000, at(3000)) && recent.is_ahead(8001, at(3000)), "4 seconds");
        assert!(!recent.is_ahead(8100, at(3100)) && !recent.is_ahead(2000, at(3000)));
        recent.update(9000, at(10_000));
        assert!(recent.is_older(8999, at(10_000), true), "after a pause nothing older can be under way");
    }
}
