//! The stack survives arbitrary input. Its own process, since it measures the process's memory.
//!
//! `HEADWAY_SECONDS=300 cargo test -p headway-net --test hostile` runs for five minutes, with seeds from
//! `HEADWAY_SEED` on.

#[expect(dead_code, reason = "shared with the tests over UDP")]
#[path = "udp/pair.rs"]
mod pair;

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headway_net::{Stack, StackConfig, UdpCarrier, UdpConfig};
use headway_tcp::{Profile, Variant};
use headway_test_fixture::packet;
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::{free_addresses, resident, wait_until};
use headway_test_fixture::rng::Rng;
use headway_test_fixture::seeds;
use headway_wire::{SeqNumber, TcpFlags, TcpHeader, TcpOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use pair::{receive, send};

/// The minimum number of seeds.
const FEWEST: u64 = 20;
/// Packets per seed.
const PACKETS: usize = 5_000;
/// The memory limit of the process: a backlog of connections and their paths.
const LIMIT: usize = 200 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arbitrary_and_mutated_segments() {
    let [stack_at, peer_at] = free_addresses();
    let config = UdpConfig { peer: None, ..UdpConfig::new(stack_at, peer_at) };
    let carrier = UdpCarrier::open(&config).unwrap();
    let addresses = vec![carrier.inner_address()];
    let profile = Some(Variant::Headway.apply(Profile::modern()));
    let stack = Stack::start(carrier, StackConfig { addresses, profile, ..StackConfig::default() }).unwrap();
    let address = std::net::SocketAddr::new(stack_at.ip(), 80);
    let listener = stack.listen(address, 1024).unwrap();
    // Accepts, reads and answers, so that segments meet connections in every state.
    let accepted = Arc::new(AtomicU64::new(0));
    let count = accepted.clone();
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                    if stream.write_all(&buffer[..n]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    let socket = UdpSocket::bind(peer_at).unwrap();
    socket.set_nonblocking(true).unwrap();
    for seed in seeds::for_seconds(FEWEST) {
        attack(&socket, stack_at, seed);
        assert!(!serving.is_finished(), "seed {seed}");
        assert!(resident() < LIMIT, "seed {seed}: {} bytes", resident());
        tokio::task::yield_now().await;
    }
    let counters = stack.counters();
    let met = [counters.malformed, counters.unreadable, counters.resets, accepted.load(Ordering::Relaxed)];
    assert!(met.iter().all(|&count| count > 0), "too few states were reached: {counters:?}, {met:?}");
    // It still accepts connections.
    drop(socket);
    let carrier = UdpCarrier::open(&UdpConfig::new(peer_at, stack_at)).unwrap();
    let addresses = vec![carrier.inner_address()];
    let client = Stack::start(carrier, StackConfig { addresses, ..StackConfig::default() }).unwrap();
    let stream = client.connect(address).await.unwrap();
    let (pattern, len) = (Pattern(1), 1_000_000);
    let bytes = pattern.bytes(0, len);
    let (from, to) = tokio::io::split(stream);
    let (sent, got) = tokio::join!(send(to, &bytes), receive(from, pattern));
    sent.unwrap();
    assert_eq!(got.unwrap(), len);
    serving.abort();
}

/// Sends partly valid segments; reads the answers, so that sequence numbers can be valid too.
fn attack(socket: &UdpSocket, to: std::net::SocketAddr, seed: u64) {
    let mut chance = Rng::new(seed);
    let mut last = packet::tcp(80, 1000, TcpFlags::SYN);
    let mut buffer = [0; 2048];
    let mut answer = [0; 2048];
    // Not a port of the attack's.
    open(socket, to, 2000 + (seed % 60_000) as u16);
    for _ in 0..PACKETS {
        while let Ok(len) = socket.recv(&mut answer) {
            if let Some(fixed) = answer[..len].first_chunk::<20>() {
                last = parse(fixed);
            }
        }
        let roll = chance.next();
        let len = if roll.is_multiple_of(8) {
            // Random bytes of any length.
            let len = roll as usize / 8 % 200;
            chance.fill(&mut buffer[..len]);
            if roll.is_multiple_of(16) {
                // A layout of compact headers, and values that none has.
                buffer[12] &= 0x7f;
            }
            len
        } else {
            let len = segment(&mut buffer, &mut chance, &last);
            if roll % 8 < 4 {
                // Mutated: bits flipped, or truncated.
                for _ in 0..1 + roll % 3 {
                    let bit = chance.next() as usize % (len * 8);
                    buffer[bit / 8] ^= 1 << (bit % 8);
                }
            }
            if roll % 16 == 7 { chance.next() as usize % len } else { len }
        };
        // A full socket drops it.
        let _ = socket.send_to(&buffer[..len], to);
    }
}

/// Opens a connection. The attack may open none where the stack gets hardly any of the processor's time.
fn open(socket: &UdpSocket, to: std::net::SocketAddr, port: u16) {
    let send = |tcp: TcpHeader| {
        let ip = packet::ip([0; 4].into(), [0; 4].into());
        let packet = packet::segment(&ip, &tcp, &TcpOptions::default(), &[]);
        // A full socket drops it.
        let _ = socket.send_to(&packet[20..], to);
    };
    let mut answer = [0; 2048];
    socket.set_nonblocking(false).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    wait_until("an answer", || {
        send(packet::tcp(port, 80, TcpFlags::SYN));
        while let Ok(len) = socket.recv(&mut answer) {
            let Some(theirs) = answer[..len].first_chunk::<20>().map(parse) else { continue };
            if theirs.dst_port == port {
                let seq = theirs.ack;
                send(TcpHeader { seq, ack: theirs.seq + 1, ..packet::tcp(port, 80, TcpFlags::ACK) });
                return true;
            }
        }
        false
    });
    socket.set_nonblocking(true).unwrap();
}

fn parse(fixed: &[u8; 20]) -> TcpHeader {
    let short = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let long = |at: usize| SeqNumber(u32::from(short(at)) << 16 | u32::from(short(at + 2)));
    TcpHeader {
        src_port: short(0),
        dst_port: short(2),
        seq: long(4),
        ack: long(8),
        flags: TcpFlags::from_bits(fixed[13]),
        window: short(14),
        urgent: 0,
    }
}

/// A segment that answers the last one received, or opens a connection, without its IP header; the
/// pseudo-header has addresses of zero.
fn segment(buffer: &mut [u8], chance: &mut Rng, last: &TcpHeader) -> usize {
    let roll = chance.next();
    let near = |number: SeqNumber, roll: u64| match roll % 4 {
        0 | 1 => number,
        2 => number + (roll >> 8) as u32 % 100_000,
        _ => SeqNumber((roll >> 8) as u32),
    };
    let new = roll.is_multiple_of(8);
    let flags = if new { TcpFlags::SYN } else { TcpFlags::from_bits((roll >> 8) as u8 & 0x1f | 0x10) };
    let tcp = TcpHeader {
        src_port: if new { 1000 + (roll >> 16) as u16 % 500 } else { last.dst_port },
        dst_port: 80,
        seq: near(last.ack, chance.next()),
        ack: if new { SeqNumber(0) } else { near(last.seq + 1, chance.next()) },
        flags,
        window: (roll >> 32) as u16,
        urgent: 0,
    };
    let mut options = TcpOptions { hack: roll.is_multiple_of(3).then_some(0x5848), ..TcpOptions::default() };
    options.sack_permitted = new;
    options.mss = new.then_some((roll >> 48) as u16);
    let len = if new { 0 } else { chance.next() as usize % 600 };
    let mut payload = [0; 600];
    chance.fill(&mut payload[..len]);
    let packet = packet::segment(&packet::ip([0; 4].into(), [0; 4].into()), &tcp, &options, &payload[..len]);
    let len = packet.len();
    buffer[..len - 20].copy_from_slice(&packet[20..]);
    len - 20
}
