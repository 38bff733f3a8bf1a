//! Damaged payloads are delivered, and reported for retransmission at once.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use headway_net::UdpConfig;
use headway_tcp::{Profile, Variant};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use tokio::io::AsyncReadExt as _;

use crate::pair::{Pair, content, digest, free_ports, receive, send};

/// Forwards datagrams and flips a bit in the payload of every `EVERY`th long one, like a link without a
/// frame check.
struct BadLink {
    stop: Arc<AtomicBool>,
    hit: Arc<AtomicU64>,
    ways: Vec<JoinHandle<()>>,
}

const EVERY: u64 = 20;
/// Beyond any TCP header, in a data segment.
const HEADER: usize = 60;

impl BadLink {
    fn new(inlets: [SocketAddr; 2], ends: [SocketAddr; 2]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let hit = Arc::new(AtomicU64::new(0));
        // The first end sends to `inlets[0]`, and the second receives from `inlets[1]`.
        let sockets = inlets.map(|inlet| {
            let socket = UdpSocket::bind(inlet).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            socket
        });
        let ways = [0, 1].map(|way| {
            let input = sockets[way].try_clone().unwrap();
            let output = sockets[1 - way].try_clone().unwrap();
            let (stop, hit, to) = (stop.clone(), hit.clone(), ends[1 - way]);
            let mut chance = Xoshiro256PlusPlus::seed_from_u64(7 + way as u64);
            thread::spawn(move || {
                let mut buffer = [0; 2048];
                while !stop.load(Ordering::Relaxed) {
                    let Ok(len) = input.recv(&mut buffer) else { continue };
                    if len > HEADER && chance.next_u64() % EVERY == 0 {
                        let bit = chance.next_u64() as usize % ((len - HEADER) * 8);
                        buffer[HEADER + bit / 8] ^= 1 << (bit % 8);
                        hit.fetch_add(1, Ordering::Relaxed);
                    }
                    // A full buffer drops it.
                    let _ = output.send_to(&buffer[..len], to);
                }
            })
        });
        Self { stop, hit, ways: ways.into() }
    }

    fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for way in self.ways {
            way.join().unwrap();
        }
        self.hit.load(Ordering::Relaxed)
    }
}

async fn through_damage(variant: Variant) {
    let [a, b, near_a, near_b] = free_ports();
    let link = BadLink::new([near_a, near_b], [a, b]);
    // The outer addresses are the link's, so the inner ones are configured.
    let inner = ["10.77.2.1", "10.77.2.2"].map(|address| Some(address.parse().unwrap()));
    let config = |local, peer, mine: usize| UdpConfig {
        inner_local: inner[mine],
        inner_peer: inner[1 - mine],
        ..UdpConfig::new(local, peer)
    };
    let pair = Pair::between(variant.apply(Profile::modern()), config(a, near_a, 0), config(b, near_b, 1));
    let (mut client, mut server) = pair.connect().await;
    let bytes = content(6, 5_000_000);
    let (sent, got) = tokio::join!(send(&mut client, &bytes), receive(&mut server));
    sent.unwrap();
    assert_eq!(got.unwrap(), (bytes.len(), digest(&bytes)), "{variant}");
    let (sender, receiver) = (client.statistics().unwrap(), server.statistics().unwrap());
    drop(server);
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    let hit = link.end();
    eprintln!(
        "{variant}: {hit} hit, {} resends, {} recoveries, {} timeouts",
        sender.damage_retransmissions, sender.fast_recoveries, sender.timeouts
    );
    assert!(hit > 50, "{variant}: only {hit} packets were hit");
    assert!(receiver.damaged_received > hit / 2, "{variant}: {hit} hit, {receiver:?}");
    assert!(
        receiver.special_acks_sent > 0 && sender.damage_retransmissions > hit / 4,
        "{variant}: {hit} hit, {sender:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extended_hack() {
    through_damage(Variant::XhackSack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn version_2() {
    through_damage(Variant::Headway).await;
}
