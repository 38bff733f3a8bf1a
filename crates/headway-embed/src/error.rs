//! What can be wrong with a call.

use headway_scenario::KeyError;

/// Why a call is refused. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text of keys is not pairs of names and values.
    #[error("keys: {problem}")]
    Syntax {
        /// What was expected, and what was given.
        problem: String,
    },
    /// A key is unknown here, or has a value that makes no sense.
    #[error("{key}: {problem}")]
    Key {
        /// The key, as it was given.
        key: String,
        /// What was expected, and what was given.
        problem: String,
    },
    /// A text is no address.
    #[error("{input:?}: expected {expected}")]
    Address {
        /// What was given.
        input: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The host has no such connection: it was released, or is another host's.
    #[error("unknown connection {0}: it was released, or belongs to another host")]
    UnknownConnection(u64),
    /// The host has no such listener.
    #[error("unknown listener {0}: it was closed, or belongs to another host")]
    UnknownListener(u64),
    /// Times never decrease, and never are [`NEVER`](crate::NEVER).
    #[error("time {given} ns: expected {latest} ns, the time of an earlier call, or later; never is no time")]
    Time {
        /// What was given, in nanoseconds.
        given: u64,
        /// The least that can be given.
        latest: u64,
    },
    /// The buffer has no room for the packet, which waits.
    #[error("a buffer of {given} bytes: expected at least {needed}")]
    ShortBuffer {
        /// Its length.
        given: usize,
        /// The length that is needed.
        needed: usize,
    },
    /// No IP packet has this length.
    #[error("a packet of {0} bytes: expected 1 to 65535")]
    PacketLength(usize),
    /// The host refuses.
    #[error(transparent)]
    Tcp(headway_tcp::Error),
}

impl From<KeyError> for Error {
    fn from(KeyError { key, problem }: KeyError) -> Self {
        Self::Key { key: key.to_owned(), problem }
    }
}
