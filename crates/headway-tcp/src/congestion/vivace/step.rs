//! From utility gradients to rates (4.2).

/// 1/θ0.
const CAUTION: u128 = 5;
/// The boundary of a change, in millionths of the rate: ω = ω0 + k δ.
const BOUNDARY: u64 = 50_000;
const BOUNDARY_STEP: u64 = 100_000;
/// No change takes more than half of the rate.
const MOST: u64 = 500_000;

/// The steps that were made.
#[derive(Debug, Default)]
pub(super) struct Steps {
    up: bool,
    /// Steps in this direction: τ.
    same: u32,
    /// Steps that exceeded the boundary: k.
    exceeded: u64,
}

impl Steps {
    /// The rate after `rate`, where the utility has this gradient, in bits per second.
    pub(super) fn next(&mut self, rate: u64, gradient: i128) -> u64 {
        let up = gradient > 0;
        if self.same == 0 || up != self.up {
            *self = Self { up, same: 0, exceeded: 0 };
        }
        self.same = self.same.saturating_add(1);
        let wanted = gradient.unsigned_abs().saturating_mul(u128::from(self.amplifier())) / CAUTION;
        let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
        // "Whenever Vivace's computed rate change (∆r) exceeds ωr, the effective rate change is capped at ωr."
        let bound = |exceeded| share(rate, BOUNDARY + exceeded * BOUNDARY_STEP);
        let change = wanted.min(bound(self.exceeded));
        if wanted > change {
            self.exceeded += 1;
        } else {
            // "Vivace recalibrates the value of k [...] to be the smallest value for which ∆r ≤ rω."
            self.exceeded = (0..=self.exceeded).find(|&fewer| wanted <= bound(fewer)).unwrap_or(0);
        }
        if up { rate.saturating_add(change) } else { rate - change }
    }

    /// The confidence amplifier m(τ): it grows with the steps in one direction, faster beyond three.
    fn amplifier(&self) -> u32 {
        if self.same <= 3 { self.same } else { self.same.saturating_mul(2) - 3 }
    }
}

fn share(rate: u64, millionths: u64) -> u64 {
    let part = u128::from(rate) * u128::from(millionths.min(MOST)) / 1_000_000;
    u64::try_from(part).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn confidence_grows_and_the_boundary_holds() {
        let mut steps = Steps::default();
        let changes = |steps: &mut Steps, gradient, count| -> Vec<i64> {
            (0..count).map(|_| steps.next(10_000_000, gradient) as i64 - 10_000_000).collect()
        };
        assert_eq!(changes(&mut steps, 500_000, 5), [100_000, 200_000, 300_000, 500_000, 500_000]);
        // The other direction begins anew.
        assert_eq!(
            changes(&mut steps, -45_000_000, 6),
            [-500_000, -1_500_000, -2_500_000, -3_500_000, -4_500_000, -5_000_000]
        );
        assert_eq!(changes(&mut steps, 500_000, 1), [100_000]);
    }

    #[test]
    fn a_small_change_takes_the_boundary_back() {
        let mut steps = Steps::default();
        for _ in 0..4 {
            steps.next(10_000_000, 45_000_000);
        }
        assert_eq!(steps.exceeded, 4);
        steps.next(10_000_000, 1_000_000);
        assert_eq!(steps.exceeded, 1, "1.4 Mbit/s are within 15 %");
    }
}
