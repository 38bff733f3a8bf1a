//! The utility of a rate, in fixed-point numbers.

use super::interval::Interval;

/// Bits of the fraction of a number.
const FRACTION: u32 = 32;
const ONE: i128 = 1 << FRACTION;

/// t, b and c of u(x) = x^t - b x d(RTT)/dT - c x L: t = 0.9, b = 900, c = 11.35.
const T: u64 = (9 << FRACTION) / 10;
const B: i128 = 900;
const C: (i128, i128) = (1135, 100);
/// 4.3: RTT gradients below 0.01 count as zero.
const GRADIENT_FILTER: i128 = ONE / 100;
/// Steeper is no measurement.
const STEEPEST: i128 = 1000 * ONE;

/// What an interval measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Bits per second.
    pub(super) rate: u64,
    /// Segments.
    sent: u64,
    lost: u64,
    /// d(RTT)/dT.
    gradient: i128,
}

impl Measured {
    pub(super) fn of(interval: &Interval) -> Self {
        let gradient = interval.delays.slope(FRACTION);
        let gradient = if gradient.abs() < GRADIENT_FILTER { 0 } else { gradient.clamp(-STEEPEST, STEEPEST) };
        let sent = interval.sent.max(1);
        Self { rate: interval.rate, sent, lost: interval.lost.min(sent), gradient }
    }

    /// The utilities of both.
    pub(super) fn utilities(&self, other: &Self) -> (i128, i128) {
        let all = (self.lost + other.lost, self.sent + other.sent);
        let apart = self.loses_other_than(other);
        let utility = |of: &Self| of.utility(if apart { (of.lost, of.sent) } else { all });
        (utility(self), utility(other))
    }

    /// Whether the share that was lost differs by more than two standard errors.
    fn loses_other_than(&self, other: &Self) -> bool {
        let [lost, sent, more_lost, more_sent] =
            [self.lost, self.sent, other.lost, other.sent].map(i128::from);
        let (all_lost, all_sent) = (lost + more_lost, sent + more_sent);
        // (p - q)² > 4 r (1 - r) (1/m + 1/n), where r = (p m + q n) / (m + n).
        let difference = lost * more_sent - more_lost * sent;
        let variance = all_lost * (all_sent - all_lost) * sent * more_sent;
        difference.saturating_mul(difference).saturating_mul(all_sent) > variance.saturating_mul(4)
    }

    fn utility(&self, (lost, sent): (u64, u64)) -> i128 {
        let x = megabits(self.rate);
        let latency = (B * x * self.gradient) >> FRACTION;
        let losses = C.0 * x * i128::from(lost) / (C.1 * i128::from(sent));
        power(x, T) - latency - losses
    }

    /// Whether `self`, the faster one, had fewer losses or its round trips grew less.
    pub(super) fn is_abnormal_beside(&self, slower: &Self) -> bool {
        let fewer = self.loses_other_than(slower) && self.lost * slower.sent < slower.lost * self.sent;
        fewer || self.gradient < slower.gradient
    }
}

/// The gradient du/dx, in millionths: in bits per second for a conversion factor of one Mbit/s.
pub(super) fn slope(faster: &Measured, slower: &Measured) -> i128 {
    let (more, less) = faster.utilities(slower);
    let difference = megabits(faster.rate) - megabits(slower.rate);
    (more - less) * 1_000_000 / difference.max(1)
}

fn megabits(bits: u64) -> i128 {
    i128::from(bits) * ONE / 1_000_000
}

/// `base` to the power of `exponent`, of which only the fraction counts: the product of the roots base^(1/2), base^(1/4) and so
/// on that its binary digits name.
fn power(base: i128, exponent: u64) -> i128 {
    let mut root = u128::try_from(base).unwrap_or(0);
    let mut product = 1_u128 << FRACTION;
    for digit in (0..FRACTION).rev() {
        root = (root << FRACTION).isqrt();
        if exponent >> digit & 1 == 1 {
            product = (product * root) >> FRACTION;
        }
    }
    i128::try_from(product).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(megabits: u64, sent: u64, lost: u64, gradient_percent: i128) -> Measured {
        Measured { rate: megabits * 1_000_000, sent, lost, gradient: ONE * gradient_percent / 100 }
    }

    /// In thousandths.
    fn utility(of: Measured) -> i128 {
        (of.utility((of.lost, of.sent)) * 1000 + ONE / 2) >> FRACTION
    }

    #[test]
    fn the_utility_is_the_papers() {
        assert_eq!(utility(measured(10, 100, 0, 0)), 7943);
        assert_eq!(utility(measured(1000, 100, 0, 0)), 501_187);
        assert_eq!(utility(measured(10, 100, 1, 0)), 7943 - 1135);
        assert_eq!(utility(measured(10, 100, 0, 2)), 7943 - 180_000);
        assert_eq!(utility(measured(10, 100, 0, -2)), 7943 + 180_000);
    }

    /// 0.9 x^-0.1 - 11.35 L is positive at 10 Mbit/s while fewer than 6.3 % are lost.
    #[test]
    fn the_slope_is_that_of_the_curve() {
        let at = |lost| slope(&measured(11, 1000, lost, 0), &measured(9, 1000, lost, 0));
        assert!((714_000..717_000).contains(&at(0)), "{}", at(0));
        assert!((146_000..149_000).contains(&at(50)), "{}", at(50));
        assert!(at(62) > 0 && at(64) < 0);
    }

    #[test]
    fn chance_is_no_difference() {
        let alike = (measured(11, 80, 6, 0), measured(9, 80, 2, 0));
        assert!(!alike.0.loses_other_than(&alike.1));
        assert!(slope(&alike.0, &alike.1) > 0, "5 % of all are lost");
        let apart = (measured(11, 80, 10, 0), measured(9, 80, 1, 0));
        assert!(apart.0.loses_other_than(&apart.1));
        assert!(slope(&apart.0, &apart.1) < -2_000_000);
        assert!(apart.1.is_abnormal_beside(&apart.0) && !apart.0.is_abnormal_beside(&apart.1));
    }
}
