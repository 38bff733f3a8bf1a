//! Whether others keep a queue at the bottleneck.
//!
//! What is sent at the rate that the path carries leaves no queue behind. Where such segments find one all the same, it is
//! that of others, who respond to every loss.

/// Segments after which older ones count half.
const MEMORY: u32 = 2048;
/// Fewer segments say nothing.
const ENOUGH: u32 = 64;
/// More than this part of the segments at the rate find a queue where others keep one. (Alone, up to one in twelve did,
/// where the round trip is short; beside one flow of CUBIC or BBR, with five kinds of queues, one in six to two in three.)
const PART: u32 = 12;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CrossTraffic {
    /// Segments that were sent at the rate of the path.
    at_rate: u32,
    /// Those of them that found a queue.
    queued: u32,
}

impl CrossTraffic {
    /// Segments that were sent at the rate of the path arrived, and found a queue or none.
    pub(super) fn on_arrived(&mut self, segments: u32, found_queue: bool) {
        self.at_rate += segments;
        self.queued += if found_queue { segments } else { 0 };
        if self.at_rate > MEMORY {
            self.at_rate /= 2;
            self.queued /= 2;
        }
    }

    /// Whether others keep a queue.
    pub(super) fn keeps_queue(&self) -> bool {
        self.at_rate >= ENOUGH && self.queued > self.at_rate / PART
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(segments: u32, nth_finds_queue: u32) -> CrossTraffic {
        let mut traffic = CrossTraffic::default();
        for segment in 1..=segments {
            traffic.on_arrived(1, segment.is_multiple_of(nth_finds_queue));
        }
        traffic
    }

    #[test]
    fn a_queue_that_is_found_often_is_that_of_others() {
        assert!(after(10_000, 6).keeps_queue());
        assert!(!after(10_000, 20).keeps_queue());
        assert!(!after(60, 1).keeps_queue(), "too few to say");
    }

    #[test]
    fn who_leaves_is_forgotten() {
        let mut traffic = after(10_000, 1);
        for _ in 0..4 * MEMORY {
            traffic.on_arrived(1, false);
        }
        assert!(!traffic.keeps_queue());
    }
}
