//! Whether others keep a queue at the bottleneck.
//!
//! What a sender with a model of the path sends below the path's rate drains the queue of its own. So where a part of what it
//! sends soon after that, at the path's rate, waits all the same, other flows keep a queue, or the path's delay varies: waits do
//! not tell which. So what follows from it must do little harm to a flow that is alone.

/// No wait is shorter than this, in microseconds.
const WAIT: u32 = 3000;
/// Where the longest wait is shorter, a queue of others would hardly be seen.
pub(super) const VISIBLE: u32 = 2 * WAIT;
/// Others keep a queue if more than one packet in 8 waits.
const PART: u64 = 8;
/// Round trips that count after something was sent below the rate. Where delay varies, a rate measured over one seems higher than
/// it is, so each adds to a queue of one's own. (Fitted, of 1 to 16, to jitter of 0.1 and 0.2 ms at 50 Mbit/s.)
const ROUND_TRIPS: u32 = 8;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OthersQueue {
    /// Segments that arrived, of those that count. Older ones count half.
    arrived: u32,
    /// Those of them that waited.
    waited: u32,
    /// How many more of those sent at the rate count.
    more: u32,
}

impl OthersQueue {
    /// Segments reached the receiver that were sent `below` the path's rate, and `at` it, a round trip's being `volume`; the queue
    /// delays by `wait` microseconds.
    pub(super) fn on_survived(&mut self, below: u32, at: u32, volume: u32, wait: u32) {
        if below > 0 {
            self.more = ROUND_TRIPS.saturating_mul(volume);
        }
        let counted = at.min(self.more);
        self.more -= counted;
        self.arrived = self.arrived.saturating_add(counted);
        if wait > WAIT {
            self.waited = self.waited.saturating_add(counted);
        }
    }

    /// What arrived until now counts half.
    pub(super) fn halve(&mut self) {
        self.arrived /= 2;
        self.waited /= 2;
    }

    /// Whether others keep a queue.
    pub(super) fn stands(&self) -> bool {
        u64::from(self.waited) * PART > u64::from(self.arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After one was sent below the path's rate, segments that were sent at it waited for `wait` milliseconds.
    fn drained(queue: &mut OthersQueue, segments: u32, wait: u32) {
        queue.on_survived(1, 0, segments, 0);
        queue.on_survived(0, segments, segments, 1000 * wait);
    }

    #[test]
    fn it_stands_where_more_than_an_eighth_waits() {
        let mut queue = OthersQueue::default();
        assert!(!queue.stands());
        drained(&mut queue, 70, 3);
        drained(&mut queue, 10, 4);
        assert!(!queue.stands());
        drained(&mut queue, 1, 4);
        assert!(queue.stands());
    }

    #[test]
    fn eight_round_trips_count_after_what_was_sent_below_the_rate() {
        let mut queue = OthersQueue::default();
        queue.on_survived(0, 100, 10, 9000);
        assert_eq!((queue.arrived, queue.waited), (0, 0), "a queue of one's own may stand");
        queue.on_survived(1, 50, 10, 3000);
        queue.on_survived(0, 100, 99, 9000);
        assert_eq!((queue.arrived, queue.waited), (80, 30));
        queue.on_survived(0, 1, 99, 9000);
        assert_eq!((queue.arrived, queue.waited), (80, 30));
        queue.on_survived(1, 1, u32::MAX, 9000);
        assert_eq!((queue.arrived, queue.waited), (81, 31));
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut queue = OthersQueue::default();
        drained(&mut queue, 100, 10);
        for _ in 0..3 {
            assert!(queue.stands());
            queue.halve();
            drained(&mut queue, 100, 0);
        }
        assert!(!queue.stands());
    }

    #[test]
    fn a_share_that_waits_stays_what_it_is() {
        let mut queue = OthersQueue::default();
        drained(&mut queue, 900, 0);
        drained(&mut queue, 100, 10);
        assert!(!queue.stands());
        queue.halve();
        assert!(!queue.stands());
    }
}
