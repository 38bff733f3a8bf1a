//! Which bits are wrong, for the models that count in bits.

use super::packet_errors::starts_bad;
use crate::{
    Damage,
    random::{Gaps, Stream},
};

/// A run of bits, packet after packet, with independent errors.
///
/// Instead of drawing for every bit it draws the gaps between the wrong ones: a packet without errors
/// costs one subtraction.
#[derive(Clone, Debug)]
pub(crate) enum BitErrors {
    Independent {
        gaps: Gaps,
        /// Right bits before the next wrong one.
        next: u64,
    },
    Gilbert {
        /// Gaps between errors while good and while bad.
        errors: [Gaps; 2],
        /// Bits that the chain stays good or bad, after the first.
        stays: [Gaps; 2],
        bad: bool,
        /// Right bits before the next wrong one, were the state to last.
        next: u64,
        /// Bits left in this state.
        left: u64,
    },
}

impl BitErrors {
    /// The model of `damage`, or `None` if it does not count in bits.
    pub(crate) fn new(damage: &Damage, stream: &mut Stream) -> Option<Self> {
        match *damage {
            Damage::BitErrors { ber } => {
                let gaps = Gaps::new(ber);
                Some(Self::Independent { gaps, next: gaps.sample(stream) })
            }
            Damage::GilbertBit { p, r, good, bad } => {
                let (errors, stays) =
                    ([good, bad].map(Gaps::new), [p, r].map(|leave| Gaps::new(leave.value())));
                let is_bad = starts_bad(p, r, stream);
                let state = usize::from(is_bad);
                let left = stays[state].sample(stream).saturating_add(1);
                let next = errors[state].sample(stream);
                Some(Self::Gilbert { errors, stays, bad: is_bad, next, left })
            }
            Damage::None
            | Damage::Random { .. }
            | Damage::Burst { .. }
            | Damage::Gilbert { .. }
            | Damage::Modem { .. }
            | Damage::Trace(_) => None,
        }
    }

    /// Passes over the next `bits` bits and leaves the places of the wrong ones in `wrong`, counted
    /// from 0, in ascending order.
    #[inline]
    pub(crate) fn pass(&mut self, bits: u64, wrong: &mut Vec<u64>, stream: &mut Stream) {
        wrong.clear();
        match self {
            Self::Independent { gaps, next } => pass_run(0, bits, next, *gaps, wrong, stream),
            Self::Gilbert { errors, stays, bad, next, left } => {
                let mut at = 0;
                while at < bits {
                    let run = (bits - at).min(*left);
                    pass_run(at, run, next, errors[usize::from(*bad)], wrong, stream);
                    at += run;
                    *left -= run;
                    if *left == 0 {
                        *bad = !*bad;
                        let state = usize::from(*bad);
                        *left = stays[state].sample(stream).saturating_add(1);
                        // A geometric gap has no memory: it may be drawn afresh.
                        *next = errors[state].sample(stream);
                    }
                }
            }
        }
    }
}

/// Passes over `bits` bits that start at `from`. `next` right bits come before the next wrong one.
#[inline]
fn pass_run(from: u64, bits: u64, next: &mut u64, gaps: Gaps, wrong: &mut Vec<u64>, stream: &mut Stream) {
    let mut at = *next;
    while at < bits {
        wrong.push(from + at);
        at = gaps.sample(stream).saturating_add(at + 1);
    }
    *next = at - bits;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    fn errors(damage: &str, packets: u64, bits: u64) -> Vec<u64> {
        let mut stream = Streams::new(3).hit;
        let mut model = BitErrors::new(&damage.parse().unwrap(), &mut stream).unwrap();
        let (mut wrong, mut all) = (Vec::new(), Vec::new());
        for packet in 0..packets {
            model.pass(bits, &mut wrong, &mut stream);
            assert!(wrong.is_sorted_by(|a, b| a < b) && wrong.iter().all(|&bit| bit < bits));
            all.extend(wrong.iter().map(|bit| packet * bits + bit));
        }
        all
    }

    /// A packet boundary is no event for a bit: the errors are those of one long run.
    #[test]
    fn packets_do_not_matter() {
        for damage in ["ber:1e-3", "gilbert-bit:1e-4:1e-3:1e-5:1e-1"] {
            let one = errors(damage, 1, 1_000_000);
            assert_eq!(one, errors(damage, 1_000, 1_000));
            assert!(one.len() > 500);
        }
    }

    #[test]
    fn rates_come_true() {
        let n = 10_000_000;
        let share = |damage| errors(damage, 1, n).len() as f64 / n as f64;
        assert!((share("ber:1e-2") / 1e-2 - 1.0).abs() < 0.01);
        assert_eq!(share("ber:1"), 1.0);
        assert_eq!(share("ber:0"), 0.0);
        // Bad for 1e-3 / (1e-3 + 4e-3) = 20 % of the bits.
        let expected = 0.8 * 1e-3 + 0.2 * 1e-1;
        assert!((share("gilbert-bit:1e-3:4e-3:1e-3:1e-1") / expected - 1.0).abs() < 0.03);
        // The chain that changes after every bit has runs of one.
        let alternate = errors("gilbert-bit:1:1:0:1", 1, 100);
        assert!(alternate.len() == 50 && alternate.windows(2).all(|pair| pair[1] - pair[0] == 2));
    }
}
