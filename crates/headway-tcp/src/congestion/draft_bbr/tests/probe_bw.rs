//! ProbeBW.

use headway_units::Rate;

use super::super::super::bbr_common::NO_VOLUME;
use super::super::super::bbr_common::phases::AckPhase;
use super::super::super::bottleneck::MSS;
use super::feed::Feed;
use super::*;

#[test]
fn a_cycle_goes_through_its_states_in_order_and_in_time() {
    let mut path = path(1000);
    run_to(&mut path, State::Refill);
    let seen = states(&mut path, 12_000);
    let begins = seen.iter().enumerate().filter(|(_, seen)| seen.0 == State::Refill).map(|(at, _)| at);
    let begins: Vec<_> = begins.collect();
    let mut whole = 0;
    for (&from, &next) in begins.iter().zip(&begins[1..]) {
        let cycle: Vec<_> = seen[from..next].iter().map(|&(state, _)| state).collect();
        if cycle.contains(&State::ProbeRtt) {
            continue;
        }
        whole += 1;
        assert_eq!(cycle, [State::Refill, State::Up, State::Down, State::Cruise], "{seen:?}");
        let took = |place: usize| seen[from + place + 1].1 - seen[from + place].1;
        assert!((100..=125).contains(&took(0)), "a round: {seen:?}");
        // The baseline is that of Refill: three rounds without growth.
        assert!((300..=700).contains(&took(1)), "{seen:?}");
        assert!((2000..=3002).contains(&(took(2) + took(3))), "{seen:?}");
    }
    assert!(whole >= 2, "{seen:?}");
}

/// 5.3.3.8: as many rounds as segments fill the path, at most 63.
#[test]
fn a_short_path_is_probed_as_often_as_reno_would() {
    let mut path = path_of(20, 1000);
    run_to(&mut path, State::Down);
    run_to(&mut path, State::Refill);
    run_to(&mut path, State::Down);
    let waited = states(&mut path, 1500).iter().find(|seen| seen.0 == State::Refill).expect("a probe").1;
    // 25 segments are 25 rounds of 20 ms and more.
    assert!((470..=700).contains(&waited), "{waited} ms");
}

#[test]
fn gains_are_those_of_the_table() {
    let mut bbr = Feed::new().bbr;
    let mut gains = |state| {
        bbr.state = state;
        (bbr.pacing_gain(), bbr.cwnd_gain())
    };
    assert_eq!(gains(State::Down), (90, 200));
    assert_eq!(gains(State::Cruise), (100, 200));
    assert_eq!(gains(State::Refill), (100, 200));
    assert_eq!(gains(State::Up), (125, 225));
    assert_eq!(gains(State::ProbeRtt), (100, 50));
}

/// A.8.
#[test]
fn down_ends_when_the_queue_is_gone_and_there_is_headroom() {
    let mut feed = Feed::new();
    feed.pipe = 126 * MSS;
    feed.rounds(&[10_000; 9]);
    assert_eq!(feed.bbr.state, State::Down, "more than the BDP is in flight");
    feed.bbr.inflight_longterm = 100 * MSS;
    feed.in_flight = 100 * MSS;
    feed.pipe = 86 * MSS;
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::Down);
    feed.pipe = 85 * MSS;
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::Cruise);
}

/// A.9.
#[test]
fn down_ends_when_it_is_time_to_probe() {
    let mut feed = Feed::new();
    feed.pipe = 500 * MSS;
    feed.rounds(&[10_000; 8]);
    assert_eq!(feed.bbr.state, State::Down);
    let wait = feed.bbr.cycle.bw_probe_wait;
    assert!((2000..=3000).contains(&wait.as_millis()));
    feed.now += wait;
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::Down);
    feed.now += Duration::from_nanos(1);
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::Refill);
}

