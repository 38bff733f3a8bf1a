//! The round-trip estimate and the retransmission timeout (RFC 6298).

use alloc::sync::Arc;

use headway_units::{Duration, Instant};

use crate::path::delay::Delay;
use crate::profile::{Profile, RtoConfig};

/// Smoothed round-trip time, its variation, and the timeout that follows.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    profile: Arc<Profile>,
    /// From the first sample on.
    measured: Option<Delay>,
    variation: Duration,
    /// Timeout before backoff.
    base: Duration,
    backoff: u32,
    /// In an outage: when it would expire with its backoff, and after how many microseconds it expires instead.
    probing: Option<Instant>,
    interval: u32,
}

/// How the retransmission timer goes on after it has expired.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum TimeoutPace {
    /// RFC 6298 (5.5): after twice the time.
    #[default]
    BackOff,
    /// After the same time.
    Linear,
    /// After a round trip, or a share of this time if that is longer: the path has been interrupted for so long.
    Probe(Duration),
}

/// The shortest round trip that is taken for granted in an outage.
const MIN_PROBING: Duration = Duration::from_millis(10);
/// The share of an outage by which its end is noticed late at most. So what it is probed with grows with the logarithm of its length.
const LATE: u32 = 32;

impl RttEstimator {
    pub(crate) fn new(profile: Arc<Profile>) -> Self {
        Self {
            base: profile.rto.initial,
            profile,
            measured: None,
            variation: Duration::ZERO,
            backoff: 0,
            probing: None,
            interval: 0,
        }
    }

    fn config(&self) -> &RtoConfig {
        &self.profile.rto
    }

    /// RFC 6298's G: the tick of the clock.
    pub(crate) fn granularity(&self) -> Duration {
        self.profile.clock
    }

    /// Takes a sample; `segments` is the congestion window, which Linux 2.2's margin looks at.
    pub(crate) fn sample(&mut self, rtt: Duration, segments: u32) {
        let rtt = rtt.max(self.granularity());
        match &mut self.measured {
            None => {
                self.measured = Some(Delay { latest: rtt, min: rtt, smoothed: rtt });
                // RFC 6298 (2.2): "RTTVAR <- R/2". Linux 2.2 starts with R.
                self.variation = if self.config().linux22_margin { rtt } else { rtt / 2 };
            }
            Some(Delay { latest, min, smoothed }) => {
                (*latest, *min) = (rtt, rtt.min(*min));
                // RFC 6298 (2.3), alpha = 1/8, beta = 1/4.
                let error = if rtt > *smoothed { rtt - *smoothed } else { *smoothed - rtt };
                self.variation = self.variation - self.variation / 4 + error / 4;
                *smoothed = *smoothed - *smoothed / 8 + rtt / 8;
            }
        }
        let mut base = self.with_margin(self.granularity().max(self.config().min_variation));
        if self.config().linux22_margin {
            base = base + base / 4 + base / (1 << segments.saturating_sub(1).min(31));
        }
        self.base = base.max(self.config().min).min(self.config().max);
    }

    /// Before the first sample: an earlier connection measured this. The timeout is no shorter.
    pub(crate) fn recall(&mut self, smoothed: Duration, variation: Duration) {
        if self.measured.is_none() {
            let timeout = smoothed + (variation * 4).max(self.config().min_variation);
            self.base = self.base.max(timeout).min(self.config().max);
        }
    }

    /// After the first sample: if it is close to what an earlier connection measured, the variation
    /// is as it was then, rather than half of the sample.
    pub(crate) fn recall_variation(&mut self, smoothed: Duration, variation: Duration) {
        let Some(first) = self.estimate() else { return };
        let error = if first > smoothed { first - smoothed } else { smoothed - first };
        if error < smoothed / 4 {
            self.variation = self.variation.min(variation.max(error));
            let base = self.with_margin(self.granularity().max(self.config().min_variation));
            self.base = base.max(self.config().min).min(self.config().max);
        }
    }

    /// RFC 6298 (2.3): "SRTT + max (G, K*RTTVAR)"; the initial timeout before the first sample.
    fn with_variation(&self) -> Duration {
        self.with_margin(self.granularity())
    }

    /// The same with another lower bound of the margin than the clock's granularity G.
    fn with_margin(&self, min: Duration) -> Duration {
        match self.estimate() {
            Some(smoothed) => smoothed + (self.variation * 4).max(min),
            None => self.config().initial,
        }
    }

    /// The smoothed round-trip time, or the initial timeout before the first sample.
    pub(crate) fn smoothed(&self) -> Duration {
        self.estimate().unwrap_or(self.config().initial)
    }

    /// The smoothed round-trip time, once there is one.
    pub(crate) fn estimate(&self) -> Option<Duration> {
        self.measured.map(|measured| measured.smoothed)
    }

