//! Compact headers on the wire: what they carry, what damage does to them, and peers without them.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use headway_net::{
    Arrival, Carrier, CarrierProperties, Clock, Housekeeping, Stack, StackConfig, UdpCarrier, UdpConfig,
};
use headway_tcp::{HostCounters, Profile, Transmit, Variant};
use headway_test_fixture::process::{free_addresses, free_addresses_of, say_skipped};
use headway_test_fixture::relay::Relay;
use headway_test_fixture::rng::Rng;
use headway_trace::reader::Reader;
use headway_trace::{Capture, Direction};
use headway_wire::{ChecksumTrust, Received};

use super::pair::{INNER, Pair, both_ways};

/// A packet of 1500 bytes without IPv4 and UDP header.
const LONGEST: usize = 1472;
/// What compact headers have where others have a data offset of at least 5.
const DATA: u8 = 1;
const LAYOUTS: [u8; 3] = [DATA, 2, 4];

fn profile() -> Profile {
    Variant::Headway.apply(Profile::modern())
}

/// A carrier that knows nothing of compact headers: it offers none, and is given none to send.
struct Whole(UdpCarrier);

impl Carrier for Whole {
    fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }

    fn mtu(&self) -> u16 {
        self.0.mtu()
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn properties(&self) -> CarrierProperties {
        CarrierProperties::default()
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        self.0.housekeeping()
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.0.fill(clock)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        self.0.received(packets);
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.0.slot()
    }

    fn queue(&mut self, sent: Transmit) {
        self.0.queue(sent);
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.0.flush()
    }
}

/// Two stacks with a relay between them. The first or the second may know nothing of compact headers.
fn across<F>(knows: [bool; 2], mangle: impl Fn(usize) -> F) -> (Pair, Relay)
where
    F: FnMut(&mut [u8], &UdpSocket) -> bool + Send + 'static,
{
    let [a, b, near_a, near_b] = free_addresses();
    let relay = Relay::new([near_a, near_b], [a, b], mangle);
    let inner: [IpAddr; 2] = INNER.map(|address| address.parse().unwrap());
    let start = |local, peer, mine: usize| {
        let config = UdpConfig {
            inner_local: Some(inner[mine]),
            inner_peer: Some(inner[1 - mine]),
            ..UdpConfig::new(local, peer)
        };
        let carrier = UdpCarrier::open(&config).unwrap();
        let carrier: Box<dyn Carrier> =
            if knows[mine] { Box::new(carrier) } else { Box::new(Whole(carrier)) };
        let addresses = vec![inner[mine]];
        let config = StackConfig { addresses, profile: Some(profile()), ..StackConfig::default() };
        Stack::start(carrier, config).unwrap()
    };
    let (client, server) = (start(a, near_a, 0), start(b, near_b, 1));
    let address = SocketAddr::new(inner[1], 80);
    let listener = server.listen(address, 16).unwrap();
    (Pair { client, server, listener, address }, relay)
}

/// What passed a relay.
#[derive(Default)]
struct Passed {
    longest: AtomicUsize,
    /// Datagrams of [`LONGEST`] in the layout of data without SACK blocks.
    full: AtomicUsize,
    compact: AtomicUsize,
    whole: AtomicUsize,
    hit: AtomicUsize,
}

