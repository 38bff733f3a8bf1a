//! A session that an earlier version made, with its secrets, is opened by this one.
//!
//! `RECORD=1 cargo test -p headway-trunk-proto --test all recorded` records another one, with the present version.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use headway_trunk_proto::{
    HEADROOM, PeerConfig, PresharedKey, Random, SecretKey, SegmentIntegrity, Transmit, Tunnel, TunnelConfig,
};
use headway_units::{Duration, Instant};
use headway_wire::Ecn;

use crate::world::{FAR, NEAR, World, at, random};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/session.txt");

/// What an end has drawn from its source of randomness.
type Draws = Arc<Mutex<Vec<Vec<u8>>>>;

fn recorded(mut random: Random, draws: &Draws) -> Random {
    let draws = Arc::clone(draws);
    Box::new(move |bytes| {
        random(bytes);
        draws.lock().expect("draws").push(bytes.to_vec());
    })
}

/// Gives what was drawn, to each length in order, and then zeros.
fn replayed(draws: &[Vec<u8>]) -> Random {
    let mut by_len: BTreeMap<usize, VecDeque<Vec<u8>>> = BTreeMap::new();
    for draw in draws {
        by_len.entry(draw.len()).or_default().push_back(draw.clone());
    }
    Box::new(move |bytes| match by_len.get_mut(&bytes.len()).and_then(VecDeque::pop_front) {
        Some(draw) => bytes.copy_from_slice(&draw),
        None => bytes.fill(0),
    })
}

/// The near end, or the far one. Datagrams are short, so that a recording is.
fn end(is_near: bool, random: Random) -> Tunnel {
    let secret = |is_near| SecretKey::from_bytes([if is_near { 21 } else { 22 }; 32]);
    let peer = PeerConfig {
        endpoint: is_near.then(|| at(FAR)),
        preshared: Some(PresharedKey::from_bytes([23; 32])),
        ..PeerConfig::new(secret(!is_near).public())
    };
    let config = TunnelConfig::new(secret(is_near), random);
    Tunnel::new(TunnelConfig { peers: vec![peer], epoch: 1_700_000_000_000_000_000, longest: 600, ..config })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hex");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// A handshake, what the ends send of their own for a second, and segments of each form in both directions.
fn record() -> String {
    let draws = [Draws::default(), Draws::default()];
    let mut world = World::new();
    world.near = end(true, recorded(random(31), &draws[0]));
    world.far = end(false, recorded(random(32), &draws[1]));
    let mut packets = BTreeMap::new();
    world.run(Duration::from_millis(1));
    for seq in 0..2 {
        for near in [true, false] {
            for (payload, form) in [(&b""[..], 0), (&[5; 40], 0), (&b"short"[..], 1), (&[6; 50], 2)] {
                let place = world.log.len();
                let sealed = match form {
                    0 => world.seal(near, seq, payload),
                    _ => world.seal_data(near, seq, payload, form == 2),
                };
                let (sent, packet) = sealed.expect("a session");
                packets.insert(place, packet.clone());
                assert_eq!(world.deliver(sent), Some((SegmentIntegrity::Intact, packet)));
            }
        }
        world.run(Duration::from_millis(600));
    }
    let mut text = String::new();
    for (end, draws) in ["near", "far"].iter().zip(&draws) {
        for draw in draws.lock().expect("draws").iter() {
            let _ = writeln!(text, "{end} draws {}", hex(draw));
        }
    }
    for (place, (time, sent)) in world.log.iter().enumerate() {
        let end = if sent.from == at(NEAR) { "near" } else { "far" };
        let packet = packets.get(&place).map(|packet| format!(" {}", hex(packet))).unwrap_or_default();
        let _ = writeln!(text, "{end} sends {} {}{packet}", time.as_nanos(), hex(&sent.bytes));
    }
    text
}

#[test]
fn a_recorded_session_is_opened() {
    if std::env::var_os("RECORD").is_some() {
        std::fs::write(FILE, record()).expect("a file");
    }
    let text = std::fs::read_to_string(FILE).expect("a recording");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let draws = |end| -> Vec<_> {
        let of_end = lines.iter().filter(|line| line[..2] == [end, "draws"]);
        of_end.map(|line| bytes(line[2])).collect()
    };
    let mut near = end(true, replayed(&draws("near")));
    let mut far = end(false, replayed(&draws("far")));
    near.handle_timeout(Instant::ZERO);
    let mut segments = 0;
    for line in lines.iter().filter(|line| line[1] == "sends") {
        let now = Instant::from_nanos(line[2].parse().expect("a time"));
        let (is_near, datagram) = (line[0] == "near", bytes(line[3]));
        let (sender, receiver, from) =
            if is_near { (&mut near, &mut far, NEAR) } else { (&mut far, &mut near, FAR) };
        // Handshake messages are made again, byte for byte.
        if datagram[0] < 0x40 {
            let made = sender.poll_transmit().map(|Transmit { datagram, .. }| datagram);
            assert_eq!(made, Some(datagram.clone()), "{line:?}");
        }
        let mut room = [&[0; HEADROOM][..], &datagram].concat();
        let arrival = receiver.receive(now, at(from), &mut room, HEADROOM, Ecn::Ce);
        if let Some(packet) = line.get(4) {
            let arrival = arrival.expect("a segment");
            assert_eq!(arrival.verdict, SegmentIntegrity::Intact, "{line:?}");
            let (opened, mut sent) = (&room[arrival.packet], bytes(packet));
            // The recording has the CRCs that were sent; an opened packet's are those of no payload where the header is compact.
            if datagram[0] >> 4 == 5 {
                sent[76..84].copy_from_slice(&opened[76..84]);
            }
            assert_eq!(opened, sent, "{line:?}");
            segments += 1;
        } else {
            assert!(arrival.is_none(), "{line:?}");
        }
        // A responder uses a session from the first packet on.
        if datagram[0] != 1 {
            let last = receiver.peers().next().and_then(|peer| peer.last_received);
            assert_eq!(last, Some(now), "authentic: {line:?}");
        }
    }
    assert_eq!(segments, 16);
    for tunnel in [&near, &far] {
        assert_eq!(tunnel.counters().bad_handshakes, 0);
        assert!(tunnel.peers().all(|peer| peer.session_since.is_some()));
    }
}
