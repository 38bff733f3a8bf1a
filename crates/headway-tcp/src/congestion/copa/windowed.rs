//! The smallest or largest of the samples of a window of time.

use alloc::collections::VecDeque;

use headway_units::{Duration, Instant};

/// A window is resolved into this many parts, of which one sample each is kept.
const PARTS: u32 = 16;

/// The smallest sample of a window of time, or, with `MAX`, the largest.
#[derive(Debug, Default)]
pub(super) struct Windowed<const MAX: bool> {
    /// Each is worse than those before it, and later.
    samples: VecDeque<(Instant, Duration)>,
}

impl<const MAX: bool> Windowed<MAX> {
    /// Takes a sample, and forgets what is older than `window`; the best that is left.
    pub(super) fn update(&mut self, now: Instant, sample: Duration, window: Duration) -> Duration {
        let is_worse = |than: Duration| if MAX { sample < than } else { sample > than };
        while self.samples.back().is_some_and(|&(_, last)| !is_worse(last)) {
            self.samples.pop_back();
        }
        let is_soon = |at: Instant| now.saturating_since(at) < window / PARTS;
        if self.samples.back().is_none_or(|&(at, _)| !is_soon(at)) {
            self.samples.push_back((now, sample));
        }
        while self.samples.len() > 1 && now.saturating_since(self.samples[0].0) > window {
            self.samples.pop_front();
        }
        self.samples.front().map_or(sample, |&(_, best)| best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_the_window_counts_until_it_is_too_old() {
        let mut least = Windowed::<false>::default();
        let mut most = Windowed::<true>::default();
        let samples =
            [(0, 30), (100, 10), (150, 50), (900, 20), (1050, 40), (1200, 40), (2000, 45), (2300, 47)];
        let found = samples.map(|(at, millis)| {
            let (at, sample) = (Instant::from_nanos(at * 1_000_000), Duration::from_millis(millis));
            let window = Duration::from_secs(1);
            [least.update(at, sample, window), most.update(at, sample, window)].map(Duration::as_millis)
        });
        assert_eq!(found, [[30, 30], [10, 30], [10, 50], [10, 50], [10, 50], [20, 40], [40, 45], [45, 47]]);
    }

    #[test]
    fn few_samples_are_kept() {
        let mut least = Windowed::<false>::default();
        for milli in 0..100_000 {
            let at = Instant::from_nanos(milli * 1_000_000);
            least.update(at, Duration::from_millis(milli), Duration::from_secs(1));
        }
        assert!(least.samples.len() <= 18, "{}", least.samples.len());
    }
}
