//! Quantiles of latencies.

use std::time::Duration;

use serde_json::{Value, json};

/// Latencies, sorted.
pub(super) struct Latencies(Vec<Duration>);

impl Latencies {
    pub(super) fn of(latencies: impl Iterator<Item = Duration>) -> Self {
        let mut latencies: Vec<Duration> = latencies.collect();
        latencies.sort_unstable();
        Self(latencies)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// A latency that was measured and that this share of all does not exceed; zero if there is none.
    pub(super) fn quantile(&self, share: f64) -> Duration {
        let index = (self.0.len() as f64 * share).ceil() as usize;
        self.0.get(index.clamp(1, self.0.len().max(1)) - 1).copied().unwrap_or_default()
    }

    pub(super) fn mean(&self) -> Duration {
        let sum: Duration = self.0.iter().sum();
        sum.div_f64(self.0.len().max(1) as f64)
    }

    /// In microseconds.
    pub(super) fn json(&self) -> Value {
        let of = |share| micros(self.quantile(share));
        json!({
            "transactions": self.count(),
            "mean_us": micros(self.mean()),
            "min_us": of(0.0),
            "p50_us": of(0.5),
            "p90_us": of(0.9),
            "p99_us": of(0.99),
            "max_us": of(1.0),
        })
    }
}

pub(super) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times = Latencies::of((1..=100).rev().map(Duration::from_micros));
        for (of, expected) in [(0.0, 1), (0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100)] {
            assert_eq!(times.quantile(of), Duration::from_micros(expected), "{of}");
        }
        assert_eq!(times.mean(), Duration::from_nanos(50_500));
        assert_eq!(Latencies::of(std::iter::empty()).quantile(0.5), Duration::ZERO);
    }
}
