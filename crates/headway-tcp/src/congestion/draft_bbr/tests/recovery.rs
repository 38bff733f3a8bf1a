//! The window in loss recovery, and losses that were none.

use super::super::super::bbr_common::NO_VOLUME;
use super::super::super::bottleneck::MSS;
use super::super::recovery::Recovery;
use super::feed::Feed;
use super::*;

fn up() -> Feed {
    let mut feed = Feed::filled();
    while feed.bbr.state != State::Up {
        feed.rounds(&[10_000]);
    }
    feed
}

/// A.18. The one segment is more than two percent of what was in flight.
#[test]
fn a_spurious_loss_that_ended_a_probe_is_taken_back() {
    let mut feed = up();
    feed.in_flight = 40 * MSS;
    let window = feed.bbr.window();
    feed.lose(1);
    assert_eq!((feed.bbr.state, feed.bbr.undo.state), (State::Down, Some(State::Up)));
    assert!(feed.bbr.inflight_longterm < NO_VOLUME);
    feed.bbr.on_spurious();
    assert_eq!((feed.bbr.state, feed.bbr.inflight_longterm), (State::Refill, NO_VOLUME));
    assert_eq!(feed.bbr.recovery, Recovery::None);
    assert!(feed.bbr.window() >= window);
}

/// NoteLoss() saves the state again, since the end of the probe began another round of losses. So the draft has it.
#[test]
fn another_loss_after_the_one_that_ended_a_probe_leaves_nothing_to_take_back() {
    let mut feed = up();
    feed.in_flight = 40 * MSS;
    feed.lose(2);
    let longterm = feed.bbr.inflight_longterm;
    feed.bbr.on_spurious();
    assert_eq!((feed.bbr.state, feed.bbr.inflight_longterm), (State::Down, longterm));
}

#[test]
fn spurious_losses_that_ended_startup_are_taken_back() {
    let mut feed = Feed::new();
    feed.pipe = 1000 * MSS;
    feed.rounds(&[1000, 2000, 4000]);
    feed.lose(8);
    feed.rounds(&[4000]);
    assert_eq!(feed.bbr.state, State::Drain);
    feed.bbr.on_spurious();
    assert_eq!((feed.bbr.state, feed.bbr.full_bw.full_bw_reached), (State::Startup, false));
    assert_eq!(feed.bbr.inflight_longterm, NO_VOLUME);
}

#[test]
fn spurious_losses_in_cruise_restore_the_short_term_bounds() {
    let mut feed = Feed::filled();
    feed.within(10_000);
    let window = feed.bbr.window();
    feed.lose(1);
    feed.rounds(&[4000]);
    feed.rounds(&[4000]);
    assert!(feed.bbr.window() < window);
    feed.bbr.on_spurious();
    assert_eq!(feed.bbr.signals.inflight_shortterm, NO_VOLUME);
    assert!(feed.bbr.window() >= window);
    assert_eq!(feed.bbr.state, State::Cruise);
}

/// 5.6.4.4, A.19.
#[test]
fn a_timeout_leaves_one_segment_and_the_window_returns() {
    let timed_out = || {
        let mut feed = Feed::filled();
        feed.within(10_000);
        let window = feed.bbr.window();
        feed.in_flight = 50 * MSS;
        feed.bbr.on_timeout(&feed.loss(), true);
        assert_eq!(feed.bbr.window(), MSS);
        feed.bbr.on_timeout(&feed.loss(), false);
        assert_eq!((feed.bbr.window(), feed.bbr.prior_cwnd), (MSS, window), "the second changes nothing");
        (feed, window)
    };
    let (mut feed, window) = timed_out();
    feed.within(100);
    assert_eq!(feed.bbr.window(), 4 * MSS, "the least");
    for _ in 0..48 {
        feed.within(100);
    }
    assert_eq!(feed.bbr.recovery, Recovery::Timeout { left: MSS });
    feed.within(100);
    assert_eq!(feed.bbr.recovery, Recovery::None, "all that was outstanding is acknowledged");
    assert!(feed.bbr.window() >= window / 10 * 9, "{} of {window}", feed.bbr.window());
    let (mut spurious, window) = timed_out();
    spurious.bbr.on_spurious();
    assert_eq!((spurious.bbr.window(), spurious.bbr.recovery), (window, Recovery::None));
}

#[test]
fn the_end_of_fast_recovery_restores_the_window() {
    let mut feed = Feed::filled();
    feed.within(10_000);
    let window = feed.bbr.window();
    feed.lose(1);
    assert!(matches!(feed.bbr.recovery, Recovery::Fast { .. }));
    feed.bbr.c.cwnd = 10 * MSS;
    feed.in_recovery = false;
    feed.bbr.on_recovery_end(&feed.loss());
    assert_eq!((feed.bbr.window(), feed.bbr.recovery), (window, Recovery::None));
}

/// A connection with several losses, of which the stack tells the end with the next ACK alone.
#[test]
fn recovery_is_over_when_an_ack_says_so() {
    let mut feed = Feed::filled();
    feed.lose(1);
    feed.within(10_000);
    assert!(matches!(feed.bbr.recovery, Recovery::Fast { .. }));
    feed.in_recovery = false;
    feed.within(10_000);
    assert_eq!(feed.bbr.recovery, Recovery::None);
}
