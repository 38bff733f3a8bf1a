//! Durations as text.

use crate::{
    Duration, ParseUnitError,
    decimal::{self, Expected},
};
use alloc::format;
use core::{fmt, str::FromStr};

const HOUR: u64 = 60 * MINUTE;
const MINUTE: u64 = 60 * SECOND;
const SECOND: u64 = 1_000_000_000;

const UNITS: [(&str, u64); 7] =
    [("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", SECOND), ("min", MINUTE), ("h", HOUR)];

const EXPECTED: Expected = Expected {
    form: "a time with a unit (ns, us, ms, s, min or h) such as 300ms or 1.5s",
    range: "a time below 2^64 nanoseconds (584 years) such as 300ms or 1.5s",
    whole: "a time of whole nanoseconds such as 300ms or 1.5s",
};

/// A decimal number and `ns`, `us`, `ms`, `s`, `min` or `h`: `300ms`, `1.5s`, `24h`. Only zero
/// needs no unit.
impl FromStr for Duration {
    type Err = ParseUnitError;

    fn from_str(input: &str) -> Result<Self, ParseUnitError> {
        let text = input.trim();
        if text == "0" {
            return Ok(Self::ZERO);
        }
        let (number, unit) = decimal::split(text);
        let (_, factor) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| ParseUnitError::new(input, EXPECTED.form))?;
        decimal::scale(number, *factor, input, &EXPECTED).map(Self::from_nanos)
    }
}

/// Whole hours and minutes in `h` and `min`; everything else in the largest of `s`, `ms`, `us` and `ns`
/// not above the value, with as many decimal places as needed.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.as_nanos();
        if nanos == 0 {
            return f.pad("0s");
        }
        for (name, factor) in [("h", HOUR), ("min", MINUTE)] {
            if nanos.is_multiple_of(factor) {
                return f.pad(&format!("{}{name}", nanos / factor));
            }
        }
        let (name, factor, places) = match nanos {
            SECOND.. => ("s", SECOND, 9),
            1_000_000.. => ("ms", 1_000_000, 6),
            1_000.. => ("us", 1_000, 3),
            _ => ("ns", 1, 0),
        };
        let (whole, rest) = (nanos / factor, nanos % factor);
        if rest == 0 {
            return f.pad(&format!("{whole}{name}"));
        }
        let fraction = format!("{rest:0places$}");
        f.pad(&format!("{whole}.{}{name}", fraction.trim_end_matches('0')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn reads_every_unit() {
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("7ns", 7),
            ("10us", 10_000),
            ("10µs", 10_000),
            ("300ms", 300_000_000),
            ("1.5s", 1_500_000_000),
            ("2min", 120_000_000_000),
            ("1.5 min", 90_000_000_000),
            ("24h", 86_400_000_000_000),
            ("18446744073.709551615s", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "s",
            "300",
            "0.0",
            "5m",
            "5 minutes",
            "-1s",
            "+1s",
            "NaNs",
            "infs",
            "1e3s",
            "1.5ns",
            ".5s",
            "5.s",
            "18446744073.709551616s",
            "5124096h",
            "99999999999999999999s",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
        let error = "300".parse::<Duration>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"300\": expected a time with a unit (ns, us, ms, s, min or h) such as 300ms or 1.5s"
        );
    }

    #[test]
    fn writes_the_largest_unit_not_above_the_value() {
        for (nanos, text) in [
            (0, "0s"),
            (7, "7ns"),
            (1_050, "1.05us"),
            (300_000_000, "300ms"),
            (1_500_000_000, "1.5s"),
            (90_000_000_000, "90s"),
            (120_000_000_000, "2min"),
            (86_400_000_000_000, "24h"),
            (u64::MAX, "18446744073.709551615s"),
        ] {
            assert_eq!(Duration::from_nanos(nanos).to_string(), text);
        }
    }

    #[test]
    fn pads_like_text() {
        assert_eq!(format!("{:>8}|", Duration::from_millis(3)), "     3ms|");
    }
}
