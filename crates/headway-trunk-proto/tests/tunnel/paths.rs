//! Peers that move, and someone on the path who lets it seem so (RFC 9000, 9.3).

use std::net::SocketAddr;

use headway_test_fixture::rng::Rng;
use headway_test_fixture::seeds;
use headway_trunk_proto::{Event, PeerId};
use headway_units::{Duration, Instant};

use super::HEADER;
use crate::world::{FAR, NEAR, Sent, World, at};

const VICTIM: &str = "203.0.113.1:5";
const MOVED: &str = "198.51.100.7:9";
/// Bytes of a challenge.
const CHALLENGE: usize = 34;

/// Where an end of the world sends to.
fn endpoint(world: &World, of_near: bool) -> Option<SocketAddr> {
    let end = if of_near { &world.near } else { &world.far };
    end.peers().next().expect("a peer").endpoint
}

fn bytes_to(world: &World, address: SocketAddr) -> usize {
    world.astray.iter().filter(|sent| sent.to == address).map(|sent| sent.bytes.len()).sum()
}

/// Packets in both directions, every 10 ms for `milliseconds`. Says how many of each end arrived.
fn talk(world: &mut World, milliseconds: u64) -> [u32; 2] {
    let mut arrived = [0; 2];
    for _ in 0..milliseconds / 10 {
        for (from_near, arrived) in [true, false].into_iter().zip(&mut arrived) {
            *arrived += u32::from(world.exchange(from_near));
        }
        world.run(Duration::from_millis(10));
    }
    arrived
}

#[test]
fn the_peer_may_move_and_a_replay_moves_no_one() {
    let mut world = World::connected();
    assert_eq!(world.saw(false, Event::Moved(PeerId(0), world.near_at)), 0, "it is known for the first time");
    let (old, _) = world.seal(true, 1, b"old").expect("a session");
    world.deliver(old.clone());
    let moved = at(MOVED);
    // One packet alone moves no one: its port may be damaged.
    for port in [9, 10] {
        world.near_at = at(&format!("198.51.100.7:{port}"));
        assert!(world.exchange(true));
        world.run(Duration::from_millis(200));
        assert_eq!(world.saw(false, Event::Moved(PeerId(0), world.near_at)), 0);
    }
    world.near_at = moved;
    assert!(world.exchange(true));
    assert!(world.exchange(true));
    world.run(Duration::from_millis(100));
    assert_eq!(world.saw(false, Event::Moved(PeerId(0), moved)), 1);
    assert!(world.exchange(false), "the far end answers there");
    // A copy of an old packet, and one with a damaged header, from elsewhere.
    let (mut damaged, _) = world.seal(true, 2, b"damaged").expect("a session");
    damaged.bytes[HEADER.start] ^= 1;
    for sent in [old, damaged] {
        for _ in 0..2 {
            world.deliver(Sent { from: at(VICTIM), ..sent.clone() });
        }
        world.run(Duration::from_millis(100));
        assert_eq!(bytes_to(&world, at(VICTIM)), 0);
        assert!(world.exchange(false));
    }
}

/// Someone on the path has kept packets back: of the session in use, or of the one before it.
#[test]
fn packets_that_come_late_from_elsewhere_let_no_one_be_asked_there() {
    for is_of_session_before in [false, true] {
        let mut world = World::connected();
        world.run(Duration::from_secs(3));
        let kept: Vec<_> = (0..4).map(|seq| world.seal(true, seq, b"late").expect("a session").0).collect();
        let handshakes = world.far.counters().handshakes;
        if is_of_session_before {
            while world.far.counters().handshakes == handshakes {
                world.run(Duration::from_secs(1));
            }
        } else {
            assert!(world.exchange(true));
        }
        for late in kept {
            assert!(world.deliver(Sent { from: at(MOVED), ..late }).is_some(), "it is opened");
            world.run(Duration::from_millis(100));
        }
        assert_eq!((endpoint(&world, false), bytes_to(&world, at(MOVED))), (Some(at(NEAR)), 0));
    }
}

