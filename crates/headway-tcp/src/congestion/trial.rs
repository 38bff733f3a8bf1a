//! A rate at which the first windows are sent, as packet trains ([`Train`]), and whether they arrive at it.
//!
//! A rate that was *told* ([`super::StartEstimate`]) is tested strictly, since nothing that this host has sent over the path speaks
//! for it. The initial window has to be acknowledged, at three quarters of that rate at least. What the application or a busy host spreads
//! seems slower, so the next two windows, which are longer, are trains too. The path is another one if none of the three arrives at the
//! rate, if one that the application did not limit arrives at less than half of it, and with the first loss.
//!
//! Where nothing is known a rate is *tried*: the path carries what the first whole window arrives at.

use headway_units::Rate;

use super::Ack;
use super::train::Train;

/// The windows that may show a told rate: 10, 20 and 40 segments. At 10 Mbit/s a host that is late by 3 ms hides the rate from the first.
const TRAINS: u32 = 3;

/// A rate, and how it is tested.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// Whether the path is said to carry it.
    is_told: bool,
    /// What is sent at: at first the rate itself, then what arrived of it.
    rate: Rate,
    /// Bytes that have to arrive.
    least: u32,
    train: Train,
}

impl Trial {
    /// Of a rate that the path is said to carry, with an initial window of `initial` bytes in segments of `mss`. Two segments are not
    /// waited for: the ACK of a single last one may be delayed (RFC 9293, 3.8.6.3), and the first may be short, with what a protocol says
    /// before the data.
    pub(super) fn told(rate: Rate, initial: u32, mss: u32) -> Self {
        Self { is_told: true, rate, least: initial.saturating_sub(2 * mss), train: Train::default() }
    }

    /// Of a rate of which nothing is known.
    pub(super) fn tried(rate: Rate, initial: u32, mss: u32) -> Self {
        Self { is_told: false, ..Self::told(rate, initial, mss) }
    }

    pub(super) fn is_told(&self) -> bool {
        self.is_told
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// Bytes arrived corrupted.
    pub(super) fn on_damage(&mut self, bytes: u32) {
        self.train.on_damage(bytes);
    }

    /// An ACK arrived. Says whether the path carries [`Self::rate`], once that is known.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Option<bool> {
        let measured = self.train.on_ack(ack, self.least);
        let most = if self.is_told { TRAINS } else { 1 };
        if self.train.trains() >= most || ack.in_recovery {
            return Some(false);
        }
        let measured = measured?;
        // BBR's measure of growth is a factor of 1.25; the headers, which the told rate has and the measured one has not, take the rest.
        if self.is_told && measured.bits_per_second() < self.rate.bits_per_second() / 4 * 3 {
            // No host that is late halves a rate.
            let is_other = measured.bits_per_second() < self.rate.bits_per_second() / 2;
            return (is_other && ack.rate.is_some_and(|sample| !sample.app_limited)).then_some(false);
        }
        self.rate = self.rate.min(measured);
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use headway_units::{Duration, Instant};

    use super::super::RateSample;
    use super::super::testing::{ack, sample};
    use super::*;

    const TEN: Rate = Rate::from_bits_per_second(10_000_000);

    /// What comes of a trial of 10 Mbit/s, by the rates at which the first windows of ten segments arrive, in kbit/s, and whether the
    /// application sent less than it might have.
    fn outcome(mut trial: Trial, windows: &[u64], app_limited: bool) -> Option<u64> {
        let acks = windows.iter().enumerate().flat_map(|(round, kbits)| {
            let before = round as u64 * 10_000;
            (1..=10).map(move |place| {
                let now = Duration::from_millis(600 * (round as u64 + 1))
                    + Duration::from_micros(place * 8_000_000 / kbits);
                (Instant::ZERO + now, RateSample { app_limited, ..sample(before, before + place * 1000) })
            })
        });
        let mut carries =
            acks.filter_map(|(now, rate)| trial.on_ack(&Ack { now, rate: Some(rate), ..ack(1000, 10_000) }));
        carries.next()?.then(|| trial.rate().bits_per_second() / 1000)
    }

    #[test]
    fn a_told_rate_is_carried_once_a_window_arrives_at_it() {
        let outcome = |windows: &[u64]| outcome(Trial::told(TEN, 10_000, 1000), windows, false);
        assert_eq!(outcome(&[10_000]), Some(10_000));
        assert_eq!(outcome(&[8_000]), Some(8_000), "the lower of both rates");
        assert_eq!(outcome(&[20_000]), Some(10_000), "the lower of both rates");
        assert_eq!(outcome(&[6_000, 10_000]), Some(10_000), "the first was spread by a busy host");
        assert_eq!(outcome(&[6_000; 9]), None);
        assert_eq!(outcome(&[6_000, 6_000, 6_000, 10_000]), None, "three windows are tried");
    }

    #[test]
    fn half_of_a_told_rate_is_another_path_unless_the_application_set_it_apart() {
        let outcome = |app_limited| outcome(Trial::told(TEN, 10_000, 1000), &[4_000, 10_000], app_limited);
        assert_eq!([false, true].map(outcome), [None, Some(10_000)]);
    }

    #[test]
    fn of_a_rate_that_is_tried_the_path_carries_what_arrives() {
        let outcome = |windows: &[u64]| outcome(Trial::tried(TEN, 10_000, 1000), windows, false);
        assert_eq!(outcome(&[20_000]), Some(10_000));
        assert_eq!(outcome(&[2_000, 10_000]), Some(2_000));
    }

    #[test]
    fn a_loss_ends_it() {
        for mut trial in [Trial::told(TEN, 10_000, 1000), Trial::tried(TEN, 10_000, 1000)] {
            let lossy = Ack { in_recovery: true, ..ack(1000, 10_000) };
            assert_eq!(trial.on_ack(&lossy), Some(false));
        }
    }
}
