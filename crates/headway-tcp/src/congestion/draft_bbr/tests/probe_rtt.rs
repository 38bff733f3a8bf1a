//! ProbeRTT.

use super::super::super::bbr_common::phases::AckPhase;
use super::super::super::bottleneck::MSS;
use super::feed::Feed;
use super::*;

/// A.10: five seconds without a lower sample, then half of the BDP for 200 ms and a round trip.
#[test]
fn it_comes_every_five_seconds_and_halves_what_is_in_flight() {
    let mut path = path(1000);
    run_to(&mut path, State::ProbeRtt);
    let began = path.now.saturating_since(Instant::ZERO + Duration::from_secs(1));
    assert!((5000..5200).contains(&began.as_millis()), "{began:?}");
    let (mut took, mut least) = (0, u32::MAX);
    while path.control.state == State::ProbeRtt {
        path.run(1);
        took += 1;
        least = least.min(path.pipe());
    }
    assert_eq!(path.control.state, State::Cruise);
    // Half of the BDP, by a bandwidth that samples overestimate a little.
    assert!((60 * MSS..=65 * MSS).contains(&least), "{least}");
    assert!((200..600).contains(&took), "{took} ms");
    assert!(path.control.window() >= 200 * MSS, "{}: as before", path.control.window());
    let next = states(&mut path, 6000).iter().find(|seen| seen.0 == State::ProbeRtt).expect("another").1;
    assert!((4900..5200).contains(&next), "{next} ms");
}

#[test]
fn its_samples_are_those_of_a_sender_that_is_limited() {
    let mut feed = Feed::filled();
    feed.pipe = 100 * MSS;
    feed.now += Duration::from_secs(6);
    feed.rounds(&[10_000]);
    assert_eq!((feed.bbr.state, feed.bbr.cycle.ack_phase), (State::ProbeRtt, AckPhase::ProbeStopping));
    feed.rounds(&[5000; 3]);
    assert_eq!(feed.bbr.max_bw.max_bw, 10_000_000);
    assert_eq!(feed.bbr.max_bw.max_bw, feed.bbr.bw);
}

#[test]
fn it_waits_for_half_of_the_bdp_then_for_a_round_and_two_hundred_milliseconds() {
    let mut feed = Feed::filled();
    feed.pipe = 63 * MSS;
    feed.now += Duration::from_secs(6);
    feed.rounds(&[10_000; 4]);
    assert_eq!(feed.bbr.state, State::ProbeRtt, "more than half is in flight");
    assert_eq!(feed.bbr.window(), 62_500);
    feed.pipe = 62 * MSS;
    feed.within(10_000);
    feed.rounds(&[5000, 5000]);
    assert_eq!(feed.bbr.state, State::ProbeRtt, "200 ms are not over");
    feed.rounds(&[5000]);
    assert_eq!(feed.bbr.state, State::Cruise);
}

/// A.20.
#[test]
fn in_startup_it_returns_to_startup() {
    let mut feed = Feed::new();
    feed.rounds(&[1000, 2000]);
    feed.pipe = 100 * MSS;
    feed.now += Duration::from_secs(6);
    feed.rounds(&[2000]);
    assert_eq!(feed.bbr.state, State::ProbeRtt);
    feed.pipe = MSS;
    feed.rounds(&[1000; 4]);
    assert_eq!(feed.bbr.state, State::Startup);
}

#[test]
fn a_lower_sample_puts_it_off_and_an_equal_one_does_not() {
    for (rtt, expected) in [(100, State::ProbeRtt), (99, State::Refill)] {
        let mut feed = Feed::filled();
        feed.now += Duration::from_secs(4);
        feed.rtt = Duration::from_millis(rtt);
        feed.within(10_000);
        feed.now += Duration::from_secs(1);
        feed.within(10_000);
        assert_eq!(feed.bbr.state, expected, "{rtt} ms");
    }
}

#[test]
fn a_path_that_grows_longer_is_noticed() {
    let mut path = path(1000);
    path.run(3000);
    path.delay = Duration::from_millis(200);
    path.run(25_000);
    assert_eq!(path.control.min_rtt.min_rtt.map(Duration::as_millis), Some(200));
    let used = path.run(10_000);
    assert!(used >= 90, "{used} %");
}
