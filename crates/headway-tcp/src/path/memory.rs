//! What a connection leaves behind for later ones over the same path: TCP control block sharing
//! (RFC 9040).
//!
//! RFC 9040, 2 distinguishes *temporal* sharing (from connections that are over) from *ensemble* sharing (among
//! those that are open). Both are the same here: the path keeps what a connection measures
//! once a round trip, and each new connection asks the path.

use headway_units::{Duration, Instant};

use crate::congestion::{RateSample, SavedPath};

/// How long a measurement is used (RFC 9959's Lifetime), and how long a path outlives its last connection.
///
/// RFC 9040, 8.2 has old values expire. RFC 7661, 4.4 keeps a window that is not in use for five minutes
/// at most; RFC 9959, 4.3 has a longer time justified, since the path is confirmed and the jump is to half,
/// and advises minutes for paths that vary. Paths that damage packets do.
pub(crate) const LIFETIME: Duration = PathMemory::LIFETIME;

/// Round trips without growth after which the path carries no more than what was measured.
const PLATEAU: u8 = 3;

/// Facts about a path that one connection learnt and the next may start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathMemory {
    /// Bytes that the path delivers in its shortest round trip: rate times delay. The queue is not in it.
    pub window: u32,
    /// Whether the path was filled: slow start had ended, or that window had stopped growing for three
    /// round trips. If it had not, the path may carry more.
    pub filled: bool,
    /// The minimum RTT of the connection that measured the window.
    pub min_rtt: Duration,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// Its variation (RFC 6298's RTTVAR).
    pub rtt_variation: Duration,
    /// Packets were seen to overtake each other (RFC 8985, section 6.2).
    pub reordering: bool,
    /// When the window was measured.
    pub learnt_at: Instant,
}

/// What one connection has measured of its path so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathSampler {
    /// When the next sample is due.
    due: Instant,
    window: u32,
    plateau: u8,
}

/// What a connection measured, when a sample is due.
pub(crate) struct PathSample {
    pub(crate) now: Instant,
    pub(crate) rate: RateSample,
    pub(crate) smoothed: Duration,
    pub(crate) variation: Duration,
    pub(crate) min_rtt: Duration,
    pub(crate) reordering: bool,
    /// The controller is looking for the path's limit.
    pub(crate) slow_start: bool,
}

impl PathSampler {
    /// Once a round trip: records in `memory` what the network delivered in it.
    pub(crate) fn update(&mut self, memory: &mut Option<PathMemory>, sample: &PathSample) {
        // A sender that had nothing to send shows less than the path can carry.
        if sample.now < self.due || sample.rate.app_limited {
            return;
        }
        self.due = sample.now + sample.smoothed;
        let window = delivered_in(&sample.rate, sample.min_rtt);
        // What BBR takes for a full pipe: less than a quarter more, three times in a row.
        if window > self.window.saturating_add(self.window / 4) {
            self.plateau = 0;
        } else {
            self.plateau = self.plateau.saturating_add(1);
        }
        // The peak counts, and is forgotten slowly: single samples fall short for many reasons.
        self.window = if window > self.window { window } else { self.window - (self.window - window) / 8 };
        let measured = PathMemory {
            window: self.window,
            filled: !sample.slow_start || self.plateau >= PLATEAU,
            min_rtt: sample.min_rtt,
            smoothed_rtt: sample.smoothed,
            rtt_variation: sample.variation,
            reordering: sample.reordering,
            learnt_at: sample.now,
        };
        *memory = Some(match memory.filter(|known| !known.is_expired(sample.now)) {
            // A connection that is still in slow start knows less than one that filled the path, and does
            // not make older knowledge young.
            Some(known) if !measured.filled && known.window > measured.window => PathMemory {
                smoothed_rtt: measured.smoothed_rtt,
                rtt_variation: measured.rtt_variation,
                reordering: measured.reordering,
                ..known
            },
            Some(known) if !measured.filled => PathMemory { filled: known.filled, ..measured },
            _ => measured,
        });
    }
}

impl PathMemory {
    /// RFC 9959's Lifetime: how long what was measured is used.
    pub const LIFETIME: Duration = Duration::from_secs(600);

    /// What one of `users` connections that are open on the path starts from.
    pub(crate) fn resumable(&self, users: u32) -> SavedPath {
        SavedPath::new(self.window / users.max(1), self.min_rtt, self.filled)
    }

    /// RFC 9959: "If the Lifetime of the observed CC parameters is exceeded, this set of CC parameters are
    /// not used, the saved CC parameters are deleted".
    pub(crate) fn is_expired(&self, now: Instant) -> bool {
        now.saturating_since(self.learnt_at) >= LIFETIME
    }
}

