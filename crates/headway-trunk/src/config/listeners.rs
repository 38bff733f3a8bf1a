//! Whether everything that a configuration lets listen for TCP can: no two at the same address and port.

use std::net::SocketAddr;

use crate::{Config, TrunkError};

/// Checks that no address and port is taken twice. The kernel would refuse the second one, when the gateway starts.
pub(crate) fn check(config: &Config) -> Result<(), TrunkError> {
    let forwards = config.forwards.iter().map(|entry| ("forward", entry.listen));
    let socks = config.socks.iter().map(|entry| ("socks", entry.listen));
    let transparent = config.transparent.iter().map(|entry| ("transparent", entry.listen));
    let mut taken: Vec<(&str, SocketAddr)> =
        config.gateway.metrics.iter().map(|&address| ("gateway.metrics", address)).collect();
    for (kind, listen) in forwards.chain(socks).chain(transparent) {
        if let Some((other, address)) = taken.iter().find(|(_, other)| overlap(*other, listen)) {
            return Err(TrunkError::value(
                format!("{kind} {listen}: listen"),
                format!("an address and port that {other} {address} has"),
                "another address or port for each",
            ));
        }
        taken.push((kind, listen));
    }
    Ok(())
}

/// Whether the kernel lets only one of two listeners have its address: they are the same, or one of them is all
/// addresses of its family. Port 0 is any free one.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let is_all = |address: SocketAddr| address.ip().is_unspecified();
    let meet = one.ip() == other.ip() || one.is_ipv4() == other.is_ipv4() && (is_all(one) || is_all(other));
    meet && one.port() == other.port() && one.port() != 0
}
