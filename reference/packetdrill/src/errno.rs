//! Error numbers of C.

use headway_tcp::{ConnectionError, Error};
use headway_wire::icmp::IcmpKind;
use libc::c_int;

/// A value for `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

impl Errno {
    /// The call would have to wait.
    pub(crate) const WOULD_BLOCK: Self = Self(libc::EAGAIN);
}

pub(crate) type Result<T> = std::result::Result<T, Errno>;

impl Errno {
    /// Why a connection failed; over IPv6, Linux maps some ICMP messages in another way.
    pub(crate) fn of_failure(error: ConnectionError, is_v6: bool) -> Self {
        Self(match error {
            ConnectionError::Refused => libc::ECONNREFUSED,
            ConnectionError::Reset => libc::ECONNRESET,
            ConnectionError::TimedOut | ConnectionError::UserTimeout => libc::ETIMEDOUT,
            ConnectionError::Aborted => libc::ECONNABORTED,
            ConnectionError::Closing => libc::EPIPE,
            ConnectionError::Unreachable(kind) => unreachable(kind, is_v6),
            _ => libc::EIO,
        })
    }
}

/// `icmp_err_convert` and `icmpv6_err_convert` of Linux.
fn unreachable(kind: IcmpKind, is_v6: bool) -> c_int {
    match kind {
        IcmpKind::PortUnreachable => libc::ECONNREFUSED,
        IcmpKind::NetworkUnreachable => libc::ENETUNREACH,
        IcmpKind::ProtocolUnreachable if !is_v6 => libc::ENOPROTOOPT,
        IcmpKind::Prohibited if is_v6 => libc::EACCES,
        IcmpKind::ProtocolUnreachable | IcmpKind::ParameterProblem => libc::EPROTO,
        _ => libc::EHOSTUNREACH,
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
            Error::Connection(error) => return Self::of_failure(error, false),
            _ => libc::EIO,
        })
    }
}
