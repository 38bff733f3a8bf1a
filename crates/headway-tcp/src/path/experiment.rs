//! Whether the path loses packets that its own load does not explain: losses by the volume in flight.
//!
//! A queue, a router or a policer drops what is too much. So what is lost while the volume in flight is at most half of what
//! the path has carried without a queue was not too much, again and again. That is as good a sign of damage as a
//! report, and needs none. Volumes vary by themselves: slow start doubles them, and a sender that answers losses halves them.
//!
//! Wald's sequential probability ratio test compares [`DAMAGES`] of lost packets with [`CLEAN`]. Runs of losses count once.

/// Volumes are told apart by quarter octaves of segments, up to 2^22.
const PLACES: usize = 88;
/// Volumes this number of places apart differ by a factor of two at least.
const HALF: usize = 5;
/// The number of arrivals that show that the path carries a volume.
const CARRIED: u16 = 8;
/// Evidence: parts of a bit.
const BIT: i32 = 1 << 8;
/// log2(2 % / 0.5 %): what a run of losses says for damage. 2 % is what BBR tolerates: of less nothing follows.
const LOST: i32 = 2 * BIT;
/// log2((1 - 0.5 %) / (1 - 2 %)) = 0.0219: what an arrival says against it.
const ARRIVED: i32 = 6;
/// It is decided at ten bits: an error of 2^-10 where losses are independent, five runs of losses at least.
const DECISION: i32 = 10 * BIT;
/// A path damages no segments any more when this number arrived in a row while no queue stood: with a loss rate of 1 % 20 of them
/// would have been lost.
const OVER: u32 = 2048;
/// More arrivals of a volume are not counted.
const MOST: u16 = 4096;

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Experiment {
    /// Segments that arrived while no queue stood, by the volume in flight when they were sent.
    arrived: [u16; PLACES],
    /// Those that were lost.
    lost: [u16; PLACES],
    /// The evidence of that volume.
    evidence: [i16; PLACES],
    /// Arrivals since the last loss.
    since_loss: u32,
    proven: bool,
}

impl Default for Experiment {
    fn default() -> Self {
        Self { arrived: [0; PLACES], lost: [0; PLACES], evidence: [0; PLACES], since_loss: 0, proven: false }
    }
}

impl Experiment {
    /// Segments sent with `volume` segments in flight arrived, intact or not, while no queue stood.
    pub(super) fn on_survived(&mut self, volume: u32, segments: u32) {
        let place = place_of(volume);
        let arrived = u16::try_from(segments).unwrap_or(MOST);
        self.arrived[place] = self.arrived[place].saturating_add(arrived).min(MOST);
        self.weigh(place, -ARRIVED * i32::from(arrived));
        self.since_loss = self.since_loss.saturating_add(segments);
        if self.since_loss >= OVER {
            *self = Self { arrived: self.arrived, since_loss: OVER, ..Self::default() };
        } else {
            self.judge();
        }
    }

    /// A segment sent with `volume` segments in flight was lost while no queue stood; `begins_run`: the one before it was not.
    pub(super) fn on_lost(&mut self, volume: u32, begins_run: bool) {
        let place = place_of(volume);
        self.lost[place] = self.lost[place].saturating_add(1).min(MOST);
        self.since_loss = 0;
        if begins_run {
            self.weigh(place, LOST);
            self.judge();
        }
    }

    /// No volume says more than twice what decides.
    fn weigh(&mut self, place: usize, evidence: i32) {
        let sum = i32::from(self.evidence[place]) + evidence;
        self.evidence[place] = sum.clamp(-DECISION, 2 * DECISION) as i16;
    }

    /// What the path carried longer ago counts half.
    pub(super) fn halve(&mut self) {
        self.arrived.iter_mut().chain(&mut self.lost).for_each(|segments| *segments /= 2);
        self.evidence.iter_mut().for_each(|evidence| *evidence /= 2);
    }

    fn judge(&mut self) {
        let evidence: i32 = self.evidence.iter().take(self.low()).map(|&bits| i32::from(bits)).sum();
        self.proven |= evidence >= DECISION;
    }

    /// The number of volumes that are at most half of what the path has carried.
    fn low(&self) -> usize {
        let carried = self.arrived.iter().rposition(|arrived| *arrived >= CARRIED);
        carried.map_or(0, |carried| carried.saturating_sub(HALF - 1))
    }

    /// Segments sent with such a volume in flight: how many were sent, and how many of them were lost.
    pub(super) fn below_half(&self) -> [u32; 2] {
        let sum =
            |segments: &[u16]| segments.iter().take(self.low()).map(|&some| u32::from(some)).sum::<u32>();
        let lost = sum(&self.lost);
        [sum(&self.arrived) + lost, lost]
    }

