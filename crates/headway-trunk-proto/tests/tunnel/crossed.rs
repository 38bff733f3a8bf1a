//! Both ends begin a handshake before they have heard of the other's.

use std::collections::VecDeque;

use headway_test_fixture::rng::Rng;
use headway_test_fixture::seeds;
use headway_trunk_proto::{Event, PeerId, SegmentIntegrity};
use headway_units::{Duration, Instant};

use crate::world::{FAR, NEAR, Sent, World, at, secret, tunnel};

/// Two ends that both know where the other is. The near end has the key of that number.
fn world(near: u8) -> World {
    let mut world = World::new();
    let far = 3 - near;
    world.near = tunnel(near, secret(far).public(), Some(at(FAR)), 1);
    world.far = tunnel(far, secret(near).public(), Some(at(NEAR)), 2);
    world.delay = Duration::from_millis(100);
    world
}

/// Both ends send in the same session: an end follows its peer by what arrives in the session that it uses itself.
fn check_that_ends_follow(world: &mut World) {
    for near_moves in [true, false] {
        let moved = at("203.0.113.7:9");
        let place = if near_moves { &mut world.near_at } else { &mut world.far_at };
        let before = std::mem::replace(place, moved);
        for _ in 0..2 {
            assert!(world.exchange(near_moves), "near moves: {near_moves}");
        }
        world.run(Duration::from_secs(2));
        let other = if near_moves { &world.far } else { &world.near };
        let endpoint = other.peers().next().and_then(|peer| peer.endpoint);
        assert_eq!(endpoint, Some(moved), "near moves: {near_moves}");
        // It moves back.
        let place = if near_moves { &mut world.near_at } else { &mut world.far_at };
        *place = before;
        for _ in 0..2 {
            assert!(world.exchange(near_moves));
        }
        world.run(Duration::from_secs(2));
    }
}

#[test]
fn both_ends_come_to_use_the_same_session() {
    for near in [1, 2] {
        let mut world = world(near);
        world.run(Duration::from_secs(1));
        check_that_ends_follow(&mut world);
    }
}

/// Whatever is lost, overtaken or repeated before.
#[test]
fn both_ends_come_to_use_the_same_session_on_any_path() {
    let command = "cargo test -p headway-trunk-proto --test all any_path";
    seeds::each(300, command, |seed| {
        let (mut world, mut rng) = (world(1 + (seed % 2) as u8), Rng::new(seed));
        let mut under_way: Vec<(Instant, Sent)> = Vec::new();
        let step = Duration::from_millis(20);
        // Handshakes follow one another: they are begun while data is not answered.
        while world.now.as_nanos() < 20_000_000_000 {
            world.now += step;
            let mut sent = Vec::new();
            for from_near in [true, false] {
                let from = if from_near { world.near_at } else { world.far_at };
                let tunnel = if from_near { &mut world.near } else { &mut world.far };
                tunnel.handle_timeout(world.now);
                while let Some(own) = tunnel.poll_transmit() {
                    sent.push(Sent { from, to: own.to, bytes: own.datagram, checksum: own.checksum });
                }
                if rng.permille(100) {
                    sent.extend(world.seal(from_near, 1, b"hello").map(|(sent, _)| sent));
                }
            }
            for sent in sent {
                for _ in 0..[0, 0, 1, 1, 1, 2][rng.below(6_usize)] {
                    under_way.push((world.now + step * rng.between(1_u32, 150), sent.clone()));
                }
            }
            let now = world.now;
            let due: Vec<_> = under_way.extract_if(.., |(due, _)| *due <= now).collect();
            due.into_iter().for_each(|(_, sent)| drop(world.deliver(sent)));
        }
        world.run(Duration::from_secs(10));
        // Whoever has not heard of the other's choice does so now.
        for from_near in [true, false, true, false] {
            assert!(world.exchange(from_near), "from near: {from_near}");
        }
        check_that_ends_follow(&mut world);
    });
}

/// Neither when the first sessions are made nor when these are replaced.
#[test]
fn nothing_is_lost_where_handshakes_cross() {
    let step = Duration::from_millis(10);
    for near in [1, 2] {
        let mut world = world(near);
        let mut under_way = VecDeque::new();
        while world.now.as_nanos() < 320_000_000_000 {
            world.run(step);
            for from_near in [true, false] {
                let sealed = world.seal(from_near, 1, b"hello");
                under_way.extend(sealed.map(|(sent, _)| (world.now + world.delay, sent)));
            }
            while under_way.front().is_some_and(|(due, _)| *due <= world.now) {
                let (_, sent) = under_way.pop_front().expect("the first one");
                let arrived = world.deliver(sent).map(|(verdict, _)| verdict);
                assert_eq!(arrived, Some(SegmentIntegrity::Intact), "at {:?}", world.now);
            }
        }
        for end in [true, false] {
            assert_eq!(world.saw(end, Event::Connected(PeerId(0))), 1, "{:?}", world.events);
        }
        // Two at the start, and one each two minutes.
        let handshakes = world.near.counters().handshakes;
        assert!((3..=4).contains(&handshakes), "{handshakes}");
    }
}
