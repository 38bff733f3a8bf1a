//! A timeout of Linux 2.2 on a link that loses nothing.
//!
//! Three rules of it meet on a long path (all of them as its tcp_input.c has them):
//!
//! - the retransmission timeout is `srtt + 4 * mdev` and a quarter more; on a path whose round trips
//!   are alike `mdev` goes to nothing, and the margin to that quarter: 150 ms of 600;
//! - an ACK sets the timer to what is left of the timeout since the oldest segment was sent, not to
//!   the whole of it (RFC 6298, 5.3, would);
//! - the receiver holds the ACK of a lone segment back for half of its former estimate plus the gap
//!   in front of that segment, up to half a second.
//!
//! An ACK that was held back before leaves a segment that travels alone behind a gap. In the run below,
//! by its capture, that segment's ACK is held back for 282 ms and comes after 882 ms; the timeout stands
//! at 850 ms. The whole window is retransmitted, and the duplicate ACKs that this brings look like a loss
//! once more: 2.2 forgets the mark that forbids a second fast retransmit when it is reached, while
//! RFC 6582, section 4, asks for an ACK beyond it. The standard profile restarts the timer in full and
//! keeps room in it for a delayed ACK.

use headway_link::{Damage, QueueLimit};
use headway_sim::Content;
use headway_sim::race::{ProfileName, RunOutcome, Scenario, run};
use headway_tcp::Variant;
use headway_units::{Rate, Size};

fn outcome(profile: ProfileName) -> RunOutcome {
    let mut scenario = Scenario { profile, window: Size::from_bytes(31_856), ..Scenario::default() };
    for link in [&mut scenario.forward, &mut scenario.reverse] {
        link.rate = Some(Rate::from_bits_per_second(100_000_000));
        link.queue = QueueLimit::Packets(200);
        link.damage = Damage::None;
    }
    let content = Content::from_bytes(vec![7; 579_200]);
    let outcome = run(&scenario, Variant::NewReno, &content, 1, true).expect("a run");
    assert_eq!((outcome.metrics.sha256_ok, outcome.metrics.queue_drops), (Some(true), Some(0)));
    outcome
}

#[test]
fn linux22_takes_a_delayed_ack_for_a_loss() {
    let outcome = outcome(ProfileName::Linux22);
    // 22 segments of the window, and 7 of the fast retransmit and the partial ACKs that it begins.
    assert_eq!(
        [outcome.metrics.timeouts, outcome.metrics.fast_recoveries, outcome.metrics.retransmissions],
        [1, 1, 29].map(Some)
    );
}

#[test]
fn the_standard_profile_does_not() {
    let outcome = outcome(ProfileName::Standard);
    assert_eq!(
        [outcome.metrics.timeouts, outcome.metrics.fast_recoveries, outcome.metrics.retransmissions],
        [0, 0, 0].map(Some)
    );
}
