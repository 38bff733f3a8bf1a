//! The error of parsing a quantity.

use alloc::{borrow::ToOwned, string::String};
use core::{error::Error, fmt};

/// A text that is not a valid quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseUnitError {
    /// The text as it was given.
    pub input: String,
    /// What was expected, with examples.
    pub expected: &'static str,
}

impl ParseUnitError {
    pub(crate) fn new(input: &str, expected: &'static str) -> Self {
        Self { input: input.to_owned(), expected }
    }
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: expected {}", self.input, self.expected)
    }
}

impl Error for ParseUnitError {}
