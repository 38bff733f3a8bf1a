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
    Clock, Diverted, DivertingCarrier, Incoming, Interceptor, PacketWriter, Stack, StackConfig, TunCarrier,
    TunConfig,
};
use headway_tcp::{KeepAlive, Profile, Refusal};
use headway_units::Duration;
use headway_wire::icmp::Unreachable;
use tokio::time::sleep;

use super::route;
use crate::TrunkError;
use crate::config::{Networks, TunSettings};
use crate::packets::{
    self, Packet, PacketQueue,
    ip_packet::{ends, protocol},
    quic::QuicFlows,
};
use crate::request::{Destination, Ends, Outcome};
use crate::stream::{Early, HalfOpen, PeerLink, Said, Side};

/// SYNs that wait until it is looked whether there is a place for their stream.
const BACKLOG: usize = 1024;
/// How soon it is noticed that a host has taken its SYN back.
const LOOK_EVERY: StdDuration = StdDuration::from_secs(1);

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
    pub(crate) link: Arc<PeerLink>,
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

async fn serve_connections(
    interceptor: &Interceptor,
    networks: &Networks,
    links: &[Arc<PeerLink>],
) -> io::Error {
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

async fn carry(link: &PeerLink, incoming: Incoming, half_open: HalfOpen) -> io::Result<()> {
    let destination = Destination::Address(incoming.destination());
    let ends = Ends { client: Some(incoming.source()), destination, dscp: incoming.dscp() };
    match link.open(&ends, half_open, gone(&incoming), &mut Early::none()).await {
        Ok(stream) => {
            let admitted = incoming.admit(ends.dscp).inspect_err(|_| stream.0.reset())?;
            link.join(admitted, Said::default(), stream, ends).await
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
    use std::io::ErrorKind;
    use std::process::Command;

    use headway_net::Namespace;
    use headway_test_fixture::process::say_skipped;
    use headway_test_fixture::two_hosts::{CLIENT, Fate, TwoHosts};
    use headway_wire::Dscp;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpStream, UdpSocket};
    use tokio::task::JoinHandle;

    use super::*;
    use crate::request::Request;
    use crate::stream::linked::{Linked, soon};

    #[test]
    fn a_host_that_is_gone_is_found_out() {
        let mut pair = TwoHosts::observed(profile(), (), Duration::from_millis(1));
        pair.wait(Duration::from_secs(24 * 3600));
        assert_eq!(pair.hosts[CLIENT].error(pair.id(CLIENT)), None);
        pair.run(Duration::from_secs(3 * 3600), |_| Fate::Lost);
        assert!(pair.hosts[CLIENT].error(pair.id(CLIENT)).is_some());
    }

    /// A host, this namespace's kernel, whose packets to 10.2.0.0/16 go to the far end of a link.
    struct Host {
        linked: Linked,
        queues: [Arc<PacketQueue>; 2],
        serving: JoinHandle<io::Error>,
        profile: Arc<Profile>,
    }

    fn ip(words: &str) {
        let output = Command::new("ip").args(words.split(' ')).output().expect("ip");
        assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs `test` in a namespace of its own, which needs root.
    fn in_namespace<F: Future<Output = ()>>(splits_tcp: bool, test: impl FnOnce(Host) -> F + Send) {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => return say_skipped("root", &format!("network namespaces: {error}")),
        };
        let run = || {
            ip("link set lo up");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let linked = Linked::new();
                let settings = TunSettings {
                    device: "hw0".into(),
                    address: "10.1.0.1/24".parse().expect("a prefix"),
                    mtu: 1400,
                    splits_tcp,
                };
                let behind = ["10.2.0.0/16".parse().expect("a prefix")];
                let networks = Networks::new([&behind[..]].into_iter());
                let tun = Tun::open(&settings, &networks, 16).expect("a TUN");
                // A network that is behind no peer.
                ip("route add 10.9.0.0/16 dev hw0");
                let queues = [true, false].map(|unordered| Arc::new(PacketQueue::new(unordered)));
                let peer = Peer { link: linked.near.clone(), queues: queues.clone() };
                let profile = tun.stack().profile().clone();
                let serving = tokio::spawn(tun.serve(networks, vec![peer]));
                test(Host { linked, queues, serving, profile }).await;
            });
        };
        namespace.run("in a namespace", run).expect("a thread in the namespace");
    }

    impl Host {
        /// The far gateway answers the next request; its end of the stream.
        async fn answer(&self, outcome: Outcome) -> (headway_net::TcpStream, Ends) {
            let mut stream = soon(self.linked.listener.accept()).await.expect("a connection").0;
            let request = soon(Request::read(&mut stream)).await.expect("a request");
            let Some(Request::Stream(ends)) = request else { panic!("{request:?}") };
            stream.write_u8(outcome as u8).await.expect("an answer");
            (stream, ends)
        }

        /// The next packet of those that cross as they are.
        async fn packet(&self, of_tcp: bool) -> Vec<u8> {
            let queue = &self.queues[usize::from(of_tcp)];
            let next = async {
                loop {
                    match queue.take_bytes() {
                        Some(bytes) => return bytes,
                        None => tokio::task::yield_now().await,
                    }
                }
            };
            soon(next).await
        }
    }

    #[test]
    fn a_host_is_connected_when_the_destination_is() {
        in_namespace(true, |host| async move {
            let connect = TcpStream::connect("10.2.0.1:80");
            let (near, (mut far, ends)) =
                soon(async { tokio::join!(connect, host.answer(Outcome::Connected)) }).await;
            let mut near = near.expect("a connection");
            let expected = Destination::Address("10.2.0.1:80".parse().expect("an address"));
            assert_eq!((ends.destination, ends.client), (expected, near.local_addr().ok()));
            assert_eq!(ends.dscp, Dscp::DEFAULT);
            near.write_all(b"question").await.expect("open");
            let mut question = [0; 8];
            soon(far.read_exact(&mut question)).await.expect("open");
            assert_eq!(&question, b"question");
            far.write_all(b"answer").await.expect("open");
            far.shutdown().await.expect("open");
            let mut answer = Vec::new();
            soon(near.read_to_end(&mut answer)).await.expect("open");
            assert_eq!(answer, b"answer");
            assert_eq!(host.linked.near.counters.opened.load(Ordering::Relaxed), 1);
        });
    }

    #[test]
    fn a_host_is_told_what_the_destination_said() {
        in_namespace(true, |host| async move {
            for (outcome, kind) in [
                (Outcome::Refused, ErrorKind::ConnectionRefused),
                (Outcome::NetworkUnreachable, ErrorKind::NetworkUnreachable),
                (Outcome::HostUnreachable, ErrorKind::HostUnreachable),
                (Outcome::Failed, ErrorKind::HostUnreachable),
            ] {
                let connect = TcpStream::connect("10.2.0.1:80");
                let (near, _) = soon(async { tokio::join!(connect, host.answer(outcome)) }).await;
                assert_eq!(near.expect_err("refused").kind(), kind, "{outcome:?}");
            }
            // No gateway is asked for what is behind none.
            let error = soon(TcpStream::connect("10.9.0.1:80")).await.expect_err("no route");
            assert_eq!(error.kind(), ErrorKind::NetworkUnreachable);
            assert_eq!(host.linked.near.counters.refused.load(Ordering::Relaxed), 4);
        });
    }

    #[test]
    fn what_a_host_would_have_seen_is_what_it_sees() {
        for (outcome, expected) in [
            (Outcome::Refused, Refusal::Reset),
            (Outcome::NetworkUnreachable, Refusal::Unreachable(Unreachable::Network)),
            (Outcome::NotAllowed, Refusal::Unreachable(Unreachable::Prohibited)),
            (Outcome::TimedOut, Refusal::Silence),
            (Outcome::HostUnreachable, Refusal::Unreachable(Unreachable::Host)),
            (Outcome::UnknownName, Refusal::Unreachable(Unreachable::Host)),
            (Outcome::Failed, Refusal::Unreachable(Unreachable::Host)),
        ] {
            assert_eq!(refusal(outcome), expected, "{outcome:?}");
        }
    }

    #[test]
    fn other_packets_cross_as_they_are() {
        in_namespace(true, |host| async move {
            let udp = UdpSocket::bind("10.1.0.2:7").await.expect("the kernel's address");
            for to in ["10.9.0.1:9", "10.2.0.1:9"] {
                udp.send_to(b"data", to).await.expect("a route");
            }
            let packet = host.packet(false).await;
            assert_eq!((packet[9], &packet[16..20], &packet[28..]), (17, &[10, 2, 0, 1][..], &b"data"[..]));
            assert!(
                host.queues.iter().all(|queue| queue.take_bytes().is_none()),
                "what is behind no peer goes nowhere"
            );
        });
    }

    #[test]
    fn segments_cross_as_they_are_where_connections_are_not_taken() {
        in_namespace(false, |host| async move {
            let connecting = tokio::spawn(TcpStream::connect("10.2.0.1:80"));
            let packet = host.packet(true).await;
            assert_eq!((packet[9], &packet[16..20]), (TCP, &[10, 2, 0, 1][..]));
            assert!(host.queues[0].take_bytes().is_none());
            connecting.abort();
        });
    }

    #[test]
    fn connections_of_hosts_are_probed_and_small_writes_not_delayed() {
        in_namespace(true, |host| async move {
            assert_eq!((host.profile.keep_alive, host.profile.nagle), (profile().keep_alive, false));
        });
    }

    #[test]
    fn the_end_of_the_device_is_told() {
        in_namespace(true, |host| async move {
            ip("link del hw0");
            let error = soon(host.serving).await.expect("no panic");
            assert!(error.to_string().contains("TUN hw0"), "{error}");
        });
    }
}
