//! How large a window to offer: dynamic right-sizing (Fisk and Feng, LACSI 2001; RFC 9293, 3.8.6 leaves the
//! size to the receiver).
//!
//! The window has to hold what the path carries in a round trip, and more than that: a sender in slow
//! start brings twice as much in the next one, and while a hole is open nothing can be read however
//! much arrives behind it. So the limit follows what *progresses* in a round trip, and what stands
//! behind holes on top of that. What arrives and is not read is no demand: a slow reader keeps
//! its small buffer.

use headway_units::{Duration, Instant};

/// The window offered at first, and the slack on top of what is measured.
pub(super) const INITIAL: u32 = 64 << 10;

/// A sender doubles in a round trip what it has in the network, and is through with that when the next
/// measurement is; after a packet train it may send eight times as much as that was.
const AHEAD: u32 = 8;

/// What is held behind holes counts as a multiple of itself at most, or a peer that sends single bytes far
/// ahead would have a large buffer set aside for them.
const SPREAD: u32 = 4;

pub(super) struct RightSizing {
    limit: u32,
    max: u32,
    /// Bytes read, and bytes held behind holes, when the round trip began: modulo 2^32.
    base: u32,
    /// The round trip ends when the peer echoes this timestamp of ours, or without timestamps, a
    /// smoothed round-trip time after it began.
    tsval: Option<u32>,
    since: Instant,
}

/// How far a connection is.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    /// Bytes read, modulo 2^32.
    pub(super) consumed: u32,
    /// Bytes held behind holes.
    pub(super) held: u32,
    /// From RCV.NXT to the end of what is held.
    pub(super) span: u32,
}

/// When data arrived, and what distinguishes round trips.
#[derive(Clone, Copy)]
pub(crate) struct Clocks {
    pub(crate) now: Instant,
    /// Our timestamp clock.
    pub(crate) tsval: u32,
    /// The timestamp that the peer echoes.
    pub(crate) tsecr: Option<u32>,
    pub(crate) smoothed: Duration,
}

impl RightSizing {
    /// For windows of up to `max` bytes; without `tunes` it is that from the start.
    pub(super) fn new(max: u32, tunes: bool) -> Self {
        let limit = if tunes { max.min(INITIAL) } else { max };
        Self { limit, max, base: 0, tsval: None, since: Instant::ZERO }
    }

    /// The largest window to offer now.
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Another connection over the path had reason to offer `window` bytes.
    pub(super) fn resume(&mut self, window: u32) {
        self.limit = self.limit.max(window.min(self.max));
    }

    /// A round trip may bring `bytes` from the start: the window is what one that brought them would have made it.
    pub(super) fn expect(&mut self, bytes: u32) {
        self.resume(bytes.saturating_mul(AHEAD));
    }

    /// Data arrived or was read.
    pub(super) fn on_progress(&mut self, progress: Progress) {
        if self.limit >= self.max {
            return;
        }
        let Progress { consumed, held, span } = progress;
        let taken = consumed.wrapping_add(held).wrapping_sub(self.base);
        // What has moved out from behind a hole, and has not been read yet, counts when it is.
        let taken = if taken as i32 >= 0 { taken } else { 0 };
        let behind = span.min(held.saturating_mul(SPREAD));
        let wanted = taken.saturating_mul(AHEAD).saturating_add(behind).saturating_add(INITIAL);
        self.limit = self.limit.max(wanted.min(self.max));
    }

    /// Data arrived: a new round trip may begin.
    pub(super) fn on_arrival(&mut self, progress: Progress, clocks: &Clocks) {
        let over = match (clocks.tsecr, self.tsval) {
            (_, None) => true,
            (Some(tsecr), Some(tsval)) => (tsecr.wrapping_sub(tsval) as i32) >= 0,
            (None, _) => clocks.now.saturating_since(self.since) >= clocks.smoothed,
        };
        if over {
            let reached = progress.consumed.wrapping_add(progress.held);
            if reached.wrapping_sub(self.base) as i32 >= 0 {
                self.base = reached;
            }
            // Not the present tick, which ACKs that have left may carry.
            self.tsval = Some(clocks.tsval.wrapping_add(1));
            self.since = clocks.now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(consumed: u32, held: u32, span: u32) -> Progress {
        Progress { consumed, held, span }
    }

    fn clocks(millis: u64, tsecr: Option<u32>) -> Clocks {
        let now = Instant::ZERO + Duration::from_millis(millis);
        Clocks { now, tsval: millis as u32, tsecr, smoothed: Duration::from_millis(100) }
    }

    /// Each round trip brings twice what the last did: the window is never what limits it.
    #[test]
    fn it_runs_ahead_of_slow_start() {
        let mut size = RightSizing::new(16 << 20, true);
        let (mut read, mut flight, mut millis) = (0, 14_600, 1000);
        while flight < 4 << 20 {
            assert!(size.limit() >= 2 * flight, "{} for {flight}", size.limit());
            size.on_arrival(at(read, 0, 0), &clocks(millis, Some(millis as u32)));
            read += flight;
            size.on_progress(at(read, 0, 0));
            flight *= 2;
            millis += 100;
        }
        assert!(size.limit() > 14 << 20);
    }

    #[test]
    fn a_round_trip_counts_once() {
        let mut size = RightSizing::new(16 << 20, true);
        for round in 0..50 {
            let millis = 1000 + 100 * u64::from(round);
            // The echo is of what was sent a round trip before.
            size.on_arrival(at(20_000 * round, 0, 0), &clocks(millis, Some(millis as u32 - 99)));
            size.on_progress(at(20_000 * (round + 1), 0, 0));
        }
        assert_eq!(size.limit(), 20_000 * AHEAD + INITIAL);
        let before = size.limit();
        for round in 50..100 {
            size.on_arrival(at(20_000 * round, 0, 0), &clocks(6000 + 100 * u64::from(round), None));
            size.on_progress(at(20_000 * (round + 1), 0, 0));
        }
        assert_eq!(size.limit(), before, "without timestamps the clock decides");
    }

    #[test]
    fn what_stands_behind_a_hole_is_demand() {
        let mut size = RightSizing::new(16 << 20, true);
        size.on_arrival(at(0, 0, 0), &clocks(1000, Some(1000)));
        for held in 1..=1000 {
            size.on_progress(at(0, held * 1448, held * 1448));
            assert!(size.limit() >= held * 1448 + INITIAL);
        }
        // Single bytes far ahead are not.
        let mut size = RightSizing::new(16 << 20, true);
        for _ in 0..10 {
            size.on_progress(at(0, 10, size.limit()));
        }
        assert!(size.limit() < 2 * INITIAL);
    }

    #[test]
    fn a_reader_that_stands_still_gets_no_more() {
        let mut size = RightSizing::new(16 << 20, true);
        for millis in 1..100 {
            size.on_arrival(at(0, 0, 0), &clocks(millis, Some(millis as u32)));
            size.on_progress(at(0, 0, 0));
        }
        assert_eq!(size.limit(), INITIAL);
    }
}
