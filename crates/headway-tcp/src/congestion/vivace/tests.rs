use super::super::bottleneck::{Bottleneck, Fate};
use super::super::testing::{ack, setup};
use super::*;

/// 10 Mbit/s: 125 packets fill 100 ms.
fn path(round_trip: u64, limit: usize, seed: u64) -> Bottleneck<Vivace> {
    let vivace = Vivace::new(&Setup { pacing: true, deliveries: true, seed, ..setup(10) });
    let mut path = Bottleneck::new(vivace, "10mbit", round_trip, limit);
    path.control.on_established(path.now, Some(Duration::from_millis(round_trip)));
    path
}

#[test]
fn it_finds_the_rate_and_keeps_the_queue_short() {
    for seed in 1..=3 {
        let mut path = path(100, 1000, seed);
        path.run(15_000);
        path.longest = 0;
        let used = path.run(30_000);
        assert!(used >= 90, "{used} %");
        assert!(path.longest <= 20, "{} packets", path.longest);
    }
}

/// Of 100 packets 95 arrive.
#[test]
fn five_percent_lost_by_chance_are_tolerated() {
    for seed in 1..=3 {
        let mut path = path(100, 1000, seed);
        // Numbers that have no pattern.
        path.fate = |number| {
            if Random(number).below(100) < 5 { Fate::Lost } else { Fate::Arrives }
        };
        path.run(20_000);
        let used = path.run(60_000);
        assert!(used >= 80, "{used} % of 95");
    }
}

#[test]
fn ten_percent_are_not() {
    let mut path = path(100, 1000, 1);
    path.fate = |number| if Random(number).below(100) < 10 { Fate::Lost } else { Fate::Arrives };
    path.run(20_000);
    let used = path.run(60_000);
    assert!(used <= 30, "{used} %");
}

/// The queue, of two bandwidth-delay products, is full at first.
#[test]
fn it_yields_where_latency_grows() {
    let mut path = path(100, 250, 1);
    path.run(20_000);
    path.rate = "6mbit".parse().expect("a rate");
    path.run(2000);
    assert_eq!(path.longest, 250);
    path.run(8000);
    path.longest = 0;
    let used = path.run(20_000);
    assert!(path.longest <= 60, "{} packets", path.longest);
    assert!(used >= 75, "{used} %");
}

#[test]
fn slow_start_doubles_until_the_utility_falls() {
    let mut path = path(100, 1000, 1);
    let start = path.control.rate;
    path.run(250);
    assert_eq!(path.control.rate / start, 4);
    path.run(1500);
    assert!(matches!(path.control.phase, Phase::Learn(_)));
    assert!((4_000_000..11_000_000).contains(&path.control.rate), "{}", path.control.rate);
}

#[test]
fn silence_halves_the_rate_down_to_two_segments_in_a_round_trip() {
    let mut path = path(100, 1000, 1);
    path.run(15_000);
    let rate = path.control.rate;
    let loss = Loss { now: path.now, flight: 0 };
    path.control.on_timeout(&loss, true);
    assert_eq!(path.control.rate, rate / 2);
    (0..10).for_each(|_| path.control.on_timeout(&loss, false));
    assert_eq!(path.control.rate, path.control.in_a_round_trip(2));
}

/// What the application limits says nothing of the path.
#[test]
fn a_rate_that_is_not_used_stays() {
    let mut vivace = Vivace::new(&setup(10));
    vivace.set_mss(1000, true);
    vivace.on_established(Instant::ZERO, Some(Duration::from_millis(100)));
    let rate = vivace.rate;
    for milli in (0..5000).step_by(20) {
        let now = Instant::ZERO + Duration::from_millis(milli);
        vivace.on_sent(now, 0, true);
        let mut ack = ack(1000, 1000);
        (ack.now, ack.rtt) = (now, Some(Duration::from_millis(100)));
        vivace.on_ack(&ack);
    }
    assert_eq!(vivace.rate, rate);
}
