//! Peers that are known by a name: it is looked up at the start, and again while the peer does not answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use headway_net::{Stack, TunnelChange, TunnelMonitor};
use tokio::net::lookup_host;
use tokio::time::interval;

use crate::config::Endpoint;
use crate::status::Repeated;
use crate::stream::PeerLink;

/// How often a name is looked up whose peer does not answer.
const EVERY: Duration = Duration::from_secs(5);
/// How long handshakes are not answered before the peer may be elsewhere.
const PATIENCE: Duration = Duration::from_secs(5);

/// Follows the name of a peer until that is removed. `stack` has the clock of the monitor's times; `local`: the UDP address of the
/// tunnel, whose family counts.
pub(crate) async fn follow(link: Arc<PeerLink>, (monitor, stack): (TunnelMonitor, Stack), local: SocketAddr) {
    let Some(Endpoint::Name(name, port)) = &link.endpoint else { return };
    let looking = async {
        let failed = Repeated::default();
        let mut ticks = interval(EVERY);
        loop {
            ticks.tick().await;
            // One that was added a moment ago is not there yet.
            let Some(peer) = monitor.peers().get(link.place.0).copied() else { continue };
            let tried = peer.trying_since.map(|since| stack.now().saturating_since(since));
            if peer.endpoint.is_some()
                && tried.is_none_or(|tried| tried.as_secs_f64() < PATIENCE.as_secs_f64())
            {
                continue;
            }
            let found = lookup_host((name.as_str(), *port)).await;
            let found =
                found.map(|found| found.filter(|at| at.is_ipv4() == local.is_ipv4()).collect::<Vec<_>>());
            match found.as_deref() {
                Ok([]) => {
                    if failed.happened().is_some() {
                        let family = if local.is_ipv4() { "IPv4" } else { "IPv6" };
                        tracing::warn!(
                            peer = link.name,
                            name,
                            "the name has no address: expected one of {family}, as gateway.listen"
                        );
                    }
                }
                Ok(addresses) => {
                    let endpoint = next(addresses, peer.endpoint);
                    if Some(endpoint) != peer.endpoint {
                        tracing::info!(peer = link.name, name, %endpoint, "the name leads there");
                        monitor.change([TunnelChange::Endpoint(link.place, endpoint)]);
                        stack.wake();
                    }
                }
                Err(error) => {
                    if failed.happened().is_some() {
                        tracing::warn!(peer = link.name, name, %error, "the name is not found; it is looked up every 5 s");
                    }
                }
            }
        }
    };
    tokio::select! {
        () = link.removed() => {}
        () = looking => {}
    }
}

/// The address behind the one that does not answer; the first one, if that is none of them.
fn next(addresses: &[SocketAddr], silent: Option<SocketAddr>) -> SocketAddr {
    let place = addresses.iter().position(|&address| Some(address) == silent);
    addresses[place.map_or(0, |place| (place + 1) % addresses.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_a_name_are_tried_one_after_the_other() {
        let [a, b, c] = [1, 2, 3].map(|port| SocketAddr::from(([192, 0, 2, 1], port)));
        assert_eq!([None, Some(a), Some(b), Some(c)].map(|silent| next(&[a, b], silent)), [a, b, a, a]);
        assert_eq!(next(&[a], Some(a)), a);
    }
}
