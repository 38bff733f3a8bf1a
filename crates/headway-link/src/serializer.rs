//! The transmitter: how long each frame takes.

use crate::LinkConfig;
use headway_units::{Duration, Instant, Rate};

/// Transmits one frame after another at the rate of the link.
#[derive(Clone, Debug)]
pub(crate) struct Serializer {
    rate: Option<Rate>,
    overhead: u32,
    /// When it has finished everything that it has begun.
    free_at: Instant,
    /// The length that was transmitted last, and how long that took: most are alike.
    last_time: (usize, Duration),
}

impl Serializer {
    pub(crate) fn new(config: &LinkConfig) -> Self {
        let mut serializer = Self {
            rate: config.rate,
            overhead: config.overhead,
            free_at: Instant::ZERO,
            last_time: (0, Duration::ZERO),
        };
        serializer.last_time.1 = serializer.transmit_time(0);
        serializer
    }

    /// Transmits `len` bytes from `start` on; gives the end, until which it is busy.
    #[inline]
    pub(crate) fn transmit(&mut self, len: usize, start: Instant) -> Instant {
        if len != self.last_time.0 {
            self.last_time = (len, self.transmit_time(len));
        }
        self.free_at = start + self.last_time.1;
        self.free_at
    }

    #[inline]
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// When it would be free if it transmitted packets of these lengths too.
    pub(crate) fn free_after(&self, lengths: impl Iterator<Item = usize>) -> Instant {
        lengths.fold(self.free_at, |at, len| at + self.transmit_time(len))
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

    fn transmit_time(&self, len: usize) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| rate.transmit_time(self.frame_bytes(len)))
    }
}
