//! Loss detection by time (RFC 8985, section 6).

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use crate::send::transmissions::{Delivery, Newest, Transmission, TransmissionLog};

/// RFC 8985, 6.2: "RACK.reo_wnd_persist is reset to 16 recoveries".
const PERSIST: u32 = 16;
/// RFC 5681's DupThresh.
const DUPLICATE_THRESHOLD: u32 = 3;

/// Round-trip times that the reordering window depends on.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) smoothed: Duration,
    pub(crate) min: Duration,
}

/// "RACK.reordering_seen", and where.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reordering {
    Unknown,
    /// By an earlier connection.
    Recalled,
    Seen,
}

/// What has arrived, and how far packets overtake each other on the path.
pub(super) struct Detector {
    /// "RACK.xmit_ts" and "RACK.end_seq": the transmission sent last of those that arrived, by its number.
    newest: Option<(u64, Instant)>,
    /// The newest transmission that a report without a CRC says has arrived.
    unproven: Option<(u64, Instant)>,
    /// "RACK.rtt": its round-trip time.
    rtt: Duration,
    /// "RACK.fack": the highest end of what has arrived.
    highest: Option<SeqNumber>,
    reordering: Reordering,
    multiplier: u32,
    persist: u32,
    /// "RACK.dsack_round": no further growth of the window until this is acknowledged.
    round: Option<SeqNumber>,
}

impl Detector {
    pub(super) fn new() -> Self {
        Self {
            newest: None,
            unproven: None,
            rtt: Duration::ZERO,
            highest: None,
            reordering: Reordering::Unknown,
            multiplier: 1,
            persist: 0,
            round: None,
        }
    }

    /// Whether packets have been seen to overtake each other.
    pub(super) fn has_reordering(&self) -> bool {
        self.reordering != Reordering::Unknown
    }

    /// Whether they were on this connection.
    pub(super) fn saw_reordering(&self) -> bool {
        self.reordering == Reordering::Seen
    }

    /// An earlier connection over the path saw it.
    pub(super) fn recall_reordering(&mut self) {
        if self.reordering == Reordering::Unknown {
            self.reordering = Reordering::Recalled;
        }
    }

    /// The round-trip time of the newest transmission that arrived; zero before any did (RFC 8985, 5.3).
    pub(super) fn rtt(&self) -> Duration {
        self.rtt
    }

    /// The same; `None` before any arrived.
    pub(super) fn latest_rtt(&self) -> Option<Duration> {
        self.newest.map(|_| self.rtt)
    }

    /// Steps 1 to 3: what `delivery` says. `tsecr` is the ACK's, if it distinguishes
    /// transmissions.
    pub(super) fn update(&mut self, delivery: &Delivery, now: Instant, tsecr: Option<u32>, times: Times) {
        if let Some(newest) = delivery.newest
            && !Self::is_spurious(&newest, now, tsecr, times)
            && self.newest.is_none_or(|(order, _)| newest.order > order)
        {
            self.rtt = now.saturating_since(newest.sent_at);
            self.newest = Some((newest.order, newest.sent_at));
        }
        // Step 3, RACK_detect_reordering: an original below what had arrived before.
        if let (Some(lowest), Some(highest)) = (delivery.lowest_original, self.highest)
            && lowest.lt(highest)
        {
            self.reordering = Reordering::Seen;
        }
        if let Some(end) = delivery.highest_original {
            self.highest = Some(self.highest.map_or(end, |highest| highest.max(end)));
        }
    }

    /// A transmission (its number, and when it was sent) arrived, although damaged; `vouched`: a CRC-32C says that
    /// the report means this one. A sum of 16 bits says so wrongly at times. One such report proves nothing:
    /// of any two, that of the earlier transmission does.
    pub(super) fn on_corrupted(&mut self, reported: (u64, Instant), vouched: bool, now: Instant) {
        let proven = if vouched {
            reported
        } else {
            let before = self.unproven.replace(reported);
            let Some(before) = before else { return };
            self.unproven = Some(before.max(reported));
            before.min(reported)
        };
        if self.newest.is_none_or(|(newest, _)| proven.0 > newest) {
            self.rtt = now.saturating_since(proven.1);
            self.newest = Some(proven);
        }
    }

