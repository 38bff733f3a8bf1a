//! What was delivered and lost of all that one sender has sent: the base of delivery-rate samples
//! (draft-ietf-ccwg-bbr, section 4.1).
//!
//! A connection counts for itself, or, in a shared domain, together with the other members: then a sample
//! measures what the path delivers to all of them.

use headway_units::{Duration, Instant};

use super::{Load, LostSegment, RateSample};

/// The counts at one time. Each transmission keeps those of the time when it was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deliveries {
    /// Bytes delivered (`C.delivered`).
    delivered: u64,
    /// When they last grew (`C.delivered_time`).
    delivered_at: Instant,
    /// When the first transmission of the present sample was sent (`C.first_send_time`).
    first_sent_at: Instant,
    /// Bytes lost, not to damage (`C.lost`).
    lost: u64,
    /// The sender had nothing to send until so much is delivered (`C.app_limited`).
    app_limited_until: u64,
}

impl Deliveries {
    /// A transmission is sent while nothing is in the network: the time before it was no time of sending.
    pub(crate) fn start_flight(&mut self, now: Instant) {
        self.first_sent_at = now;
        self.delivered_at = now;
    }

    /// Bytes passed the network, intact or not.
    pub(crate) fn on_delivered(&mut self, now: Instant, bytes: u32) {
        self.delivered += u64::from(bytes);
        self.delivered_at = now;
    }

    /// The transmission number `order`, of `bytes`, was lost, and not to damage. `before`: the counts at `sent_at`.
    pub(crate) fn on_lost(
        &mut self,
        now: Instant,
        bytes: u32,
        (order, sent_at): (u64, Instant),
        before: &Before,
    ) -> LostSegment {
        self.lost += u64::from(bytes);
        LostSegment {
            order,
            now,
            sent_at,
            bytes,
            in_flight: before.in_flight,
            lost: self.lost - before.counts.lost,
            total_delivered: self.delivered,
            prior_delivered: before.counts.delivered,
            app_limited: before.app_limited(),
        }
    }

    /// Whether something was delivered since the counts were `before`.
    pub(crate) fn has_grown_since(&self, before: &Self) -> bool {
        self.delivered > before.delivered
    }

    /// The sender has nothing to send, although the window would permit it, with `pipe` bytes in the network.
    pub(crate) fn on_app_limited(&mut self, pipe: u32) {
        self.app_limited_until = self.delivered + u64::from(pipe).max(1);
    }

    /// Whether the sender is limited by the application: until more than what was in the network when it had nothing
    /// to send is delivered (4.1.2.4: "if (C.app_limited and C.delivered > C.app_limited) C.app_limited = 0"). So what
    /// follows a pause is, too.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0 && self.delivered <= self.app_limited_until
    }

    /// The sample of a transmission that was sent at `sent_at` and has arrived, the newest of those that the ACK
    /// covers (4.1.2.3).
    pub(crate) fn sample(&mut self, now: Instant, sent_at: Instant, before: &Before) -> RateSample {
        // "Use the longer of the send_elapsed and ack_elapsed."
        let sending = sent_at.saturating_since(before.counts.first_sent_at);
        let acknowledging = now.saturating_since(before.counts.delivered_at);
        self.first_sent_at = sent_at;
        RateSample {
            delivered: self.delivered - before.counts.delivered,
            interval: sending.max(acknowledging).max(Duration::from_nanos(1)),
            app_limited: before.app_limited(),
            prior_delivered: before.counts.delivered,
            total_delivered: self.delivered,
            in_flight: before.in_flight,
            lost: self.lost - before.counts.lost,
        }
    }
}

/// The state when a transmission was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub(crate) counts: Deliveries,
    /// Bytes in the network with it.
    pub(crate) in_flight: u32,
}

impl Before {
    /// How many more bytes had been delivered by then.
    pub(crate) fn count_delivered(&mut self, bytes: u32) {
        self.counts.delivered += u64::from(bytes);
    }

    fn app_limited(&self) -> bool {
        self.counts.is_app_limited()
    }
}

/// What a member of a shared domain has to know of the others before it does anything.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Others {
    /// What all members have delivered and lost.
    pub(crate) deliveries: Deliveries,
    /// Bytes that the others have in the network.
    pub(crate) pipe: u32,
    /// One of them has data to send, and waits for its turn.
    pub(crate) wait: bool,
    /// The load that all put on the path.
    pub(crate) load: Load,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All counts are of what came after the transmission was sent.
    #[test]
    fn a_sample_counts_from_the_sending_of_what_arrived() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let mut deliveries = Deliveries::default();
        deliveries.on_delivered(at(100), 1000);
        let first = Before { counts: deliveries, in_flight: 500 };
        assert_eq!(deliveries.on_lost(at(150), 300, (1, at(100)), &first).lost, 300);
        let before = Before { counts: deliveries, in_flight: 4000 };
        let lost = deliveries.on_lost(at(250), 200, (2, at(210)), &before);
        assert_eq!((lost.lost, lost.prior_delivered, lost.in_flight), (200, 1000, 4000));
        assert_eq!(lost.total_delivered, 1000);
        assert!(!deliveries.has_grown_since(&before.counts));
        deliveries.on_delivered(at(300), 2500);
        assert!(deliveries.has_grown_since(&before.counts));
        let sample = deliveries.sample(at(300), at(210), &before);
        assert_eq!((sample.delivered, sample.lost), (2500, 200));
        assert_eq!((sample.prior_delivered, sample.total_delivered, sample.in_flight), (1000, 3500, 4000));
        assert_eq!(sample.interval, Duration::from_millis(210), "from the first sending, the longer one");
    }
}
