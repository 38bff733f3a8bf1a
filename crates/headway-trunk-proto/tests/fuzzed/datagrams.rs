//! Two gateways, and an attacker on the path whose deeds a string of bytes decides.

use headway_trunk_proto::{Event, PeerId};
use headway_units::Duration;

use crate::world::{Sent, World, at};

/// Deeds of one string at most.
const MOST_DEEDS: usize = 200;
/// What was sent once that the attacker keeps.
const MOST_KEPT: usize = 32;

/// The attacker replays, damages, truncates, invents and holds back, from any address. Whatever it does: nothing panics,
/// what is believed was sent, no session is made or lost, and both ends still reach each other.
pub(crate) fn check_datagrams(bytes: &[u8]) {
    let mut script = bytes;
    let mut next = || script.split_off_first().copied().unwrap_or(0);
    let mut world = World::connected();
    let mut kept: Vec<(Sent, Vec<u8>)> = Vec::new();
    let mut believed = 0;
    for deed in 0..MOST_DEEDS.min(bytes.len()) {
        let kind = next();
        let to_far = kind & 0x80 == 0;
        if kind % 8 == 0 || kept.is_empty() {
            let payload = vec![kind; usize::from(next()) * 5];
            // With a compact header, where there is data.
            let sealed = match kind >> 3 & 3 {
                form @ 0..2 if !payload.is_empty() => {
                    world.seal_data(to_far, deed as u32, &payload, form == 1)
                }
                _ => world.seal(to_far, deed as u32, &payload),
            };
            kept.push(sealed.expect("a session"));
            if kept.len() > MOST_KEPT {
                kept.remove(0);
            }
            continue;
        }
        if kind % 8 == 1 {
            world.run(Duration::from_millis(u64::from(next())));
            continue;
        }
        let place = usize::from(next()) % kept.len();
        let (mut sent, packet) = kept[place].clone();
        match kind % 8 {
            2 => {}
            3 => {
                let at = usize::from(u16::from_be_bytes([next(), next()])) % sent.bytes.len();
                sent.bytes[at] ^= next();
            }
            4 => sent.bytes.truncate(usize::from(next()) + 1),
            5 => sent.bytes = (0..next()).map(|_| next()).collect(),
            // The right beginning and length of a message of the handshake.
            6 => {
                let (kind, len) = [(1, 152), (2, 108), (3, 64)][usize::from(next()) % 3];
                sent.bytes = (0..len).map(|_| next()).collect();
                sent.bytes[0] = kind;
            }
            _ => sent.bytes.extend((0..next()).map(|_| next())),
        }
        if next() & 1 == 1 {
            sent.from = at(&format!("203.0.113.{}:{}", next(), 1 + u16::from(next())));
        }
        if let Some((headway_trunk_proto::SegmentIntegrity::Intact, opened)) = world.deliver(sent) {
            assert_eq!(opened, packet, "what is believed was sent");
            believed += 1;
        }
    }
    assert!(believed <= kept.len().max(MOST_DEEDS));
    for near in [true, false] {
        assert_eq!(world.saw(near, Event::Restarted(PeerId(0))), 0);
        assert_eq!(world.saw(near, Event::Connected(PeerId(0))), 1);
    }
    // Where a peer seems to be follows what is authentic, and the ends go on from where they are.
    world.run(Duration::from_millis(1));
    for _ in 0..3 {
        world.exchange(true);
        world.exchange(false);
    }
    assert!(world.exchange(true) && world.exchange(false));
}
