//! Connections and packets of hosts that are routed into a TUN device.
//!
//! TCP is taken with a host of our own, which answers a SYN when the far gateway has connected: what the destination
//! says is what the host sees. All other packets, and TCP too if asked, go to the peer that their destination is behind
//! ([`packets`](crate::packets)).

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration as StdDuration;

use headway_net::{
    Clock, Diverted, DivertingCarrier, Incoming, Interceptor, PacketWriter, Prefix, Stack, StackConfig,
    TunCarrier, TunConfig,
};
use headway_tcp::{KeepAlive, Profile, Refusal};
use headway_units::Duration;
use headway_wire::icmp::Unreachable;
use tokio::time::sleep;

use crate::TrunkError;
use crate::half_open::{HalfOpen, Side};
use crate::ip_packet::{ends, protocol};
use crate::link::Link;
use crate::networks::Networks;
use crate::packets::{self, Packet, PacketQueue};
use crate::quic::QuicFlows;
use crate::request::{Destination, Ends, Outcome};
use crate::route;

/// SYNs that wait until it is looked whether there is a place for their stream.
const BACKLOG: usize = 1024;
/// How soon it is noticed that a host has taken its SYN back.
const LOOK_EVERY: StdDuration = StdDuration::from_secs(1);

/// What [`Tun::open`] needs.
pub(crate) struct TunSettings {
    pub(crate) device: String,
    pub(crate) address: Prefix,
    pub(crate) mtu: u16,
    /// Whether connections are taken, rather than their packets carried.
    pub(crate) splits_tcp: bool,
}

/// A TUN device.
pub(crate) struct Tun {
    stack: Stack,
    interceptor: Interceptor,
    diverted: Diverted,
}

impl Tun {
    /// Makes the device, and routes `networks` into it. At most `half_open` connections wait for the far gateways.
    pub(crate) fn open(
        settings: &TunSettings,
        networks: &Networks,
        half_open: usize,
    ) -> Result<Self, TrunkError> {
        let config = TunConfig {
            device: settings.device.clone(),
            address: settings.address,
            kernel: None,
            mtu: Some(settings.mtu),
            offload: false,
            only_peer: None,
        };
        let (carrier, diverted) = DivertingCarrier::new(TunCarrier::open(&config)?, settings.splits_tcp)?;
        let profile = Some(profile());
        let addresses = vec![settings.address.address()];
        let stack = Stack::start(carrier, StackConfig { addresses, profile, ..StackConfig::default() })?;
        let interceptor = stack.intercept(half_open.saturating_add(BACKLOG)).map_err(TrunkError::Ended)?;
        for net in networks.all() {
            route::add(net, &settings.device)?;
        }
        Ok(Self { stack, interceptor, diverted })
    }

    /// The TCP of the hosts' side.
    pub(crate) fn stack(&self) -> Stack {
        self.stack.clone()
    }

    /// A way into the device.
    pub(crate) fn writer(&self) -> io::Result<PacketWriter> {
        self.diverted.writer().try_clone()
    }

    /// Takes connections and packets as long as the device is there. `peers` are the link and the queues to each peer. Says why
    /// it has ended.
    pub(crate) async fn serve(self, networks: Networks, peers: Vec<Peer>) -> io::Error {
        let Self { stack, interceptor, diverted } = self;
        let links: Vec<_> = peers.iter().map(|peer| peer.link.clone()).collect();
        let connections = serve_connections(&interceptor, &networks, &links);
        let packets = serve_packets(diverted, &networks, &peers);
        tokio::pin!(connections);
        let error = tokio::select! {
            error = &mut connections => error,
            // The carrier is gone. What has ended it is known in a moment.
            () = packets => connections.await,
        };
        tracing::error!(%error, "nothing more is taken from the TUN");
        stack.abort();
        error
    }
}

/// A peer, as the device sees it.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) link: Arc<Link>,
    /// For packets that may be delivered in any order, and for those of TCP.
    pub(crate) queues: [Arc<PacketQueue>; 2],
}

