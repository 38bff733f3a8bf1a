//! How fast the path delivers what was sent in a row: the dispersion of a packet train (Jain and Routhier, 1986;
//! Dovrolis, Ramanathan and Moore, INFOCOM 2001).
//!
//! A window that is sent at a rate above the bottleneck's arrives at the bottleneck's. Others that send through it spread it
//! further, so what is measured is between the capacity and what they leave of it. A window is a train from the first ACK of a
//! round trip on: the wait for that one is the path's delay, which the rate samples of the first round trip consist of.

use headway_units::{Duration, Instant, Rate};

use super::rounds::Rounds;
use super::{Ack, RateSample};

/// The train that is arriving.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Train {
    rounds: Rounds,
    /// When its first ACK came.
    first: Instant,
    /// Bytes that this one delivered.
    head: u32,
    /// Bytes delivered since.
    tail: u32,
    /// Bytes that arrived corrupted since the last ACK.
    damaged: u32,
    /// Whole windows before.
    trains: u32,
}

impl Train {
    /// Bytes arrived corrupted.
    pub(super) fn on_damage(&mut self, bytes: u32) {
        self.damaged = self.damaged.saturating_add(bytes);
    }

    /// An ACK arrived. Returns the rate so far, once `least` bytes of a window of segments of `mss` bytes arrived. What the application or
    /// the pacing of the sender sets apart seems slower.
    pub(super) fn on_ack(&mut self, ack: &Ack, least: u32, mss: u32) -> Option<Rate> {
        let sample = ack.rate.as_ref()?;
        let bytes = ack.delivered.saturating_add(core::mem::take(&mut self.damaged));
        // What an application says before its data is no part of the train: the data is sent later.
        let is_short = self.tail == 0 && self.head < mss;
        if self.rounds.on_sample(sample) || is_short {
            self.rounds.restart(sample.total_delivered);
            self.trains += u32::from(self.head.saturating_add(self.tail) >= least);
            (self.first, self.head, self.tail) = (ack.now, bytes, 0);
        } else {
            self.tail = self.tail.saturating_add(bytes);
        }
        let interval = ack.now.saturating_since(self.first);
        let is_whole = self.head.saturating_add(self.tail) >= least && interval > Duration::ZERO;
        is_whole.then(|| RateSample { delivered: self.tail.into(), interval, ..*sample }.rate())
    }

    /// Whether only the first ACK of a window has arrived.
    pub(super) fn has_just_begun(&self) -> bool {
        self.tail == 0
    }

    /// How many windows of `least` bytes have arrived before the one that arrives.
    pub(super) fn trains(&self) -> u32 {
        self.trains
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
        train.on_ack(&ack, 5000, 625).map(Rate::bits_per_second)
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
