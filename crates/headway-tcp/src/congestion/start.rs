//! Where a connection starts: the rate that the operator says the path carries, or that an earlier session measured.

use headway_units::{Duration, Instant, Rate};

use super::careful_resume::is_same_path;

/// An initial estimate of a path. It comes from this host's configuration or from its own measurement, never from a
/// peer. Only what the path itself has confirmed is sent by it, in the phases of Careful Resume (RFC 9959).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StartEstimate {
    /// What the path carries. Whether that counts headers is less than what the confirmation tolerates.
    pub rate: Rate,
    /// The minimum RTT that was measured with it, RFC 9959's `saved_rtt`; `None`: not known.
    pub min_rtt: Option<Duration>,
    /// When it is not used any more (RFC 9959's Lifetime); `None`: it holds as long as the configuration.
    pub expires: Option<Instant>,
}

impl StartEstimate {
    /// A rate that the operator says the path carries.
    pub fn told(rate: Rate) -> Self {
        Self { rate, min_rtt: None, expires: None }
    }

    /// What an earlier session measured, which is used until `expires`.
    pub fn measured(rate: Rate, min_rtt: Duration, expires: Instant) -> Self {
        Self { rate, min_rtt: Some(min_rtt), expires: Some(expires) }
    }

    /// The rate, if the path, whose handshake took `rtt`, may be the same.
    pub(super) fn rate_of(&self, now: Instant, rtt: Duration) -> Option<Rate> {
        let is_valid = self.expires.is_none_or(|expires| now < expires);
        let is_same = self.min_rtt.is_none_or(|saved| is_same_path(saved, rtt));
        (is_valid && is_same).then_some(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn it_holds_for_a_time_and_for_a_path() {
        let rate = Rate::from_bits_per_second(10_000_000);
        let end = Instant::ZERO + ms(1000);
        let measured = StartEstimate::measured(rate, ms(600), end);
        let used = |now, rtt| measured.rate_of(Instant::ZERO + ms(now), ms(rtt)).is_some();
        assert_eq!([used(999, 600), used(1000, 600)], [true, false]);
        assert_eq!([used(0, 300), used(0, 301), used(0, 6000), used(0, 6001)], [false, true, true, false]);
        assert_eq!(StartEstimate::told(rate).rate_of(end + ms(1 << 40), ms(1)), Some(rate));
    }
}
