//! Slow start of NewReno and CUBIC.

use alloc::boxed::Box;

use super::hystart::{CSS_GROWTH_DIVISOR, HyStart, Pace};
use super::{Ack, Setup};

/// RFC 3465, 2.3: "MAY use L=2*SMSS bytes and MUST NOT use L > 2*SMSS".
pub(super) const LIMIT: u32 = 2;

/// How far an ACK opens the window below the threshold.
#[derive(Clone, Debug)]
pub(super) struct SlowStart {
    /// Dropped after the initial slow start, hence boxed.
    hystart: Option<Box<HyStart>>,
    /// The maximum growth by one ACK, in segments.
    limit: Option<u32>,
}

impl SlowStart {
    pub(super) fn new(setup: &Setup) -> Self {
        // RFC 9406, 4.3: "L = infinity if paced, L = 8 if non-paced"; without HyStart++ RFC 3465's 2.
        let limit = match (setup.slow_start_limit, setup.pacing, setup.hystart) {
            (Some(limit), ..) => Some(limit),
            (None, true, _) => None,
            (None, false, true) => Some(8),
            (None, false, false) => Some(LIMIT),
        };
        Self { hystart: setup.hystart.then(|| Box::new(HyStart::new())), limit }
    }

    /// An ACK arrived in slow start. Returns whether slow start ends.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> bool {
        let leave = self.hystart.as_mut().is_some_and(|hystart| hystart.on_ack(ack) == Pace::Leave);
        if leave {
            self.hystart = None;
        }
        leave
    }

    /// The growth of the window in bytes by `bytes` delivered bytes.
    pub(super) fn growth(&self, bytes: u32, mss: u32) -> u32 {
        let bytes = self.limit.map_or(bytes, |segments| bytes.min(segments.saturating_mul(mss)));
        match self.hystart.as_ref().map(|hystart| hystart.pace()) {
            // RFC 9406, 4.2: "cwnd = cwnd + (min(N, L * SMSS) / CSS_GROWTH_DIVISOR)".
            Some(Pace::Conservative) => bytes / CSS_GROWTH_DIVISOR,
            _ => bytes,
        }
    }

    /// RFC 9406, 4.3: "An implementation SHOULD use HyStart++ only for the initial slow start [...]
    /// and fall back to using standard slow start for the remainder of the connection lifetime."
    pub(super) fn on_congestion(&mut self) {
        self.hystart = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::setup;
    use super::*;

    #[test]
    fn pacing_lifts_the_limit_of_an_ack() {
        let growth =
            |hystart, pacing| SlowStart::new(&Setup { hystart, pacing, ..setup(10) }).growth(20_000, 1000);
        assert_eq!(growth(false, false), 2000);
        assert_eq!(growth(true, false), 8000);
        assert_eq!(growth(true, true), 20_000);
    }
}