/// In ProbeBW_UP, after a round of ProbeBW_REFILL.
fn up() -> Feed {
    let mut feed = Feed::filled();
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::Cruise);
    feed.rounds(&[10_000]);
    assert_eq!(feed.bbr.cycle.ack_phase, AckPhase::Init, "the feedback on the last probe is over");
    feed.now += Duration::from_secs(3);
    feed.within(10_000);
    assert_eq!((feed.bbr.state, feed.bbr.cycle.ack_phase), (State::Refill, AckPhase::Refilling));
    assert!(!feed.bbr.cycle.is_bw_probe_sample);
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::Refill, "for a round");
    feed.rounds(&[10_000]);
    assert_eq!((feed.bbr.state, feed.bbr.cycle.ack_phase), (State::Up, AckPhase::ProbeStarting));
    assert!(feed.bbr.cycle.is_bw_probe_sample);
    feed
}

/// A.5.
#[test]
fn up_ends_when_the_rate_does_not_grow() {
    let mut feed = up();
    feed.rounds(&[10_500]);
    assert_eq!(feed.bbr.cycle.ack_phase, AckPhase::ProbeFeedback);
    feed.rounds(&[11_000]);
    assert_eq!(feed.bbr.state, State::Up);
    feed.rounds(&[11_000]);
    assert_eq!((feed.bbr.state, feed.bbr.cycle.ack_phase), (State::Down, AckPhase::ProbeStopping));
    assert!(!feed.bbr.cycle.prev_probe_too_high);
    let mut growing = up();
    growing.rounds(&[12_500, 15_700, 19_700, 24_700]);
    assert_eq!(growing.bbr.state, State::Up, "each a quarter more");
}

/// A.7.
#[test]
fn up_lasts_while_the_application_limits() {
    let mut feed = up();
    feed.app_limited = true;
    // Until ProbeRTT is due.
    feed.rounds(&[5000; 10]);
    assert_eq!(feed.bbr.state, State::Up);
    assert_eq!(feed.bbr.max_bw.max_bw, 10_000_000);
}

/// A.22.
#[test]
fn refill_that_the_application_limits_is_followed_by_up() {
    let mut feed = Feed::filled();
    feed.within(10_000);
    feed.now += Duration::from_secs(3);
    feed.within(10_000);
    feed.app_limited = true;
    feed.rounds(&[3000]);
    assert_eq!((feed.bbr.state, feed.bbr.max_bw.max_bw), (State::Up, 10_000_000));
}

/// A round trip after a probe the maximum of the cycle before the last is forgotten.
#[test]
fn the_bandwidth_falls_after_two_cycles() {
    let mut feed = up();
    let mut falls = Vec::new();
    for _ in 0..3 {
        while feed.bbr.state == State::Up {
            feed.rounds(&[8000]);
        }
        feed.rounds(&[8000, 8000]);
        falls.push(feed.bbr.max_bw.max_bw / 1_000_000);
        while feed.bbr.state != State::Up {
            feed.rounds(&[8000]);
        }
    }
    assert_eq!(falls, [10, 8, 8]);
}

/// 5.3.3.5: "in each successive round trip, BBR.inflight_longterm grows (in units of C.SMSS) by 1, 2, 4, 8, 16".
#[test]
fn the_long_term_bound_grows_faster_each_round() {
    let mut feed = up();
    feed.bbr.inflight_longterm = 100 * MSS;
    (feed.bbr.c.cwnd, feed.bbr.cycle.bw_probe_up_rounds) = (100 * MSS, 0);
    feed.bbr.raise_inflight_longterm_slope();
    let mut grown = Vec::new();
    for _ in 0..4 {
        let before = feed.bbr.inflight_longterm;
        feed.bbr.c.cwnd = before;
        // What is in flight is the whole window, and a window of data is acknowledged in the round.
        (feed.prior_pipe, feed.in_flight, feed.pipe) = (before, before, before);
        let window = u64::from(before) / 1000;
        feed.rounds(&[window * 80]);
        grown.push((feed.bbr.inflight_longterm - before) / MSS);
        // The window follows, and the bound limits it again.
        feed.bbr.c.cwnd = feed.bbr.inflight_longterm;
        feed.prior_pipe = feed.bbr.inflight_longterm;
        feed.within(window * 80);
    }
    assert_eq!(grown, [1, 2, 4, 8]);
    assert_eq!(feed.bbr.state, State::Up, "the bound limits the rate: it is no plateau");
    (feed.prior_pipe, feed.pipe) = (10 * MSS, 10 * MSS);
    feed.rounds(&[10_000]);
    let before = feed.bbr.inflight_longterm;
    feed.rounds(&[10_000]);
    assert_eq!(feed.bbr.inflight_longterm, before, "it is not used");
}

