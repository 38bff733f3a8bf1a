//! The transmitter: how long each frame takes.

use super::opportunities::Opportunities;
use crate::{LinkConfig, RateSteps};
use headway_units::{Duration, Instant, Rate};

/// Transmits one frame after another at the rate of the link.
#[derive(Clone, Debug)]
pub(crate) struct Serializer {
    pace: Pace,
    overhead: u32,
    /// When it has finished everything that it has begun.
    free_at: Instant,
}

#[derive(Clone, Debug)]
enum Pace {
    /// With the length that was transmitted last, and how long that took: most are alike.
    Constant {
        rate: Option<Rate>,
        last: (u64, Duration),
    },
    Steps(RateSteps),
    Trace(Opportunities),
}

impl Pace {
    /// The end of a transmission of `bytes` bytes that begins at `start`.
    #[inline]
    fn transmit(&mut self, bytes: u64, start: Instant) -> Instant {
        match self {
            Self::Constant { rate, last } => {
                if bytes != last.0 {
                    *last = (bytes, rate.map_or(Duration::ZERO, |rate| rate.transmit_time(bytes)));
                }
                start + last.1
            }
            Self::Steps(steps) => steps.transmit(bytes, start),
            Self::Trace(opportunities) => opportunities.transmit(bytes, start),
        }
    }
}

impl Serializer {
    pub(crate) fn new(config: &LinkConfig) -> Self {
        let pace = match (&config.rate_trace, &config.rate_steps) {
            (Some(trace), _) => Pace::Trace(Opportunities::new(trace.clone())),
            (None, Some(steps)) => Pace::Steps(steps.clone()),
            (None, None) => Pace::Constant { rate: config.rate, last: (0, Duration::ZERO) },
        };
        Self { pace, overhead: config.overhead, free_at: Instant::ZERO }
    }

    /// Transmits `len` bytes from `start` on; gives the end, until which it is busy.
    #[inline]
    pub(crate) fn transmit(&mut self, len: usize, start: Instant) -> Instant {
        self.free_at = self.pace.transmit(self.frame_bytes(len), start);
        self.free_at
    }

    #[inline]
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// When it would be free if it transmitted packets of these lengths too.
    pub(crate) fn free_after(&self, lengths: impl Iterator<Item = usize>) -> Instant {
        let mut pace = self.pace.clone();
        lengths.fold(self.free_at, |at, len| pace.transmit(self.frame_bytes(len), at))
    }

    /// Keeps it busy until `at`.
    pub(crate) fn occupy_until(&mut self, at: Instant) {
        self.free_at = at;
    }

    /// What a frame of `len` bytes takes on the link, in bytes: what the rate counts.
    #[inline]
    pub(crate) fn frame_bytes(&self, len: usize) -> u64 {
        len as u64 + u64::from(self.overhead)
    }
}
