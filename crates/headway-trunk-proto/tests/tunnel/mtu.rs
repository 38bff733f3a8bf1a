//! How long datagrams may be: the longest that passes is found on any path, and on no evidence of another kind.

use headway_trunk_proto::{Event, LONGEST_DATA_HEADER, PeerId, SegmentIntegrity, header_len};
use headway_units::Duration;

use crate::world::{World, at};

#[test]
fn a_full_data_segment_fills_the_longest_datagram() {
    let mut world = World::connected();
    let inner_mtu: usize = world.near.peers().next().expect("a peer").inner_mtu.into();
    for (has_sack, payload) in [(false, 1419), (true, 1407)] {
        let (sent, packet) = world.seal_data(true, 1, &vec![5; payload], has_sack).expect("a session");
        assert_eq!((packet.len(), sent.bytes.len()), (inner_mtu, 1472));
        let shorter = if has_sack { 0 } else { 12 };
        let header = LONGEST_DATA_HEADER - shorter;
        assert_eq!(header_len(&sent.bytes), Some(header));
        for place in 0..sent.bytes.len() {
            let mut damaged = sent.bytes.clone();
            damaged[place] ^= 1;
            assert_eq!(world.far.has_intact_header(&damaged), place >= header, "{place}");
        }
        assert_eq!(world.deliver(sent), Some((SegmentIntegrity::Intact, packet)));
    }
    world.run(Duration::ZERO);
    assert_eq!(world.saw(true, Event::LongHeaders(PeerId(0))), 0);
}

/// Where HACK was not agreed on, segments of the same MTU are too long for their datagrams. That is noticed with the first
/// one, and of the MTU that follows all fit.
#[test]
fn a_segment_too_long_without_a_compact_header_makes_the_mtu_shorter() {
    let mut world = World::connected();
    let inner_mtu = |world: &World| usize::from(world.near.peers().next().expect("a peer").inner_mtu);
    let before = inner_mtu(&world);
    for _ in 0..3 {
        // IP and TCP header, and timestamps.
        let payload = vec![5; inner_mtu(&world) - 72];
        let fits = inner_mtu(&world) < before;
        let (sent, packet) = world.seal(true, 1, &payload).expect("a session");
        assert_eq!(sent.bytes.len(), if fits { 1472 } else { 1504 });
        assert_eq!(world.deliver(sent), fits.then_some((SegmentIntegrity::Intact, packet)));
    }
    assert_eq!(inner_mtu(&world), before - 32);
    world.run(Duration::ZERO);
    assert_eq!(world.saw(true, Event::LongHeaders(PeerId(0))), 1);
}

/// The longest datagram that the near end sends now.
fn longest(world: &World) -> usize {
    world.near.peers().next().expect("a peer").longest.into()
}

#[test]
fn the_longest_datagram_that_passes_is_found() {
    for passes in [1472, 1471, 1400, 1280, 1201, 1200, 1199, 1000, 700, 560] {
        let mut world = World::new();
        world.longest = passes;
        world.run(Duration::from_millis(100));
        world.run(Duration::from_secs(100));
        let found = longest(&world);
        assert!(found <= passes && found + 16 >= passes, "{found} of {passes}");
    }
}

#[test]
fn a_path_that_becomes_narrower_is_noticed_and_one_that_becomes_wider_is_used() {
    let mut world = World::connected();
    assert_eq!(longest(&world), 1472);
    world.longest = 1300;
    let mut noticed = None;
    for second in 0..60 {
        // Long datagrams are sent, of which none arrives.
        let _ = world.seal(true, second, &[7; 1390]).map(|(sent, _)| world.deliver(sent));
        world.run(Duration::from_secs(1));
        if longest(&world) <= 1300 {
            noticed.get_or_insert(second);
        }
    }
    assert!(noticed.is_some_and(|second| second < 25), "{noticed:?}");
    assert!((1284..=1300).contains(&longest(&world)), "{}", longest(&world));
    world.longest = 1472;
    world.run(Duration::from_secs(700));
    assert_eq!(longest(&world), 1472);
}

/// `count` segments that fill the longest datagram in a second.
fn send_for_a_second(world: &mut World, count: u32) {
    for seq in 0..count {
        let payload = vec![7; longest(world) - 82];
        let _ = world.seal(true, seq, &payload).map(|(sent, _)| world.deliver(sent));
    }
    world.run(Duration::from_secs(1));
}

