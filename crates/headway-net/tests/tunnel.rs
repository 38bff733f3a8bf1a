//! Two stacks in a sealed tunnel on the loopback, and a relay between them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use headway_net::{
    Carrier as _, Clock, Housekeeping as _, OuterDscp, Stack, StackConfig, TcpListener, TunnelCarrier,
    TunnelConfig,
};
use headway_tcp::{Profile, Statistics, Variant};
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::{free_addresses, wait_until};
use headway_test_fixture::relay::Relay;
use headway_test_fixture::rng::Rng;
use headway_trunk_proto::{
    Event, HEADROOM, PeerConfig, SecretKey, Tunnel, TunnelConfig as Settings, inner_address,
};
use headway_units::Instant;
use headway_wire::Ecn;
use headway_wire::crc::{crc16, crc32c};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

/// No step of a test takes longer on any machine.
const LONG: Duration = Duration::from_secs(60);
/// The MTU of the link, unless a test has another.
const MTU: u16 = 1500;
const LEN: usize = 3_000_000;

/// Two ends that know each other.
struct Ends<'a> {
    keys: [SecretKey; 2],
    profile: &'a Profile,
    mtu: u16,
    /// The longest datagram, where it is not the default.
    longest: Option<u16>,
}

impl<'a> Ends<'a> {
    fn new(profile: &'a Profile) -> Self {
        Self { keys: [1, 2].map(|byte| SecretKey::from_bytes([byte; 32])), profile, mtu: MTU, longest: None }
    }

    /// The stack of one of them, and its address inside.
    fn start(&self, own: usize, local: SocketAddr, endpoint: Option<SocketAddr>) -> (Stack, IpAddr) {
        let mut rng = Rng::new(own as u64 + 1);
        let peer = PeerConfig { endpoint, ..PeerConfig::new(self.keys[1 - own].public()) };
        let mut settings = Settings::new(self.keys[own].clone(), Box::new(move |bytes| rng.fill(bytes)));
        settings.peers.push(peer);
        settings.longest = self.longest.unwrap_or(settings.longest);
        let config = TunnelConfig { local, mtu: self.mtu, dscp: OuterDscp::Copied };
        let carrier = TunnelCarrier::open(&config, Tunnel::new(settings)).unwrap();
        let addresses = carrier.inner_addresses();
        assert_eq!(carrier.monitor().recorders().len(), addresses.len(), "one for each peer");
        let (inner, profile) = (addresses[0], Some(self.profile.clone()));
        (Stack::start(carrier, StackConfig { addresses, profile, ..StackConfig::default() }).unwrap(), inner)
    }
}

struct Pair {
    stacks: [Stack; 2],
    inner: [IpAddr; 2],
    listener: TcpListener,
    address: SocketAddr,
    _relay: Relay,
}

impl Pair {
    fn new<F>(profile: &Profile, mangle: impl Fn(usize) -> F) -> Self
    where
        F: FnMut(&mut [u8]) + Send + 'static,
    {
        Self::with_mtu(MTU, profile, mangle)
    }

    /// The relay passes no datagram that is too long, and does to the others what `mangle` says.
    fn with_mtu<F>(mtu: u16, profile: &Profile, mangle: impl Fn(usize) -> F) -> Self
    where
        F: FnMut(&mut [u8]) + Send + 'static,
    {
        // IPv4 and UDP headers.
        let longest = mtu - 28;
        let [near, far, inlet, outlet] = free_addresses();
        let relay = Relay::new([inlet, outlet], [near, far], |end| {
            let mut mangle = mangle(end);
            move |datagram: &mut [u8], _: &UdpSocket| {
                mangle(datagram);
                datagram.len() <= usize::from(longest)
            }
        });
        let ends = Ends { mtu, longest: Some(longest), ..Ends::new(profile) };
        let ((near, near_inner), (far, far_inner)) =
            (ends.start(0, near, Some(inlet)), ends.start(1, far, None));
        let address = SocketAddr::new(far_inner, 1);
        let listener = far.listen(address, 16).unwrap();
        Self { stacks: [near, far], inner: [near_inner, far_inner], listener, address, _relay: relay }
    }

    /// A transfer from the first stack to the second, of which every byte is compared. Returns what sender and receiver
    /// counted.
    async fn transfer(&self) -> [Statistics; 2] {
        let transfer = async {
            let (client, server) = tokio::join!(self.stacks[0].connect(self.address), self.listener.accept());
            let (mut client, mut server) = (client.unwrap(), server.unwrap().0);
            let send = async {
                client.write_all(&Pattern(7).bytes(0, LEN)).await.unwrap();
                client.shutdown().await.unwrap();
                client
            };
            let receive = async {
                let mut received = Vec::new();
                server.read_to_end(&mut received).await.unwrap();
                Pattern(7).check_all(LEN, &received);
                server.statistics().unwrap()
            };
            let (client, receiver) = tokio::join!(send, receive);
            [client.statistics().unwrap(), receiver]
        };
        timeout(LONG, transfer).await.expect("in time")
    }
}

