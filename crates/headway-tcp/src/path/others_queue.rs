//! Whether others keep a queue at the bottleneck.
//!
//! What a sender with a model of the path sends at the path's rate leaves no queue of its own. So where a part of it waits
//! all the same, other flows keep a queue, or the path's delay varies. One long wait is jitter; a queue delays all that
//! follow each other, and that of this sender is soon drained. What is left of such errors must do little harm to a flow
//! that is alone.

use headway_units::Duration;

/// No wait is shorter than this.
const WAIT: Duration = Duration::from_millis(3);
/// A run of segments waited if all of them did. It has at least so many.
const RUN: u32 = 8;
/// Runs that count at once.
const MOST: u16 = u16::MAX / 2;
/// Others keep a queue if more than one in so many runs waits.
const PART: u32 = 8;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OthersQueue {
    /// Runs of segments that arrived, sent at the path's rate. Older ones count half.
    runs: u16,
    /// Those of them that waited.
    waited: u16,
    /// Segments of the present run.
    segments: u16,
    /// One of them did not wait.
    passed: bool,
}

impl OthersQueue {
    /// Segments sent at the path's rate reached the receiver; the last round-trip sample waited for so long.
    pub(super) fn on_survived(&mut self, segments: u32, wait: Duration) {
        if segments == 0 {
            return;
        }
        self.passed |= wait <= WAIT;
        let segments = segments.saturating_add(self.segments.into());
        if segments < RUN {
            self.segments = segments as u16;
            return;
        }
        let runs = u16::try_from(segments / RUN).unwrap_or(u16::MAX).min(MOST);
        if self.runs > u16::MAX - runs {
            self.halve();
        }
        self.runs += runs;
        self.waited += if self.passed { 0 } else { runs };
        self.segments = 0;
        self.passed = false;
    }

    /// What arrived until now counts half.
    pub(super) fn halve(&mut self) {
        self.runs /= 2;
        self.waited /= 2;
    }

    /// Whether others keep a queue.
    pub(super) fn stands(&self) -> bool {
        u32::from(self.waited) * PART > u32::from(self.runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(wait: u64) -> Duration {
        Duration::from_millis(wait)
    }

    /// So many runs, all of whose segments wait for so long.
    fn arrive(queue: &mut OthersQueue, runs: u32, wait: Duration) {
        for _ in 0..runs * RUN {
            queue.on_survived(1, wait);
        }
    }

    #[test]
    fn it_stands_where_more_than_an_eighth_waits() {
        let mut queue = OthersQueue::default();
        assert!(!queue.stands());
        arrive(&mut queue, 7, ms(3));
        arrive(&mut queue, 1, ms(4));
        assert!(!queue.stands());
        arrive(&mut queue, 1, ms(4));
        assert!(queue.stands());
    }

    #[test]
    fn one_segment_of_a_run_that_passes_is_no_queue() {
        let mut queue = OthersQueue::default();
        for segment in 0..100 * RUN {
            queue.on_survived(1, ms(if segment % RUN == 7 { 3 } else { 8 }));
        }
        assert!(!queue.stands());
        queue.on_survived(0, ms(0));
        arrive(&mut queue, 20, ms(8));
        assert!(queue.stands());
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut queue = OthersQueue::default();
        arrive(&mut queue, 40, ms(10));
        for _ in 0..3 {
            assert!(queue.stands());
            queue.halve();
            arrive(&mut queue, 40, ms(0));
        }
        assert!(!queue.stands());
    }

    #[test]
    fn more_runs_than_are_counted_keep_their_proportion() {
        let mut queue = OthersQueue::default();
        arrive(&mut queue, 100_000, ms(10));
        assert!(queue.stands() && queue.waited == queue.runs);
        arrive(&mut queue, 30_000, ms(0));
        assert!(queue.stands());
        queue.on_survived(u32::MAX, ms(0));
        arrive(&mut queue, 100_000, ms(0));
        assert!(!queue.stands());
    }
}
