//! Parts of a whole.

use crate::ParseUnitError;
use alloc::{format, string::String};
use core::{fmt, str::FromStr};

/// A part of a whole, from 0 to 1: a probability, a loss rate.
///
/// Written in percent or as a plain number: `5%`, `0.05`, `1e-6`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(f64);

const FORM: &str = "a share from 0 to 1 such as 5% or 0.05";

/// Below this, a percentage would be mostly zeros: a plain number with an exponent is written instead.
const SMALLEST_PERCENTAGE: f64 = 1e-6;

impl Share {
    /// Zero.
    pub const ZERO: Self = Self(0.0);
    /// One.
    pub const ONE: Self = Self(1.0);

    /// `value` as a share, or `None` if it is not a number from 0 to 1.
    #[inline]
    pub const fn new(value: f64) -> Option<Self> {
        // Comparisons with NaN are false. Adding zero turns -0.0 into 0.0.
        if 0.0 <= value && value <= 1.0 { Some(Self(value + 0.0)) } else { None }
    }

    /// The share as a number from 0 to 1.
    #[inline]
    pub const fn value(self) -> f64 {
        self.0
    }

    /// Whether this is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0.0
    }
}

impl FromStr for Share {
    type Err = ParseUnitError;

    fn from_str(input: &str) -> Result<Self, ParseUnitError> {
        let text = input.trim();
        let value = match text.strip_suffix('%') {
            // Shifting the decimal point in the text instead of dividing rounds once only: 7% is
            // the same number as 0.07.
            Some(percent) => number(percent.trim_end(), false, "e-2"),
            None => number(text, true, ""),
        };
        value.and_then(Self::new).ok_or_else(|| ParseUnitError::new(input, FORM))
    }
}

/// `text` followed by `exponent`. It must start with a digit, which excludes signs, `inf` and `nan`.
fn number(text: &str, may_have_exponent: bool, exponent: &str) -> Option<f64> {
    let (mantissa, has_exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, _)) => (mantissa, true),
        None => (text, false),
    };
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    if !digits(whole) || !digits(fraction) || (has_exponent && !may_have_exponent) {
        return None;
    }
    format!("{text}{exponent}").parse().ok()
}

/// `value` (at least [`SMALLEST_PERCENTAGE`]) times 100, with the decimal point moved in the text.
fn percentage(value: f64) -> String {
    // The shortest digits that read back as this value: d.ddde-n.
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    // The number of digits before the point, after multiplication by 100.
    let point = exponent.parse::<i32>().unwrap_or(0) + 3;
    if point <= 0 {
        return format!("0.{}{digits}%", "0".repeat(point.unsigned_abs() as usize));
    }
    let point = point as usize;
    if digits.len() <= point {
        return format!("{digits}{}%", "0".repeat(point - digits.len()));
    }
    format!("{}.{}%", &digits[..point], &digits[point..])
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0.0 {
            f.pad("0%")
        } else if self.0 < SMALLEST_PERCENTAGE {
            f.pad(&format!("{:e}", self.0))
        } else {
            f.pad(&percentage(self.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn reads_percent_and_plain_numbers() {
        for (text, value) in [
            ("5%", 0.05),
            ("7%", 0.07),
            ("0.05", 0.05),
            ("12.5 %", 0.125),
            ("100%", 1.0),
            ("1", 1.0),
            ("0", 0.0),
            ("0%", 0.0),
            ("1e-6", 1e-6),
            ("1.5E-3", 0.0015),
        ] {
            assert_eq!(text.parse::<Share>().map(Share::value), Ok(value), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "%",
            "101%",
            "1.01",
            "100.0001%",
            "-5%",
            "-0",
            "+5%",
            "NaN",
            "nan%",
            "inf",
            "5",
            ".5",
            "5.",
            "1e-5%",
            "1e",
            "e-5",
            "5%%",
            "0x1",
            "1e400",
        ] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
        let error = "101%".parse::<Share>().unwrap_err();
        assert_eq!(error.to_string(), "\"101%\": expected a share from 0 to 1 such as 5% or 0.05");
    }

    #[test]
    fn new_takes_shares_only() {
        for value in [f64::NAN, f64::INFINITY, -f64::MIN_POSITIVE, 1.0 + f64::EPSILON] {
            assert_eq!(Share::new(value), None);
        }
        assert!(Share::new(-0.0).is_some_and(|share| share.value().is_sign_positive()));
    }

    #[test]
    fn writes_percent() {
        for (value, text) in [
            (0.0, "0%"),
            (1.0, "100%"),
            (0.05, "5%"),
            (0.07, "7%"),
            (0.125, "12.5%"),
            (0.95, "95%"),
            (0.001, "0.1%"),
            (0.0001, "0.01%"),
            (0.1, "10%"),
            (1e-6, "0.0001%"),
            (1e-9, "1e-9"),
        ] {
            assert_eq!(Share(value).to_string(), text);
        }
    }
}