    pub(crate) fn variation(&self) -> Duration {
        self.variation
    }

    /// The smallest sample.
    pub(crate) fn min(&self) -> Option<Duration> {
        self.measured.map(|measured| measured.min)
    }

    /// What the last sample says of the queue on the path.
    pub(crate) fn delay(&self) -> Option<Delay> {
        self.measured
    }

    /// How long loss detection is suppressed for a hole that is known to be damage, after its
    /// retransmission: the path's round-trip time with its variation.
    ///
    /// While `SND.UNA` stands still there are no samples, and the measured variation misses a queue
    /// that builds up; so a quarter of the round trip is allowed for at least, as RFC 8985 (7.2)
    /// does for reordering.
    pub(crate) fn suppression_time(&self) -> Duration {
        self.with_variation().max(self.smoothed() + self.smoothed() / 4)
    }

    /// The timeout, with its backoff.
    #[inline]
    pub(crate) fn timeout(&self) -> Duration {
        let backed_off = self.backed_off();
        match self.probing {
            Some(_) => Duration::from_micros(self.interval.into()).min(backed_off),
            None => backed_off,
        }
    }

    fn backed_off(&self) -> Duration {
        (self.base * (1u32 << self.backoff.min(16))).min(self.config().max)
    }

    /// The handshake is over, and a SYN or SYN-ACK of ours was lost in it.
    ///
    /// RFC 6298 (5.7): "If the timer expires awaiting the ACK of a SYN segment and the TCP
    /// implementation is using an RTO less than 3 seconds, the RTO MUST be re-initialized to 3
    /// seconds when data transmission begins". A sample, where there is one, knows better.
    pub(crate) fn on_syn_loss(&mut self) {
        const AFTER_SYN_LOSS: Duration = Duration::from_secs(3);
        if self.measured.is_none() {
            self.base = self.base.max(AFTER_SYN_LOSS).min(self.config().max);
        }
    }

    /// RFC 6298 (5.5): "The host MUST set RTO <- RTO * 2 (back off the timer)".
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// The timer expired: whether that counts towards giving up. In an outage it expires more often, and counts when it
    /// would expire with its backoff.
    pub(crate) fn counts_timeout(&self, now: Instant) -> bool {
        self.probing.is_none_or(|due| now >= due)
    }

    /// The timer expired over data.
    pub(crate) fn on_timeout(&mut self, now: Instant, pace: TimeoutPace) {
        if self.counts_timeout(now) && pace != TimeoutPace::Linear {
            self.back_off();
        }
        self.probing = if let TimeoutPace::Probe(outage) = pace {
            let interval = (self.smoothed().max(MIN_PROBING) * 5 / 4).max(outage / LATE);
            self.interval = u32::try_from(interval.as_micros()).unwrap_or(u32::MAX);
            let due = self.probing.filter(|due| *due > now);
            Some(due.unwrap_or_else(|| now + self.backed_off()))
        } else {
            None
        };
    }

    pub(crate) fn clear_backoff(&mut self) {
        self.backoff = 0;
        self.probing = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn follows_rfc_6298() {
        let mut profile = Profile::standard();
        profile.rto.min_variation = Duration::ZERO;
        let mut rtt = RttEstimator::new(Arc::new(profile.clone()));
        assert_eq!(rtt.timeout(), Duration::from_secs(1));
        rtt.sample(Duration::from_millis(400), 10);
        assert_eq!(rtt.timeout(), Duration::from_millis(1200));
        rtt.sample(Duration::from_millis(480), 10);
        assert_eq!(rtt.smoothed(), Duration::from_millis(410));
        assert_eq!(rtt.timeout(), Duration::from_millis(410 + 4 * 170));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.timeout(), Duration::from_millis(4 * 1090));
        for _ in 0..20 {
            rtt.back_off();
        }
        assert_eq!(rtt.timeout(), profile.rto.max);
        rtt.clear_backoff();
        for _ in 0..100 {
            rtt.sample(Duration::from_millis(10), 10);
        }
        assert_eq!(rtt.timeout(), profile.rto.min);
    }

    #[test]
    fn a_steady_path_leaves_room_for_a_delayed_ack() {
        let profile = Profile::standard();
        let mut rtt = RttEstimator::new(Arc::new(profile));
        for _ in 0..100 {
            rtt.sample(Duration::from_millis(600), 10);
        }
        assert_eq!(rtt.timeout(), Duration::from_millis(800));
    }

    #[test]
    fn linux22_adds_its_margin() {
        let profile = Profile::linux22();
        let mut rtt = RttEstimator::new(Arc::new(profile));
        rtt.sample(Duration::from_millis(400), 2);
        // 400 + 4 * 400 = 2000; a quarter and a half of it more.
        assert_eq!(rtt.timeout(), Duration::from_millis(3500));
    }
}
