//! Handshakes under attack, and what belongs to a process that has ended.

use headway_trunk_proto::{Event, PeerId, Tunnel};
use headway_units::{Duration, Instant};

use crate::world::{FAR, NEAR, Sent, World, at, secret, tunnel};

/// What `tunnel` wants to send, as it leaves `from`.
fn sent(tunnel: &mut Tunnel, from: &str) -> Vec<Sent> {
    std::iter::from_fn(|| tunnel.poll_transmit())
        .map(|own| Sent { from: at(from), to: own.to, bytes: own.datagram, checksum: own.checksum })
        .collect()
}

/// The first initiation of a stranger who knows the public key of the gateway at `to`.
fn stranger(to: &str) -> Sent {
    let key = if to == NEAR { secret(1).public() } else { secret(2).public() };
    let mut stranger = tunnel(9, key, Some(at(to)), 9);
    stranger.handle_timeout(Instant::ZERO);
    sent(&mut stranger, "203.0.113.1:5").remove(0)
}

/// A responder has no cookie of the initiator's, so its answer needs none.
#[test]
fn a_flood_does_not_keep_the_end_that_begins_from_its_answer() {
    let mut world = World::new();
    // Answers do not come at the beginning of a second.
    (world.now, world.delay) = (Instant::ZERO + Duration::from_millis(50), Duration::from_millis(30));
    let flood = stranger(NEAR);
    for _ in 0..100 {
        for _ in 0..60 {
            world.deliver(flood.clone());
        }
        sent(&mut world.near, NEAR);
        world.run(Duration::from_millis(100));
    }
    assert_eq!(world.saw(true, Event::Connected(PeerId(0))), 1, "{:?}", world.events);
    assert!(world.exchange(true) && world.exchange(false));
}

/// The responder may not know where its peer is: until it has heard it, nothing can be sent to it.
#[test]
fn who_began_asks_until_the_peer_has_used_the_session() {
    let mut world = World::new();
    world.loses = Some(|sent| sent.from == at(NEAR) && sent.bytes[0] >> 4 >= 4);
    world.run(Duration::from_secs(20));
    assert!(world.saw(true, Event::Connected(PeerId(0))) > 0, "{:?}", world.events);
    assert!(!world.exchange(false));
    world.loses = None;
    world.run(Duration::from_secs(2));
    assert!(world.exchange(false), "{:?}", world.events);
}

/// Each handshake ends with a question. Where an answer takes long, that is no reason for the next handshake.
#[test]
fn on_a_long_path_handshakes_end() {
    let mut world = World::new();
    world.delay = Duration::from_secs(3);
    world.run(Duration::from_secs(110));
    let initiations = world.log.iter().filter(|(_, sent)| sent.bytes[0] == 1).count();
    assert!((1..=6).contains(&initiations), "{initiations}");
    assert!(world.exchange(true) && world.exchange(false));
}

/// An attacker on the path repeats an initiation before the peer has used the session: there is one session, and its answer is
/// the same.
#[test]
fn a_repeated_initiation_makes_no_second_session() {
    let mut world = World::new();
    world.near.handle_timeout(world.now);
    let initiation = sent(&mut world.near, NEAR).remove(0);
    world.deliver(initiation.clone());
    let answer = sent(&mut world.far, FAR).remove(0);
    for _ in 0..20 {
        world.deliver(initiation.clone());
        for again in sent(&mut world.far, FAR) {
            assert_eq!((again.bytes, again.to), (answer.bytes.clone(), answer.to));
        }
    }
    world.deliver(answer);
    world.run(Duration::from_millis(100));
    for near in [true, false] {
        assert_eq!(world.saw(near, Event::Connected(PeerId(0))), 1, "{:?}", world.events);
        assert!(world.exchange(near));
    }
}

/// The peer ended, and its word did not arrive; an attacker has it. The process that took its place has not ended.
#[test]
fn the_close_of_a_process_that_was_replaced_is_not_obeyed() {
    let mut world = World::connected();
    world.far.close(world.now);
    let withheld = sent(&mut world.far, FAR);
    assert!(!withheld.is_empty());
    world.far = tunnel(2, secret(1).public(), None, 77);
    assert!(!world.exchange(true));
    world.run(Duration::from_secs(3));
    assert_eq!(world.saw(true, Event::Restarted(PeerId(0))), 1, "{:?}", world.events);
    withheld.into_iter().for_each(|close| drop(world.deliver(close)));
    world.run(Duration::ZERO);
    assert_eq!(world.saw(true, Event::Restarted(PeerId(0))), 1, "{:?}", world.events);
    world.far.close(world.now);
    world.run(Duration::ZERO);
    assert!(world.saw(true, Event::Restarted(PeerId(0))) > 1, "{:?}", world.events);
}

