//! Whether others keep a queue at the bottleneck.
//!
//! What a sender with a model of the path sends at the path's rate leaves no queue of its own. So where a part of it waits
//! all the same, other flows keep a queue, or the path's delay varies: waits do not tell which. So what follows from it
//! must do little harm to a flow that is alone.

/// No wait is shorter than this, in microseconds.
const WAIT: u32 = 3000;
/// Where the longest wait is shorter, a queue of others would hardly be seen.
pub(super) const VISIBLE: u32 = 2 * WAIT;
/// Others keep a queue if more than one packet in 8 waits.
const PART: u64 = 8;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OthersQueue {
    /// Segments that arrived, of those sent at the path's rate. Older ones count half.
    arrived: u32,
    /// Those of them that waited.
    waited: u32,
}

impl OthersQueue {
    /// Segments sent at the path's rate reached the receiver; the last round-trip sample waited for so long, in microseconds.
    pub(super) fn on_survived(&mut self, segments: u32, wait: u32) {
        self.arrived = self.arrived.saturating_add(segments);
        if wait > WAIT {
            self.waited = self.waited.saturating_add(segments);
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

    fn ms(wait: u32) -> u32 {
        1000 * wait
    }

    #[test]
    fn it_stands_where_more_than_an_eighth_waits() {
        let mut queue = OthersQueue::default();
        assert!(!queue.stands());
        queue.on_survived(70, ms(3));
        queue.on_survived(10, ms(4));
        assert!(!queue.stands());
        queue.on_survived(1, ms(4));
        assert!(queue.stands());
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut queue = OthersQueue::default();
        queue.on_survived(100, ms(10));
        for _ in 0..3 {
            assert!(queue.stands());
            queue.halve();
            queue.on_survived(100, ms(0));
        }
        assert!(!queue.stands());
    }

    #[test]
    fn a_share_that_waits_stays_what_it_is() {
        let mut queue = OthersQueue::default();
        queue.on_survived(900, ms(0));
        queue.on_survived(100, ms(10));
        assert!(!queue.stands());
        queue.halve();
        assert!(!queue.stands());
    }
}
