//! What a link has carried and lost in the last seconds, and what of it could be carried.

use std::collections::VecDeque;

use headway_units::Rate;

use super::RecentStatus;

/// How many samples are kept, which are a second apart.
const SAMPLES: usize = 11;

/// Counts at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// Seconds since the gateway's start.
    pub(crate) at: f64,
    /// Bytes of streams.
    pub(crate) to_peer: u64,
    pub(crate) from_peer: u64,
    /// Segments with data that were sent, and those of them that were damaged.
    pub(crate) segments: u64,
    pub(crate) damaged: u64,
}

/// What limits the goodput, where the operator has said what the link carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    pub(crate) link: Rate,
    /// The share of a full packet that is data of streams.
    pub(crate) payload: f64,
}

/// The samples of the last ten seconds.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    samples: VecDeque<Sample>,
}

impl Recent {
    pub(crate) fn add(&mut self, sample: Sample) {
        // A path that was forgotten counts from zero again.
        let restarted = |last: &Sample| sample.segments < last.segments || sample.damaged < last.damaged;
        if self.samples.back().is_some_and(restarted) {
            self.samples.clear();
        }
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// `None` before the second sample.
    pub(crate) fn status(&self, capacity: Option<Capacity>) -> Option<RecentStatus> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let seconds = last.at - first.at;
        if seconds <= 0.0 {
            return None;
        }
        let rate = |from: u64, to: u64| to.saturating_sub(from) as f64 * 8.0 / seconds;
        let to_peer = rate(first.to_peer, last.to_peer);
        let segments = last.segments - first.segments;
        let damaged_share =
            (segments > 0).then(|| ((last.damaged - first.damaged) as f64 / segments as f64).min(1.0));
        let bound = capacity.map(|Capacity { link, payload }| {
            link.bits_per_second() as f64 * payload * (1.0 - damaged_share.unwrap_or(0.0))
        });
        Some(RecentStatus {
            seconds,
            to_peer_bits_per_second: to_peer,
            from_peer_bits_per_second: rate(first.from_peer, last.from_peer),
            damaged_share,
            bound_bits_per_second: bound,
            share_of_bound: bound.filter(|&bound| bound > 0.0).map(|bound| to_peer / bound),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_shares_are_of_the_last_ten_seconds() {
        let mut recent = Recent::default();
        let capacity = Capacity { link: Rate::from_bits_per_second(10_000_000), payload: 0.9 };
        for second in 0..30_u64 {
            assert_eq!(recent.status(Some(capacity)).is_some(), second > 1);
            // From second 15 on, 720,000 bytes and a tenth of 600 segments damaged each second.
            let late = second.saturating_sub(15);
            recent.add(Sample {
                at: second as f64,
                to_peer: late * 720_000,
                from_peer: late,
                segments: late * 600,
                damaged: late * 60,
            });
        }
        let status = recent.status(Some(capacity)).expect("samples");
        assert_eq!((status.seconds, status.to_peer_bits_per_second), (10.0, 5_760_000.0));
        assert_eq!((status.from_peer_bits_per_second, status.damaged_share), (8.0, Some(0.1)));
        assert_eq!(status.bound_bits_per_second.map(f64::round), Some(8_100_000.0));
        assert!((status.share_of_bound.expect("a bound") - 5.76 / 8.1).abs() < 1e-9);
        let unknown = recent.status(None).expect("samples");
        assert_eq!((unknown.bound_bits_per_second, unknown.share_of_bound), (None, None));
        // The path was forgotten, and has had damage alone, or segments alone, since.
        for (at, segments, damaged) in [(30.0, 9001, 5), (32.0, 5, 5)] {
            recent.add(Sample { at, segments, damaged, ..Sample::default() });
            assert!(recent.status(None).is_none(), "{segments} segments, {damaged} damaged");
            recent.add(Sample { at: at + 1.0, segments, damaged, ..Sample::default() });
            assert!(recent.status(None).is_some());
        }
    }
}
