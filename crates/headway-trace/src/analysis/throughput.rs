//! Data over time, in bounded memory.

use headway_units::{Duration, Instant};

/// The maximum number of intervals.
const MAX_INTERVALS: usize = 1024;
/// The initial length of an interval.
const FIRST_WIDTH: Duration = Duration::from_millis(1);

/// What was sent in one interval of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interval {
    /// Bytes of data, new and retransmitted.
    pub bytes: u64,
    /// Bytes of new data.
    pub new_bytes: u64,
}

/// Data over time, in equal intervals from the first packet of the connection on. Their width doubles
/// when there would be more than 1,024.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throughput {
    start: Instant,
    width: Duration,
    intervals: Vec<Interval>,
}

impl Throughput {
    pub(super) fn new(start: Instant) -> Self {
        Self { start, width: FIRST_WIDTH, intervals: Vec::new() }
    }

    pub(super) fn add(&mut self, at: Instant, bytes: u64, new_bytes: u64) {
        let since = at.saturating_since(self.start).as_nanos();
        while since / self.width.as_nanos() >= MAX_INTERVALS as u64 {
            self.width = self.width + self.width;
            self.intervals = self.intervals.chunks(2).map(sum).collect();
        }
        let place = (since / self.width.as_nanos()) as usize;
        if place >= self.intervals.len() {
            self.intervals.resize(place + 1, Interval::default());
        }
        if let Some(interval) = self.intervals.get_mut(place) {
            interval.bytes += bytes;
            interval.new_bytes += new_bytes;
        }
    }

    /// When the first interval begins.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// How long each interval is: 1 ms times a power of two.
    pub fn width(&self) -> Duration {
        self.width
    }

    /// The intervals up to the last one with data.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}

fn sum(intervals: &[Interval]) -> Interval {
    intervals.iter().fold(Interval::default(), |sum, interval| Interval {
        bytes: sum.bytes + interval.bytes,
        new_bytes: sum.new_bytes + interval.new_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_every_byte_in_few_intervals() {
        let start = Instant::from_nanos(5_000_000);
        let mut throughput = Throughput::new(start);
        for n in 0..100_000 {
            throughput.add(start + Duration::from_millis(n), 10, n % 2);
        }
        assert_eq!(throughput.width(), Duration::from_millis(128));
        assert_eq!(throughput.intervals().len(), 782);
        assert_eq!(throughput.intervals()[0], Interval { bytes: 1280, new_bytes: 64 });
        let total = sum(throughput.intervals());
        assert_eq!(total, Interval { bytes: 1_000_000, new_bytes: 50_000 });
    }

    #[test]
    fn a_time_before_the_start_counts_with_the_first_interval() {
        let mut throughput = Throughput::new(Instant::from_nanos(10));
        throughput.add(Instant::ZERO, 3, 3);
        assert_eq!(throughput.intervals(), [Interval { bytes: 3, new_bytes: 3 }]);
    }

    #[test]
    fn the_longest_time_keeps_the_limit() {
        let mut throughput = Throughput::new(Instant::ZERO);
        throughput.add(Instant::from_nanos(u64::MAX), 1, 1);
        assert!(throughput.intervals().len() <= MAX_INTERVALS);
    }
}
