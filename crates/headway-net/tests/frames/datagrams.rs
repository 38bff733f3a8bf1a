//! Datagrams of a modem's program: damaged, also where headers are, cut short, and among datagrams that are no frames. A modem's
//! program that starts late, and once more.

use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use headway_net::{FramesCarrier, FramesConfig, FramesSocket, ModemConfig, Stack};
use headway_test_fixture::process::{free_addresses, wait_until};
use headway_test_fixture::relay::Relay;
use headway_test_fixture::rng::Rng;

use super::both_ways;

/// The header of a datagram, which the modem makes.
const HEADER: usize = 8;

fn start(local: FramesSocket, modem: FramesSocket, own: u8) -> Stack {
    super::start(ModemConfig::Datagrams { local, modem }, own, 1500)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_that_are_damaged_cut_and_none() {
    let [a, b, near, far] = free_addresses();
    let hits = Arc::new(AtomicU64::new(0));
    let relay = Relay::new([near, far], [a, b], |from| {
        let seed = 4711 + from as u64;
        eprintln!("seed {seed}");
        let (mut rng, hits, to) = (Rng::new(seed), hits.clone(), [b, a][from]);
        move |datagram: &mut [u8], socket: &UdpSocket| {
            if datagram.len() == HEADER {
                return false;
            }
            // No frames, as another program may send them.
            if rng.one_in(20) {
                let mut noise: Vec<u8> = (0..rng.below(200_usize)).map(|_| rng.next() as u8).collect();
                if let (Some(version), true) = (noise.first_mut(), rng.one_in(2)) {
                    *version = 1;
                }
                let _ = socket.send_to(&noise, to);
            }
            if rng.one_in(2) {
                for _ in 0..rng.between(1, 8) {
                    rng.flip_bit(&mut datagram[HEADER..]);
                }
                hits.fetch_add(1, Ordering::Relaxed);
            }
            if rng.one_in(40) {
                let len = rng.between(HEADER, datagram.len());
                let _ = socket.send_to(&datagram[..len], to);
                return false;
            }
            true
        }
    });
    let stacks = [
        start(FramesSocket::Udp(a), FramesSocket::Udp(near), 1),
        start(FramesSocket::Udp(b), FramesSocket::Udp(far), 2),
    ];
    let statistics = both_ways(&stacks, 150_000, || {}).await;
    drop(relay);
    let hit = hits.load(Ordering::Relaxed);
    for end in statistics {
        assert!(end.damaged_received > hit / 8, "{hit} hit, {end:?}");
        assert!(end.special_acks_sent > 0 && end.damage_retransmissions > 0, "{hit} hit, {end:?}");
    }
}

/// Half of the long frames end early or are longer: as long as the front of one holds its header, it is damaged and not lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_with_another_length() {
    const LONG: usize = 1000;
    const FRONT: usize = 100;
    let [a, b, near, far] = free_addresses();
    let changed = Arc::new(AtomicU64::new(0));
    let relay = Relay::new([near, far], [a, b], |from| {
        let seed = 1213 + from as u64;
        eprintln!("seed {seed}");
        let (mut rng, changed, to) = (Rng::new(seed), changed.clone(), [b, a][from]);
        move |datagram: &mut [u8], socket: &UdpSocket| {
            if datagram.len() < LONG || rng.one_in(2) {
                return datagram.len() != HEADER;
            }
            let len = rng.between(HEADER + FRONT, datagram.len());
            // Cut, or with another frame behind it.
            let behind: Vec<u8> = (0..rng.below(200_usize)).map(|_| rng.next() as u8).collect();
            let _ = match rng.one_in(4) {
                true => socket.send_to(&[&*datagram, &behind].concat(), to),
                false => socket.send_to(&datagram[..len], to),
            };
            changed.fetch_add(1, Ordering::Relaxed);
            false
        }
    });
    let stacks = [
        start(FramesSocket::Udp(a), FramesSocket::Udp(near), 1),
        start(FramesSocket::Udp(b), FramesSocket::Udp(far), 2),
    ];
    let statistics = both_ways(&stacks, 300_000, || {}).await;
    drop(relay);
    let changed = changed.load(Ordering::Relaxed);
    let damaged: u64 = statistics.iter().map(|end| end.damaged_received).sum();
    println!("{changed} frames changed, {damaged} damaged segments");
    assert!(changed > 50 && damaged > changed / 10, "{changed} changed, {statistics:?}");
}

