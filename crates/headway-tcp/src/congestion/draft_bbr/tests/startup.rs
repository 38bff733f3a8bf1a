//! Startup and Drain.

use super::super::super::bbr_common::NO_VOLUME;
use super::super::super::bottleneck::MSS;
use super::feed::Feed;
use super::*;

/// A.1.
#[test]
fn startup_ends_when_the_rate_does_not_grow() {
    let mut path = path(1000);
    run_to(&mut path, State::Drain);
    let bbr = &path.control;
    assert!(bbr.full_bw.full_bw_now && bbr.full_bw.full_bw_reached);
    assert!((9_800_000..=10_200_000).contains(&bbr.max_bw.max_bw), "{}", bbr.max_bw.max_bw);
    assert_eq!((path.lost, bbr.inflight_longterm), (0, NO_VOLUME));
}

#[test]
fn three_rounds_without_growth_end_startup() {
    let mut feed = Feed::new();
    feed.pipe = 1000 * MSS;
    feed.rounds(&[1000, 2000, 4000, 8000, 9000, 9500]);
    assert_eq!(feed.bbr.state, State::Startup);
    assert_eq!((feed.bbr.pacing_gain(), feed.bbr.cwnd_gain()), (277, 200));
    feed.within(9600);
    assert_eq!(feed.bbr.state, State::Startup, "that was no round");
    feed.rounds(&[9900]);
    assert_eq!(feed.bbr.state, State::Drain);
    assert_eq!((feed.bbr.pacing_gain(), feed.bbr.cwnd_gain()), (50, 200));
}

/// A.7.
#[test]
fn rounds_that_the_application_limits_end_nothing() {
    let mut feed = Feed::new();
    feed.app_limited = true;
    feed.rounds(&[1000; 40]);
    assert_eq!(feed.bbr.state, State::Startup);
    feed.app_limited = false;
    feed.rounds(&[1000; 3]);
    assert_eq!(feed.bbr.state, State::Startup, "the first is the baseline");
    feed.rounds(&[1000]);
    assert_ne!(feed.bbr.state, State::Startup);
}

/// A.2, and the conditions of 5.3.1.3 one by one: losses in a round in fast recovery that began before it.
#[test]
fn losses_end_startup_also_where_the_application_limits() {
    let ends = |holes: u32, in_flight: u32| {
        let mut feed = Feed::new();
        (feed.app_limited, feed.pipe) = (true, 1000 * MSS);
        feed.rounds(&[1000, 2000, 4000]);
        feed.in_flight = in_flight * MSS;
        feed.lose(holes);
        feed.within(4000);
        assert_eq!(feed.bbr.state, State::Startup, "the round is not over");
        feed.rounds(&[4000]);
        (feed.bbr.state == State::Drain).then_some(feed.bbr.inflight_longterm)
    };
    // 4 Mbit/s are 50 segments in a round.
    assert_eq!(ends(6, 200), Some(50 * MSS), "the BDP, and what was delivered");
    assert_eq!(ends(5, 200), None, "five holes");
    assert_eq!(ends(6, 300), None, "two percent");
}

#[test]
fn losses_without_a_recovery_that_lasts_do_not_end_startup() {
    let mut feed = Feed::new();
    feed.rounds(&[1000, 2000, 4000]);
    feed.lose(6);
    feed.in_recovery = false;
    feed.bbr.on_recovery_end(&feed.loss());
    feed.rounds(&[8000]);
    assert_eq!(feed.bbr.state, State::Startup);
}

/// A.3.
#[test]
fn drain_ends_when_the_bdp_is_in_flight() {
    let mut feed = Feed::new();
    feed.pipe = 200 * MSS;
    feed.rounds(&[10_000; 4]);
    assert_eq!(feed.bbr.state, State::Drain);
    feed.pipe = 126 * MSS;
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::Drain);
    feed.pipe = 125 * MSS;
    feed.within(10_000);
    // ProbeBW_DOWN begins, and there is nothing to drain.
    assert_eq!(feed.bbr.state, State::Cruise);
}

/// A.4.
#[test]
fn drain_ends_after_three_rounds() {
    let mut feed = Feed::new();
    feed.pipe = 200 * MSS;
    feed.rounds(&[10_000; 7]);
    assert_eq!(feed.bbr.state, State::Drain);
    feed.rounds(&[9000]);
    assert_eq!(feed.bbr.state, State::Down);
}

#[test]
fn startup_leaves_no_queue_behind() {
    let mut path = path(1000);
    run_to(&mut path, State::Cruise);
    assert!(path.pipe() <= 126 * MSS, "{}", path.pipe());
}

/// 5.6.2: 2.77 * 10,000 bytes each round trip, and at a millisecond where none is known.
#[test]
fn the_initial_window_sets_the_first_rate() {
    let rate = |srtt| {
        let mut bbr = DraftBbr::new(&setup(10));
        bbr.set_mss(MSS, true);
        bbr.on_established(Instant::ZERO, srtt);
        bbr
    };
    assert_eq!(rate(Some(Duration::from_millis(100))).c.pacing_rate, 2_216_000);
    let mut bbr = rate(None);
    assert_eq!(bbr.c.pacing_rate, 221_600_000);
    bbr.take_first_rtt(Duration::from_millis(100));
    assert_eq!(bbr.c.pacing_rate, 2_216_000);
    bbr.take_first_rtt(Duration::from_millis(50));
    assert_eq!(bbr.c.pacing_rate, 2_216_000, "once");
}
