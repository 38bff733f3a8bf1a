//! Error numbers of C.

use headway_tcp::{ConnectionError, Error};
use libc::c_int;

/// A value for `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

impl Errno {
    /// The call would have to wait.
    pub(crate) const WOULD_BLOCK: Self = Self(libc::EAGAIN);
}

pub(crate) type Result<T> = std::result::Result<T, Errno>;

impl From<ConnectionError> for Errno {
    fn from(error: ConnectionError) -> Self {
        Self(match error {
            ConnectionError::Refused => libc::ECONNREFUSED,
            ConnectionError::Reset => libc::ECONNRESET,
            ConnectionError::TimedOut | ConnectionError::UserTimeout => libc::ETIMEDOUT,
            ConnectionError::Aborted => libc::ECONNABORTED,
            ConnectionError::Closing => libc::EPIPE,
            _ => libc::EIO,
        })
    }
}

impl From<Error> for Errno {
    fn from(error: Error) -> Self {
        Self(match error {
            Error::UnknownConnection => libc::ENOTCONN,
            Error::UnknownListener | Error::BadProfile(_) => libc::EINVAL,
            Error::AddressInUse(_) => libc::EADDRINUSE,
            Error::NotOurAddress(_) | Error::NoFreePort(_) => libc::EADDRNOTAVAIL,
            Error::FamilyMismatch { .. } => libc::EAFNOSUPPORT,
            Error::Connection(error) => return error.into(),
            _ => libc::EIO,
        })
    }
}
