//! Two gateways over the frames of modems, which are damaged in both directions wherever it falls, and cut short.

use std::net::UdpSocket;
use std::process::Command;

use headway_test_fixture::air::{self, Air};
use headway_test_fixture::process::{free_addresses, say_skipped};
use headway_test_fixture::relay::Relay;
use headway_test_fixture::rng::Rng;
use headway_test_fixture::tnc::{Tncs, damage};
use headway_trunk::{Config, Gateway};
use headway_trunk_proto::SecretKey;
use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::time::{Duration, sleep, timeout};

use super::exchange;
use super::pair::{LONG, key_file, server, through};

/// The header of a datagram, which the modem makes.
const HEADER: usize = 8;

/// Two gateways, whose `[modem]`s have these keys. The near one has a SOCKS server.
struct ModemPair {
    gateways: [Gateway; 2],
    _folder: TempDir,
}

impl ModemPair {
    async fn start(modems: [String; 2]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = [1, 2].map(|byte| SecretKey::from_bytes([byte; 32]));
        let gateway = |own: usize, rest: &str| {
            key_file(folder.path(), &format!("{own}.key"), &keys[own]);
            let (peer, modem) = (keys[1 - own].public(), &modems[own]);
            let text = format!(
                "gateway.key-file = '{own}.key'\n[modem]\n{modem}\n\
                 [[peer]]\nname = 'peer'\npublic-key = '{peer}'\n{rest}"
            );
            let config = Config::parse(&text, &folder.path().join("gateway.toml")).expect("a configuration");
            config.check().expect("a sound configuration");
            Gateway::start(&config).expect("a gateway")
        };
        let gateways =
            [gateway(0, "[[socks]]\nlisten = '127.0.0.1:0'"), gateway(1, "destinations = ['127.0.0.1/32']")];
        let pair = Self { gateways, _folder: folder };
        timeout(LONG, async {
            while !pair.gateways.iter().all(|gateway| gateway.status().peers[0].connected) {
                sleep(Duration::from_millis(20)).await;
            }
        })
        .await
        .expect("a session");
        pair
    }

    /// Sends `len` bytes each way through both, and compares all of them.
    async fn exchange(&self, len: usize) {
        let (listener, address) = server().await;
        let served = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            exchange(stream, (2, 1), len).await;
        });
        let stream = through(self.gateways[0].entries()[0], address).await.expect("a connection");
        exchange(stream, (1, 2), len).await;
        served.await.expect("the server's side");
    }
}

/// Two gateways over frames, with which `mangle` does something; it says whether they go on.
async fn over_frames<F>(mangle: F) -> (ModemPair, Relay)
where
    F: FnMut(&mut Rng, &mut Vec<u8>) -> bool + Clone + Send + 'static,
{
    let [a, b, near, far] = free_addresses();
    let relay = Relay::new([near, far], [a, b], |from| {
        let seed = 1620 + from as u64;
        eprintln!("seed {seed}");
        let (mut rng, mut mangle, to) = (Rng::new(seed), mangle.clone(), [b, a][from]);
        move |datagram: &mut [u8], socket: &UdpSocket| {
            let (header, frame) = datagram.split_at_mut(HEADER);
            let mut frame = frame.to_vec();
            if !frame.is_empty() && mangle(&mut rng, &mut frame) {
                let _ = socket.send_to(&[&*header, &frame[..]].concat(), to);
            }
            false
        }
    });
    let modems = [[a, near], [b, far]].map(|[own, modem]| format!("frames = ['{own}', '{modem}']"));
    (ModemPair::start(modems).await, relay)
}

/// Half of the frames are hit in some places, and one in 40 is cut short.
#[tokio::test(flavor = "multi_thread")]
async fn every_byte_crosses_modems_that_damage_frames() {
    let (pair, _relay) = over_frames(|rng, frame| {
        if rng.one_in(2) {
            for _ in 0..rng.between(1, 8) {
                rng.flip_bit(frame);
            }
        }
        if rng.one_in(40) {
            frame.truncate(rng.between(1, frame.len()));
        }
        true
    })
    .await;
    pair.exchange(300_000).await;
    // The status is brought up to date every 200 ms.
    sleep(Duration::from_millis(500)).await;
    for gateway in &pair.gateways {
        let status = gateway.status();
        assert!(status.corrupted > 20 && status.unreadable > 0, "damage did arrive: {status:?}");
        assert!(status.listen.is_none() && status.place().starts_with("modem 127.0.0.1:"), "{status:?}");
        assert_eq!((status.peers[0].endpoint, status.peers[0].connected), (None, true));
    }
}

/// Each frame is hit where its header is: at its beginning, or at its end where the copy is. All arrive as they were sent.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_headers_is_hit_in_every_frame() {
    const SHORTEST: usize = 25;
    let (pair, _relay) = over_frames(|rng, frame| {
        let end = frame.len() - SHORTEST;
        let header = if rng.one_in(2) { &mut frame[..SHORTEST] } else { &mut frame[end..] };
        for _ in 0..4 {
            rng.flip_bit(header);
        }
        true
    })
    .await;
    pair.exchange(300_000).await;
    sleep(Duration::from_millis(500)).await;
    for gateway in &pair.gateways {
        let status = gateway.status();
        assert_eq!((status.corrupted, status.unreadable), (0, 0), "{status:?}");
        // What comes under a session of a handshake that crossed another.
        assert!(status.ignored <= 2, "{status:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_byte_crosses_tncs_that_damage_frames() {
    let tncs = Tncs::start(damage);
    let modem = |own: usize| {
        let (place, peer) = (tncs.places()[own], 1 - own);
        format!(
            "kiss = '{place}'\ncallsign = 'N0CALL-{own}'\npeer-callsign = 'N0CALL-{peer}'\nturnaround = '5ms'"
        )
    };
    let pair = ModemPair::start([modem(0), modem(1)]).await;
    pair.exchange(20_000).await;
    sleep(Duration::from_millis(500)).await;
    for (gateway, place) in pair.gateways.iter().zip(tncs.places()) {
        let status = gateway.status();
        assert!(status.corrupted > 5, "damage did arrive: {status:?}");
        assert_eq!(status.place(), format!("modem {place}"));
    }
}

/// Two cards at each end, in a namespace of the test.
#[test]
fn every_byte_crosses_wifi_cards_in_monitor_mode() {
    let within = || {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            return say_skipped("root", &format!("network namespaces: {error}"));
        }
        let Some(air) = Air::start(2, true, air::damage) else { return };
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
        assert!(up.expect("ip").success());
        // All of the gateways is in this thread, or in others that it starts: in the namespace.
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let modems = [0, 1].map(|end| format!("monitor = {:?}", air.interfaces(end)));
            let pair = ModemPair::start(modems).await;
            pair.exchange(300_000).await;
            sleep(Duration::from_millis(500)).await;
            for (end, gateway) in pair.gateways.iter().enumerate() {
                let status = gateway.status();
                assert!(status.corrupted > 5, "damage did arrive: {status:?}");
                assert_eq!(status.place(), format!("modem {}", air.interfaces(end).join(",")));
            }
        });
    };
    std::thread::scope(|scope| scope.spawn(within).join().expect("the thread"));
}
