//! Aggregation of ACKs (draft-ietf-ccwg-bbr, section 5.5.9).

use headway_units::Instant;

use super::quantities::volume;

/// 5.5.9: the recent excess of acknowledged over expected bytes.
#[derive(Debug, Default)]
pub(in super::super) struct Aggregation {
    start: Instant,
    delivered: u64,
    /// The largest excess of each of the last rounds: (the round's low bits, bytes).
    excess: [(u32, u32); FILTER_ROUNDS],
}

/// "ExtraAckedFilterLen: [...] 10 (in units of packet-timed round trips)".
const FILTER_ROUNDS: usize = 10;

impl Aggregation {
    /// The sender restarts from idle.
    pub(in super::super) fn restart(&mut self, now: Instant) {
        self.start = now;
    }

    /// 5.5.9, UpdateACKAggregation: `newly_acked` bytes were delivered in `round`, at an expected rate of
    /// `bw`.
    pub(in super::super) fn on_ack(
        &mut self,
        now: Instant,
        newly_acked: u32,
        bw: u64,
        cwnd: u32,
        round: u64,
    ) {
        let mut expected = u64::from(volume(bw, now.saturating_since(self.start).as_nanos(), 100));
        // "Reset interval if ACK rate is below expected rate".
        if self.delivered <= expected {
            self.delivered = 0;
            self.start = now;
            expected = 0;
        }
        self.delivered += u64::from(newly_acked);
        let extra = u32::try_from(self.delivered - expected).unwrap_or(u32::MAX).min(cwnd);
        let slot = &mut self.excess[(round % FILTER_ROUNDS as u64) as usize];
        let round = round as u32;
        *slot = if slot.0 == round { (round, slot.1.max(extra)) } else { (round, extra) };
    }

    /// `BBR.extra_acked`: the largest excess of this round and of the nine before; in Startup ("just
    /// remember 1 round") of this round only.
    pub(in super::super) fn extra_acked(&self, round: u64, startup: bool) -> u32 {
        let length = if startup { 1 } else { FILTER_ROUNDS as u32 };
        let recent = self.excess.iter().filter(|(at, _)| (round as u32).wrapping_sub(*at) < length);
        recent.map(|&(_, extra)| extra).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Duration;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// 10 Mbit/s are 1250 bytes per millisecond.
    #[test]
    fn acks_that_bunch_are_remembered() {
        let mut aggregation = Aggregation::default();
        aggregation.on_ack(at(1000), 20_000, 10_000_000, 100_000, 1);
        assert_eq!(aggregation.extra_acked(1, false), 20_000);
        // 16 ms later 20,000 bytes were expected: the aggregate has ended.
        aggregation.on_ack(at(1016), 20_000, 10_000_000, 100_000, 2);
        assert_eq!(aggregation.extra_acked(2, false), 20_000);
        // 8 ms after that, 10,000 more: an excess.
        aggregation.on_ack(at(1024), 20_000, 10_000_000, 100_000, 3);
        assert_eq!(aggregation.extra_acked(3, false), 30_000);
        aggregation.on_ack(at(1025), 200_000, 10_000_000, 100_000, 4);
        assert_eq!(aggregation.extra_acked(4, false), 100_000, "never more than the window");
        assert_eq!(aggregation.extra_acked(13, false), 100_000);
        assert_eq!(aggregation.extra_acked(14, false), 0, "ten rounds later it is forgotten");
        assert_eq!(aggregation.extra_acked(5, true), 0, "in Startup after one");
    }
}
