//! Challenge ACKs and their limit (RFC 5961, section 7).

use headway_units::{Duration, Instant};

use super::Connection;

/// At most this many challenge ACKs in each interval.
const LIMIT: u32 = 10;
const INTERVAL: Duration = Duration::from_secs(5);

/// The challenge ACKs of the current interval.
#[derive(Default)]
pub(super) struct ChallengeAcks {
    since: Instant,
    sent: u32,
}

impl ChallengeAcks {
    /// Whether one more may be sent; it counts then.
    fn admit(&mut self, now: Instant) -> bool {
        if now.saturating_since(self.since) >= INTERVAL {
            *self = Self { since: now, sent: 0 };
        }
        let admitted = self.sent < LIMIT;
        self.sent += u32::from(admitted);
        admitted
    }
}

impl Connection {
    /// Sends a challenge ACK, if the limit permits it.
    #[inline(never)]
    pub(super) fn challenge(&mut self, now: Instant) {
        if self.challenges.admit(now) {
            self.rcv.ack_at_once();
        }
    }
}
