//! Parsing of hosts and ports.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use tokio::net::lookup_host;

use super::error::TransportError;

/// The address of `host`, which may be a name: the first address that the system resolves, IPv4 before
/// IPv6.
pub async fn resolve(host: &str, port: u16) -> Result<SocketAddr, TransportError> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let unknown = |reason: String| TransportError::UnknownHost { host: host.into(), reason };
    let mut found: Vec<SocketAddr> =
        lookup_host((bare, port)).await.map_err(|error| unknown(error.to_string()))?.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| unknown("it has no address".into()))
}

/// `--listen`: where to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// At this port of every address of the family that this end has; of IPv4 where it has both.
    Port(u16),
    /// At this address.
    At(SocketAddr),
}

impl Listen {
    /// The address to listen at, for an end with these addresses.
    pub(super) fn address(self, ours: &[IpAddr]) -> SocketAddr {
        match self {
            Self::At(address) => address,
            Self::Port(port) if !ours.is_empty() && ours.iter().all(IpAddr::is_ipv6) => {
                (Ipv6Addr::UNSPECIFIED, port).into()
            }
            Self::Port(port) => (Ipv4Addr::UNSPECIFIED, port).into(),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => port.fmt(f),
            Self::At(address) => address.fmt(f),
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(input: &str) -> Result<Self, String> {
        if let Ok(port) = input.parse() {
            return Ok(Self::Port(port));
        }
        input.parse().map(Self::At).map_err(|_| {
            format!("{input:?}: expected a port, or an address with a port such as 10.77.2.2:80")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_the_family_that_this_end_has() {
        let listen: Listen = "80".parse().unwrap();
        for (ours, expected) in [
            (&["10.77.2.2"][..], "0.0.0.0:80"),
            (&["fd77::2"], "[::]:80"),
            (&["fd77::2", "10.77.2.2"], "0.0.0.0:80"),
            (&["::"], "[::]:80"),
            (&["0.0.0.0"], "0.0.0.0:80"),
            (&[], "0.0.0.0:80"),
        ] {
            let ours: Vec<IpAddr> = ours.iter().map(|address| address.parse().unwrap()).collect();
            assert_eq!(listen.address(&ours).to_string(), expected, "{ours:?}");
        }
    }

    #[test]
    fn an_address_is_taken_as_it_is() {
        let ours: IpAddr = "fd77::2".parse().unwrap();
        for input in ["10.77.2.2:80", "[fd77::2]:80", "[::]:80"] {
            assert_eq!(input.parse::<Listen>().unwrap().address(&[ours]).to_string(), input);
        }
        for wrong in ["", "65536", "10.77.2.2", "fd77::2", "host:80"] {
            let error = wrong.parse::<Listen>().unwrap_err();
            assert!(error.contains("expected a port"), "{error}");
        }
    }
}
