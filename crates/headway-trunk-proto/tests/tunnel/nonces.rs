//! A nonce serves once under a key: seen from outside, over whole sessions, their replacements, and restarts of both ends.

use std::collections::{BTreeMap, BTreeSet};

use headway_trunk_proto::SegmentIntegrity;
use headway_units::{Duration, Instant};

use crate::world::{FAR, Sent, World, at, secret, tunnel};

/// Where parts of a sealed segment are: plain with timestamps, and compact. Of a compact header the first 16 bytes are known.
const PLAIN: (usize, usize) = (9, 9 + 32 + 32);
const COMPACT: (usize, usize) = (9, 9 + 28 + 16);
const BLOCK: usize = 16;

/// Pieces of keystream: where one comes back, two texts were encrypted with the same key and nonce.
#[derive(Default)]
struct Keystreams(BTreeSet<[u8; BLOCK]>);

impl Keystreams {
    fn add(&mut self, sealed: &[u8], text: &[u8]) {
        let piece = std::array::from_fn(|i| sealed[i] ^ text[i]);
        assert!(self.0.insert(piece), "a keystream comes back after {} others", self.0.len());
    }

    /// Of a segment that was made from `packet`: its header and its payload.
    fn add_segment(&mut self, sent: &Sent, packet: &[u8], payload: &[u8]) {
        let (header, body) = if sent.bytes[0] >> 4 == 5 { COMPACT } else { PLAIN };
        self.add(&sent.bytes[header..], &packet[40..]);
        self.add(&sent.bytes[body..], payload);
        // What follows the first block of the cipher.
        self.add(&sent.bytes[body + 64..], &payload[64..]);
    }
}

fn exchange(world: &mut World, keystreams: &mut Keystreams) {
    let payload = [7; 64 + BLOCK];
    for near in [true, false] {
        for has_compact_header in [true, false] {
            let sealed = match has_compact_header {
                true => world.seal_data(near, 1, &payload, false),
                false => world.seal(near, 1, &payload),
            };
            let (sent, packet) = sealed.expect("a session");
            keystreams.add_segment(&sent, &packet, &payload);
            assert_eq!(world.deliver(sent), Some((SegmentIntegrity::Intact, packet)));
        }
    }
}

#[test]
fn a_nonce_serves_once_under_a_key() {
    let (mut world, mut keystreams) = (World::connected(), Keystreams::default());
    // Six sessions, each replaced in time.
    for _ in 0..70 {
        exchange(&mut world, &mut keystreams);
        exchange(&mut world, &mut keystreams);
        world.run(Duration::from_secs(10));
    }
    let regular = sessions(&world.log);
    assert!((6..=7).contains(&regular.len()), "{} sessions in 700 s", regular.len());
    let packets: usize = regular.values().flatten().map(Vec::len).sum();
    assert!(packets > 70 * 8, "what the ends send of their own has numbers too");
    // Each end is restarted.
    for seed in 0..4 {
        match seed % 2 {
            0 => world.near = tunnel(1, secret(2).public(), Some(at(FAR)), 100 + seed),
            _ => world.far = tunnel(2, secret(1).public(), None, 100 + seed),
        }
        // The end that goes on notices it by silence.
        for _ in 0..10 {
            world.exchange(true);
            world.run(Duration::from_secs(1));
        }
        exchange(&mut world, &mut keystreams);
    }
    assert!(sessions(&world.log).len() >= regular.len() + 4);
    assert_eq!(keystreams.0.len(), 3 * (70 * 8 + 4 * 4));
}

/// A session by the indices in its response, of the responder and of the initiator.
type Indices = (Vec<u8>, Vec<u8>);

/// The numbers of the packets of each session and direction, which count from 0 on.
fn sessions(log: &[(Instant, Sent)]) -> BTreeMap<Indices, [Vec<u32>; 2]> {
    let mut sessions: BTreeMap<_, [Vec<u32>; 2]> = BTreeMap::new();
    for (_, sent) in log {
        let bytes = &sent.bytes;
        let receiver = bytes[1..5].to_vec();
        match bytes[0] {
            2 => {
                sessions.insert((bytes[4..8].to_vec(), bytes[8..12].to_vec()), Default::default());
            }
            0x40.. => {
                let number = u32::from_be_bytes(bytes[5..9].try_into().expect("4 bytes"));
                let mut of = sessions.iter_mut().filter(|((a, b), _)| *a == receiver || *b == receiver);
                let (indices, directions) = of.next().expect("a session");
                assert!(of.next().is_none(), "an index of two sessions");
                directions[usize::from(indices.0 == receiver)].push(number);
            }
            _ => {}
        }
    }
    for numbers in sessions.values_mut().flatten() {
        // What waits to be sent has its number already.
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..numbers.len() as u32), "{numbers:?}");
    }
    sessions
}
