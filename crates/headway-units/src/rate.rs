//! Bits per second.

use crate::{
    Duration, ParseUnitError,
    decimal::{self, Expected},
};
use alloc::format;
use core::{fmt, str::FromStr};

/// A rate in bits per second.
///
/// Written as a decimal number and `bit`, `kbit`, `mbit` or `gbit` (powers of 1000, upper or lower case,
/// an optional `/s`): `9600bit`, `10mbit`, `2.5Gbit/s`. Byte units and `bps` are refused as ambiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// Largest first: [`fmt::Display`] takes the first that divides the value.
const UNITS: [(&str, u64); 4] = [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)];

const EXPECTED: Expected = Expected {
    form: "a rate such as 10mbit or 1gbit",
    range: "a rate below 2^64 bit/s such as 10mbit or 1gbit",
    whole: "a rate of whole bits per second such as 10mbit or 9600bit",
};

impl Rate {
    /// A rate of `bits` per second.
    #[inline]
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// Bits per second.
    #[inline]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// The transmission time of `bytes` bytes, rounded up to the nanosecond so that a link never exceeds
    /// its rate. [`Duration::MAX`] at a rate of zero or on overflow.
    #[inline]
    pub const fn transmit_time(self, bytes: u64) -> Duration {
        const NANOBITS_PER_BYTE: u64 = 8 * 1_000_000_000;
        if self.0 == 0 {
            return if bytes == 0 { Duration::ZERO } else { Duration::MAX };
        }
        // Up to 2.3 GB fit 64 bits, where division is several times faster.
        if let Some(nanobits) = bytes.checked_mul(NANOBITS_PER_BYTE) {
            return Duration::from_nanos(nanobits.div_ceil(self.0));
        }
        let nanos = (bytes as u128 * NANOBITS_PER_BYTE as u128).div_ceil(self.0 as u128);
        if nanos > u64::MAX as u128 { Duration::MAX } else { Duration::from_nanos(nanos as u64) }
    }
}

impl FromStr for Rate {
    type Err = ParseUnitError;

    fn from_str(input: &str) -> Result<Self, ParseUnitError> {
        let (number, unit) = decimal::split(input.trim());
        let unit = unit.strip_suffix("/s").unwrap_or(unit);
        let (_, factor) = UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .ok_or_else(|| ParseUnitError::new(input, EXPECTED.form))?;
        decimal::scale(number, *factor, input, &EXPECTED).map(Self)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, factor) = match self.0 {
            0 => ("bit", 1),
            bits => UNITS.into_iter().find(|(_, factor)| bits % factor == 0).unwrap_or(("bit", 1)),
        };
        f.pad(&format!("{}{name}", self.0 / factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn reads_bit_units() {
        for (text, bits) in [
            ("9600bit", 9_600),
            ("500kbit", 500_000),
            ("10mbit", 10_000_000),
            ("10Mbit/s", 10_000_000),
            ("1 GBIT", 1_000_000_000),
            (" 2.5gbit ", 2_500_000_000),
            ("0.000001mbit", 1),
            ("18446744073709551615bit", u64::MAX),
            ("0bit", 0),
        ] {
            assert_eq!(text.parse(), Ok(Rate(bits)), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "10",
            "mbit",
            "-1mbit",
            "+1mbit",
            "NaNmbit",
            "1e3mbit",
            "10mb",
            "10mbps",
            "10MB/s",
            "1.mbit",
            ".5mbit",
            "1.2.3mbit",
            "0.1bit",
            "18446744073709551616bit",
            "18446744074gbit",
            "1mbit x",
        ] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        let error = "10mb".parse::<Rate>().unwrap_err();
        assert_eq!(error.to_string(), "\"10mb\": expected a rate such as 10mbit or 1gbit");
    }

    #[test]
    fn writes_the_largest_exact_unit() {
        for (bits, text) in [(0, "0bit"), (9_600, "9600bit"), (1_500_000, "1500kbit"), (10_000_000, "10mbit")]
        {
            assert_eq!(Rate(bits).to_string(), text);
        }
    }

    #[test]
    fn transmit_time_rounds_up_and_saturates() {
        let mbit10 = Rate(10_000_000);
        assert_eq!(mbit10.transmit_time(1500), Duration::from_micros(1200));
        assert_eq!(Rate(3).transmit_time(1), Duration::from_nanos(2_666_666_667));
        assert_eq!(mbit10.transmit_time(0), Duration::ZERO);
        assert_eq!(Rate(0).transmit_time(1), Duration::MAX);
        assert_eq!(Rate(1).transmit_time(u64::MAX), Duration::MAX);
        // Beyond 64 bits of intermediate product: 10 GB at 8 Gbit/s.
        assert_eq!(Rate(8_000_000_000).transmit_time(10_000_000_000), Duration::from_secs(10));
    }
}