impl Passed {
    fn count(&self, datagram: &[u8]) {
        let layout = datagram[12] >> 4;
        self.longest.fetch_max(datagram.len(), Ordering::Relaxed);
        let is_full = layout == DATA && datagram.len() == LONGEST;
        self.full.fetch_add(is_full.into(), Ordering::Relaxed);
        let is_compact = LAYOUTS.contains(&layout);
        assert!(is_compact || layout >= 5, "{layout}");
        let counter = if is_compact { &self.compact } else { &self.whole };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn of(counter: &AtomicUsize) -> usize {
        counter.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_packet_carries_more() {
    let passed = Arc::new(Passed::default());
    let (pair, relay) = across([true; 2], |_| {
        let passed = passed.clone();
        move |datagram, _| {
            passed.count(datagram);
            true
        }
    });
    for statistics in both_ways(&pair, 5_000_000).await {
        assert_eq!(statistics.mss, 1441);
    }
    drop(relay);
    assert_eq!(Passed::of(&passed.longest), LONGEST);
    // Others have a SACK block, or are the last of what was written.
    assert!(Passed::of(&passed.full) > 5_000_000 / 1441, "{}", Passed::of(&passed.full));
    // The SYNs.
    assert!(Passed::of(&passed.whole) < 10, "{}", Passed::of(&passed.whole));
    for stack in [&pair.client, &pair.server] {
        assert_eq!((stack.counters().malformed, stack.counters().unreadable), (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_ipv6_too() {
    let loopback = IpAddr::from(std::net::Ipv6Addr::LOCALHOST);
    if UdpSocket::bind((loopback, 0)).is_err() {
        return say_skipped("ipv6", "on the loopback");
    }
    let [a, b] = free_addresses_of(loopback);
    let pair = Pair::between(profile(), UdpConfig::new(a, b), UdpConfig::new(b, a));
    for statistics in both_ways(&pair, 1_000_000).await {
        assert_eq!(statistics.mss, 1421);
    }
}

/// A file that can be read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_capture_has_whole_segments() {
    let [a, b] = free_addresses();
    let file = Shared::default();
    let start = |config: &UdpConfig, capture| {
        let carrier = UdpCarrier::open(config).unwrap();
        let addresses = vec![carrier.inner_address()];
        let config = StackConfig { addresses, profile: Some(profile()), capture, ..StackConfig::default() };
        Stack::start(carrier, config).unwrap()
    };
    let writer: Box<dyn io::Write + Send> = Box::new(file.clone());
    let capture = Capture::new(writer, &["client"]).unwrap();
    let (client, server) = (start(&UdpConfig::new(a, b), Some(capture)), start(&UdpConfig::new(b, a), None));
    let address = SocketAddr::new(b.ip(), 80);
    let listener = server.listen(address, 16).unwrap();
    let pair = Pair { client, server, listener, address };
    both_ways(&pair, 1_000_000).await;
    pair.client.close(std::time::Duration::from_secs(5)).await.unwrap();
    let file = file.0.lock().unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    let mut longest = [0; 2];
    while let Some(packet) = reader.next_packet().unwrap() {
        let Received::Intact(segment) = Received::parse(packet.bytes, ChecksumTrust::None) else {
            panic!("{packet:?}");
        };
        let place = &mut longest[usize::from(packet.direction == Some(Direction::Inbound))];
        *place = segment.payload.len().max(*place);
    }
    assert_eq!(longest, [1441; 2], "bytes of data sent, and received");
}

/// Of one in 20 datagrams some bits are flipped, anywhere, and of one in 20 one bit of the header.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_byte_is_right_through_damage() {
    let passed = Arc::new(Passed::default());
    let (pair, relay) = across([true; 2], |from| {
        let (passed, mut rng) = (passed.clone(), Rng::new(70 + from as u64));
        move |datagram, _| {
            passed.count(datagram);
            let is_syn = datagram[12] >> 4 >= 5;
            match rng.below(20_u32) {
                _ if is_syn => return true,
                0 => (0..1 + rng.below(4_u32)).for_each(|_| {
                    rng.flip_bit(datagram);
                }),
                1 => {
                    let header = datagram.len().min(31);
                    rng.flip_bit(&mut datagram[..header]);
                }
                _ => return true,
            }
            passed.hit.fetch_add(1, Ordering::Relaxed);
            true
        }
    });
    let [client, server] = both_ways(&pair, 5_000_000).await;
    drop(relay);
    assert_eq!((client.mss, server.mss), (1441, 1441));
    assert_eq!(Passed::of(&passed.longest), LONGEST, "SACK blocks beside data included");
    let counters = [pair.client.counters(), pair.server.counters()];
    let sum = |of: fn(&HostCounters) -> u64| counters.iter().map(of).sum::<u64>();
    let (repaired, unreadable) = (sum(|counters| counters.repaired), sum(|counters| counters.unreadable));
    let hit = Passed::of(&passed.hit) as u64;
    eprintln!("{hit} hit, {repaired} repaired, {unreadable} unreadable, {client:?}, {server:?}");
    assert!(hit > 300 && repaired > hit / 8, "{hit} hit, {repaired} repaired");
    assert!(client.damaged_received + server.damaged_received > hit / 8, "{hit} hit");
}

/// A peer of a version without compact headers, at either end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_without_them_gets_whole_segments() {
    for knows in [[true, false], [false, true]] {
        let passed = Arc::new(Passed::default());
        let (pair, relay) = across(knows, |from| {
            let (passed, mut rng) = (passed.clone(), Rng::new(80 + from as u64));
            move |datagram, _| {
                passed.count(datagram);
                if datagram.len() > 60 && rng.one_in(20) {
                    rng.flip_bit(&mut datagram[60..]);
                }
                true
            }
        });
        for statistics in both_ways(&pair, 2_000_000).await {
            assert_eq!(statistics.mss, 1428, "{knows:?}");
            assert!(statistics.special_acks_sent > 0, "{knows:?}: HACK v2 is agreed");
        }
        drop(relay);
        assert_eq!(Passed::of(&passed.compact), 0, "{knows:?}");
        assert_eq!(Passed::of(&passed.longest), LONGEST, "{knows:?}");
    }
}
