//! What is counted and told: packets, refused handshakes, what is known of a peer.

use headway_trunk_proto::{
    Event, HEADROOM, PeerConfig, PeerId, PresharedKey, Refusal, SealError, SegmentIntegrity, Tunnel,
    TunnelConfig,
};
use headway_units::{Duration, Instant};
use headway_wire::{TcpOptions, V2, V2Offsets};

use super::{HEADER, TAGS};
use crate::world::{FAR, NEAR, Sent, World, at, random, secret, tunnel};

/// Bytes of mac1, and of mac2, at the end of a handshake message.
const MAC: usize = 16;

fn sent(tunnel: &mut Tunnel, from: &str) -> Vec<Sent> {
    std::iter::from_fn(|| tunnel.poll_transmit())
        .map(|own| Sent { from: at(from), to: own.to, bytes: own.datagram, checksum: own.checksum })
        .collect()
}

/// What the near end sends at `now`, which is an initiation.
fn initiation(world: &mut World) -> Sent {
    world.near.handle_timeout(world.now);
    let mut sent = sent(&mut world.near, NEAR);
    assert_eq!(sent.len(), 1);
    sent.remove(0)
}

fn refused(tunnel: &Tunnel) -> (u64, Option<Refusal>) {
    (tunnel.counters().bad_handshakes, tunnel.last_refusal().map(|refused| refused.why))
}

#[test]
fn a_handshake_for_another_key_is_refused_before_it_is_read() {
    let mut world = World::new();
    let good = initiation(&mut world);
    let mac1 = good.bytes.len() - 2 * MAC;
    for (n, place) in [mac1, mac1 + MAC - 1, 20, mac1 - 1].into_iter().enumerate() {
        let mut damaged = good.clone();
        damaged.bytes[place] ^= 1;
        world.deliver(damaged);
        assert_eq!(refused(&world.far), (n as u64 + 1, Some(Refusal::NotForUs)));
        assert_eq!(world.far.last_refusal().map(|refused| refused.from), Some(at(NEAR)));
    }
    assert!(sent(&mut world.far, FAR).is_empty());
    world.deliver(good);
    let answer = sent(&mut world.far, FAR).remove(0);
    let mut damaged = answer.clone();
    damaged.bytes[20] ^= 1;
    world.deliver(damaged);
    assert_eq!(refused(&world.near), (1, Some(Refusal::NotForUs)));
    world.deliver(answer.clone());
    // The session is in use, and its initiation does not wait any more.
    world.deliver(answer);
    assert_eq!(refused(&world.near), (2, Some(Refusal::NoInitiation)));
    assert_eq!((world.near.counters().ignored, world.near.counters().handshakes), (0, 1));
}

#[test]
fn a_refusal_says_why() {
    let mut world = World::new();
    let mut stranger = tunnel(9, secret(2).public(), Some(at(FAR)), 9);
    stranger.handle_timeout(Instant::ZERO);
    let first = sent(&mut stranger, "203.0.113.1:5").remove(0);
    world.deliver(first);
    let why = Refusal::UnknownPeer(secret(9).public());
    assert_eq!(refused(&world.far), (1, Some(why)));
    let preshared = Some(PresharedKey::from_bytes([6; 32]));
    let peer = PeerConfig { endpoint: Some(at(FAR)), preshared, ..PeerConfig::new(secret(2).public()) };
    world.near = Tunnel::new(TunnelConfig { peers: vec![peer], ..TunnelConfig::new(secret(1), random(3)) });
    world.run(Duration::from_millis(100));
    assert_eq!(refused(&world.near), (1, Some(Refusal::NotAuthenticResponse)));
    let key = secret(9).public().to_string();
    for (why, word) in [
        (Refusal::NotForUs, "another public key"),
        (Refusal::NotAuthentic, "version"),
        (why, key.as_str()),
        (Refusal::NoInitiation, "no handshake"),
        (Refusal::NotAuthenticResponse, "preshared"),
        (Refusal::TooMany, "too many"),
    ] {
        assert!(why.to_string().contains(word), "{why}");
    }
}

#[test]
fn beyond_the_bound_of_an_address_handshakes_are_refused() {
    let mut world = World::new();
    let first = initiation(&mut world);
    (0..60).for_each(|_| drop(world.deliver(first.clone())));
    // Those beyond the fiftieth were answered with a cookie; that of the last is used.
    assert_eq!(world.far.counters().cookies_sent, 10);
    let cookies: Vec<_> = sent(&mut world.far, FAR).split_off(50);
    cookies.into_iter().for_each(|cookie| drop(world.deliver(cookie)));
    world.now = Instant::ZERO + Duration::from_millis(1100);
    (0..60).for_each(|_| drop(world.deliver(first.clone())));
    let with_cookie = initiation(&mut world);
    assert_eq!((refused(&world.far), world.far.counters().cookies_sent), ((0, None), 20));
    (0..30).for_each(|_| drop(world.deliver(with_cookie.clone())));
    let answered = 8;
    assert_eq!(refused(&world.far), (30 - answered, Some(Refusal::TooMany)));
    assert_eq!((world.far.counters().cookies_sent, world.far.counters().ignored), (20, 0));
}