    /// Step 2: "if Segment.retransmitted is TRUE: If ACK.ts_option.echo_reply < Segment.xmit_ts
    /// [...] If RACK.rtt < minimum RTT": what arrived was an earlier one.
    fn is_spurious(newest: &Newest, now: Instant, tsecr: Option<u32>, times: Times) -> bool {
        newest.retransmitted
            && (tsecr.is_some_and(|tsecr| (tsecr.wrapping_sub(newest.tsval) as i32) < 0)
                || now.saturating_since(newest.sent_at) < times.min)
    }

    /// A D-SACK option arrived (step 4): the window was too small.
    pub(super) fn on_duplicate_report(&mut self, una: SeqNumber, nxt: SeqNumber) {
        if self.round.is_none_or(|round| una.ge(round)) {
            self.round = Some(nxt);
            self.multiplier = (self.multiplier + 1).min(64);
            self.persist = PERSIST;
        }
    }

    /// All that was taken for lost in a recovery turned out to have been overtaken: evidence that step 3 does not see,
    /// since it was retransmitted before it arrived.
    pub(super) fn on_overtaken(&mut self) {
        self.reordering = Reordering::Seen;
    }

    /// "upon exiting loss recovery": the growth of the window lasts for some recoveries.
    pub(super) fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// Step 4, RACK_update_reo_wnd. `sacked` counts segments that are selectively acknowledged.
    pub(super) fn window(&self, recovering: bool, sacked: u32, times: Times) -> Duration {
        // "If no reordering has been observed: [...] if in fast recovery or RTO recovery, or if the
        // number of SACKed segments is at least DupThresh: return 0".
        if !self.has_reordering() && (recovering || sacked >= DUPLICATE_THRESHOLD) {
            return Duration::ZERO;
        }
        (times.min / 4 * self.multiplier).min(times.smoothed)
    }

    /// Step 5, RACK_detect_loss: takes from `log` each transmission that was sent so long before one that
    /// arrived that it must be lost, and says when to look again.
    pub(super) fn detect(
        &self,
        log: &TransmissionLog,
        now: Instant,
        window: Duration,
        lost: &mut impl FnMut(Transmission),
    ) -> Option<Instant> {
        let (newest, _) = self.newest?;
        let mut place = 0;
        while let Some((at, sent)) = log.live_from(place) {
            if sent.order >= newest {
                return None;
            }
            let due = sent.sent_at + self.rtt + window;
            if due > now {
                return Some(due);
            }
            lost(sent);
            place = at + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reordering_that_an_earlier_connection_saw_widens_the_window() {
        let times = Times { smoothed: Duration::from_millis(120), min: Duration::from_millis(100) };
        let mut detector = Detector::new();
        assert_eq!(detector.window(false, DUPLICATE_THRESHOLD, times), Duration::ZERO);
        detector.recall_reordering();
        assert_eq!(detector.window(false, DUPLICATE_THRESHOLD, times), Duration::from_millis(25));
        assert!(!detector.saw_reordering(), "this one did not");
        detector.on_overtaken();
        assert!(detector.saw_reordering());
    }

    #[test]
    fn the_latest_transmission_that_arrived_damaged_counts() {
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        let mut detector = Detector::new();
        assert_eq!(detector.latest_rtt(), None);
        detector.on_corrupted((3, ms(0)), true, ms(100));
        detector.on_corrupted((5, ms(20)), true, ms(130));
        assert_eq!(detector.latest_rtt(), Some(Duration::from_millis(110)));
        detector.on_corrupted((4, ms(10)), true, ms(200));
        detector.on_corrupted((5, ms(20)), true, ms(300));
        assert_eq!(detector.rtt(), Duration::from_millis(110), "overtaken, and reported before");
    }

    /// "RACK.reo_wnd_persist is reset to 16 recoveries".
    #[test]
    fn a_window_that_a_duplicate_widened_lasts_for_16_recoveries() {
        let times = Times { smoothed: Duration::from_millis(120), min: Duration::from_millis(100) };
        let mut detector = Detector::new();
        detector.on_duplicate_report(SeqNumber(0), SeqNumber(1000));
        for _ in 0..PERSIST {
            assert_eq!(detector.window(false, 0, times), Duration::from_millis(50));
            detector.on_recovery_end();
        }
        assert_eq!(detector.window(false, 0, times), Duration::from_millis(25));
    }
}
