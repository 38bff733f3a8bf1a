//! The error for a name that is not known.

use std::borrow::Cow;
use std::fmt;

/// A name that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    input: String,
    expected: Cow<'static, str>,
    nearest: Option<&'static str>,
}

impl UnknownName {
    /// `input` was given, and `expected` would have done.
    pub(super) fn new(input: &str, expected: impl Into<Cow<'static, str>>) -> Self {
        Self { input: input.into(), expected: expected.into(), nearest: None }
    }

    /// Names, of which the nearest is suggested.
    pub(super) fn among(self, names: impl IntoIterator<Item = &'static str>) -> Self {
        Self { nearest: nearest(&self.input, names), ..self }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.input)?;
        if let Some(name) = self.nearest {
            write!(f, " (did you mean {name}?)")?;
        }
        write!(f, ": expected {}", self.expected)
    }
}

impl std::error::Error for UnknownName {}

/// The one of `names` that `input` was probably meant to be: it differs by at most two letters, and by at most a third of them.
pub fn nearest<'a>(input: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(input, name), name))
        .filter(|(distance, name)| *distance <= 2.min(name.len() / 3))
        .min()
        .map(|(_, name)| name)
}
