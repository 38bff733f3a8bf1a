//! Geometric gaps: how many trials fail before the next success.

use super::Stream;

/// Draws the number of failures before the next success of independent trials, exactly as if each
/// trial had been drawn by itself, at the cost of one draw a success.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gaps {
    /// Success is impossible.
    Never,
    /// Every trial is a success.
    Always,
    /// 1 / ln(1 - probability of success).
    Scale(f64),
}

impl Gaps {
    /// Trials that succeed with probability `p`. Anything not above 0 is never, 1 and above always.
    pub(crate) fn new(p: f64) -> Self {
        if p >= 1.0 {
            Self::Always
        } else if p > 0.0 {
            Self::Scale(1.0 / libm::log1p(-p))
        } else {
            Self::Never
        }
    }

    /// Failures before the next success; `u64::MAX` is never.
    #[inline]
    pub(crate) fn sample(self, stream: &mut Stream) -> u64 {
        match self {
            Self::Never => u64::MAX,
            Self::Always => 0,
            // P(gap >= k) = (1 - p)^k = P(u <= (1 - p)^k) = P(ln u / ln(1 - p) >= k). The cast rounds
            // down and saturates.
            Self::Scale(scale) => (libm::log(stream.above_zero()) * scale) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    #[test]
    fn the_distribution_is_geometric() {
        for p in [0.5, 0.1, 0.001] {
            let mut stream = Streams::new(7).hit;
            let gaps = Gaps::new(p);
            let n = 200_000;
            let sample: Vec<u64> = (0..n).map(|_| gaps.sample(&mut stream)).collect();
            let mean = sample.iter().sum::<u64>() as f64 / f64::from(n);
            assert!((mean * p / (1.0 - p) - 1.0).abs() < 0.01, "p {p}: mean {mean}");
            let zeros = sample.iter().filter(|&&gap| gap == 0).count() as f64 / f64::from(n);
            assert!((zeros - p).abs() < 0.004, "p {p}: zeros {zeros}");
        }
    }

    #[test]
    fn never_and_always() {
        let mut stream = Streams::new(7).hit;
        for p in [0.0, -1.0, f64::NAN] {
            assert_eq!(Gaps::new(p).sample(&mut stream), u64::MAX);
        }
        for p in [1.0, 2.0, f64::INFINITY] {
            assert_eq!(Gaps::new(p).sample(&mut stream), 0);
        }
    }
}
