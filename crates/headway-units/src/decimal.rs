//! Exact decimal numbers with a unit.

use crate::ParseUnitError;

/// Error texts for the three ways in which a quantity can be invalid.
pub(crate) struct Expected {
    /// The text does not have the form of this quantity.
    pub form: &'static str,
    /// The value is out of range.
    pub range: &'static str,
    /// The value is not a whole number of the smallest unit.
    pub whole: &'static str,
}

/// Splits `10.5mbit` into `10.5` and `mbit`. One of the two may be empty.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

/// The value of `number` (digits, optionally a point and more digits) times `factor`, exactly.
/// `input` is quoted in the error.
pub(crate) fn scale(
    number: &str,
    factor: u64,
    input: &str,
    expected: &Expected,
) -> Result<u64, ParseUnitError> {
    let error = |what| ParseUnitError::new(input, what);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if !is_digits(whole) || !is_digits(fraction) {
        return Err(error(expected.form));
    }
    let fraction = fraction.trim_end_matches('0');
    // 18 digits keep the product below 2^128 and are more than any unit has decimal places.
    if fraction.len() > 18 {
        return Err(error(expected.whole));
    }
    // Digits only: parsing fails only if the number is too large.
    let whole: u64 = whole.parse().map_err(|_| error(expected.range))?;
    let ten_to = 10_u128.pow(fraction.len() as u32);
    let parts = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().unwrap_or(0) };
    let product = parts * u128::from(factor);
    if product % ten_to != 0 {
        return Err(error(expected.whole));
    }
    let value = u128::from(whole) * u128::from(factor) + product / ten_to;
    u64::try_from(value).map_err(|_| error(expected.range))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
