use alloc::vec::Vec;

use super::super::bottleneck::{Bottleneck, Fate, MSS};
use super::super::testing::{ack, loss, setup};
use super::*;

/// 10 Mbit/s: 125 packets fill 100 ms.
fn path(round_trip: u64, limit: usize) -> Bottleneck<Copa> {
    let copa = Copa::new(&Setup { pacing: true, deliveries: true, ..setup(10) });
    Bottleneck::new(copa, "10mbit", round_trip, limit)
}

/// 3: the queue oscillates "between having 0 and 2.5/δ̂ packets every five RTTs".
#[test]
fn a_link_of_its_own_is_full_with_a_few_packets_waiting() {
    for round_trip in [20, 100, 300] {
        let mut path = path(round_trip, 1000);
        path.run(10_000);
        path.longest = 0;
        let used = path.run(30_000);
        assert!(used >= 97, "{round_trip} ms: {used} %");
        assert!(path.longest <= 5, "{round_trip} ms: {} packets", path.longest);
        assert_eq!(path.control.inverse_delta, DEFAULT, "{round_trip} ms");
    }
}

#[test]
fn slow_start_doubles_until_a_queue_is_seen() {
    let mut path = path(100, 1000);
    path.run(320);
    assert!(path.control.in_slow_start && path.control.cwnd >= 40 * MSS, "{}", path.control.cwnd);
    path.run(400);
    assert!(!path.control.in_slow_start);
    let cwnd = path.control.cwnd / MSS;
    assert!((110..=140).contains(&cwnd), "{cwnd} packets: what was added since is not of the window");
}

#[test]
fn losses_by_chance_cost_what_they_take() {
    let mut path = path(100, 1000);
    path.fate = |number| if number % 20 == 7 { Fate::Lost } else { Fate::Arrives };
    path.run(10_000);
    let used = path.run(30_000);
    assert!(used >= 90, "{used} % of 95");
}

#[test]
fn a_faster_link_is_found() {
    let mut path = path(100, 1000);
    path.run(10_000);
    path.rate = "20mbit".parse().expect("a rate");
    path.run(10_000);
    let used = path.run(10_000);
    assert!(used >= 97, "{used} %");
}

fn copa() -> Copa {
    let mut copa = Copa::new(&setup(10));
    copa.set_mss(1000, true);
    copa
}

#[test]
fn velocity_waits_for_three_rounds_in_one_direction() {
    let mut velocity = Velocity { v: 1, up: false, rounds: 0 };
    let v: Vec<u32> = [true, true, true, true, true, true, false, false]
        .map(|up| {
            velocity.end_round(up, 10);
            velocity.v
        })
        .into();
    assert_eq!(v, [1, 1, 2, 4, 8, 10, 1, 1]);
}

/// A rival's queue never empties.
#[test]
fn a_queue_that_stands_makes_it_compete() {
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    let mut copa = copa();
    copa.in_slow_start = false;
    for milli in 0..100 {
        copa.delays.on_sample(
            at(milli),
            Duration::from_millis(if milli == 0 { 100 } else { 200 + milli % 10 }),
            Duration::default(),
        );
        copa.detect_mode(at(milli));
    }
    assert!(!copa.competes, "for less than five round trips");
    let round = |copa: &mut Copa, milli| {
        copa.delays.on_sample(at(milli), Duration::from_millis(200 + milli % 10), Duration::default());
        copa.detect_mode(at(milli));
        copa.usage.on_ack(&ack(1000, copa.cwnd));
        copa.end_round(at(milli));
    };
    for milli in (1000..3000).step_by(201) {
        round(&mut copa, milli);
    }
    assert!(copa.competes);
    let grown = copa.inverse_delta;
    assert!((6..=12).contains(&grown), "{grown}");
    copa.on_loss(&loss(10_000));
    assert_eq!(copa.inverse_delta, grown / 2);
    round(&mut copa, 3200);
    assert_eq!(copa.inverse_delta, grown / 2, "not in a round with a loss");
    round(&mut copa, 3400);
    assert_eq!(copa.inverse_delta, grown / 2 + 1);
    copa.delays.on_sample(at(3500), Duration::from_millis(101), Duration::default());
    copa.detect_mode(at(3500));
    assert!(!copa.competes, "nearly empty");
    assert_eq!(copa.inverse_delta, DEFAULT);
}

#[test]
fn a_timeout_begins_slow_start_and_can_be_undone() {
    let mut copa = copa();
    copa.in_slow_start = false;
    copa.on_timeout(&loss(10_000), true);
    assert_eq!((copa.window(), copa.in_slow_start), (1000, true));
    copa.on_timeout(&loss(1000), false);
    copa.on_spurious();
    assert_eq!((copa.window(), copa.in_slow_start), (10_000, false));
}
