//! A session: the keys of one handshake.

#[cfg(test)]
mod limits;

use headway_units::{Duration, Instant};

use crate::handshake::{Introduction, SessionKeys};
use crate::seal::{MOST_PACKETS, Opener, Sealer};

/// A session is replaced when it is this old: what an attacker who learns a key can read ends there.
const REKEY_AFTER: Duration = Duration::from_secs(120);
/// The end that did not begin it waits longer, and begins the next if the other has not.
const REKEY_MARGIN: Duration = Duration::from_secs(30);

/// The keys of one handshake, in both directions.
pub(crate) struct Session {
    /// By which the peer names it in packets to us.
    pub(crate) index: u32,
    pub(crate) sealer: Sealer,
    pub(crate) opener: Opener,
    pub(crate) since: Instant,
    /// The peer's process, and its time at the handshake.
    pub(crate) peer: Introduction,
    /// Our time at the handshake.
    own_time: u64,
    /// We began the handshake, and are the one who begins the next.
    pub(crate) initiated: bool,
}

impl Session {
    pub(crate) fn new(
        keys: &SessionKeys,
        (ours, theirs): (u32, u32),
        since: Instant,
        (own_time, peer): (u64, Introduction),
        initiated: bool,
    ) -> Self {
        Self {
            index: ours,
            sealer: Sealer::new(&keys.sending, theirs),
            opener: Opener::new(&keys.receiving),
            since,
            peer,
            own_time,
            initiated,
        }
    }

    /// Whether this one is used rather than `other`, if the same process of the peer has made both: the later one is. Both ends know
    /// the same four times, so both come to the same answer. Where their handshakes crossed, `prefers_ours` says whether the
    /// one that we began is used; at the peer it is the opposite.
    pub(crate) fn supersedes(&self, other: &Self, prefers_ours: bool) -> bool {
        if self.initiated == other.initiated {
            let began = |session: &Self| if session.initiated { session.own_time } else { session.peer.time };
            return began(self) > began(other);
        }
        let (ours, theirs) = if self.initiated { (self, other) } else { (other, self) };
        // A handshake is later if its initiator had answered the other one before it began.
        let ours_is_later = ours.own_time > theirs.own_time;
        let theirs_is_later = theirs.peer.time > ours.peer.time;
        let uses_ours = if ours_is_later == theirs_is_later { prefers_ours } else { ours_is_later };
        uses_ours == self.initiated
    }

    /// Whether it was made with another process of the peer than `later`, which we began after we had answered this one.
    pub(crate) fn is_of_process_before(&self, later: &Self) -> bool {
        later.initiated && self.peer.boot != later.peer.boot && self.own_time < later.own_time
    }

    /// Whether `next` came before this one was old: data was not answered, or the peer was restarted.
    pub(crate) fn is_followed_early_by(&self, next: &Self) -> bool {
        next.since.saturating_since(self.since) < REKEY_AFTER
    }

    /// When another session is due: because of its age, or at once after many packets.
    pub(crate) fn replace_at(&self) -> Instant {
        if self.sealer.packets() > MOST_PACKETS / 2 {
            return Instant::ZERO;
        }
        self.since + if self.initiated { REKEY_AFTER } else { REKEY_AFTER + REKEY_MARGIN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    fn session(initiated: bool, own_time: u64, time: u64) -> Session {
        let keys = SessionKeys::new(Secret::new(&[1; 32]), Secret::new(&[2; 32]));
        let peer = Introduction { boot: [0; 8], time };
        Session::new(&keys, (1, 2), Instant::ZERO, (own_time, peer), initiated)
    }

    #[test]
    fn both_ends_prefer_the_same_session_whatever_the_times() {
        for times in 0..256_u64 {
            let [near_began, far_answered, far_began, near_answered] =
                [0, 2, 4, 6].map(|bit| times >> bit & 3);
            for prefers_near in [true, false] {
                let (a, b) =
                    (session(true, near_began, far_answered), session(false, near_answered, far_began));
                let at_near = a.supersedes(&b, prefers_near);
                assert_ne!(at_near, b.supersedes(&a, prefers_near));
                let (a, b) =
                    (session(false, far_answered, near_began), session(true, far_began, near_answered));
                assert_eq!(a.supersedes(&b, !prefers_near), at_near, "{times}");
            }
        }
        // The near end began after it had answered, or the far end did, or neither.
        for (times, near_is_used) in [((5, 6, 1, 3), true), ((1, 3, 5, 6), false), ((1, 3, 1, 3), true)] {
            let (near_began, far_answered, far_began, near_answered) = times;
            let (a, b) = (session(true, near_began, far_answered), session(false, near_answered, far_began));
            assert_eq!(a.supersedes(&b, true), near_is_used);
        }
        assert!(session(true, 2, 0).supersedes(&session(true, 1, 9), false), "of one end the later one");
        assert!(session(false, 1, 2).supersedes(&session(false, 9, 1), false));
    }
}
