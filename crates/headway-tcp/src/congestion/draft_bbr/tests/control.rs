//! Window, rate and quantum.

use super::super::super::bottleneck::MSS;
use super::feed::Feed;
use super::*;

#[test]
fn before_the_first_window_is_delivered_it_grows_by_all_that_is_acknowledged() {
    let mut feed = Feed::new();
    assert_eq!(feed.bbr.window(), 10 * MSS);
    feed.within(80);
    assert_eq!(feed.bbr.window(), 11 * MSS);
}

/// 5.6.4.2, A.13: twice the BDP, and what ACKs aggregate.
#[test]
fn the_window_is_twice_the_bdp_and_what_acks_aggregate() {
    let mut feed = Feed::filled();
    feed.rounds(&[10_000; 15]);
    let extra = feed.bbr.extra_acked.extra_acked;
    assert_eq!(feed.bbr.max_bw.max_bw, 10_000_000);
    assert_eq!(extra, 125_000, "one ACK for a whole round");
    assert_eq!(feed.bbr.window(), 250_000 + extra);
}

/// 5.6.2: "pace at 1% below the bw".
#[test]
fn the_rate_has_a_margin_and_does_not_fall_in_startup() {
    let mut feed = Feed::new();
    feed.rounds(&[4000]);
    assert_eq!(feed.bbr.c.pacing_rate, 4_000_000 * 277 / 100 * 99 / 100);
    let before = feed.bbr.c.pacing_rate;
    feed.bbr.bw = 1_000_000;
    feed.bbr.set_pacing_rate();
    assert_eq!(feed.bbr.c.pacing_rate, before);
    let mut filled = Feed::filled();
    filled.within(10_000);
    assert_eq!((filled.bbr.state, filled.bbr.c.pacing_rate), (State::Cruise, 9_900_000));
}

/// 5.6.3 and 5.5.8.1.
#[test]
fn the_quantum_is_that_of_a_millisecond() {
    let mut bbr = Feed::new().bbr;
    let mut quantum = |rate| {
        bbr.c.pacing_rate = rate;
        bbr.set_send_quantum();
        (bbr.c.send_quantum, bbr.inflight(0, 100))
    };
    assert_eq!(quantum(1_000_000), (2 * MSS, 6 * MSS));
    assert_eq!(quantum(80_000_000), (10_000, 30_000));
    assert_eq!(quantum(8_000_000_000), (65_536, 196_608));
}

#[test]
fn cruise_leaves_headroom_and_the_others_none() {
    let mut bbr = Feed::filled().bbr;
    bbr.inflight_longterm = 100 * MSS;
    let mut window = |state| {
        bbr.state = state;
        bbr.c.cwnd = 1000 * MSS;
        bbr.set_cwnd(0);
        bbr.c.cwnd / MSS
    };
    assert_eq!([State::Down, State::Refill, State::Up].map(&mut window), [100; 3]);
    assert_eq!(window(State::Cruise), 85);
    assert_eq!(window(State::ProbeRtt), 62, "half of the BDP");
    assert!(window(State::Drain) > 100);
}

/// `C.is_cwnd_limited` (2.2).
#[test]
fn the_window_limits_where_no_segment_more_fits() {
    let mut feed = Feed::filled();
    let mut limited = |pipe| {
        feed.bbr.c.cwnd = 100 * MSS;
        feed.prior_pipe = pipe * MSS;
        feed.rounds(&[10_000]);
        feed.bbr.c.usage.is_cwnd_limited()
    };
    assert_eq!([99, 100, 50, 50].map(&mut limited), [false, true, true, false]);
}

/// 5.6.4.6: "BBR.cwnd < BBR.max_inflight or C.delivered < C.InitialCwnd".
#[test]
fn before_the_pipe_is_full_a_window_beyond_the_model_grows_until_the_first_was_delivered() {
    let growth = |before_the_end: u64| {
        let mut bbr = DraftBbr::new(&setup(10));
        bbr.set_mss(MSS, true);
        bbr.c.cwnd = 10_000_000;
        bbr.c.delivered = u64::from(bbr.c.initial_cwnd()) - before_the_end;
        bbr.set_cwnd(MSS);
        bbr.c.cwnd - 10_000_000
    };
    assert_eq!([1, 0].map(growth), [MSS, 0]);
}