/// For hosts behind a clean network.
fn profile() -> Profile {
    let mut profile = Profile::modern();
    profile.nagle = false;
    profile.time_wait = Duration::from_secs(10);
    // A host that is gone without a word keeps no stream open for ever. RFC 9293, 3.8.4: the interval "MUST default to no less than
    // two hours"; probes are Linux's.
    profile.keep_alive =
        Some(KeepAlive { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 });
    profile
}

async fn serve_connections(interceptor: &Interceptor, networks: &Networks, links: &[Arc<Link>]) -> io::Error {
    loop {
        let incoming = match interceptor.next().await {
            Ok(incoming) => incoming,
            Err(error) => return error,
        };
        let Some(link) = networks.peer_of(incoming.destination().ip()).and_then(|peer| links.get(peer))
        else {
            incoming.refuse(Refusal::Unreachable(Unreachable::Network));
            continue;
        };
        let client = Some(incoming.source());
        // Over the limit the host tries again, as if its SYN was lost.
        if !link.places.has_room() {
            continue;
        }
        if !link.places.may_be_half_open(Side::Near, client) {
            link.counters.displaced.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let half_open = link.places.half_open(Side::Near, client);
        let link = link.clone();
        tokio::spawn(async move {
            if let Err(error) = carry(&link, incoming, half_open).await {
                tracing::debug!(peer = link.name, %error, "a connection ended");
            }
        });
    }
}

async fn carry(link: &Link, incoming: Incoming, half_open: HalfOpen) -> io::Result<()> {
    let destination = Destination::Address(incoming.destination());
    let ends = Ends { client: Some(incoming.source()), destination, dscp: incoming.dscp() };
    match link.open(&ends, half_open, gone(&incoming)).await {
        Ok(stream) => {
            let admitted = incoming.admit(ends.dscp).inspect_err(|_| stream.0.reset())?;
            link.join(admitted, stream, ends).await
        }
        Err(outcome) => {
            tracing::debug!(peer = link.name, destination = %ends.destination, ?outcome, "refused");
            incoming.refuse(refusal(outcome));
            Ok(())
        }
    }
}

/// Waits until a host has given up.
async fn gone(incoming: &Incoming) {
    while let Some(left) = incoming.patience() {
        sleep(StdDuration::from_nanos(left.as_nanos()).min(LOOK_EVERY)).await;
    }
}

/// What a host would have seen without a gateway.
fn refusal(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Refused => Refusal::Reset,
        Outcome::NetworkUnreachable => Refusal::Unreachable(Unreachable::Network),
        Outcome::NotAllowed => Refusal::Unreachable(Unreachable::Prohibited),
        Outcome::TimedOut => Refusal::Silence,
        Outcome::HostUnreachable | Outcome::UnknownName | Outcome::Failed | Outcome::Connected => {
            Refusal::Unreachable(Unreachable::Host)
        }
    }
}

async fn serve_packets(mut diverted: Diverted, networks: &Networks, peers: &[Peer]) {
    let (mut quic, clock) = (QuicFlows::default(), Clock::new());
    while let Some(packet) = diverted.next().await {
        let Some((_, destination)) = ends(&packet) else { continue };
        // What goes nowhere is dropped, as by a router without a route.
        let Some(peer) = networks.peer_of(destination).and_then(|peer| peers.get(peer)) else { continue };
        let keeps_order = quic.contains(clock.now(), packets::flow(&packet), &packet);
        let is_tcp = protocol(&packet) == Some(TCP);
        peer.queues[usize::from(is_tcp)].push(Packet { bytes: packet, keeps_order });
    }
}

/// The protocol number of TCP.
const TCP: u8 = 6;

#[cfg(test)]
mod tests {
    use headway_test_fixture::two_hosts::{CLIENT, Fate, TwoHosts};

    use super::*;

    #[test]
    fn a_host_that_is_gone_is_found_out() {
        let mut pair = TwoHosts::observed(profile(), (), Duration::from_millis(1));
        pair.wait(Duration::from_secs(24 * 3600));
        assert_eq!(pair.hosts[CLIENT].error(pair.id(CLIENT)), None);
        pair.run(Duration::from_secs(3 * 3600), |_| Fate::Lost);
        assert!(pair.hosts[CLIENT].error(pair.id(CLIENT)).is_some());
    }
}
