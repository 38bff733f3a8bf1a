//! What shows that a path damages packets: reports and counts; and losses that the path's load does not explain
//! ([`Experiment`]).

use alloc::boxed::Box;

use headway_units::{Duration, Instant};

use super::experiment::Experiment;

/// A report or a count shows it for this long.
const LASTS: Duration = Duration::from_secs(30);

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// When damage was last reported or counted.
    seen: Option<Instant>,
    /// From the first loss on that met an empty queue: paths are many.
    experiment: Option<Box<Experiment>>,
}

impl Evidence {
    /// Damage was reported or counted.
    pub(super) fn add(&mut self, now: Instant) {
        self.seen = Some(now);
    }

    /// Segments sent with `volume` segments in flight reached the receiver, intact or not, without a queue.
    pub(super) fn on_survived(&mut self, volume: u32, segments: u32) {
        if let Some(experiment) = &mut self.experiment {
            experiment.on_survived(volume, segments);
        }
    }

    /// A segment sent with `volume` segments in flight was lost in silence while no packet waits; `begins_run`: the one before it
    /// was not.
    pub(super) fn on_lost(&mut self, volume: u32, begins_run: bool) {
        self.experiment.get_or_insert_default().on_lost(volume, begins_run);
    }

    /// Losses depend on what is sent after all: the experiment begins anew.
    pub(super) fn refute(&mut self) {
        self.experiment = None;
    }

    /// Of segments sent with at most half of what the path has carried in flight: how many were sent, and how many were lost.
    pub(super) fn below_half(&self) -> [u32; 2] {
        self.experiment.as_ref().map_or([0; 2], |experiment| experiment.below_half())
    }

    /// Whether the path has carried more than `volume` segments in flight.
    pub(super) fn has_carried_more(&self, volume: u32) -> bool {
        self.experiment.as_ref().is_some_and(|experiment| experiment.has_carried_more(volume))
    }

    /// What the path carried becomes old.
    pub(super) fn halve(&mut self) {
        if let Some(experiment) = &mut self.experiment {
            experiment.halve();
        }
    }

    /// Whether sending less would show if it does.
    pub(super) fn asks(&self) -> bool {
        self.experiment.as_ref().is_some_and(|experiment| experiment.asks())
    }

    /// Whether the path damages packets.
    pub(super) fn counts(&self, now: Instant) -> bool {
        self.experiment.as_ref().is_some_and(|experiment| experiment.is_proven())
            || self.seen.is_some_and(|seen| now.saturating_since(seen) < LASTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_lasts_for_half_a_minute() {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let mut evidence = Evidence::default();
        assert!(!evidence.counts(at(0)));
        evidence.add(at(1));
        evidence.add(at(9));
        assert!(evidence.counts(at(38)) && !evidence.counts(at(39)));
    }

    #[test]
    fn what_the_path_carried_becomes_old() {
        for (halved, counts) in [(false, true), (true, false)] {
            let mut evidence = Evidence::default();
            evidence.on_lost(10, true);
            evidence.on_survived(100, 8);
            if halved {
                evidence.halve();
            }
            (0..20).for_each(|_| evidence.on_lost(10, true));
            assert_eq!(evidence.counts(Instant::ZERO), counts, "halved: {halved}");
        }
    }
}