/// 5.3.3.6.
#[test]
fn a_probe_after_one_that_went_too_high_is_precautionary() {
    let mut feed = up();
    feed.lose(3);
    assert_eq!(feed.bbr.state, State::Down);
    assert!(feed.bbr.cycle.prev_probe_too_high);
    let longterm = feed.bbr.inflight_longterm;
    (feed.in_recovery, feed.lost, feed.in_flight) = (false, 0, 90 * MSS);
    feed.bbr.on_recovery_end(&feed.loss());
    while feed.bbr.state != State::Up {
        feed.rounds(&[10_000]);
    }
    feed.pipe = longterm - MSS;
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::Up);
    feed.pipe = longterm;
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::Down, "the level of the last probe is reached");
    assert!(feed.bbr.cycle.prev_probe_precautionary && !feed.bbr.cycle.prev_probe_too_high);
    feed.rounds(&[10_000]);
    assert_eq!(feed.bbr.state, State::Refill, "it was borne for a round: the next probe follows");
}

#[test]
fn the_queue_is_short_and_the_link_is_used() {
    let mut path = path(1000);
    path.run(3000);
    path.longest = 0;
    let used = path.run(20_000);
    // ProbeRTT takes two percent.
    assert!(used >= 94, "{used} %");
    // A probe goes up to 1.25 times the BDP and more for its three rounds, and no further than 2.25 times.
    assert!(path.longest <= 165, "{} packets", path.longest);
    assert_eq!((path.lost, path.control.inflight_longterm), (0, NO_VOLUME));
}

/// A.15.
#[test]
fn more_bandwidth_is_found() {
    let mut path = path(2000);
    path.run(5000);
    path.rate = Rate::from_bits_per_second(100_000_000);
    path.run(30_000);
    assert!(path.control.max_bw.max_bw >= 95_000_000, "{}", path.control.max_bw.max_bw);
}

/// The maximum bandwidth after the rate fell to a tenth: 1 Mbit/s.
fn after_a_fall(limit: usize) -> u64 {
    let mut path = path(limit);
    path.run(5000);
    path.rate = Rate::from_bits_per_second(1_000_000);
    path.run(60_000);
    path.control.max_bw.max_bw / 100_000
}

/// A.16, with a queue of a fifth of a second.
#[test]
fn less_bandwidth_is_accepted() {
    let found = after_a_fall(25);
    assert!(found <= 11, "{found} tenths");
}

/// With a queue of two seconds ProbeRTT is due before a probe has ended, and then AdvanceMaxBwFilter() is not called:
/// AdaptLongTermModel() calls it in ProbeBW alone, and after ProbeRTT not for a sample of that.
#[test]
fn outdated_bandwidth_stays_where_probe_rtt_ends_every_probe() {
    assert_eq!(after_a_fall(250), 100);
}

/// A.14: at an RTT of 1 ms 1.25 packets fill the path.
#[test]
fn four_segments_are_the_least_window() {
    let mut path = path_of(1, 100);
    run_to(&mut path, State::Cruise);
    for _ in 0..3000 {
        path.run(1);
        assert!(path.control.window() >= 4 * MSS);
    }
    let used = path.run(3000);
    assert!(used >= 90, "{used} %");
}