/// A gateway that only has its tunnel, without a stack.
struct End {
    socket: UdpSocket,
    tunnel: Tunnel,
    is_connected: bool,
    was_told: bool,
}

impl End {
    fn step(&mut self, now: Instant) {
        self.tunnel.handle_timeout(now);
        let mut room = [0; HEADROOM + 2048];
        while let Ok((len, from)) = self.socket.recv_from(&mut room[HEADROOM..]) {
            self.tunnel.receive(now, from, &mut room[..HEADROOM + len], HEADROOM, Ecn::NotEct);
        }
        while let Some(own) = self.tunnel.poll_transmit() {
            self.socket.send_to(&own.datagram, own.to).unwrap();
        }
        while let Some(event) = self.tunnel.poll_event() {
            self.is_connected |= matches!(event, Event::Connected(_));
            self.was_told |= matches!(event, Event::Restarted(_));
        }
    }
}

/// A connection is opened before there is a session. When there is one, its SYN does not wait for its timer.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_the_first_session_is_sent_when_it_begins() {
    let mut profile = Variant::Headway.apply(Profile::modern());
    profile.rto.initial = headway_units::Duration::from_secs(30);
    let ends = Ends::new(&profile);
    let [near_at, far_at] = free_addresses();
    let (near, _) = ends.start(0, near_at, Some(far_at));
    let address = SocketAddr::new(inner_address(&ends.keys[1].public(), &ends.keys[0].public()).into(), 1);
    let stack = near.clone();
    let connecting = tokio::spawn(async move { near.connect(address).await.map(drop) });
    wait_until("it is being opened", || stack.connections() == 1);
    let (far, _) = ends.start(1, far_at, None);
    let _listener = far.listen(address, 16).unwrap();
    // An initiation is sent after 1 s, another after 3 s, and others up to 5 s after it.
    timeout(Duration::from_secs(15), connecting).await.expect("in time").unwrap().expect("a connection");
}

/// Several times as many as a batch has datagrams, and more than wait to be sent otherwise.
#[test]
fn every_peer_is_told_of_the_end() {
    const PEERS: u16 = 300;
    let clock = Clock::new();
    let key = |number: u16| {
        let mut bytes = [1; 32];
        bytes[8..10].copy_from_slice(&number.to_be_bytes());
        SecretKey::from_bytes(bytes)
    };
    let tunnel = |number, peers| {
        let mut rng = Rng::new(u64::from(number) + 1);
        let settings = Settings::new(key(number), Box::new(move |bytes| rng.fill(bytes)));
        Tunnel::new(Settings { peers, ..settings })
    };
    let peers = (1..=PEERS).map(|number| PeerConfig::new(key(number).public())).collect();
    let config = TunnelConfig { local: "127.0.0.1:0".parse().unwrap(), mtu: MTU, dscp: OuterDscp::Copied };
    let mut carrier = TunnelCarrier::open(&config, tunnel(0, peers)).unwrap();
    let far = PeerConfig { endpoint: Some(carrier.local()), ..PeerConfig::new(key(0).public()) };
    let mut ends = Vec::new();
    for number in 1..=PEERS {
        // One address is answered fewer handshakes a second.
        let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 1, (number / 2) as u8), 0)).unwrap();
        socket.set_nonblocking(true).unwrap();
        let tunnel = tunnel(number, vec![far.clone()]);
        ends.push(End { socket, tunnel, is_connected: false, was_told: false });
    }
    // Few at a time: the socket of the one has no room for all that the others send.
    let step = |carrier: &mut TunnelCarrier, ends: &mut [End]| {
        for some in ends.chunks_mut(32) {
            some.iter_mut().for_each(|end| end.step(clock.now()));
            while carrier.fill(&clock).unwrap() > 0 {}
            carrier.handle_timeout(clock.now());
            assert!(carrier.flush().unwrap());
        }
    };
    wait_until("sessions", || {
        step(&mut carrier, &mut ends);
        ends.iter().all(|end| end.is_connected)
    });
    // What confirms the last sessions.
    step(&mut carrier, &mut ends);
    carrier.close();
    ends.iter_mut().for_each(|end| end.step(clock.now()));
    assert_eq!(ends.iter().filter(|end| !end.was_told).count(), 0);
}

