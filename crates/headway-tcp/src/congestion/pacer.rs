//! Pacing: what the window allows is spread over the round trip.

use headway_units::{Duration, Instant, Rate};

/// What may leave at once, as time at the pacing rate: a timer that fires each millisecond keeps up.
const BURST: Duration = Duration::from_millis(1);

/// What a timer that fires late keeps back leaves at once, up to this much: a host that others keep busy lets a thread wait for as
/// long, and what is not sent then never is.
const LATE: Duration = Duration::from_millis(10);

/// When the next segment may leave.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    /// When the last segment would be gone if segments left evenly.
    next: Instant,
    /// A segment waits for that.
    is_awaited: bool,
    /// By how much what has left is late, since the timer was.
    late: Duration,
}

impl Pacer {
    /// A segment is to leave: when it may, if not now.
    pub(crate) fn wait(&mut self, now: Instant) -> Option<Instant> {
        if self.next > now {
            self.is_awaited = true;
            return Some(self.next);
        }
        if core::mem::take(&mut self.is_awaited) {
            self.late = now.saturating_since(self.next).min(LATE);
        }
        None
    }

    /// A segment of this many bytes is sent.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u32, rate: Rate) {
        // Time that was not used gives no right to a burst, except a short one.
        let from = self.next.max(now - self.late.max(BURST));
        let time = rate.transmit_time(u64::from(bytes));
        self.next = from + time;
        self.late = self.late - time;
    }
}

/// The pacing rate of a controller that has only a window: the window each round trip, and
/// more than that so that it can grow: Linux and RFC 9002, 7.7 take 1.25; in slow start twice, as the window
/// doubles.
pub(crate) fn window_rate(window: u32, smoothed: Duration, slow_start: bool) -> Rate {
    each_round_trip(window, if slow_start { 200 } else { 125 }, smoothed)
}

/// One segment each round trip.
pub(crate) fn min_rate(mss: u32, smoothed: Duration) -> Rate {
    each_round_trip(mss.max(1), 100, smoothed)
}

fn each_round_trip(bytes: u32, percent: u128, smoothed: Duration) -> Rate {
    let nanos = u128::from(smoothed.as_nanos().max(1));
    let bits = u128::from(bytes) * 8 * percent * 10_000_000 / nanos;
    Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_leave_evenly() {
        let rate = window_rate(125_000, Duration::from_millis(100), false);
        assert_eq!(rate, Rate::from_bits_per_second(12_500_000));
        let mut pacer = Pacer::default();
        let start = Instant::ZERO + Duration::from_secs(1);
        for _ in 0..100 {
            pacer.on_sent(start, 1250, rate);
        }
        assert_eq!(pacer.wait(start), Some(start + Duration::from_millis(79)), "80 ms less the burst");
    }

    /// How many of `segments`, of 1 ms each, leave now.
    fn leave_of(pacer: &mut Pacer, now: Instant, segments: usize) -> usize {
        let rate = Rate::from_bits_per_second(8_000_000);
        let leaves = |_: &usize| pacer.wait(now).is_none().then(|| pacer.on_sent(now, 1000, rate)).is_some();
        (0..segments).take_while(leaves).count()
    }

    /// A pacer for whose timer a segment waits, and when it is due.
    fn awaited() -> (Pacer, Instant) {
        let mut pacer = Pacer::default();
        leave_of(&mut pacer, Instant::ZERO + Duration::from_secs(1), 100);
        let due = pacer.next;
        (pacer, due)
    }

    /// How many leave at once, that many milliseconds after the next may.
    fn leave(is_awaited: bool, millis: u64) -> usize {
        let (mut pacer, due) = awaited();
        if !is_awaited {
            assert_eq!(pacer.wait(due), None);
        }
        leave_of(&mut pacer, due + Duration::from_millis(millis), 100)
    }

    #[test]
    fn what_a_late_timer_kept_back_leaves_at_once() {
        assert_eq!([0, 1, 4, 10, 11, 500].map(|millis| leave(true, millis)), [1, 2, 5, 11, 11, 11]);
        assert_eq!([0, 1, 4, 500].map(|millis| leave(false, millis)), [1, 2, 2, 2], "no one waited");
    }

    #[test]
    fn what_has_left_is_owed_no_more() {
        let (mut pacer, due) = awaited();
        assert_eq!(leave_of(&mut pacer, due + Duration::from_millis(8), 5), 5);
        assert_eq!(leave_of(&mut pacer, due + Duration::from_millis(500), 100), 4, "3 ms");
    }
}
