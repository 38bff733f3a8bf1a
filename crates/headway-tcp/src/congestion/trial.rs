//! A rate at which the first windows are sent, as packet trains ([`Train`]), and whether they arrive at it.
//!
//! A rate that was *told* ([`super::StartEstimate`]) is tested strictly, since nothing that this host has sent over the path speaks
//! for it. The initial window has to be acknowledged, at three quarters of that rate at least. What the application or a busy host spreads
//! seems slower, so the next two windows, which are longer, are trains too. The path is another one if none of the three arrives at the
//! rate, if one that the application did not limit arrives at less than half of it, and if losses leave too little of one.
//!
//! Where nothing is known a rate is *tried*: the path carries what the first whole window arrives at. So it does where the told rate fails.
//! Where the application had no more to send, and the path carries more than that train shows, a longer one follows. If it arrives at less
//! than 7/8 of the rate that it is sent at, the path carries no more.

use headway_units::{Duration, Rate};

use super::Ack;
use super::bbr_common::quantities::rate_of;
use super::train::Train;

/// The windows that may show a told rate: 10, 20 and 40 segments. At 10 Mbit/s a host that is late by 3 ms hides the rate from the first.
const TRAINS: u32 = 3;
/// How many times as long as the first train the second one of a rate that is tried is.
const LONGER: u32 = 8;

/// A rate, and how it is tested.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    rate: Rate,
    /// Whether the path is said to carry it.
    is_told: bool,
    mss: u32,
    /// Bytes that have to arrive.
    least: u32,
    /// What the window may grow to by a rate that was not told, bytes.
    most: u32,
    /// A longer train may follow.
    may_lengthen: bool,
    train: Train,
}

/// What a train shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The path carries this and no more: what arrived, or what was told if that is less.
    Carries(Rate),
    /// This is what arrived; `is_last`: and no more will be known.
    Arrives { rate: Rate, is_last: bool },
    /// The path is another one.
    Fails,
}

impl Trial {
    /// Of a rate that the path is said to carry, with an initial window of `initial` bytes in segments of `mss`. Two segments are not
    /// waited for: the ACK of a single last one may be delayed (RFC 9293, 3.8.6.3), and the first may be short, with what a protocol says
    /// before the data.
    pub(super) fn told(rate: Rate, initial: u32, mss: u32) -> Self {
        let least = initial.saturating_sub(2 * mss);
        Self { rate, is_told: true, mss, least, most: 0, may_lengthen: false, train: Train::default() }
    }

    /// Of a rate of which nothing is known. It may multiply the initial window by `gain`.
    pub(super) fn tried(rate: Rate, (initial, gain): (u32, u32), mss: u32) -> Self {
        let most = initial.saturating_mul(gain);
        Self { is_told: false, most, may_lengthen: true, ..Self::told(rate, initial, mss) }
    }

    /// Whether another train follows, now that the window is `window` bytes. Of a rate that is tried it is a longer one, if the window
    /// holds it, at what fills `rtt` with the most that the window may grow to.
    pub(super) fn goes_on(&mut self, window: u32, rtt: Duration) -> bool {
        if self.is_told {
            return true;
        }
        let (least, most) = (self.least.saturating_mul(LONGER), self.most.saturating_mul(LONGER));
        if least <= window {
            let rate = Rate::from_bits_per_second(rate_of(most, rtt));
            *self = Self { rate, least, most, may_lengthen: false, train: Train::default(), ..*self };
        }
        least <= window
    }

    /// The path is said to carry `rate` in place of what was to be tried.
    pub(super) fn tell(&mut self, rate: Rate) {
        (self.rate, self.is_told) = (rate, true);
    }

    /// What is sent at: at first the rate itself, then what arrived of it.
    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// What the window may grow to by a rate that was not told, bytes.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// Bytes arrived corrupted.
    pub(super) fn on_damage(&mut self, bytes: u32) {
        self.train.on_damage(bytes);
    }

    /// An ACK arrived. Says what is known of the path by it.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Option<Finding> {
        let measured = self.train.on_ack(ack, self.least, self.mss);
        let trains = if self.is_told { TRAINS } else { 1 };
        // What is lost of a train leaves enough, or no more is known in the next round trip.
        let is_broken = ack.in_recovery && self.train.has_just_begun();
        if self.train.trains() >= trains || is_broken {
            return Some(Finding::Fails);
        }
        let measured = measured?;
        let is_longer = !self.is_told && !self.may_lengthen;
        // BBR's measure of growth is a factor of 1.25; the headers, which the told rate has and the measured one has not, take the rest.
        let arrives = self.is_told && measured.bits_per_second() >= self.rate.bits_per_second() / 4 * 3;
        // A longer train that is spread by more than the headers shows all that the path carries, as if that had been told.
        let is_spread = is_longer && measured.bits_per_second() < self.rate.bits_per_second() / 8 * 7;
        if arrives || is_spread {
            self.rate = self.rate.min(measured);
            return Some(Finding::Carries(self.rate));
        }
        // No host that is late halves a rate: the path is another one, of which nothing is known.
        let is_half = measured.bits_per_second() < self.rate.bits_per_second() / 2;
        if is_half && ack.rate.is_some_and(|sample| !sample.app_limited) {
            self.is_told = false;
        }
        // The window has grown: an application that has more to send has sent it.
        let has_more = ack.pipe > 2 * self.mss;
        let is_last = !self.is_told && (has_more || is_longer);
        Some(Finding::Arrives { rate: measured, is_last })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use headway_units::{Duration, Instant};

