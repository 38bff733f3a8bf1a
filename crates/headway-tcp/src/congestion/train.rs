//! How fast the path delivers what was sent in a row: the dispersion of a packet train (Jain and Routhier, 1986;
//! Dovrolis, Ramanathan and Moore, INFOCOM 2001).
//!
//! A window that is sent at a rate above the bottleneck's arrives at the bottleneck's. Others that send through it spread it
//! further, so what is measured is between the capacity and what they leave of it. A window is a train from the first ACK of a
//! round trip on: the wait for that one is the path's delay, which the rate samples of the first round trip consist of.

use headway_units::{Duration, Instant, Rate};

use super::Ack;
use super::rounds::Rounds;

/// By how much jitter may move its ends towards or away from each other: what is less the cause ledger takes for noise too.
const NOISE: Duration = Duration::from_millis(1);

/// What arrived of a train after its first ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dispersion {
    bytes: u32,
    interval: Duration,
}

impl Dispersion {
    /// At what rate.
    pub(super) fn rate(self) -> Rate {
        over(self.bytes, self.interval)
    }

    /// Whether the path delivers at least `rate`, whatever the jitter was; `None`: the train was too short to tell.
    pub(super) fn reaches(self, rate: Rate) -> Option<bool> {
        let (longest, shortest) = (self.interval + NOISE, self.interval - NOISE);
        if over(self.bytes, longest) >= rate {
            Some(true)
        } else if over(self.bytes, shortest) < rate {
            Some(false)
        } else {
            None
        }
    }
}

fn over(bytes: u32, interval: Duration) -> Rate {
    let bits = u128::from(bytes) * 8_000_000_000 / u128::from(interval.as_nanos().max(1));
    Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
}

/// The train that is arriving.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Train {
    rounds: Rounds,
    /// When its first ACK came.
    first: Instant,
    /// When its latest one came.
    latest: Instant,
    /// Bytes that this one delivered.
    head: u32,
    /// Bytes delivered since.
    tail: u32,
    /// Bytes that arrived corrupted since the last ACK.
    damaged: u32,
}

impl Train {
    /// Bytes arrived corrupted.
    pub(super) fn on_damage(&mut self, bytes: u32) {
        self.damaged = self.damaged.saturating_add(bytes);
    }

    /// An ACK arrived. Returns what arrived so far, once that is `least` bytes of a window that the application did not limit.
    pub(super) fn on_ack(&mut self, ack: &Ack, least: u32) -> Option<Dispersion> {
        let sample = ack.rate.as_ref()?;
        let bytes = ack.delivered.saturating_add(core::mem::take(&mut self.damaged));
        if self.rounds.on_sample(sample) {
            (self.first, self.head, self.tail) = (ack.now, bytes, 0);
        } else if self.len() >= least
            && ack.now.saturating_since(self.latest) > self.latest.saturating_since(self.first)
        {
            // It comes later than all of the train took: the ACK of the last segment was delayed.
            return None;
        } else {
            self.tail = self.tail.saturating_add(bytes);
        }
        self.latest = ack.now;
        let interval = ack.now.saturating_since(self.first);
        let is_whole = self.len() >= least && interval > Duration::ZERO;
        (is_whole && !sample.app_limited).then_some(Dispersion { bytes: self.tail, interval })
    }

    fn len(&self) -> u32 {
        self.head.saturating_add(self.tail)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, sample};
    use super::*;

    /// An ACK of 1000 bytes at `micros`, of a segment that was sent when `prior` bytes were delivered.
    fn at(train: &mut Train, micros: u64, prior: u64, total: u64) -> Option<u64> {
        let now = Instant::ZERO + Duration::from_micros(micros);
        let ack = Ack { now, rate: Some(sample(prior, total)), ..ack(1000, 10_000) };
        train.on_ack(&ack, 5000).map(|dispersion| dispersion.rate().bits_per_second())
    }

    #[test]
    fn the_bottleneck_sets_the_segments_apart() {
        let mut train = Train::default();
        let measured = [0, 800, 1600, 2400, 3200].map(|micros| {
            let total = micros / 800 * 1000 + 1000;
            at(&mut train, 600_000 + micros, 0, total)
        });
        assert_eq!(measured, [None, None, None, None, Some(10_000_000)], "8000 bits each 800 us");
    }

    #[test]
    fn jitter_of_a_millisecond_decides_nothing() {
        let reaches = |segments: u32, micros, mbit: u64| {
            let dispersion = Dispersion { bytes: segments * 1000, interval: Duration::from_micros(micros) };
            dispersion.reaches(Rate::from_bits_per_second(mbit * 1_000_000))
        };
        // 10 Mbit/s, of which 8 are asked for: 9 segments are enough.
        assert_eq!(reaches(8, 6400, 8), Some(true));
        assert_eq!([reaches(8, 6400, 13), reaches(8, 6400, 10)], [Some(false), None]);
        // 50 Mbit/s, of which 40 are asked for: 24 segments are not, 40 are.
        assert_eq!(
            [reaches(8, 1280, 40), reaches(23, 3680, 40), reaches(39, 6240, 40)],
            [None, None, Some(true)]
        );
        assert_eq!([reaches(8, 800, 500), reaches(19, 3040, 400)], [None, Some(false)]);
    }

    #[test]
    fn what_arrives_at_once_or_corrupted() {
        let mut train = Train::default();
        for total in [1000, 2000, 3000, 4000, 5000] {
            assert_eq!(at(&mut train, 600_000, 0, total), None, "all at once: nothing is known");
        }
        let mut train = Train::default();
        train.on_damage(1000);
        for place in 0..2 {
            assert_eq!(at(&mut train, 600_000 + 800 * place, 0, 2000 + place * 1000), None);
        }
        train.on_damage(1000);
        assert_eq!(at(&mut train, 602_400, 0, 5000), Some(10_000_000));
    }

    #[test]
    fn a_delayed_ack_at_the_end_does_not_count() {
        let mut train = Train::default();
        for place in 0..5 {
            at(&mut train, 600_000 + 800 * place, 0, 1000 + place * 1000);
        }
        assert_eq!(at(&mut train, 643_200, 0, 6000), None);
        assert_eq!(at(&mut train, 604_000, 0, 7000), Some(10_000_000), "one in time does");
    }

    #[test]
    fn the_next_round_trip_is_another_train() {
        let mut train = Train::default();
        for place in 0..4 {
            assert_eq!(at(&mut train, 600_000 + 800 * place, 0, 1000 + place * 1000), None);
        }
        let measured = [0, 400, 800, 1200, 1600].map(|micros| {
            let total = 5000 + micros / 400 * 1000;
            at(&mut train, 1_200_000 + micros, 4000, total)
        });
        assert_eq!(measured, [None, None, None, None, Some(20_000_000)]);
    }
}