/// Each frame is hit where its header is: at its beginning, or at its end where the copy is. No segment is damaged then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_headers_is_hit_in_every_frame() {
    const SHORTEST: usize = 20;
    let [a, b, near, far] = free_addresses();
    let relay = Relay::new([near, far], [a, b], |from| {
        let seed = 815 + from as u64;
        eprintln!("seed {seed}");
        let mut rng = Rng::new(seed);
        move |datagram: &mut [u8], _: &UdpSocket| {
            if datagram.len() == HEADER {
                return false;
            }
            let frame = &mut datagram[HEADER..];
            let end = frame.len() - SHORTEST;
            let header = if rng.one_in(2) { &mut frame[..SHORTEST] } else { &mut frame[end..] };
            for _ in 0..4 {
                rng.flip_bit(header);
            }
            true
        }
    });
    let stacks = [
        start(FramesSocket::Udp(a), FramesSocket::Udp(near), 1),
        start(FramesSocket::Udp(b), FramesSocket::Udp(far), 2),
    ];
    for end in both_ways(&stacks, 300_000, || {}).await {
        assert_eq!((end.damaged_received, end.damage_retransmissions), (0, 0), "{end:?}");
    }
    drop(relay);
}

/// A program that brings frames from one Unix socket to the other, until it is dropped.
struct Program {
    stop: Arc<AtomicBool>,
    directions: Vec<JoinHandle<()>>,
}

impl Program {
    fn start(sockets: [PathBuf; 2], ends: [PathBuf; 2]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let opened = sockets.map(|path| {
            let _ = std::fs::remove_file(&path);
            let socket = UnixDatagram::bind(path).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            socket
        });
        let directions = [0, 1].map(|from| {
            let [input, output] = [from, 1 - from].map(|end| opened[end].try_clone().unwrap());
            let (stop, to) = (stop.clone(), ends[1 - from].clone());
            thread::spawn(move || {
                let mut buffer = [0; 2048];
                while !stop.load(Ordering::Relaxed) {
                    let Ok(len) = input.recv(&mut buffer) else { continue };
                    let _ = output.send_to(&buffer[..len], &to);
                }
            })
        });
        Self { stop, directions: directions.into() }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.directions.drain(..).for_each(|direction| direction.join().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_starts_late_and_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, near, far] = ["a", "b", "near", "far"].map(|name| folder.path().join(name));
    // As a program leaves it that was killed.
    drop(UnixDatagram::bind(&a).unwrap());
    let unix = |path: &PathBuf| FramesSocket::Unix(path.clone());
    let stacks = [start(unix(&a), unix(&near), 1), start(unix(&b), unix(&far), 2)];
    let (sockets, ends) = ([near, far], [a.clone(), b.clone()]);
    let program = move || Program::start(sockets.clone(), ends.clone());
    let late = thread::spawn({
        let (program, first) = (program.clone(), stacks[0].clone());
        move || {
            wait_until("no one takes its frames", || first.trouble().is_some());
            program()
        }
    });
    both_ways(&stacks, 100_000, || {}).await;
    let mut running = Some(late.join().unwrap());
    both_ways(&stacks, 1_000_000, || {
        drop(running.take());
        running = Some(program());
    })
    .await;
    drop((stacks, running));
    // The threads of the stacks end after this.
    wait_until("no socket is left", || !a.exists() && !b.exists());
}

#[test]
fn what_cannot_be_is_said() {
    let ip = |text: &str| text.parse().unwrap();
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = free.local_addr().unwrap().to_string();
    let cases = [
        (
            "127.0.0.1:0",
            "unix:near",
            "10.0.0.1",
            "10.0.0.2",
            1500,
            "two UDP addresses of one family with ports",
        ),
        ("127.0.0.1:0", "127.0.0.1:0", "10.0.0.1", "10.0.0.2", 1500, "127.0.0.1:0"),
        ("[::1]:0", "127.0.0.1:9", "10.0.0.1", "10.0.0.2", 1500, "one family"),
        ("unix:same", "unix:same", "10.0.0.1", "10.0.0.2", 1500, "two Unix sockets"),
        ("127.0.0.1:0", "127.0.0.1:9", "10.0.0.1", "fd00::2", 1500, "10.0.0.1 and fd00::2"),
        ("127.0.0.1:0", "127.0.0.1:9", "10.0.0.1", "10.0.0.1", 1500, "one for each end"),
        ("127.0.0.1:0", "127.0.0.1:9", "10.0.0.1", "10.0.0.2", 65_500, "frames of 65500 bytes"),
        (&taken, "127.0.0.1:9", "10.0.0.1", "10.0.0.2", 1500, "unused port"),
        ("unix:/nowhere/a", "unix:near", "10.0.0.1", "10.0.0.2", 1500, "unix:/nowhere/a"),
    ];
    for (local, modem, address, peer, mtu, expected) in cases {
        let (local, modem) = (local.parse().unwrap(), modem.parse().unwrap());
        let modem = ModemConfig::Datagrams { local, modem };
        let config = FramesConfig { modem, address: ip(address), peer: ip(peer), mtu };
        let error = FramesCarrier::open(&config).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains(expected)), "{config:?}: {error:?}");
    }
}
