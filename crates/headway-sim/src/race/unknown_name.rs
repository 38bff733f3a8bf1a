//! The error for a name that is not known.

/// A name that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{input:?}: expected {expected}")]
pub struct UnknownName {
    /// What was given.
    pub input: String,
    /// What would have done.
    pub expected: &'static str,
}
