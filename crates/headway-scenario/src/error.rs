//! What is wrong with the value of a key.

/// A value that makes no sense, by itself or beside the others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct KeyError {
    /// The key.
    pub key: &'static str,
    /// What was expected, and what was given.
    pub problem: String,
}
