//! When a session is replaced, and which one it follows.

use super::*;
use crate::key::Key;
use crate::secret::Secret;

fn session(initiated: bool, since: u64, (own_time, boot): (u64, u8), packets: u64) -> Session {
    let secret = || Secret::new(&[1; 32]);
    let peer = Introduction { boot: [boot; 8], time: 0 };
    let since = Instant::from_nanos(since);
    let session =
        Session::new(&SessionKeys::new(secret(), secret()), (1, 2), since, (own_time, peer), initiated);
    Session { sealer: Sealer::at(&Key::new(secret()), 2, packets), ..session }
}

#[test]
fn a_session_is_replaced_by_age_or_by_its_packets() {
    let secs = |secs: u64| Instant::from_nanos(secs * 1_000_000_000);
    for packets in [0, 1, MOST_PACKETS / 2] {
        assert_eq!(session(true, 5_000_000_000, (0, 0), packets).replace_at(), secs(125));
        assert_eq!(session(false, 5_000_000_000, (0, 0), packets).replace_at(), secs(155));
    }
    for packets in [MOST_PACKETS / 2 + 1, MOST_PACKETS / 2 + 2, MOST_PACKETS] {
        assert_eq!(session(true, 5_000_000_000, (0, 0), packets).replace_at(), Instant::ZERO);
        assert_eq!(session(false, 5_000_000_000, (0, 0), packets).replace_at(), Instant::ZERO);
    }
}

#[test]
fn a_session_is_followed_early_before_it_is_old() {
    let first = session(true, 7, (0, 0), 0);
    for (after, is_early) in
        [(0, true), (119_999_999_999, true), (120_000_000_000, false), (120_000_000_001, false)]
    {
        assert_eq!(first.is_followed_early_by(&session(true, 7 + after, (0, 0), 0)), is_early, "{after}");
    }
}

#[test]
fn a_process_is_before_another_if_we_began_later_with_that() {
    let before = |first: &Session, later: &Session| first.is_of_process_before(later);
    let first = session(false, 0, (5, 1), 0);
    assert!(before(&first, &session(true, 0, (6, 2), 0)));
    assert!(!before(&first, &session(true, 0, (6, 1), 0)), "the same process");
    assert!(!before(&first, &session(false, 0, (6, 2), 0)), "the peer began");
    for own_time in [4, 5] {
        assert!(!before(&first, &session(true, 0, (own_time, 2), 0)), "not later");
    }
}

#[test]
fn of_two_that_one_end_began_at_the_same_time_neither_supersedes() {
    for initiated in [true, false] {
        let of = |time| {
            let mut session = session(initiated, 0, (if initiated { time } else { 9 - time }, 0), 0);
            session.peer.time = if initiated { 9 - time } else { time };
            session
        };
        assert!(!of(3).supersedes(&of(3), true) && !of(3).supersedes(&of(4), true));
        assert!(of(4).supersedes(&of(3), false));
    }
}