/// Where much is sent it is noticed within some seconds, also if not even 1200 bytes pass any more. After ten minutes the
/// longest is tried, and nothing longer than what passes is used for that. In between little is sent.
#[test]
fn on_a_busy_path_it_is_noticed_soon() {
    for passes in [1300, 900, 548] {
        let mut world = World::connected();
        world.longest = passes;
        let mut noticed = None;
        for second in 0..720 {
            send_for_a_second(&mut world, if (60..580).contains(&second) { 10 } else { 150 });
            if longest(&world) <= passes {
                noticed.get_or_insert(second);
            }
            assert!(
                second < 60 || longest(&world) <= passes,
                "{passes}: {} after {second} s",
                longest(&world)
            );
        }
        let allowed = if passes > 1200 { 8 } else { 14 };
        assert!(noticed.is_some_and(|second| second < allowed), "{passes}: {noticed:?}");
        assert!((passes - 16..=passes).contains(&longest(&world)), "{passes}: {}", longest(&world));
        world.longest = 1472;
        for _ in 0..620 {
            send_for_a_second(&mut world, 10);
        }
        assert_eq!(longest(&world), 1472);
    }
}

/// On the narrowest path too, what is too long for it makes nothing due for ever.
#[test]
fn a_segment_that_is_too_long_for_the_narrowest_path_does_no_harm() {
    let mut world = World::new();
    world.longest = 548;
    world.run(Duration::from_secs(60));
    assert_eq!(longest(&world), 548);
    let (sent, _) = world.seal(true, 1, &[7; 600]).expect("a session");
    world.deliver(sent);
    world.run(Duration::from_secs(60));
    assert_eq!(longest(&world), 548);
}

/// An outage says nothing of lengths, whenever it begins and however long it is.
#[test]
fn an_outage_is_no_narrower_path() {
    for (delay, length) in
        [10, 100, 300].into_iter().flat_map(|delay| (1..40).step_by(4).map(move |length| (delay, length)))
    {
        let mut world = World::new();
        world.delay = Duration::from_millis(delay);
        world.run(Duration::from_secs(5));
        for _ in 0..5 {
            send_for_a_second(&mut world, 150);
        }
        world.run(Duration::from_millis(37 * length));
        world.is_down = true;
        for _ in 0..3 {
            send_for_a_second(&mut world, 100);
        }
        world.run(Duration::from_millis(230 * length));
        world.is_down = false;
        for _ in 0..15 {
            send_for_a_second(&mut world, 100);
            assert_eq!(longest(&world), 1472, "{delay} ms, {length}");
        }
    }
}

/// What the interface of this host does not carry is not sent again in that length.
#[test]
fn what_this_host_cannot_send_is_shorter_at_once() {
    let mut world = World::connected();
    let told = |world: &World, used| world.saw(true, Event::Mtu(PeerId(0), used));
    // Another's address, and what was not sent.
    world.near.refused(world.now, at("192.0.2.9:4433"), 1472);
    world.near.refused(world.now, world.far_at, 1480);
    world.near.refused(world.now, world.far_at, 100);
    assert_eq!(longest(&world), 1472);
    world.longest = 1300;
    world.near.refused(world.now, world.far_at, 1472);
    assert_eq!(longest(&world), 1200);
    world.run(Duration::from_millis(100));
    assert_eq!(told(&world, 1200), 1);
    world.run(Duration::from_secs(60));
    assert!((1284..=1300).contains(&longest(&world)), "{}", longest(&world));
    assert_eq!(told(&world, longest(&world) as u16), 1, "{:?}", world.events);
}

/// A peer that has moved is at another path, whose length is told.
#[test]
fn a_new_path_is_tried_with_the_longest_again() {
    let mut world = World::new();
    world.longest = 1300;
    world.run(Duration::from_secs(100));
    assert!(longest(&world) <= 1300);
    (world.longest, world.far_at) = (1472, at("192.0.2.9:4433"));
    world.events.clear();
    for seq in 0..3 {
        let (sent, _) = world.seal(false, seq, b"moved").expect("a session");
        world.deliver(sent);
    }
    world.run(Duration::from_secs(1));
    assert_eq!(longest(&world), 1472);
    assert_eq!(world.saw(true, Event::Mtu(PeerId(0), 1472)), 1, "{:?}", world.events);
}

#[test]
fn a_link_that_is_down_says_nothing_of_lengths() {
    let mut world = World::connected();
    world.seal(true, 1, &[7; 1390]).expect("a session");
    world.is_down = true;
    world.run(Duration::from_secs(120));
    assert_eq!(longest(&world), 1472);
    world.is_down = false;
    world.run(Duration::from_secs(10));
    assert_eq!(longest(&world), 1472);
}

#[test]
fn probes_are_no_burden_for_an_idle_path() {
    let mut world = World::connected();
    world.run(Duration::from_secs(5));
    let mut sent = 0;
    for _ in 0..100 {
        world.now += Duration::from_secs(1);
        world.near.handle_timeout(world.now);
        sent += std::iter::from_fn(|| world.near.poll_transmit())
            .filter(|sent| sent.datagram.len() > 1000)
            .count();
    }
    assert_eq!(sent, 0);
}
