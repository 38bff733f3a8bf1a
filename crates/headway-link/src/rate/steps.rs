//! A rate that changes at given times.

use crate::{ParseLinkError, schedule::Schedule};
use headway_units::{Instant, Rate};
use std::{fmt, str::FromStr};

const EXPECTED: &str = "RATE@TIME,... with ascending times from 0s on and, to begin again, repeat@TIME at the end; a rate may be \
                        0bit but not for ever, such as 10mbit@0s,1mbit@10s,repeat@20s";

/// A rate that changes at given times, counted from time zero of the link. Cheap to clone.
///
/// What a packet has not transmitted when the rate changes goes on at the new rate. A rate of zero is an
/// outage: the packet in the transmitter waits.
///
/// Written as `10mbit@0s,1mbit@10s`, which keeps its last rate, or `10mbit@0s,1mbit@10s,repeat@20s`, which begins
/// again every 20 s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSteps(Schedule<Rate>);

impl RateSteps {
    /// One rate for what needs one, such as bandwidth-delay products: the mean of steps that repeat, the
    /// highest of others.
    pub fn nominal(&self) -> Rate {
        let bits = match self.0.period() {
            None => self.0.values().map(Rate::bits_per_second).max().unwrap_or_default(),
            Some(period) => {
                let period = Instant::ZERO + period;
                let mut start = Instant::ZERO;
                let bits = self.0.between(start, period).map(|(rate, end)| {
                    let lasts = end.saturating_since(start);
                    start = end;
                    u128::from(rate.bits_per_second()) * u128::from(lasts.as_nanos())
                });
                (bits.sum::<u128>() / u128::from(period.as_nanos())) as u64
            }
        };
        Rate::from_bits_per_second(bits.max(1))
    }

    /// The end of a transmission of `bytes` bytes that begins at `start`.
    #[inline(never)]
    pub(crate) fn transmit(&self, bytes: u64, start: Instant) -> Instant {
        const NANOBITS_PER_BYTE: u128 = 8 * 1_000_000_000;
        let mut needed = u128::from(bytes) * NANOBITS_PER_BYTE;
        let mut now = start;
        loop {
            let (rate, until) = self.0.at(now);
            let rate = u128::from(rate.bits_per_second());
            let room =
                until.map_or(u128::MAX, |until| rate * u128::from(until.saturating_since(now).as_nanos()));
            if needed <= room && (rate > 0 || needed == 0) {
                let lasts = if needed == 0 { 0 } else { needed.div_ceil(rate) };
                let end = u128::from(now.as_nanos()) + lasts;
                return Instant::from_nanos(u64::try_from(end).unwrap_or(u64::MAX));
            }
            let Some(until) = until.filter(|until| *until < Instant::MAX) else { return Instant::MAX };
            needed -= room;
            now = until;
        }
    }
}

impl FromStr for RateSteps {
    type Err = ParseLinkError;

    fn from_str(input: &str) -> Result<Self, ParseLinkError> {
        let schedule = Schedule::parse(input).filter(flows);
        schedule.map(Self).ok_or_else(|| ParseLinkError::new(input, EXPECTED))
    }
}

/// Whether a packet is transmitted in the end, whenever it comes.
fn flows(schedule: &Schedule<Rate>) -> bool {
    let mut rates = schedule.values().map(Rate::bits_per_second);
    match schedule.period() {
        None => rates.last().is_some_and(|rate| rate > 0),
        Some(_) => rates.any(|rate| rate > 0),
    }
}

impl fmt::Display for RateSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Duration;
    use proptest::prelude::*;

    fn steps(text: &str) -> RateSteps {
        text.parse().unwrap()
    }

    fn ms(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn reads_what_it_writes() {
        for text in ["10mbit@0s", "10mbit@0s,1mbit@10s", "10mbit@0s,0bit@10s,repeat@20s", "0bit@0s,5kbit@1ms"]
        {
            assert_eq!(steps(text).to_string(), text);
        }
        for text in [
            "",
            "10mbit",
            "10mbit@1s",
            "10mbit@0s,",
            "10mbit@0s,1mbit@0s",
            "10mbit@0s,0bit@5s",
            "0bit@0s",
            "0bit@0s,repeat@5s",
            "10mbit@0s,repeat@0s",
            "10mbit@0s,repeat@5s,1mbit@7s",
            "repeat@0s",
            "10mbit@0s,fast@1s",
        ] {
            assert!(text.parse::<RateSteps>().unwrap_err().to_string().contains("repeat@20s"), "{text}");
        }
    }

    #[test]
    fn a_packet_goes_on_at_the_next_rate() {
        // 1000 bytes take 1 ms at 8 Mbit/s and 8 ms at 1 Mbit/s.
        let steps = steps("8mbit@0s,1mbit@10ms,0bit@20ms,8mbit@30ms,repeat@40ms");
        assert_eq!(steps.transmit(1000, ms(0)), ms(1));
        assert_eq!(steps.transmit(1000, ms(9)), ms(10));
        assert_eq!(steps.transmit(2000, ms(9)), ms(18));
        // Half of it by 20 ms, then nothing for 10 ms, then half a millisecond.
        assert_eq!(steps.transmit(1000, ms(16)), Instant::from_nanos(30_500_000));
        assert_eq!(steps.transmit(11_000, ms(30)), ms(41));
        assert_eq!(steps.transmit(1000, ms(20 + 40 * 1000)), ms(31 + 40 * 1000));
        assert_eq!(steps.transmit(0, ms(25)), ms(25));
    }

    #[test]
    fn one_rate_for_all() {
        assert_eq!(
            steps("8mbit@0s,1mbit@10ms,0bit@20ms,8mbit@30ms,repeat@40ms").nominal().to_string(),
            "4250kbit"
        );
        assert_eq!(steps("1mbit@0s,8mbit@10ms,2mbit@20ms").nominal().to_string(), "8mbit");
    }

    proptest! {
        /// A single step is a constant rate; one step divided into many is the same, apart from rounding.
        #[test]
        fn steps_of_one_rate_are_that_rate(
            rate in 1u64..10_000_000_000, bytes in 0u64..100_000, start in 0u64..10_000_000_000,
        ) {
            let one = steps(&format!("{rate}bit@0s"));
            let start = Instant::from_nanos(start);
            let expected = start + Rate::from_bits_per_second(rate).transmit_time(bytes);
            prop_assert_eq!(one.transmit(bytes, start), expected);
            let many = steps(&format!("{rate}bit@0s,{rate}bit@7ms,{rate}bit@11ms,repeat@13ms"));
            prop_assert_eq!(many.transmit(bytes, start), expected);
        }
    }
}
