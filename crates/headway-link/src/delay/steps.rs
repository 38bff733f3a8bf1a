//! A delay that changes at given times.

use crate::{ParseLinkError, schedule::Schedule};
use headway_units::{Duration, Instant};
use std::{fmt, str::FromStr};

const EXPECTED: &str = "DELAY@TIME,... with ascending times from 0s on and, to begin again, repeat@TIME at the end, such as \
                        20ms@0s,150ms@10s,repeat@20s";

/// A one-way delay that changes at given times, counted from time zero of the link, as by a handover or a change of the
/// route. Cheap to clone.
///
/// A packet has the delay of the time at which its transmission ends. Where the delay falls, no packet overtakes
/// another: one that would arrives together with the one before it.
///
/// Written as `20ms@0s,150ms@10s`, which keeps its last delay, or `20ms@0s,150ms@10s,repeat@20s`, which begins
/// again every 20 s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySteps(Schedule<Duration>);

impl DelaySteps {
    /// The first delay: the one for what needs one, such as bandwidth-delay products.
    pub fn first(&self) -> Duration {
        self.0.at(Instant::ZERO).0
    }

    /// The delay of a packet whose transmission ends at `end`.
    pub(crate) fn at(&self, end: Instant) -> Duration {
        self.0.at(end).0
    }

    /// The latest arrival of packets whose transmission ends between two times.
    pub(crate) fn latest_arrival(&self, first: Instant, last: Instant) -> Instant {
        self.0.between(first, last).map(|(delay, end)| end + delay).fold(last, Instant::max)
    }

    /// The shortest of all.
    pub(crate) fn least(&self) -> Duration {
        self.0.values().min().unwrap_or_default()
    }
}

impl FromStr for DelaySteps {
    type Err = ParseLinkError;

    fn from_str(input: &str) -> Result<Self, ParseLinkError> {
        Schedule::parse(input).map(Self).ok_or_else(|| ParseLinkError::new(input, EXPECTED))
    }
}

impl fmt::Display for DelaySteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["20ms@0s", "20ms@0s,150ms@10s", "0s@0s,1.5ms@10s,repeat@20s"] {
            assert_eq!(text.parse::<DelaySteps>().unwrap().to_string(), text);
        }
        for text in ["", "20ms", "20ms@1s", "20ms@0s,150ms@0s", "20@0s", "10mbit@0s", "20ms@0s,repeat@0s"] {
            let error = text.parse::<DelaySteps>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?}: expected DELAY@TIME")), "{error}");
            assert!(error.contains("20ms@0s,150ms@10s"), "{error}");
        }
    }

    #[test]
    fn a_packet_has_the_delay_of_the_time() {
        let steps: DelaySteps = "20ms@0s,150ms@10s,5ms@15s,repeat@20s".parse().unwrap();
        let ms = |millis| Instant::ZERO + Duration::from_millis(millis);
        for (millis, delay) in [(0, 20), (9_999, 20), (10_000, 150), (15_000, 5), (20_000, 20), (50_000, 150)]
        {
            assert_eq!(steps.at(ms(millis)), Duration::from_millis(delay), "{millis} ms");
        }
        assert_eq!(steps.latest_arrival(ms(11_000), ms(12_000)), ms(12_150));
        assert_eq!(
            steps.latest_arrival(ms(11_000), ms(15_001)),
            ms(15_150),
            "that of one before the delay falls"
        );
        assert_eq!((steps.first().as_millis(), steps.least().as_millis()), (20, 5));
    }
}
