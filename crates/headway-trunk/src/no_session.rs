//! Warnings of peers with which no session comes about: they do not answer, or what they send is refused.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use headway_net::{Stack, TunnelMonitor};
use headway_trunk_proto::Refusal;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use crate::status::Repeated;
use crate::stream::Links;

/// How often it is looked for.
const EVERY: Duration = Duration::from_secs(1);
/// How long a peer may not answer before that is worth a word: more than one handshake was lost.
const PATIENCE: f64 = 5.0;
/// How long ICMP may take to say that a port is closed.
const ICMP_WAIT: Duration = Duration::from_secs(2);

/// Warns, for ever. `stack` has the clock of the monitor's times; `local`: the UDP address of the tunnel.
pub(crate) async fn warn(
    links: &Links,
    (monitor, stack): (&TunnelMonitor, &Stack),
    local: Option<SocketAddr>,
) {
    let mut ticks = interval(EVERY);
    let refused = Repeated::default();
    let mut reported = 0;
    let mut asking = JoinSet::new();
    loop {
        ticks.tick().await;
        while asking.try_join_next().is_some() {}
        let now = stack.now();
        let peers = monitor.peers();
        for link in links.all() {
            let Some(peer) = peers.get(link.place.0) else { continue };
            let tried = peer.trying_since.map_or(0.0, |since| now.saturating_since(since).as_secs_f64());
            link.set_away(tried, peer.session_since.is_some());
            let Some(endpoint) = peer.endpoint.filter(|_| tried >= PATIENCE) else { continue };
            if link.counters.no_answer.happened().is_none() {
                continue;
            }
            let (name, seconds) = (link.name.clone(), tried.round());
            if let Some(local) = local {
                asking.spawn(async move {
                    let icmp = icmp_error(local, endpoint).await.map(|error| error.to_string());
                    tracing::warn!(
                        peer = name,
                        %endpoint,
                        seconds,
                        icmp = icmp.unwrap_or_else(|| "nothing".into()),
                        "no answer to handshakes: expected a gateway there with the peer's public key"
                    );
                });
            } else {
                let trouble = stack.trouble().unwrap_or_else(|| "nothing".into());
                tracing::warn!(
                    peer = name,
                    seconds,
                    trouble,
                    "no answer to handshakes: expected a gateway with the peer's public key behind the modem"
                );
            }
        }
        let bad = monitor.counters().bad_handshakes;
        let more = bad.saturating_sub(std::mem::replace(&mut reported, bad));
        if more > 0
            && let Some(last) = monitor.last_refusal()
            && !matches!(last.why, Refusal::UnknownPeer(_))
            && let Some(times) = refused.happened_times(more)
        {
            tracing::warn!(times, from = %last.from, why = %last.why, "handshakes were refused; this was the last");
        }
    }
}

/// What ICMP says of a port. The tunnel's socket has many peers and is not told; one that is connected is.
async fn icmp_error(mut local: SocketAddr, endpoint: SocketAddr) -> Option<io::Error> {
    local.set_port(0);
    let asked = async {
        let socket = UdpSocket::bind(local).await?;
        socket.connect(endpoint).await?;
        // A gateway ignores it.
        socket.send(&[0]).await?;
        socket.recv(&mut [0]).await
    };
    timeout(ICMP_WAIT, asked).await.ok()?.err()
}
