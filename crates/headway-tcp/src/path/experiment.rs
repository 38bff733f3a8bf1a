//! Whether the path loses packets that its own load does not explain: losses by the volume in flight.
//!
//! A queue, a router or a policer drops what is too much. So what is lost while the volume in flight is at most half of what
//! the path has carried without a queue was not too much, again and again. That is as good a sign of damage as a
//! report, and needs none. Volumes vary by themselves: slow start doubles them, and a sender that answers losses halves them. Where
//! losses raise the question and no small volume answers it, the sender is asked for some ([`Experiment::asks`]).
//!
//! Wald's sequential probability ratio test compares a loss of 1 % with one of an eighth of that. Runs of losses count once.

/// Volumes are told apart by quarter octaves of segments, up to 2^22.
const PLACES: usize = 88;
/// Volumes this number of places apart differ by a factor of two at least.
const HALF: usize = 5;
/// The number of arrivals that show that the path carries a volume.
const CARRIED: u16 = 8;
/// Evidence: parts of a bit.
const BIT: i32 = 1 << 8;
/// log2(1 % / 0.125 %): what a run of losses says for damage.
const LOST: i32 = 3 * BIT;
/// log2((1 - 0.125 %) / (1 - 1 %)) = 0.0127, and a little more, so that of half a percent nothing follows: what an arrival says
/// against it.
const ARRIVED: i32 = BIT / 64;
/// It is decided at ten bits: an error of 2^-10 where losses are independent, four runs of losses at least.
const DECISION: i32 = 10 * BIT;
/// Small volumes are asked for if of those below the largest that the path carried this number of segments was lost, and a
/// [`SUSPECT_PART`] of all.
const SUSPECT: u32 = 8;
const SUSPECT_PART: u32 = 64;
/// For this number of segments at most, and later a [`BUDGET_PART`] of what arrives.
const BUDGET: u32 = 1024;
const BUDGET_PART: u32 = 64;
/// A path damages no segments any more when this number arrived in a row while no queue stood: with a loss rate of 1 % 20 of them
/// would have been lost.
const OVER: u32 = 2048;
/// Where as many of a volume were counted, they count half.
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
    /// Small volumes are asked for.
    asks: bool,
    /// Parts of segments for which they may be.
    budget: u32,
}

impl Default for Experiment {
    fn default() -> Self {
        Self {
            arrived: [0; PLACES],
            lost: [0; PLACES],
            evidence: [0; PLACES],
            since_loss: 0,
            proven: false,
            asks: false,
            budget: BUDGET * BUDGET_PART,
        }
    }
}

impl Experiment {
    /// Segments sent with `volume` segments in flight arrived, intact or not, while no queue stood.
    pub(super) fn on_survived(&mut self, volume: u32, segments: u32) {
        let place = place_of(volume);
        let arrived = u16::try_from(segments).unwrap_or(MOST).min(MOST);
        self.count(place, [arrived, 0]);
        self.weigh(place, -ARRIVED * i32::from(arrived));
        self.since_loss = self.since_loss.saturating_add(segments);
        self.budget = if self.asks {
            self.budget.saturating_sub(segments.saturating_mul(BUDGET_PART))
        } else {
            self.budget.saturating_add(segments).min(BUDGET * BUDGET_PART)
        };
        if self.since_loss >= OVER {
            *self = Self { arrived: self.arrived, since_loss: OVER, ..Self::default() };
        } else {
            self.judge();
        }
    }

    /// A segment sent with `volume` segments in flight was lost while no queue stood; `begins_run`: the one before it was not.
    pub(super) fn on_lost(&mut self, volume: u32, begins_run: bool) {
        let place = place_of(volume);
        self.count(place, [0, 1]);
        self.since_loss = 0;
        if begins_run {
            self.weigh(place, LOST);
            self.judge();
        }
    }

    /// Counts segments of a volume; where they become many, earlier ones count half, and so the share that is lost stays true.
    fn count(&mut self, place: usize, [arrived, lost]: [u16; 2]) {
        if self.arrived[place].max(self.lost[place]) >= MOST {
            self.arrived[place] /= 2;
            self.lost[place] /= 2;
        }
        self.arrived[place] += arrived;
        self.lost[place] += lost;
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
        let [sent, lost] = self.below(self.carried());
        let enough = if self.asks { 0 } else { BUDGET * BUDGET_PART / 2 };
        self.asks = !self.proven
            && lost >= SUSPECT
            && lost * SUSPECT_PART >= sent
            && evidence > -DECISION / 2
            && self.budget > enough;
    }

