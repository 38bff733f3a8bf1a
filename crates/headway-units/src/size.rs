//! Numbers of bytes.

use crate::{
    ParseUnitError,
    decimal::{self, Expected},
};
use alloc::format;
use core::{fmt, str::FromStr};

/// A number of bytes.
///
/// Written as a decimal number, bare or with `B`, a power of 1024 (`KiB`, `MiB`, `GiB`) or a power
/// of 1000 (`KB`, `MB`, `GB`), upper or lower case: `1460`, `64KiB`, `1.5MB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u64);

/// In the order of preference of [`fmt::Display`], which takes the first that divides the value.
const UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

const EXPECTED: Expected = Expected {
    form: "a size such as 64KiB, 2MiB, 100KB or 1460",
    range: "a size below 2^64 bytes such as 64KiB or 2MiB",
    whole: "a size of whole bytes such as 64KiB or 1460B",
};

impl Size {
    /// A size of `bytes` bytes.
    #[inline]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    #[inline]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for Size {
    type Err = ParseUnitError;

    fn from_str(input: &str) -> Result<Self, ParseUnitError> {
        let (number, unit) = decimal::split(input.trim());
        let unit = if unit.is_empty() { "B" } else { unit };
        let (_, factor) = UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .ok_or_else(|| ParseUnitError::new(input, EXPECTED.form))?;
        decimal::scale(number, *factor, input, &EXPECTED).map(Self)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, factor) = match self.0 {
            0 => ("B", 1),
            bytes => UNITS.into_iter().find(|(_, factor)| bytes % factor == 0).unwrap_or(("B", 1)),
        };
        f.pad(&format!("{}{name}", self.0 / factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn reads_binary_and_decimal_units() {
        for (text, bytes) in [
            ("1460", 1_460),
            ("1460B", 1_460),
            ("0", 0),
            ("64KiB", 65_536),
            ("64kib", 65_536),
            ("2MiB", 2_097_152),
            ("1 GiB", 1 << 30),
            ("0.5KiB", 512),
            ("100KB", 100_000),
            ("1.5MB", 1_500_000),
            ("3GB", 3_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "KiB",
            "64k",
            "64K",
            "64Kbit",
            "-1",
            "-1KiB",
            "NaN",
            "1.5",
            "0.3KiB",
            "18446744073709551616",
            "17179869184GiB",
            "1 2",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        let error = "64k".parse::<Size>().unwrap_err();
        assert_eq!(error.to_string(), "\"64k\": expected a size such as 64KiB, 2MiB, 100KB or 1460");
    }

    #[test]
    fn writes_the_first_exact_unit() {
        for (bytes, text) in
            [(0, "0B"), (1_460, "1460B"), (65_536, "64KiB"), (100_000, "100KB"), (1 << 31, "2GiB")]
        {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