    use super::super::RateSample;
    use super::super::testing::{ack, sample};
    use super::*;

    /// What is found by the rates at which the first windows of ten segments arrive, in kbit/s, and whether the application sent less
    /// than it might have: the first finding that ends it, or that a told rate is carried.
    fn found(mut trial: Trial, windows: &[u64], app_limited: bool) -> Finding {
        let acks = windows.iter().enumerate().flat_map(|(round, kbits)| {
            let before = round as u64 * 10_000;
            (1..=10).map(move |place| {
                let now = Duration::from_millis(600 * (round as u64 + 1))
                    + Duration::from_micros(place * 8_000_000 / kbits);
                (Instant::ZERO + now, RateSample { app_limited, ..sample(before, before + place * 1000) })
            })
        });
        let mut findings =
            acks.filter_map(|(now, rate)| trial.on_ack(&Ack { now, rate: Some(rate), ..ack(1000, 10_000) }));
        findings.find(|found| !matches!(found, Finding::Arrives { is_last: false, .. })).expect("an end")
    }

    fn mbit(rate: u64) -> Rate {
        Rate::from_bits_per_second(rate * 1_000_000)
    }

    #[test]
    fn a_told_rate_is_carried_once_a_window_arrives_at_it() {
        let found = |windows: &[u64]| found(Trial::told(mbit(10), 10_000, 1000), windows, false);
        assert_eq!(found(&[10_000]), Finding::Carries(mbit(10)));
        assert_eq!(found(&[8_000]), Finding::Carries(mbit(8)), "the lower of both rates");
        assert_eq!(found(&[20_000]), Finding::Carries(mbit(10)), "the lower of both rates");
        assert_eq!(
            found(&[6_000, 10_000]),
            Finding::Carries(mbit(10)),
            "the first was spread by a busy host"
        );
        assert_eq!(found(&[6_000; 9]), Finding::Fails);
        assert_eq!(found(&[6_000, 6_000, 6_000, 10_000]), Finding::Fails, "three windows are tried");
    }

    #[test]
    fn half_of_a_told_rate_is_another_path_unless_the_application_set_it_apart() {
        let found = |limited| found(Trial::told(mbit(10), 10_000, 1000), &[4_000, 10_000], limited);
        assert_eq!(found(false), Finding::Arrives { rate: mbit(4), is_last: true });
        assert_eq!(found(true), Finding::Carries(mbit(10)));
    }

    #[test]
    fn of_a_rate_that_is_tried_the_path_carries_what_arrives() {
        let found = |windows: &[u64]| found(Trial::tried(mbit(10), (10_000, 8), 1000), windows, false);
        for (windows, rate) in [(&[20_000][..], 20), (&[2_000, 10_000], 2)] {
            assert_eq!(found(windows), Finding::Arrives { rate: mbit(rate), is_last: true });
        }
    }

    /// Where nothing more is sent than a first train of ten segments, which arrives at 8 Mbit/s.
    #[test]
    fn a_longer_train_follows_one_after_which_nothing_is_sent() {
        let finding = |trial: &mut Trial, place: u64, of: u32| {
            let (now, pipe) = (Instant::ZERO + Duration::from_millis(place), of - 1000 * place as u32);
            trial.on_ack(&Ack { now, pipe, rate: Some(sample(0, place * 1000)), ..ack(1000, pipe + 1000) })
        };
        let mut trial = Trial::tried(mbit(10), (10_000, 8), 1000);
        let found: Vec<_> = (1..=8).filter_map(|place| finding(&mut trial, place, 10_000)).collect();
        assert_eq!(found, [Finding::Arrives { rate: mbit(8), is_last: false }]);
        let rtt = Duration::from_millis(100);
        assert!(!trial.goes_on(63_000, rtt), "the window does not hold it");
        assert!(trial.goes_on(80_000, rtt));
        assert_eq!((trial.rate().bits_per_second(), trial.most()), (51_200_000, 640_000));
        let mut spread = trial;
        let found: Vec<_> = (1..=80).filter_map(|place| finding(&mut spread, place, 80_000)).collect();
        assert_eq!(
            (found[0], found.len()),
            (Finding::Carries(mbit(8)), 17),
            "of 64 segments the rate is known"
        );
        trial.rate = mbit(9);
        let found = (1..=80).find_map(|place| finding(&mut trial, place, 80_000));
        assert_eq!(found, Some(Finding::Arrives { rate: mbit(8), is_last: true }), "it may carry more");
    }

    #[test]
    fn a_loss_ends_it_if_too_little_of_the_train_arrives() {
        for trial in [Trial::told(mbit(10), 10_000, 1000), Trial::tried(mbit(10), (10_000, 8), 1000)] {
            let found = |arrive: u64| {
                let mut trial = trial;
                let acks = (1..=arrive).map(|place| (place, sample(0, place * 1000)));
                let next = (600, sample(arrive * 1000, arrive * 1000 + 1000));
                let findings = acks.chain([next]).map(|(millis, sample)| {
                    let now = Instant::ZERO + Duration::from_millis(millis);
                    trial.on_ack(&Ack {
                        now,
                        in_recovery: millis > 3,
                        rate: Some(sample),
                        ..ack(1000, 10_000)
                    })
                });
                findings.flatten().next()
            };
            assert_eq!(found(7), Some(Finding::Fails));
            assert!(matches!(found(8), Some(Finding::Carries(_) | Finding::Arrives { .. })));
        }
    }
}
