//! The stack survives arbitrary input from a real TUN: random bytes, mutated captures, partly valid
//! segments, forged ICMP. Its own process, since it measures the process's memory, and its own network
//! namespace, which needs root.
//!
//! `HEADWAY_SECONDS=300 cargo test -p headway-net --test tun` runs for five minutes, with seeds from
//! `HEADWAY_SEED` on.

mod attack;
mod mutation;
mod recording;

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use headway_net::{CaptureFile, Stack, StackConfig, TunCarrier, TunConfig};
use headway_tcp::{Profile, Variant};
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::{resident, say_skipped};
use headway_test_fixture::seeds;
use nix::sched::{CloneFlags, unshare};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Handle, Runtime};

use attack::Attacker;

/// The addresses of the stack and the attacker; the kernel does not have them and so does not answer.
const OURS: [&str; 2] = ["10.77.2.2", "fd77::2"];
const THEIRS: [&str; 2] = ["10.77.2.9", "fd77::9"];

/// The minimum number of seeds.
const FEWEST: u64 = 10;
/// The memory limit of the process: a backlog of connections and their paths.
const LIMIT: usize = 200 << 20;

#[test]
fn the_stack_survives_arbitrary_input() {
    let runtime = Runtime::new().unwrap();
    let handle = runtime.handle().clone();
    // Only this thread is in the namespace.
    let attacked = thread::spawn(move || {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            say_skipped("root", &format!("network namespaces: {error}"));
            return;
        }
        survive(&handle);
    });
    attacked.join().unwrap();
}

fn survive(handle: &Handle) {
    let packets = recording::record(handle);
    let accepted = Arc::new(AtomicU64::new(0));
    let stack = start(handle, None, &accepted);
    let mut attacker = Attacker::new(packets);
    for seed in seeds::for_seconds(FEWEST) {
        attacker.attack(seed);
        assert!(resident() < LIMIT, "seed {seed}: {} bytes", resident());
    }
    let counters = stack.counters();
    eprintln!("{} packets, {} bytes resident, {counters:?}", attacker.sent(), resident());
    let met = [
        counters.malformed,
        counters.unreadable,
        counters.resets,
        counters.icmp_heard,
        counters.icmp_ignored,
        counters.echoes_sent,
        accepted.load(Ordering::Relaxed),
    ];
    assert!(met.iter().all(|&count| count > 0), "too few states were reached: {counters:?}, {met:?}");
    // It still serves: the kernel's TCP gets its data echoed.
    let (pattern, len) = (Pattern(1), 1_000_000);
    pattern.check_all(len, &echo(&pattern.bytes(0, len)));
}

/// A stack on a TUN, with an echo server at port 80.
fn start(handle: &Handle, capture: Option<CaptureFile>, accepted: &Arc<AtomicU64>) -> Stack {
    let address = format!("{}/24", OURS[0]).parse().unwrap();
    let config =
        TunConfig { device: "hw0".into(), address, kernel: None, mtu: None, offload: false, only_peer: None };
    let carrier = TunCarrier::open(&config).unwrap();
    let addresses: Vec<IpAddr> = OURS.iter().map(|address| address.parse().unwrap()).collect();
    let profile = Some(Variant::Headway.apply(Profile::modern()));
    let stack =
        Stack::start(carrier, StackConfig { addresses, profile, capture, ..StackConfig::default() }).unwrap();
    for address in OURS {
        let listener = stack.listen(SocketAddr::new(address.parse().unwrap(), 80), 1024).unwrap();
        let accepted = accepted.clone();
        handle.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::Relaxed);
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
    }
    stack
}

/// The echo that the kernel's TCP gets.
fn echo(bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect((OURS[0], 80)).unwrap();
    let mut writing = stream.try_clone().unwrap();
    let mut back = Vec::new();
    thread::scope(|scope| {
        scope.spawn(move || {
            writing.write_all(bytes).unwrap();
            writing.shutdown(std::net::Shutdown::Write).unwrap();
        });
        stream.read_to_end(&mut back).unwrap();
    });
    back
}
