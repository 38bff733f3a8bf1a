//! Losses, and the bounds that follow from them.

use super::super::super::bbr_common::{NO_RATE, NO_VOLUME};
use super::super::super::bottleneck::{Fate, MSS};
use super::feed::Feed;
use super::*;

/// In ProbeBW_UP, with a window of twice the BDP.
fn up() -> Feed {
    let mut feed = Feed::filled();
    while feed.bbr.state != State::Up {
        feed.rounds(&[10_000]);
    }
    feed.in_flight = 200 * MSS;
    feed
}

/// 5.5.10.2, A.21: more than two percent of what was in flight, and that was not more than what the path carries.
#[test]
fn more_than_two_percent_end_a_probe() {
    let mut feed = up();
    feed.lose(4);
    assert_eq!((feed.bbr.state, feed.bbr.inflight_longterm), (State::Up, NO_VOLUME), "two percent");
    feed.lose(1);
    assert_eq!(feed.bbr.state, State::Down);
    // 4 of 199 lost before the last: (0.02 * 199,000 - 4000) / 0.98 = -20 bytes.
    assert_eq!(feed.bbr.inflight_longterm, 199_000 - 20);
    let before = feed.bbr.inflight_longterm;
    feed.lose(20);
    assert_eq!(feed.bbr.inflight_longterm, before, "once for each probe");
}

#[test]
fn the_long_term_bound_falls_to_seven_tenths_at_most() {
    let mut feed = up();
    feed.in_flight = 20 * MSS;
    feed.lose(1);
    // 0.7 * 125,000.
    assert_eq!(feed.bbr.inflight_longterm, 87_500);
    assert_eq!(feed.bbr.inflight_with_headroom(), 87_500 - 13_125);
}

/// A.6: of what the application limited nothing follows for the bound; the probe ends.
#[test]
fn losses_end_a_probe_that_the_application_limits() {
    let mut feed = up();
    feed.app_limited = true;
    feed.lose(5);
    assert_eq!((feed.bbr.state, feed.bbr.inflight_longterm), (State::Down, NO_VOLUME));
}

#[test]
fn a_bound_that_too_much_exceeded_without_loss_is_raised() {
    let mut feed = up();
    feed.bbr.inflight_longterm = 150 * MSS;
    feed.rounds(&[10_000]);
    assert_eq!(feed.bbr.inflight_longterm, 200 * MSS);
    feed.lost = 5000;
    feed.in_flight = 210 * MSS;
    feed.rounds(&[10_000]);
    assert_eq!(feed.bbr.inflight_longterm, 200 * MSS, "more than two percent was lost");
}

/// 5.5.10.3: what was delivered in the round, or seven tenths.
#[test]
fn losses_in_cruise_lower_the_short_term_bounds_each_round() {
    let mut feed = Feed::filled();
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::Cruise);
    feed.lose(1);
    feed.within(10_000);
    assert_eq!(feed.bbr.signals.bw_shortterm, NO_RATE, "at the end of the round");
    let cwnd = feed.bbr.window();
    feed.rounds(&[9000]);
    assert_eq!(feed.bbr.bw, 10_000_000, "the maximum of the round");
    assert_eq!(feed.bbr.signals.inflight_shortterm, (cwnd / 100 * 70).max(125_000));
    feed.lose(1);
    feed.rounds(&[9000]);
    assert_eq!((feed.bbr.bw, feed.bbr.signals.bw_shortterm), (9_000_000, 9_000_000));
    feed.lose(1);
    feed.rounds(&[1000]);
    feed.lose(1);
    feed.rounds(&[1000]);
    assert_eq!(feed.bbr.bw, 6_300_000, "0.7 of 9 Mbit/s");
    let before = feed.bbr.bw;
    feed.rounds(&[1000]);
    assert_eq!(feed.bbr.bw, before, "a round without losses");
    assert!(feed.bbr.window() <= feed.bbr.signals.inflight_shortterm);
    feed.now += Duration::from_secs(3);
    feed.within(9000);
    assert_eq!((feed.bbr.state, feed.bbr.signals.bw_shortterm), (State::Refill, NO_RATE));
}

#[test]
fn losses_while_it_accelerates_lower_no_short_term_bound() {
    let mut feed = up();
    feed.lose(1);
    feed.rounds(&[10_000]);
    assert_eq!((feed.bbr.signals.bw_shortterm, feed.bbr.signals.inflight_shortterm), (NO_RATE, NO_VOLUME));
}

#[test]
fn one_percent_by_chance_is_borne() {
    let mut path = path(1000);
    path.fate = |number| if number % 100 == 50 { Fate::Lost } else { Fate::Arrives };
    path.run(3000);
    let used = path.run(30_000);
    // In Cruise it reduces the rate by the lost share each round, until it probes again.
    assert!((80..96).contains(&used), "{used} %");
}

#[test]
fn losses_above_the_threshold_slow_it_down() {
    let mut path = path(1000);
    path.run(3000);
    path.fate = |number| if number % 10 == 5 { Fate::Lost } else { Fate::Arrives };
    path.run(10_000);
    assert!(path.control.inflight_longterm < NO_VOLUME);
    let used = path.run(20_000);
    assert!(used < 50, "{used} %");
    // After the losses end, the rate recovers.
    path.fate = |_| Fate::Arrives;
    path.run(20_000);
    let used = path.run(20_000);
    assert!(used >= 90, "{used} %");
}

#[test]
fn a_shallow_queue_is_not_overflown_for_long() {
    let mut path = path(20);
    path.run(6000);
    let (used, lost) = (path.run(20_000), path.lost);
    assert!(used >= 80, "{used} %");
    path.run(20_000);
    let share = (path.lost - lost) * 1000 / (20_000 * 1250);
    assert!(share <= 20, "{share} per mille");
}

/// 3.7.
#[test]
fn a_mark_is_congestion() {
    let mut startup = Feed::new();
    startup.rounds(&[1000]);
    startup.bbr.on_ecn(&startup.loss());
    assert_eq!(startup.bbr.state, State::Drain);
    let mut feed = up();
    feed.pipe = 150 * MSS;
    feed.within(10_000);
    feed.bbr.on_ecn(&feed.loss());
    assert_eq!((feed.bbr.state, feed.bbr.inflight_longterm), (State::Down, 150 * MSS));
    let mut cruise = Feed::filled();
    cruise.within(10_000);
    cruise.bbr.on_ecn(&cruise.loss());
    cruise.rounds(&[8000]);
    assert_eq!(cruise.bbr.signals.bw_shortterm, 10_000_000);
}