/// Bytes that arrive in `time` at the sample's rate.
fn delivered_in(sample: &RateSample, time: Duration) -> u32 {
    let bytes = u128::from(sample.delivered) * u128::from(time.as_nanos())
        / u128::from(sample.interval.as_nanos().max(1));
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// One round trip of 100 ms in which `delivered` bytes arrived.
    fn round(n: u64, delivered: u64, app_limited: bool) -> PathSample {
        PathSample {
            now: Instant::ZERO + ms(100 * n),
            rate: RateSample {
                delivered,
                interval: ms(200),
                app_limited,
                prior_delivered: 0,
                total_delivered: delivered,
                in_flight: 0,
                lost: 0,
            },
            smoothed: ms(100),
            variation: ms(10),
            min_rtt: ms(100),
            reordering: false,
            slow_start: true,
        }
    }

    #[test]
    fn a_filled_path_is_told_from_slow_start() {
        let (mut sampler, mut memory) = (PathSampler::default(), None);
        for (n, delivered) in [10_000, 20_000, 40_000].into_iter().enumerate() {
            sampler.update(&mut memory, &round(n as u64, delivered, false));
        }
        let known = memory.unwrap();
        assert_eq!((known.window, known.filled), (20_000, false), "20,000 bytes in 100 ms");
        assert_eq!(known.resumable(1), SavedPath::new(20_000, ms(100), false), "no more than was seen");
        for n in 3..6 {
            sampler.update(&mut memory, &round(n, 40_000, false));
        }
        assert!(memory.unwrap().filled);
        assert_eq!(memory.unwrap().resumable(1), SavedPath::new(20_000, ms(100), true));
        assert_eq!(memory.unwrap().resumable(2).window, 10_000, "what is left for each of two");
    }

    #[test]
    fn little_to_send_teaches_nothing() {
        let (mut sampler, mut memory) = (PathSampler::default(), None);
        sampler.update(&mut memory, &round(0, 1000, true));
        assert_eq!(memory, None);
        sampler.update(&mut memory, &round(1, 80_000, false));
        sampler.update(&mut memory, &round(2, 1000, true));
        assert_eq!(memory.unwrap().window, 40_000);
    }

    #[test]
    fn a_short_connection_does_not_hide_what_a_long_one_learnt() {
        let (mut sampler, mut memory) = (PathSampler::default(), None);
        for n in 0..5 {
            sampler.update(&mut memory, &round(n, 80_000, false));
        }
        let mut short = PathSampler::default();
        short.update(&mut memory, &round(6, 2_000, false));
        assert_eq!((memory.unwrap().window, memory.unwrap().filled), (40_000, true));
        // One that fills it does.
        for n in 7..20 {
            short.update(&mut memory, &PathSample { slow_start: false, ..round(n, 2_000, false) });
        }
        assert_eq!((memory.unwrap().window, memory.unwrap().filled), (1_000, true));
    }

    #[test]
    fn a_window_keeps_the_time_and_the_round_trip_time_of_its_measurement() {
        let (mut sampler, mut memory) = (PathSampler::default(), None);
        sampler.update(&mut memory, &round(0, 80_000, false));
        let mut short = PathSampler::default();
        let sample = PathSample { smoothed: ms(90), min_rtt: ms(50), ..round(6, 2_000, false) };
        short.update(&mut memory, &sample);
        let known = memory.unwrap();
        assert_eq!((known.window, known.min_rtt, known.learnt_at), (40_000, ms(100), Instant::ZERO));
        assert_eq!(known.smoothed_rtt, ms(90), "round-trip times are the latest");
        // One that sees as much confirms it.
        let mut equal = PathSampler::default();
        equal.update(&mut memory, &round(6, 80_000, false));
        assert_eq!((memory.unwrap().window, memory.unwrap().learnt_at), (40_000, sample.now));
        // One that sees more replaces it, though it has not filled the path either.
        let mut long = PathSampler::default();
        let sample = PathSample { min_rtt: ms(50), ..round(7, 200_000, false) };
        long.update(&mut memory, &sample);
        let known = memory.unwrap();
        assert_eq!((known.window, known.min_rtt, known.learnt_at), (50_000, ms(50), sample.now));
    }

    #[test]
    fn an_old_window_gives_way_to_less() {
        let (mut sampler, mut memory) = (PathSampler::default(), None);
        for n in 0..5 {
            sampler.update(&mut memory, &round(n, 80_000, false));
        }
        let last = memory.unwrap().learnt_at;
        assert!(!memory.unwrap().is_expired(last + (LIFETIME - ms(1))));
        assert!(memory.unwrap().is_expired(last + LIFETIME));
        let mut later = PathSampler::default();
        later.update(&mut memory, &round(6004, 2_000, false));
        assert_eq!((memory.unwrap().window, memory.unwrap().filled), (1_000, false));
    }

    #[test]
    fn a_quarter_more_is_no_growth() {
        let (mut sampler, mut memory) = (PathSampler::default(), None);
        for (n, delivered) in [16_384, 20_480, 25_600, 32_000].into_iter().enumerate() {
            assert!(memory.is_none_or(|known: PathMemory| !known.filled));
            sampler.update(&mut memory, &round(n as u64, delivered, false));
        }
        assert!(memory.unwrap().filled);
    }
}
