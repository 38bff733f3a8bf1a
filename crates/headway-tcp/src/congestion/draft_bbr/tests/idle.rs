//! Restarting from idle.

use super::super::super::bottleneck::MSS;
use super::feed::Feed;
use super::*;

/// 5.4.1: "if (C.inflight == 0 && C.app_limited)".
#[test]
fn only_a_pause_of_the_application_restarts_from_idle() {
    let mut path = path(1000);
    run_to(&mut path, State::Up);
    let (now, rate, window) = (path.now, path.control.c.pacing_rate, path.control.c.cwnd);
    let bbr = &mut path.control;
    bbr.on_sent(now, 0, false);
    assert!(!bbr.idle_restart && bbr.c.pacing_rate == rate);
    bbr.on_sent(now, MSS, true);
    assert!(!bbr.idle_restart && bbr.c.pacing_rate == rate);
    bbr.on_sent(now, 0, true);
    assert!(bbr.idle_restart);
    // "exactly BBR.bw", less the margin that SetPacingRateWithGain() has.
    assert_eq!(bbr.c.pacing_rate, bbr.bw * 99 / 100);
    assert_eq!(bbr.c.cwnd, window, "BBR leaves C.cwnd as-is");
}

/// A.11.
#[test]
fn after_a_pause_there_is_no_need_of_probe_rtt() {
    for paused in [false, true] {
        let mut feed = Feed::filled();
        feed.now += Duration::from_secs(6);
        if paused {
            feed.bbr.on_sent(feed.now, 0, true);
        }
        feed.within(10_000);
        assert_eq!(feed.bbr.state == State::ProbeRtt, !paused);
        assert!(!feed.bbr.idle_restart, "the first delivery ends it");
    }
}

#[test]
fn a_probe_of_the_round_trip_time_ends_with_a_pause_in_it() {
    let mut feed = Feed::filled();
    feed.within(10_000);
    let window = feed.bbr.window();
    feed.now += Duration::from_secs(6);
    feed.pipe = MSS;
    feed.within(10_000);
    assert_eq!(feed.bbr.state, State::ProbeRtt);
    assert!(feed.bbr.window() < window);
    // The application limits it, since ProbeRTT marks the connection.
    feed.bbr.on_sent(feed.now, 0, false);
    assert_eq!(feed.bbr.state, State::ProbeRtt, "200 ms are not over");
    feed.now += Duration::from_millis(201);
    feed.bbr.on_sent(feed.now, 0, false);
    assert_eq!((feed.bbr.state, feed.bbr.window()), (State::Cruise, window));
}