#[test]
fn a_cookie_is_used_for_two_minutes() {
    for (seconds, is_used) in [(1, true), (119, true), (120, false), (121, false)] {
        let mut world = World::new();
        let first = initiation(&mut world);
        assert_eq!(first.bytes[first.bytes.len() - MAC..], [0; MAC]);
        (0..51).for_each(|_| drop(world.deliver(first.clone())));
        let cookie = sent(&mut world.far, FAR).pop().expect("a cookie");
        world.deliver(cookie);
        assert_eq!(world.near.last_refusal(), None);
        world.now = Instant::ZERO + Duration::from_secs(seconds);
        let second = initiation(&mut world);
        assert_eq!(second.bytes[second.bytes.len() - MAC..] != [0; MAC], is_used, "{seconds} s");
    }
}

#[test]
fn packets_are_counted_by_what_became_of_them() {
    let mut world = World::connected();
    let count = |world: &World| {
        let (all, peer) = (world.far.counters(), world.far.peers().next().expect("a peer").counters);
        assert_eq!(
            (all.intact, all.corrupted, all.unreadable),
            (peer.intact, peer.corrupted, peer.unreadable)
        );
        assert_eq!(all.handshakes, peer.handshakes);
        [all.intact, all.corrupted, all.unreadable, peer.ignored, all.ignored]
    };
    let before = world.near.peers().next().expect("a peer").counters.sealed;
    assert_eq!(count(&world), [0; 5]);
    for seq in 0..3 {
        let (sent, _) = world.seal(true, seq, &[7; 500]).expect("a session");
        world.deliver(sent.clone());
        // It was received, and is not again.
        assert_eq!(world.deliver(sent), None);
    }
    assert_eq!(count(&world), [3, 0, 0, 3, 3]);
    for (n, place, verdict) in [
        (1, TAGS.end + 9, SegmentIntegrity::Corrupted),
        (2, TAGS.end + 9, SegmentIntegrity::Corrupted),
        (3, HEADER.start, SegmentIntegrity::Unreadable),
        (4, HEADER.start, SegmentIntegrity::Unreadable),
    ] {
        let (mut sent, _) = world.seal(true, 10 + n, &[7; 500]).expect("a session");
        sent.bytes[place] ^= 1;
        assert_eq!(world.deliver(sent).map(|(verdict, _)| verdict), Some(verdict));
    }
    assert_eq!(count(&world), [3, 2, 2, 3, 3]);
    // Of no session, and of no kind.
    let (mut sent, _) = world.seal(true, 20, b"x").expect("a session");
    let whole = sent.clone();
    sent.bytes[1] ^= 0xff;
    world.deliver(sent.clone());
    sent.bytes[0] = 0xff;
    world.deliver(sent);
    assert_eq!(count(&world), [3, 2, 2, 3, 5]);
    world.deliver(whole);
    assert_eq!(count(&world), [4, 2, 2, 3, 5]);
    assert_eq!(world.near.peers().next().expect("a peer").counters.sealed - before, 8);
    assert_eq!(world.far.recorders().len(), 1);
    assert_eq!((world.near.counters().handshakes, world.far.counters().handshakes), (1, 1));
}

#[test]
fn what_cannot_be_sealed_is_told() {
    let mut world = World::new();
    assert!((0..2).all(|_| world.seal(true, 1, b"x").is_none()));
    assert_eq!(world.near.counters().without_session, 2);
    let mut room = [0; HEADROOM + 100];
    let mut seal = |len| world.near.seal(world.now, &mut room[..HEADROOM + len], HEADROOM..HEADROOM + len);
    assert_eq!(seal(39), Err(SealError::NotASegment));
    assert_eq!((seal(40), seal(60)), (Err(SealError::NoPeer), Err(SealError::NoPeer)));
    assert_eq!(world.near.counters().without_session, 2);
}

#[test]
fn a_status_says_what_is_known_of_the_peer() {
    for drops_unchecked in [false, true] {
        let mut world = World::new();
        world.drops_unchecked = drops_unchecked;
        let status = world.near.peers().next().expect("a peer");
        assert_eq!((status.passes_unchecked, status.session_since, status.last_received), (None, None, None));
        assert_eq!((status.key, status.endpoint), (secret(2).public(), Some(at(FAR))));
        world.run(Duration::from_secs(20));
        let status = world.near.peers().next().expect("a peer");
        assert_eq!((status.passes_unchecked, status.trying_since), (Some(!drops_unchecked), None));
        assert!(status.session_since.is_some() && status.last_received.is_some());
    }
}