    /// The place of the largest volume that the path has carried.
    fn carried(&self) -> usize {
        self.arrived.iter().rposition(|arrived| *arrived >= CARRIED).unwrap_or(0)
    }

    /// Whether it has carried more than `volume`.
    pub(super) fn has_carried_more(&self, volume: u32) -> bool {
        place_of(volume) < self.carried()
    }

    /// The number of volumes that are at most half of what it has carried.
    fn low(&self) -> usize {
        self.carried().saturating_sub(HALF - 1)
    }

    /// Segments sent with such a volume in flight: how many were sent, and how many of them were lost.
    pub(super) fn below_half(&self) -> [u32; 2] {
        self.below(self.low())
    }

    /// The same of the first `places` volumes.
    fn below(&self, places: usize) -> [u32; 2] {
        let sum = |segments: &[u16]| segments.iter().take(places).map(|&some| u32::from(some)).sum::<u32>();
        let lost = sum(&self.lost);
        [sum(&self.arrived) + lost, lost]
    }

    /// Whether sending less would show what loses packets.
    pub(super) fn asks(&self) -> bool {
        self.asks
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
    fn few_losses_are_not_enough_and_rare_ones_no_proof() {
        let mut experiment = Experiment::default();
        send(&mut experiment, 100, 100, 0);
        send(&mut experiment, 10, 12, 4);
        assert!(!experiment.is_proven(), "three");
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
        send(&mut experiment, 10, 15, 5);
        assert!(!experiment.is_proven(), "it has to be shown anew");
        send(&mut experiment, 10, 5, 5);
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
        send(&mut experiment, 10, 3, 1);
        experiment.halve();
        send(&mut experiment, 10, 1, 1);
        assert!(!experiment.is_proven(), "two and a half");
        send(&mut experiment, 10, 1, 1);
        assert!(experiment.is_proven());
    }

    /// One that has carried 100 segments, and lost eight of 160 with 80 in flight.
    fn questioned() -> Experiment {
        let mut experiment = Experiment::default();
        send(&mut experiment, 100, 100, 0);
        send(&mut experiment, 80, 140, 20);
        assert!(!experiment.asks(), "seven are few");
        send(&mut experiment, 80, 20, 20);
        experiment
    }

    #[test]
    fn losses_of_what_the_path_has_carried_ask_for_less() {
        let mut experiment = questioned();
        assert!(experiment.asks() && !experiment.is_proven());
        send(&mut experiment, 40, 40, 10);
        assert!(!experiment.asks() && experiment.is_proven(), "what is less is lost too");
        let mut experiment = questioned();
        send(&mut experiment, 40, 319, 0);
        assert!(experiment.asks(), "{experiment:?}");
        send(&mut experiment, 40, 1, 0);
        assert!(!experiment.asks() && !experiment.is_proven(), "what is less is not");
        let mut experiment = Experiment::default();
        send(&mut experiment, 100, 1000, 50);
        assert!(!experiment.asks(), "of what the path may not carry");
        let mut experiment = Experiment::default();
        send(&mut experiment, 100, 100, 0);
        send(&mut experiment, 80, 4000, 100);
        assert!(!experiment.asks(), "one percent");
        for _ in 0..100 {
            send(&mut experiment, 80, 500, 100);
            assert!(!experiment.asks(), "however many are sent");
        }
    }

    #[test]
    fn it_asks_for_a_part_of_what_is_sent_at_most() {
        let mut experiment = questioned();
        send(&mut experiment, 80, 2000, 20);
        let mut experiment = Experiment { budget: BUDGET * BUDGET_PART, asks: true, ..experiment };
        let mut arrivals_until = |volume, nth, asks| {
            let mut arrivals = 0;
            for segment in 1..100_000 {
                let lost = u32::from(segment % nth == 0);
                send(&mut experiment, volume, 1, lost);
                arrivals += 1 - lost;
                if experiment.asks() == asks {
                    break;
                }
            }
            arrivals
        };
        assert_eq!(arrivals_until(40, 200, false), BUDGET, "half of a percent answers nothing");
        assert_eq!(arrivals_until(80, 20, true), BUDGET / 2 * BUDGET_PART + 1);
        assert_eq!(arrivals_until(40, 200, false), BUDGET / 2 + 1);
    }
}
