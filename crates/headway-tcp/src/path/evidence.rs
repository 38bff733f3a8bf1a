//! What shows that a path damages packets: reports and counts, as far as they have not been withdrawn since; and losses that
//! the path's load does not explain ([`Experiment`]).

use alloc::boxed::Box;

use headway_units::{Duration, Instant};

use super::empty_queue::EmptyQueue;
use super::experiment::Experiment;

/// Evidence of one period is kept together.
const PERIOD: Duration = Duration::from_secs(4);
/// The number of periods that are kept: [`LASTS`], and the one at hand.
const PERIODS: usize = 9;
/// Evidence of damage counts for this long.
const LASTS: Duration = Duration::from_secs(30);

/// What was seen in one period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Period {
    /// Which it is.
    number: u64,
    /// How often damage was seen, less what was withdrawn.
    seen: u32,
    /// When last. (If that was withdrawn, and something of the same period was not: a little too late.)
    last: Instant,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// `None` where nothing is known: paths are many.
    kept: Option<Box<Kept>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kept {
    /// When damage was reported or counted; `None` where it never was.
    periods: Option<Box<[Period; PERIODS]>>,
    queue: EmptyQueue,
    /// From the first loss on that met an empty queue.
    experiment: Option<Box<Experiment>>,
}

impl Evidence {
    /// A round-trip time was sampled. A packet is transmitted in the time `packet`, as far as the sender knows.
    pub(super) fn on_rtt(&mut self, now: Instant, rtt: Duration, packet: Duration) {
        let kept = self.kept.get_or_insert_default();
        if kept.queue.on_rtt(now, rtt, packet)
            && let Some(experiment) = &mut kept.experiment
        {
            experiment.halve();
        }
    }

    /// Segments sent with `volume` segments in flight reached the receiver, intact or not.
    pub(super) fn on_survived(&mut self, volume: u32, segments: u32) {
        if let Some(kept) = &mut self.kept
            && let Some(experiment) = &mut kept.experiment
            && kept.queue.is_empty()
        {
            experiment.on_survived(volume, segments);
        }
    }

    /// A run of silent losses of segments sent with `volume` segments in flight begins.
    pub(super) fn on_run(&mut self, volume: u32) {
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.queue.is_empty()) {
            kept.experiment.get_or_insert_default().on_run(volume);
        }
    }

    /// Damage is seen.
    pub(super) fn add(&mut self, now: Instant) {
        let number = number_of(now);
        let periods = self.kept.get_or_insert_default().periods.get_or_insert_default();
        let period = &mut periods[place_of(number)];
        if period.number != number {
            *period = Period { number, ..Period::default() };
        }
        period.seen = period.seen.saturating_add(1);
        period.last = now;
    }

    /// What was seen at `at` was no damage.
    pub(super) fn withdraw(&mut self, at: Instant) {
        let Some(periods) = self.kept.as_mut().and_then(|kept| kept.periods.as_mut()) else { return };
        let number = number_of(at);
        let period = &mut periods[place_of(number)];
        if period.number == number {
            period.seen = period.seen.saturating_sub(1);
        }
    }

    /// Whether there is any that counts.
    pub(super) fn counts(&self, now: Instant) -> bool {
        let is_fresh = |period: &Period| period.seen > 0 && now.saturating_since(period.last) < LASTS;
        self.kept.as_ref().is_some_and(|kept| {
            kept.experiment.as_ref().is_some_and(|experiment| experiment.is_proven())
                || kept.periods.as_ref().is_some_and(|periods| periods.iter().any(is_fresh))
        })
    }
}

fn number_of(at: Instant) -> u64 {
    at.as_nanos() / PERIOD.as_nanos()
}

fn place_of(number: u64) -> usize {
    (number % PERIODS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn it_lasts_for_half_a_minute_and_is_withdrawn_alone() {
        let mut evidence = Evidence::default();
        assert!(!evidence.counts(at(0)));
        for seconds in [1, 2, 9] {
            evidence.add(at(seconds));
        }
        assert!(evidence.counts(at(38)) && !evidence.counts(at(39)));
        evidence.withdraw(at(9));
        assert!(evidence.counts(at(31)) && !evidence.counts(at(32)), "that of the first two seconds is left");
        evidence.withdraw(at(1));
        evidence.withdraw(at(2));
        assert!(!evidence.counts(at(9)));
        evidence.withdraw(at(2));
        evidence.add(at(3));
        assert!(evidence.counts(at(4)), "nothing is withdrawn in advance");
    }

    #[test]
    fn old_periods_make_room() {
        let mut evidence = Evidence::default();
        for minutes in 0..100 {
            evidence.add(at(60 * minutes));
            assert!(evidence.counts(at(60 * minutes + 29)) && !evidence.counts(at(60 * minutes + 30)));
        }
        evidence.withdraw(at(60 * 98));
        assert!(evidence.counts(at(60 * 99)), "it is too old to be known");
    }
}