/// Whoever repeats all packets of an end from an address has none of the other's sent there, but the challenges.
#[test]
fn packets_repeated_from_elsewhere_divert_nothing() {
    for near in [true, false] {
        for from_the_start in [true, false] {
            let mut world = if from_the_start { World::new() } else { World::connected() };
            world.repeats = Some((near, at(VICTIM)));
            world.run(Duration::from_millis(500));
            world.astray.clear();
            assert_eq!(talk(&mut world, 30_000), [3000; 2], "near: {near}, {from_the_start}");
            assert_eq!(endpoint(&world, true), Some(at(FAR)));
            assert_eq!(endpoint(&world, false), Some(at(NEAR)));
            assert!(world.astray.iter().all(|sent| sent.to == at(VICTIM) && sent.bytes.len() == CHALLENGE));
            let sent = world.astray.len();
            assert!((1..=60).contains(&sent), "{sent} in half a minute");
        }
    }
}

/// At no time more than three times what came from there, whatever is repeated, also while handshakes go on.
#[test]
fn to_an_address_that_does_not_answer_little_is_sent() {
    let command = "cargo test -p headway-trunk-proto --test all little_is_sent";
    seeds::each(40, command, |seed| {
        let mut rng = Rng::new(seed);
        let mut world = World::new();
        let (victim, near) = (at(VICTIM), rng.coin());
        let share = rng.between(1_u32, 1000);
        let mut came = 0;
        let mut under_way: Vec<(Instant, Sent)> = Vec::new();
        while world.now.as_nanos() < 30_000_000_000 {
            world.now += Duration::from_millis(10);
            let mut sent = Vec::new();
            for from_near in [true, false] {
                let from = if from_near { world.near_at } else { world.far_at };
                let tunnel = if from_near { &mut world.near } else { &mut world.far };
                tunnel.handle_timeout(world.now);
                while let Some(own) = tunnel.poll_transmit() {
                    sent.push(Sent { from, to: own.to, bytes: own.datagram, checksum: own.checksum });
                }
                if rng.permille(20) {
                    sent.extend(world.seal(from_near, 1, b"hello").map(|(sent, _)| sent));
                }
            }
            for sent in sent {
                let is_seen = (sent.from == at(NEAR)) == near && sent.to != victim && rng.permille(share);
                if is_seen {
                    came += sent.bytes.len();
                    world.deliver(Sent { from: victim, ..sent.clone() });
                }
                under_way.push((world.now + Duration::from_millis(50), sent));
            }
            let now = world.now;
            let due: Vec<_> = under_way.extract_if(.., |(due, _)| *due <= now).collect();
            due.into_iter().for_each(|(_, sent)| drop(world.deliver(sent)));
            let sent = bytes_to(&world, victim);
            assert!(sent <= 3 * came, "{sent} for {came}");
        }
        world.run(Duration::from_secs(10));
        assert!(world.exchange(true) && world.exchange(false));
    });
}

/// The one who repeats packets also carries what is sent to them to the peer: they are no better a path than the one that there is, but
/// when that is gone.
#[test]
fn a_peer_that_answers_where_it_was_is_not_elsewhere() {
    let mut world = World::connected();
    world.repeats = Some((true, at(MOVED)));
    world.near_also_at = Some(at(MOVED));
    assert_eq!(talk(&mut world, 20_000), [2000; 2]);
    assert_eq!(world.saw(false, Event::Moved(PeerId(0), at(MOVED))), 0);
    world.repeats = None;
    world.near_at = at(MOVED);
    let [to_far, to_near] = talk(&mut world, 10_000);
    assert_eq!(world.saw(false, Event::Moved(PeerId(0), at(MOVED))), 1);
    assert!(to_far == 1000 && to_near > 650, "{to_near}");
}

/// As long as it takes until it is sure that nothing answers at the old address.
#[test]
fn a_peer_that_has_moved_is_followed_after_some_round_trips() {
    for one_way in [0, 10, 50, 300] {
        for near_moves in [true, false] {
            let mut world = World::new();
            world.delay = Duration::from_millis(one_way);
            world.run(Duration::from_secs(10));
            let place = if near_moves { &mut world.near_at } else { &mut world.far_at };
            *place = at(MOVED);
            for _ in 0..2 {
                assert!(world.exchange(near_moves));
            }
            world.run(Duration::from_millis(4 * (2 * one_way).clamp(20, 300)) - Duration::from_millis(1));
            assert_ne!(endpoint(&world, !near_moves), Some(at(MOVED)));
            world.run(Duration::from_millis(2));
            assert_eq!(endpoint(&world, !near_moves), Some(at(MOVED)), "{one_way} ms, near: {near_moves}");
            world.run(Duration::from_secs(20));
            assert!(world.exchange(true) && world.exchange(false));
            assert_eq!(world.saw(!near_moves, Event::Unchecked(PeerId(0), true)), 2, "it is tried again");
        }
    }
}

