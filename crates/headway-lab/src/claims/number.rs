//! Claims of a value or of a ratio.

use super::compare::Compared;
use super::value::{AxisValues, in_unit, value_of};
use super::{ClaimVerdict, Outcome, Question};
use crate::results::Results;

/// A value may be off by this factor and still show the direction.
const SAME_DIRECTION: f64 = 3.0;

pub(super) fn judge(results: &Results, question: &Question<'_>) -> Outcome {
    let Some((ours, paper)) = ours(results, question).zip(question.claim.paper) else {
        return Outcome::no_runs();
    };
    let claimed = Claimed { paper, tolerance: question.claim.tolerance, is_ratio: question.over.is_some() };
    let (mut verdict, mut basis) = claimed.judge(ours);
    if claimed.has_direction() && verdict != ClaimVerdict::Reproduced {
        let compared = question.over.as_ref().and_then(|over| question.compare(results, over, &question.of));
        let reverse = question.over.as_ref().and_then(|over| question.compare(results, &question.of, over));
        if ![compared, reverse].contains(&Some(Compared::Greater)) {
            verdict = ClaimVerdict::Undecided;
            basis = format!("{}; the runs do not show on which side of 1", claimed.distance(ours));
        }
    }
    Outcome { ours: Some(ours), ratio: Some(ours / paper), verdict, basis, missing: Vec::new(), spread: None }
}

/// The number in the unit of the claim.
fn ours(results: &Results, question: &Question<'_>) -> Option<f64> {
    let (figure, measure) = (question.figure, question.measure());
    let value = |of: &AxisValues| value_of(results, of, measure, question.statistic());
    let of = value(&question.of)?;
    Some(match &question.over {
        Some(over) => of / value(over)?,
        None => in_unit(of, measure, figure.unit.as_deref().filter(|_| measure == figure.measure)),
    })
}

/// A number that a source claims.
#[derive(Clone, Copy)]
pub(super) struct Claimed {
    pub(super) paper: f64,
    pub(super) tolerance: f64,
    pub(super) is_ratio: bool,
}

impl Claimed {
    /// Whether it says that one of two is greater.
    fn has_direction(self) -> bool {
        self.is_ratio && self.paper != 1.0
    }

    /// How far ours is from it, and how far it may be.
    fn distance(self, ours: f64) -> String {
        let Self { paper, tolerance, .. } = self;
        // As many digits as the tolerance needs.
        let digits = if tolerance < 0.01 { 2 } else { 0 };
        let percent = |share: f64| 100.0 * share;
        format!(
            "{:+.digits$} %, \u{b1}{:.digits$} % allowed",
            percent(ours / paper - 1.0),
            percent(tolerance)
        )
    }

    /// The verdict, and what it rests on; the rule is that of [`ClaimVerdict`].
    pub(super) fn judge(self, ours: f64) -> (ClaimVerdict, String) {
        let Self { paper, tolerance, is_ratio } = self;
        let ratio = ours / paper;
        let distance = self.distance(ours);
        if is_ratio && paper == 1.0 {
            let ahead = ours.max(1.0 / ours);
            let note = format!("one is {ahead:.2} times the other, {:.2} allowed", 1.0 + tolerance);
            let verdict =
                if ahead <= 1.0 + tolerance { ClaimVerdict::Reproduced } else { ClaimVerdict::NotReproduced };
            return (verdict, note);
        }
        if (ratio - 1.0).abs() <= tolerance {
            return (ClaimVerdict::Reproduced, distance);
        }
        if is_ratio {
            let same_side = (ours > 1.0 && paper > 1.0) || (ours < 1.0 && paper < 1.0);
            return if same_side {
                (ClaimVerdict::DirectionOnly, format!("{distance}; the same side of 1"))
            } else {
                (ClaimVerdict::NotReproduced, format!("{distance}; not on the same side of 1"))
            };
        }
        if (1.0 / SAME_DIRECTION..=SAME_DIRECTION).contains(&ratio) {
            (ClaimVerdict::DirectionOnly, format!("{distance}; within a factor of {SAME_DIRECTION}"))
        } else {
            (ClaimVerdict::NotReproduced, format!("{distance}; off by a factor above {SAME_DIRECTION}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(paper: f64, is_ratio: bool, ours: f64) -> ClaimVerdict {
        Claimed { paper, tolerance: 0.25, is_ratio }.judge(ours).0
    }

    #[test]
    fn a_claim_of_equality_has_no_direction() {
        for ours in [1.0, 0.9, 1.1, 0.801, 1.25] {
            assert_eq!(verdict(1.0, true, ours), ClaimVerdict::Reproduced, "{ours}");
        }
        for ours in [0.79, 1.26, 0.5, 2.0, 0.01, 100.0, 0.0, f64::INFINITY] {
            assert_eq!(verdict(1.0, true, ours), ClaimVerdict::NotReproduced, "{ours}");
        }
        // Whichever of the two stands above the line.
        for step in 1..1000 {
            let ours = f64::from(step) / 300.0;
            if (ours.max(1.0 / ours) - 1.25).abs() > 1e-9 {
                assert_eq!(verdict(1.0, true, ours), verdict(1.0, true, 1.0 / ours), "{ours}");
            }
        }
    }

    #[test]
    fn ratios_have_a_direction_and_1_has_none() {
        let (reproduced, direction, not) =
            (ClaimVerdict::Reproduced, ClaimVerdict::DirectionOnly, ClaimVerdict::NotReproduced);
        let cases = [(6.0, reproduced), (4.6, reproduced), (1.03, direction), (60.0, direction), (0.9, not)];
        for (ours, expected) in cases {
            assert_eq!(verdict(6.0, true, ours), expected, "{ours}");
        }
        for paper in [2.0, 0.5] {
            assert_eq!(verdict(paper, true, 1.0), not, "equal is neither side");
        }
        assert_eq!(verdict(0.5, true, 0.9), direction);
        assert_eq!(verdict(0.5, true, 1.1), not);
    }

    #[test]
    fn values_show_the_direction_within_a_factor_of_three() {
        let (reproduced, direction, not) =
            (ClaimVerdict::Reproduced, ClaimVerdict::DirectionOnly, ClaimVerdict::NotReproduced);
        for (ours, expected) in
            [(430.0, reproduced), (530.0, reproduced), (600.0, direction), (150.0, direction)]
        {
            assert_eq!(verdict(430.0, false, ours), expected, "{ours}");
        }
        for ours in [1300.0, 140.0] {
            assert_eq!(verdict(430.0, false, ours), not, "{ours}");
        }
        // A value of 1 is a value like any other.
        assert_eq!(verdict(1.0, false, 2.0), direction);
    }
}