    /// Whether the path loses packets that its load does not explain.
    pub(super) fn is_proven(&self) -> bool {
        self.proven
    }
}

/// The quarter octave of a volume.
fn place_of(volume: u32) -> usize {
    let volume = u128::from(volume.max(1));
    let fourth = volume * volume * volume * volume;
    (fourth.ilog2() as usize).min(PLACES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `segments` with `volume` in flight, every `nth` of which is lost.
    fn send(experiment: &mut Experiment, volume: u32, segments: u32, nth: u32) {
        for segment in 1..=segments {
            if nth > 0 && segment.is_multiple_of(nth) {
                experiment.on_lost(volume, true);
            } else {
                experiment.on_survived(volume, 1);
            }
        }
    }

    #[test]
    fn places_are_quarter_octaves() {
        let places = [0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 16, u32::MAX].map(place_of);
        assert_eq!(places, [0, 0, 4, 6, 8, 9, 10, 12, 13, 14, 16, PLACES - 1]);
        for volume in 1..5000 {
            assert!(place_of(2 * volume) == place_of(volume) + 4, "{volume}");
        }
    }

    #[test]
    fn losses_at_half_of_what_is_carried_are_proof() {
        let mut experiment = Experiment::default();
        send(&mut experiment, 40, 60, 10);
        assert!(!experiment.is_proven(), "that may be all that the path carries");
        send(&mut experiment, 79, 8, 0);
        assert!(!experiment.is_proven(), "not twice as much");
        send(&mut experiment, 128, 8, 0);
        assert!(experiment.is_proven());
    }

    #[test]
    fn losses_of_what_is_more_are_none() {
        let mut experiment = Experiment::default();
        for _ in 0..50 {
            send(&mut experiment, 10, 10, 0);
            send(&mut experiment, 100, 100, 5);
        }
        assert!(!experiment.is_proven());
    }

    #[test]
    fn what_is_sent_with_half_of_what_is_carried_is_counted() {
        let mut experiment = Experiment::default();
        send(&mut experiment, 40, 60, 10);
        send(&mut experiment, 44, 60, 10);
        assert_eq!(experiment.below_half(), [0; 2], "that may be all that the path carries");
        experiment.on_survived(100, 8);
        experiment.on_lost(100, true);
        assert_eq!(experiment.below_half(), [120, 12]);
        experiment.on_lost(40, false);
        assert_eq!(experiment.below_half(), [121, 13], "all segments of a run count");
    }

    #[test]
    fn few_losses_are_not_enough_and_tolerated_ones_no_proof() {
        let mut experiment = Experiment::default();
        send(&mut experiment, 100, 100, 0);
        send(&mut experiment, 10, 16, 4);
        assert!(!experiment.is_proven(), "four");
        experiment.on_lost(10, true);
        experiment.on_lost(10, true);
        assert!(experiment.is_proven());
        let mut experiment = Experiment::default();
        send(&mut experiment, 100, 100, 0);
        send(&mut experiment, 10, 20_000, 200);
        assert!(!experiment.is_proven(), "half of a percent");
    }

    #[test]
    fn it_ends_when_nothing_is_lost_any_more() {
        let mut experiment = Experiment::default();
        send(&mut experiment, 100, 100, 0);
        send(&mut experiment, 10, 100, 5);
        experiment.halve();
        assert!(experiment.is_proven());
        send(&mut experiment, 100, OVER - 1, 0);
        assert!(experiment.is_proven());
        send(&mut experiment, 100, 1, 0);
        assert!(!experiment.is_proven());
        send(&mut experiment, 10, 25, 5);
        assert!(!experiment.is_proven(), "it has to be shown anew");
        send(&mut experiment, 10, 25, 5);
        assert!(experiment.is_proven());
    }

    #[test]
    fn what_arrives_together_counts_as_one_by_one() {
        let (mut together, mut single) = (Experiment::default(), Experiment::default());
        together.on_survived(10, 100);
        send(&mut single, 10, 100, 0);
        assert_eq!(together, single);
    }

    #[test]
    fn older_losses_count_half() {
        let mut experiment = Experiment::default();
        send(&mut experiment, 100, 100, 0);
        send(&mut experiment, 10, 4, 1);
        experiment.halve();
        send(&mut experiment, 10, 2, 1);
        assert!(!experiment.is_proven(), "four");
        send(&mut experiment, 10, 1, 1);
        assert!(experiment.is_proven());
    }
}
