//! What a near gateway offers its hosts, in the words of its configuration.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// Where SOCKS is, if nothing else is said.
const SOCKS: &str = "127.0.0.1:1080";

/// What a near gateway offers its hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// A SOCKS5 server.
    Socks { listen: SocketAddr },
    /// A local address whose connections go to one destination behind the far gateway.
    Forward { listen: SocketAddr, to: String },
    /// Packets between two prefixes, by a TUN at each end.
    Tun { near: String, far: String },
}

/// What is no service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected `socks`, `socks=ADDRESS:PORT`, `forward=ADDRESS:PORT=HOST:PORT` or `tun=PREFIX=PREFIX` (behind the near gateway, behind the far one)"
)]
pub(crate) struct ServiceError;

impl FromStr for Service {
    type Err = ServiceError;

    fn from_str(text: &str) -> Result<Self, ServiceError> {
        let (kind, value) = text.split_once('=').unwrap_or((text, ""));
        let address = |text: &str| text.parse().map_err(|_| ServiceError);
        let of_two = value.split_once('=');
        match (kind, of_two) {
            ("socks", None) => {
                Ok(Self::Socks { listen: address(if text == "socks" { SOCKS } else { value })? })
            }
            ("forward", Some((listen, to))) => Ok(Self::Forward { listen: address(listen)?, to: to.into() }),
            // One prefix at both ends has no way to the other.
            ("tun", Some((near, far))) if near != far => Ok(Self::Tun { near: near.into(), far: far.into() }),
            _ => Err(ServiceError),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socks { listen } => write!(f, "socks={listen}"),
            Self::Forward { listen, to } => write!(f, "forward={listen}={to}"),
            Self::Tun { near, far } => write!(f, "tun={near}={far}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_read_back() {
        for text in ["socks=[::1]:9", "forward=127.0.0.1:2222=10.0.0.5:22", "tun=192.168.7.0/24=10.0.0.0/8"] {
            assert_eq!(text.parse::<Service>().expect(text).to_string(), text);
        }
        assert_eq!("socks".parse::<Service>().expect("a service").to_string(), "socks=127.0.0.1:1080");
        for text in [
            "",
            "socks=",
            "socks=1080",
            "http",
            "forward",
            "forward=127.0.0.1:1",
            "tun",
            "tun=10.0.0.0/8",
            "tun=10.0.0.0/8=10.0.0.0/8",
        ] {
            assert_eq!(text.parse::<Service>(), Err(ServiceError), "{text}");
        }
    }
}
