//! Parsing of hosts and ports.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::lookup_host;

use super::error::LiveError;

/// The address of `host`, which may be a name: the first address that the system resolves, IPv4 before
/// IPv6.
pub(super) async fn resolve(host: &str, port: u16) -> Result<SocketAddr, LiveError> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let unknown = |reason: String| LiveError::UnknownHost { host: host.into(), reason };
    let mut found: Vec<SocketAddr> =
        lookup_host((bare, port)).await.map_err(|error| unknown(error.to_string()))?.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| unknown("it has no address".into()))
}

/// `--listen`: a port, or an address with a port. A port alone means every IPv4 address.
pub(super) fn parse_listen(input: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = input.parse::<u16>() {
        return Ok((Ipv4Addr::UNSPECIFIED, port).into());
    }
    input
        .parse()
        .map_err(|_| format!("{input:?}: expected a port, or an address with a port such as 10.77.2.2:80"))
}