/// Every datagram is as long as may be at most, and damage to headers is repaired as without compact headers.
#[tokio::test(flavor = "multi_thread")]
async fn full_segments_fill_a_datagram_and_damaged_headers_are_repaired() {
    let profile = Profile { mtu: u16::MAX, ..Variant::Headway.apply(Profile::modern()) };
    let pair = Pair::new(&profile, |end| {
        let mut rng = Rng::new(end as u64 + 5);
        move |datagram: &mut [u8]| {
            // The header of a data segment: of the compact one 28 bytes, and no SACK blocks.
            if datagram[0] == 0x57 && rng.permille(50) {
                let bit = rng.below(8 * 28_usize);
                datagram[9 + bit / 8] ^= 1 << (bit % 8);
            }
        }
    });
    assert_eq!(pair.transfer().await[0].mss, 1419);
    let path = pair.stacks[1].path(pair.inner[1], pair.inner[0]).expect("a path");
    // Nearly all on an idle machine; what comes after a pause of the threads differs too much from what came before.
    assert!(path.repaired > 50 && path.unreadable < path.repaired, "{path:?}");
}

/// The compact header of a segment is so much shorter that the packet in a datagram is longer than this.
#[tokio::test(flavor = "multi_thread")]
async fn full_segments_fill_the_datagrams_of_a_larger_mtu() {
    for mtu in [2060, 2061, 9000] {
        let profile = Profile { mtu: u16::MAX, ..Variant::Headway.apply(Profile::modern()) };
        let pair = Pair::with_mtu(mtu, &profile, |_| |_: &mut [u8]| ());
        // IPv4 and UDP headers, prefix, compact header, tag.
        assert_eq!(pair.transfer().await[0].mss, u32::from(mtu) - 28 - 9 - 28 - 16);
    }
}

/// A sender that has partial recovery, which the tunnel's tags judge.
fn partial() -> Profile {
    let mut profile = Variant::Headway.apply(Profile::modern());
    profile.features.partial = true;
    profile
}

/// Where the payload of a data segment is, behind a compact header without SACK blocks.
const PAYLOAD: usize = 9 + 28 + 32;

#[tokio::test(flavor = "multi_thread")]
async fn of_damaged_payloads_the_bad_blocks_alone_are_sent_again() {
    let pair = Pair::new(&partial(), |end| {
        let mut rng = Rng::new(end as u64 + 5);
        move |datagram: &mut [u8]| {
            if datagram[0] == 0x57 && rng.permille(100) {
                let bit = rng.below(8 * (datagram.len() - PAYLOAD));
                datagram[PAYLOAD + bit / 8] ^= 1 << (bit % 8);
            }
        }
    });
    let [sender, receiver] = pair.transfer().await;
    assert!(receiver.completed > 100, "{receiver:?}");
    assert!(
        sender.patches >= receiver.completed && sender.bytes_spared > 1000 * sender.patches,
        "{sender:?}"
    );
}

/// The bits of the product of two polynomials over GF(2): to both CRCs, whichever bytes it is added to, it is nothing.
fn unnoticed() -> u64 {
    // x^16 + x^12 + x^5 + 1 and the polynomial of CRC-32C.
    let (blocks, whole): (u64, u64) = (0x1_1021, 0x1_1edc_6f41);
    (0..17).filter(|bit| blocks >> bit & 1 == 1).fold(0, |product, bit| product ^ whole << bit)
}

/// An attacker under way changes payloads so that neither block sums nor the payload CRC notice: the receiver keeps them, the
/// sender finds no block that differs, and the tag does not hold.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_sum_notices_is_not_delivered() {
    let forge = |payload: &mut [u8]| {
        // Both CRCs take the lowest bit of a byte first, and the highest power.
        let bits = unnoticed().reverse_bits() >> 15;
        payload.iter_mut().zip(bits.to_le_bytes()).for_each(|(byte, flips)| *byte ^= flips);
    };
    let mut forged = vec![5; 200];
    forge(&mut forged);
    assert_ne!(forged, [5; 200]);
    assert_eq!((crc16(&forged), crc32c(&forged)), (crc16(&[5; 200]), crc32c(&[5; 200])), "it is a forgery");

    let pair = Pair::new(&partial(), |end| {
        let mut rng = Rng::new(end as u64 + 5);
        move |datagram: &mut [u8]| {
            if datagram[0] == 0x57 && datagram.len() > 1000 && rng.permille(50) {
                // Not the first block, which would come again.
                forge(&mut datagram[PAYLOAD + 64..PAYLOAD + 264]);
            }
        }
    });
    let [sender, receiver] = pair.transfer().await;
    assert!(sender.patches > 50 && receiver.completed == 0, "{sender:?} {receiver:?}");
}

/// Where HACK is not agreed on the headers are longer than the MTU takes account of: the first segments are too long, and then it
/// is shorter.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_without_hack_gets_through() {
    let pair = Pair::new(&Profile::modern(), |_| |_: &mut [u8]| ());
    assert_eq!(pair.transfer().await[0].mss, 1399);
}