/// The second initiation is sent before the first is answered; its answer is no reason for a warning.
#[test]
fn answers_that_come_when_a_session_has_begun_are_not_refused() {
    let mut world = World::new();
    world.delay = Duration::from_millis(750);
    world.run(Duration::from_secs(10));
    assert!(world.exchange(true) && world.exchange(false), "{:?}", world.events);
    for tunnel in [&world.near, &world.far] {
        assert_eq!((tunnel.counters().bad_handshakes, tunnel.last_refusal()), (0, None));
    }
    assert_eq!(world.near.counters().ignored, 1, "it is counted");
}

/// What confirms a session arrives when the next one is offered, and before that is used.
#[test]
fn a_session_that_is_confirmed_late_displaces_no_later_one() {
    let mut world = World::new();
    world.near.handle_timeout(world.now);
    let initiation = sent(&mut world.near, NEAR).remove(0);
    world.deliver(initiation);
    let answer = sent(&mut world.far, FAR).remove(0);
    world.deliver(answer);
    // The first packets are on their way for longer than a peer may not answer.
    let late = sent(&mut world.near, NEAR);
    world.seal(true, 1, b"hello").expect("a session");
    world.now += Duration::from_secs(3);
    world.near.handle_timeout(world.now);
    let is_initiation = |sent: &Sent| sent.bytes[0] == 1;
    let initiation = sent(&mut world.near, NEAR).into_iter().find(is_initiation).expect("another");
    world.deliver(initiation);
    let answer = sent(&mut world.far, FAR).remove(0);
    late.into_iter().for_each(|confirms| drop(world.deliver(confirms)));
    world.deliver(answer);
    assert!(world.exchange(true) && world.exchange(false));
}

/// The peer has answered and was replaced; what confirms its session was kept back by an attacker on the path.
#[test]
fn a_session_of_a_process_that_was_replaced_is_not_used_any_more() {
    let mut world = World::new();
    world.far = tunnel(2, secret(1).public(), Some(at(NEAR)), 2);
    world.near.handle_timeout(world.now);
    let initiation = sent(&mut world.near, NEAR).remove(0);
    world.deliver(initiation);
    let answer = sent(&mut world.far, FAR).remove(0);
    world.deliver(answer);
    let withheld = sent(&mut world.near, NEAR);
    assert!(!withheld.is_empty());
    world.now += Duration::from_millis(10);
    world.near = tunnel(1, secret(2).public(), None, 77);
    world.run(Duration::from_secs(3));
    assert!(world.exchange(true) && world.exchange(false), "{:?}", world.events);
    withheld.into_iter().for_each(|confirms| drop(world.deliver(confirms)));
    world.run(Duration::from_millis(100));
    assert_eq!(world.saw(false, Event::Restarted(PeerId(0))), 0, "{:?}", world.events);
    assert!(world.exchange(true) && world.exchange(false), "{:?}", world.events);
}

/// Who has a cookie and sends what is costly to read has an effect on no one else.
#[test]
fn handshakes_with_a_cookie_are_bounded_for_each_address() {
    let mut world = World::new();
    let flood = stranger(FAR);
    (0..60).for_each(|_| drop(world.deliver(flood.clone())));
    sent(&mut world.far, FAR);
    // The near end is asked for a cookie, and has it in its second initiation.
    world.run(Duration::from_millis(500));
    world.now = Instant::ZERO + Duration::from_millis(1200);
    (0..60).for_each(|_| drop(world.deliver(flood.clone())));
    sent(&mut world.far, FAR);
    world.near.handle_timeout(world.now);
    let mut initiations = sent(&mut world.near, NEAR);
    assert_eq!(initiations.len(), 1);
    let initiation = initiations.remove(0);
    (0..100).for_each(|_| drop(world.deliver(initiation.clone())));
    let answers = sent(&mut world.far, FAR).len();
    assert!((1..20).contains(&answers), "{answers}");
    // It counts for a second.
    world.now += Duration::from_secs(1);
    world.run(Duration::from_secs(5));
    assert!(world.exchange(true) && world.exchange(false), "{:?}", world.events);
}
