//! What is wrong with a text that should have described a part of a link.

/// A text that does not describe the part of a link that it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{input:?}: expected {expected}")]
#[non_exhaustive]
pub struct ParseLinkError {
    /// The text as it was given.
    pub input: String,
    /// What should have stood there, with examples.
    pub expected: &'static str,
}

impl ParseLinkError {
    pub(crate) fn new(input: &str, expected: &'static str) -> Self {
        Self { input: input.to_owned(), expected }
    }
}