/// While someone repeats all that it sends from another address, and so is always first.
#[test]
fn a_peer_that_has_moved_is_followed_with_its_next_handshake_at_the_latest() {
    for repeated_from in [VICTIM, NEAR] {
        let mut world = World::connected();
        world.near_at = at(MOVED);
        world.repeats = Some((true, at(repeated_from)));
        for _ in 0..100 {
            world.exchange(true);
            world.run(Duration::from_millis(100));
        }
        assert_eq!(endpoint(&world, false), Some(at(MOVED)), "{repeated_from}: {:?}", world.events);
        assert!(world.exchange(false));
    }
}

/// Someone repeats the challenges to it from another address, and so is always first.
#[test]
fn a_challenge_is_answered_wherever_it_comes_from() {
    let mut world = World::connected();
    world.near_at = at(MOVED);
    world.repeats = Some((false, at(VICTIM)));
    for _ in 0..2 {
        assert!(world.exchange(true));
    }
    world.run(Duration::from_millis(100));
    assert_eq!(endpoint(&world, false), Some(at(MOVED)));
}

/// One of an older version, which ignores challenges.
#[test]
fn a_peer_that_answers_no_challenge_is_followed_with_its_next_handshake() {
    let mut world = World::connected();
    world.loses = Some(|sent| sent.from == at(MOVED) && sent.bytes.len() == CHALLENGE);
    world.near_at = at(MOVED);
    let mut followed = None;
    for tenth in 0..100 {
        world.exchange(true);
        world.run(Duration::from_millis(100));
        if endpoint(&world, false) == Some(at(MOVED)) {
            followed.get_or_insert(tenth);
        }
    }
    assert!(followed.is_some_and(|tenth| tenth < 80), "{followed:?}");
    assert!(world.exchange(true) && world.exchange(false));
}

/// Nothing but one initiation is repeated, of a peer whose round-trip time is short.
#[test]
fn what_answers_a_handshake_is_part_of_what_may_be_sent() {
    let mut world = World::connected();
    world.run(Duration::from_millis(119_000));
    let initiation = loop {
        world.now += Duration::from_millis(100);
        world.near.handle_timeout(world.now);
        let sent = std::iter::from_fn(|| world.near.poll_transmit()).find(|sent| sent.datagram[0] == 1);
        if let Some(sent) = sent {
            break Sent { from: at(VICTIM), to: sent.to, bytes: sent.datagram, checksum: true };
        }
    };
    let came = initiation.bytes.len();
    world.deliver(initiation.clone());
    world.deliver(Sent { from: at(NEAR), ..initiation });
    world.run(Duration::from_secs(10));
    let sent = bytes_to(&world, at(VICTIM));
    assert!((2 * came..=3 * came).contains(&sent), "{sent}");
    assert_eq!(endpoint(&world, false), Some(at(NEAR)));
}

/// The answer to a handshake is no longer than what asked for it, so it cannot be used to send more to someone.
#[test]
fn an_initiation_is_answered_with_less() {
    let mut world = World::new();
    world.near.handle_timeout(world.now);
    let first = world.near.poll_transmit().expect("an initiation");
    let victim = at(VICTIM);
    for _ in 0..200 {
        let copy = Sent { from: victim, to: first.to, bytes: first.datagram.clone(), checksum: true };
        world.deliver(copy);
        let answers: Vec<_> = std::iter::from_fn(|| world.far.poll_transmit()).collect();
        let bytes: usize = answers.iter().map(|answer| answer.datagram.len()).sum();
        assert!(answers.len() <= 1 && bytes < first.datagram.len(), "{bytes}");
    }
}
