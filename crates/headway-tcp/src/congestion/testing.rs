//! Helpers for tests of several controllers.

use headway_units::{Duration, Instant};

use crate::rules::RulesOff;

use super::{Ack, Loss, LostSegment, RateSample, Setup};

pub(super) fn setup(initial_window: u32) -> Setup {
    Setup {
        initial_window,
        slow_start_limit: None,
        hystart: false,
        pacing: false,
        deliveries: false,
        seed: 1,
        rules_off: RulesOff::NONE,
    }
}

pub(super) fn ack(delivered: u32, prior_pipe: u32) -> Ack {
    Ack {
        now: Instant::ZERO,
        acked: delivered,
        delivered,
        prior_pipe,
        pipe: prior_pipe.saturating_sub(delivered),
        rtt: None,
        in_recovery: false,
        duplicate: false,
        retransmitted: false,
        damages: false,
        asks_for_less: false,
        alone: false,
        rate: None,
    }
}

pub(super) fn loss(flight: u32) -> Loss {
    Loss { now: Instant::ZERO, flight }
}

/// A lost segment of 1000 bytes, with the bytes lost since it was sent.
pub(super) fn lost(order: u64, in_flight: u32, lost: u64) -> LostSegment {
    LostSegment {
        order,
        now: Instant::ZERO,
        sent_at: Instant::ZERO,
        bytes: 1000,
        in_flight,
        lost,
        total_delivered: 0,
        prior_delivered: 0,
        app_limited: false,
    }
}

/// A sample of a segment, by the delivered bytes when it was sent and when it was acknowledged.
pub(super) fn sample(prior_delivered: u64, total_delivered: u64) -> RateSample {
    RateSample {
        delivered: total_delivered - prior_delivered,
        interval: Duration::from_millis(100),
        app_limited: false,
        prior_delivered,
        total_delivered,
        in_flight: 0,
        lost: 0,
    }
}