#[test]
fn until_a_probe_without_checksum_arrives_all_else_has_one() {
    let mut world = World::new();
    world.drops_unchecked = true;
    world.run(Duration::from_secs(20));
    for end in [NEAR, FAR] {
        let unchecked = world.log.iter().filter(|(_, sent)| sent.from == at(end) && !sent.checksum);
        let times: Vec<_> = unchecked.map(|(when, _)| *when).collect();
        assert_eq!(times.len(), 20, "{end}");
        let is_half_a_second =
            |pair: &[Instant]| pair[1].saturating_since(pair[0]) == Duration::from_millis(500);
        assert!(times.windows(2).all(is_half_a_second), "{end}: {times:?}");
    }
}

/// What says that something was damaged or lost, after which this many datagrams have no checksum.
type Sign = (&'static str, usize, fn(&mut World));

/// The kernel passes on many at once only if they have one. Whatever says that something was damaged or lost, at either end, ends it for
/// a while: what is damaged is to be seen.
#[test]
fn where_nothing_is_damaged_or_lost_datagrams_have_checksums() {
    let signs: [Sign; 4] = [
        ("the peer reports damage", 1 << 18, |world| {
            let mut reported = V2Offsets::default();
            reported.push(1);
            let v2 = Some(V2::ack(0, reported));
            let options = TcpOptions { v2, ..TcpOptions::default() };
            let (sent, _) = world.seal_with(false, 1, b"", &options).expect("a session");
            assert!(matches!(world.deliver(sent), Some((SegmentIntegrity::Intact, _))));
        }),
        ("the peer misses something", 1 << 12, |world| {
            let (sent, _) = world.seal_data(false, 1, b"data", true).expect("a session");
            assert!(matches!(world.deliver(sent), Some((SegmentIntegrity::Intact, _))));
        }),
        ("a payload arrives damaged", 1 << 18, |world| {
            let (mut sent, _) = world.seal_data(false, 1, b"data", false).expect("a session");
            *sent.bytes.last_mut().expect("a payload") ^= 1;
            assert!(matches!(world.deliver(sent), Some((SegmentIntegrity::Corrupted, _))));
        }),
        ("a header arrives damaged", 1 << 18, |world| {
            let (mut sent, _) = world.seal_data(false, 1, b"data", false).expect("a session");
            sent.bytes[12] ^= 1;
            assert!(matches!(world.deliver(sent), Some((SegmentIntegrity::Unreadable, _))));
        }),
    ];
    let mut world = World::connected();
    world.run(Duration::from_secs(1));
    let unchecked = |world: &mut World| {
        let sent = (0..=1 << 18).take_while(|_| {
            world.log.clear();
            !world.seal_data(true, 1, b"data", false).expect("a session").0.checksum
        });
        sent.count()
    };
    assert_eq!(unchecked(&mut world), 1 << 18, "damage is possible at first");
    for (name, expected, sign) in signs {
        let mut segment = |seq, has_sack| {
            let (sent, _) = world.seal_data(false, seq, b"data", has_sack).expect("a session");
            world.deliver(sent);
        };
        // None of these is a sign. The SACK block is before the ACK number: that arrived twice.
        segment(1, false);
        segment(u32::MAX - 100, true);
        assert_eq!(unchecked(&mut world), 0, "{name}");
        sign(&mut world);
        // A loss shortens nothing.
        let (sent, _) = world.seal_data(false, 1, b"data", true).expect("a session");
        world.deliver(sent);
        assert_eq!(unchecked(&mut world), expected, "{name}");
    }
}

#[test]
fn an_end_that_keeps_a_mapping_alive_is_silent_for_no_longer() {
    let mut world = World::new();
    let peer = PeerConfig {
        endpoint: Some(at(FAR)),
        preshared: Some(PresharedKey::from_bytes([5; 32])),
        keep_alive: Some(Duration::from_secs(7)),
        ..PeerConfig::new(secret(2).public())
    };
    world.near = Tunnel::new(TunnelConfig { peers: vec![peer], ..TunnelConfig::new(secret(1), random(1)) });
    world.run(Duration::from_secs(30));
    world.log.clear();
    let first = world.now;
    world.run(Duration::from_secs(70));
    let from_near: Vec<_> =
        world.log.iter().filter(|(_, sent)| sent.from == at(NEAR)).map(|(when, _)| *when).collect();
    assert_eq!(from_near.len(), 10, "{from_near:?}");
    for (before, after) in std::iter::once(&first).chain(&from_near).zip(&from_near) {
        assert!(after.saturating_since(*before) <= Duration::from_secs(7));
    }
}

#[test]
fn a_segment_that_fills_the_longest_datagram_needs_no_more_room() {
    let mut world = World::connected();
    world.run(Duration::from_secs(10));
    let longest = usize::from(world.near.peers().next().expect("a peer").longest);
    let (sent, _) = world.seal(true, 1, &[1; 1000]).expect("a session");
    let fits = 1000 + longest - sent.bytes.len();
    for (len, is_too_long) in [(fits, 0), (fits + 1, 1)] {
        let (sent, _) = world.seal(true, 1, &vec![1; len]).expect("a session");
        assert_eq!(sent.bytes.len(), longest + is_too_long);
        world.run(Duration::ZERO);
        assert_eq!(world.saw(true, Event::LongHeaders(PeerId(0))), is_too_long);
    }
}
