//! Reading values, with errors that say what was expected.

use std::str::FromStr;

use headway_units::{Rate, Size};

/// RFC 7323, 2.3: the largest window there is.
const MAX_WINDOW: u64 = 1 << 30;

pub(super) fn parse<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| {
        let problem = match error.to_string().as_str() {
            // What the standard library says of whole numbers.
            "invalid digit found in string" | "cannot parse integer from empty string" => {
                "expected a whole number".to_owned()
            }
            "number too large to fit in target type" => "expected a smaller whole number".to_owned(),
            problem => problem.to_owned(),
        };
        // Errors of numbers do not name their input.
        if problem.contains(text) { problem } else { format!("{text:?}: {problem}") }
    })
}

pub(super) fn put<T: FromStr<Err: std::fmt::Display>>(place: &mut T, text: &str) -> Result<(), String> {
    *place = parse(text)?;
    Ok(())
}

/// `None` where `text` is `word`.
pub(super) fn unless<T: FromStr<Err: std::fmt::Display>>(
    word: &str,
    text: &str,
) -> Result<Option<T>, String> {
    if text == word { Ok(None) } else { parse(text).map(Some) }
}

pub(super) fn check(allowed: bool, text: &str, expected: &str) -> Result<(), String> {
    if allowed { Ok(()) } else { Err(format!("{text:?}: {expected}")) }
}

pub(super) fn rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = parse(text)?;
    check(rate.bits_per_second() > 0, text, "expected a rate above zero, such as 10mbit")?;
    Ok(rate)
}

pub(super) fn window(text: &str) -> Result<Size, String> {
    let window: Size = parse(text)?;
    let allowed = (1..=MAX_WINDOW).contains(&window.bytes());
    check(allowed, text, "expected between 1B and 1GiB (RFC 7323)")?;
    Ok(window)
}

pub(super) fn flag(value: &str) -> Result<bool, String> {
    match value {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(format!("{value:?}: expected on or off")),
    }
}
