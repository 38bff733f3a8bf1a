//! A policer: a token bucket that drops what comes faster than its rate.

use crate::ParseLinkError;
use headway_units::{Instant, Rate, Size};
use std::{fmt, str::FromStr};

/// A policer in front of the queue: packets beyond a token bucket (RFC 2697, section 1, and RFC 3290,
/// section 5.1.3, with one rate) are dropped and never wait.
///
/// The bucket starts full. It gains tokens at the rate and holds at most as many bytes as its size; a packet
/// that finds fewer tokens than its bytes and the link's layer-2 overhead is dropped and takes none. So from
/// an idle start exactly the bucket and rate times time pass, less a part of the last packet.
///
/// Written as `RATE:BUCKET`, such as `8mbit:64KiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// How fast tokens come.
    pub rate: Rate,
    /// How many bytes of tokens the bucket holds.
    pub bucket: Size,
}

impl FromStr for Policer {
    type Err = ParseLinkError;

    fn from_str(input: &str) -> Result<Self, ParseLinkError> {
        let read = |(rate, bucket): (&str, &str)| {
            let policer = Self { rate: rate.parse().ok()?, bucket: bucket.parse().ok()? };
            (policer.rate.bits_per_second() > 0 && policer.bucket.bytes() > 0).then_some(policer)
        };
        input.trim().split_once(':').and_then(read).ok_or_else(|| {
            ParseLinkError::new(
                input,
                "RATE:BUCKET with a rate and a size of the token bucket above zero, such as 8mbit:64KiB",
            )
        })
    }
}

impl fmt::Display for Policer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.rate, self.bucket))
    }
}

/// A token is a billionth of a bit, so that a whole number of them comes each nanosecond.
const TOKENS_PER_BYTE: u128 = 8 * 1_000_000_000;

/// The bucket of a [`Policer`].
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    rate: u128,
    size: u128,
    tokens: u128,
    filled: Instant,
}

impl TokenBucket {
    pub(crate) fn new(policer: Policer) -> Self {
        let size = u128::from(policer.bucket.bytes()) * TOKENS_PER_BYTE;
        let rate = policer.rate.bits_per_second().into();
        Self { rate, size, tokens: size, filled: Instant::ZERO }
    }

    /// Whether a packet of `bytes` bytes conforms; then its tokens are taken.
    #[inline(never)]
    pub(crate) fn admits(&mut self, now: Instant, bytes: u64) -> bool {
        let gained = self.rate * u128::from(now.saturating_since(self.filled).as_nanos());
        self.tokens = self.size.min(self.tokens + gained);
        self.filled = now;
        let needed = u128::from(bytes) * TOKENS_PER_BYTE;
        if self.tokens < needed {
            return false;
        }
        self.tokens -= needed;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bucket(text: &str) -> TokenBucket {
        TokenBucket::new(text.parse().unwrap())
    }

    #[test]
    fn reads_what_it_writes() {
        for text in ["8mbit:64KiB", "1gbit:1500B"] {
            assert_eq!(text.parse::<Policer>().unwrap().to_string(), text);
        }
        for text in ["", "8mbit", "8mbit:0B", "0bit:64KiB", "64KiB:8mbit", "8mbit:64KiB:2"] {
            assert!(text.parse::<Policer>().unwrap_err().to_string().contains("8mbit:64KiB"), "{text}");
        }
    }

    /// One packet of 1000 bytes a millisecond is 8 Mbit/s; the bucket gains 1 Mbit/s.
    #[test]
    fn the_bucket_and_then_the_rate_pass() {
        let mut bucket = bucket("1mbit:10000B");
        let passed: Vec<u64> =
            (0..100).filter(|ms| bucket.admits(Instant::from_nanos(ms * 1_000_000), 1_000)).collect();
        // 10,000 bytes and 125 a millisecond: until 11 ms nothing is missing, then every eighth passes.
        let expected: Vec<u64> = (0..=10).chain((16..100).step_by(8)).collect();
        assert_eq!(passed, expected);
    }

    proptest! {
        /// However packets come, what has passed is at most the bucket and rate times time; of a flow that
        /// never pauses, all of that but less than a packet.
        #[test]
        fn exactly_the_bucket_and_rate_times_time_pass(
            rate in 1_000u64..1_000_000_000,
            size in 1_500u64..100_000,
            gaps in prop::collection::vec(0u64..2_000_000, 1..200),
            len in 1u64..1_500,
        ) {
            let mut bucket = TokenBucket::new(Policer {
                rate: Rate::from_bits_per_second(rate),
                bucket: Size::from_bytes(size),
            });
            let (mut now, mut passed) = (0, 0u128);
            for gap in gaps {
                now += gap;
                let mut refused = false;
                // Packets come until one is refused.
                while !refused {
                    refused = !bucket.admits(Instant::from_nanos(now), len);
                    passed += if refused { 0 } else { u128::from(len) };
                }
                // A full bucket gains nothing.
                let most = u128::from(size) * TOKENS_PER_BYTE + u128::from(rate) * u128::from(now);
                prop_assert!(passed * TOKENS_PER_BYTE <= most);
            }
            let at_once = u128::from(size) - u128::from(size) % u128::from(len);
            prop_assert!(passed >= at_once);
        }
    }
}
