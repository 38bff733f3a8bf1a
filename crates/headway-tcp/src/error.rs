//! What can go wrong.

use core::net::{IpAddr, SocketAddr};

use headway_wire::icmp::IcmpKind;

/// Why a connection failed or refuses a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The peer answered the SYN with a RST.
    #[error("connection refused: the peer answered the SYN with a RST")]
    Refused,
    /// The peer sent a RST.
    #[error("connection reset by the peer")]
    Reset,
    /// An ICMP message about the SYN says that trying again is of no use, or why all of them had no answer.
    #[error("connection impossible: {}", describe(*.0))]
    Unreachable(IcmpKind),
    /// No answer after all retries.
    #[error("connection timed out: no answer after all retransmissions")]
    TimedOut,
    /// Sent data stayed unacknowledged for longer than the user timeout.
    #[error("user timeout: sent data was not acknowledged in time")]
    UserTimeout,
    /// The application aborted it.
    #[error("connection aborted by the application")]
    Aborted,
    /// The application closed its side, so it cannot send.
    #[error("the sending side is closed")]
    Closing,
}

fn describe(kind: IcmpKind) -> &'static str {
    match kind {
        IcmpKind::ProtocolUnreachable => "the host has no TCP (ICMP protocol unreachable)",
        IcmpKind::PortUnreachable => "the host has no program at the port (ICMP port unreachable)",
        IcmpKind::Prohibited => "a filter on the way forbids it (ICMP administratively prohibited)",
        IcmpKind::NetworkUnreachable => "there is no route to the network (ICMP network unreachable)",
        IcmpKind::TimeExceeded => "packets pass too many routers (ICMP time exceeded)",
        _ => "the host cannot be reached (ICMP)",
    }
}

/// Why a host refuses a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such connection, or not any more.
    #[error("unknown connection: it was closed and forgotten, or belongs to another host")]
    UnknownConnection,
    /// There is no such listener, or not any more.
    #[error("unknown listener")]
    UnknownListener,
    /// There is no such congestion domain, or it is closed.
    #[error("unknown congestion domain")]
    UnknownDomain,
    /// Something listens or is connected there already.
    #[error("address in use: {0}")]
    AddressInUse(SocketAddr),
    /// The host does not have this address.
    #[error("{0} is not an address of this host")]
    NotOurAddress(IpAddr),
    /// A connection leads to one host.
    #[error("{0} is not the address of a host: expected neither broadcast, multicast nor no address")]
    NoHost(IpAddr),
    /// Both ends of a connection must be IPv4 or both IPv6.
    #[error("{local} and {remote} are not of one address family")]
    FamilyMismatch {
        /// Our end.
        local: SocketAddr,
        /// The peer's.
        remote: SocketAddr,
    },
    /// Every port between our address and the peer's is taken.
    #[error("no free local port towards {0}")]
    NoFreePort(SocketAddr),
    /// The host has as many connections as it may ([`crate::HostConfig::max_connections`]).
    #[error("the host has as many connections as it may")]
    TooManyConnections,
    /// The profile cannot work.
    #[error("profile: {0}")]
    BadProfile(&'static str),
    /// The connection refuses.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn why_a_host_cannot_be_reached_is_said_in_the_words_of_the_message() {
        for (kind, says) in [
            (IcmpKind::ProtocolUnreachable, "the host has no TCP (ICMP protocol unreachable)"),
            (IcmpKind::PortUnreachable, "the host has no program at the port (ICMP port unreachable)"),
            (IcmpKind::Prohibited, "a filter on the way forbids it (ICMP administratively prohibited)"),
            (IcmpKind::NetworkUnreachable, "there is no route to the network (ICMP network unreachable)"),
            (IcmpKind::TimeExceeded, "packets pass too many routers (ICMP time exceeded)"),
            (IcmpKind::HostUnreachable, "the host cannot be reached (ICMP)"),
        ] {
            let error = ConnectionError::Unreachable(kind).to_string();
            assert_eq!(error.strip_prefix("connection impossible: "), Some(says));
        }
    }
}
