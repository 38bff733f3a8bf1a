//! Starting from what an earlier connection over the path learnt, without harm if it no longer
//! holds (RFC 9040; the phases are those of Careful Resume, RFC 9959).
//!
//! The initial window is sent as ever. Its first ACK says that the path carries packets, and how
//! long it takes; then the window *jumps* to half of what was remembered. Half is as large as slow
//! start itself would step from a window known to be good, and pacing spreads it over a round trip,
//! so at worst the path sees twice what it can carry for one round trip, as with any slow start.
//! From there slow start goes on, up to the remembered window. A loss among the segments of the
//! jump says that the path has changed: the window then falls to half of what has arrived
//! (*safe retreat*), not to a share of a window that was never good.

use super::Ack;

/// The phases of a resumed connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CarefulResume {
    /// What was remembered, in octets.
    saved: u32,
    phase: Phase,
    /// Octets that have crossed the network so far: PipeSize.
    pipe_size: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing was remembered, or it has proved right.
    #[default]
    Normal,
    /// The initial window is under way.
    Reconnaissance,
    /// The jump is under way; that many octets sent before it are still to arrive.
    Unvalidated(u32),
    /// The segments of the jump are arriving; that many octets are still to come.
    Validating(u32),
    /// The jump was too far; that many octets of it have not been heard of.
    Retreat(u32),
}

impl CarefulResume {
    /// A connection had `window` octets in the network without harm.
    pub(super) fn new(window: u32) -> Self {
        Self { saved: window, phase: Phase::Reconnaissance, pipe_size: 0 }
    }

    /// An ACK arrived (or damage was reported) and `delivered` octets have crossed the network.
    /// Says to which window to jump, if now.
    ///
    /// `limited`: the sender has more to send than the window of `cwnd` octets permits.
    pub(super) fn on_ack(&mut self, ack: &Ack, cwnd: u32, limited: bool) -> Option<u32> {
        self.on_delivered(ack.delivered);
        // RFC 9959 has the path confirmed before the jump, limits the jump to half of what was saved,
        // and leaves it out where there is not enough to send.
        let jump = self.saved / 2;
        if self.phase != Phase::Reconnaissance || ack.rtt.is_none() || ack.in_recovery {
            return None;
        }
        if jump <= cwnd {
            self.phase = Phase::Normal;
            return None;
        }
        if !limited {
            return None;
        }
        self.phase = Phase::Unvalidated(ack.prior_pipe.saturating_sub(ack.delivered));
        Some(jump)
    }

    /// Octets crossed the network.
    pub(super) fn on_delivered(&mut self, octets: u32) {
        // Once the jump has failed, what else is sent says nothing of it.
        let counted = if let Phase::Retreat(left) = self.phase { octets.min(left) } else { octets };
        self.pipe_size = self.pipe_size.saturating_add(counted);
        self.phase = match self.phase {
            Phase::Unvalidated(left) if octets > left => {
                let jumped = self.saved / 2;
                Self::validating(jumped.saturating_sub(octets - left))
            }
            Phase::Unvalidated(left) => Phase::Unvalidated(left - octets),
            Phase::Validating(left) => Self::validating(left.saturating_sub(octets)),
            Phase::Retreat(left) => Phase::Retreat(left - counted),
            other => other,
        };
    }

    const fn validating(left: u32) -> Phase {
        if left == 0 { Phase::Normal } else { Phase::Validating(left) }
    }

    /// Whether the window stands still: the jump has been made and nothing of it has arrived.
    pub(super) fn holds_window(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated(_))
    }

    /// A loss or an ECN mark. Says to which window to retreat, in octets, if it fell into the jump.
    pub(super) fn on_congestion(&mut self) -> Option<u32> {
        let left = match self.phase {
            Phase::Unvalidated(left) => left.saturating_add(self.saved / 2),
            Phase::Validating(left) => left,
            Phase::Reconnaissance => {
                self.phase = Phase::Normal;
                return None;
            }
            Phase::Normal | Phase::Retreat(_) => return None,
        };
        self.phase = Phase::Retreat(left);
        self.saved = 0;
        // Safe retreat: no more than half of what is known to have arrived.
        Some(self.pipe_size / 2)
    }

    /// The recovery is over. Says what threshold the whole of the jump that arrived suggests.
    pub(super) fn on_recovery_end(&mut self) -> Option<u32> {
        let Phase::Retreat(_) = self.phase else { return None };
        self.phase = Phase::Normal;
        // What has arrived by now is what the path carried in a round trip.
        Some(self.pipe_size)
    }
}

impl CarefulResume {
    /// The window at which the search for the path's limit ends, as it ended before.
    pub(super) fn target(&self) -> Option<u32> {
        (self.saved > 0).then_some(self.saved)
    }

    /// What was remembered is of no use any more: the timer expired, the loss was none, or the path
    /// has not been used for long.
    pub(super) fn forget(&mut self) {
        self.phase = Phase::Normal;
        self.saved = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ack;
    use super::*;
    use headway_units::Duration;

    fn timed(delivered: u32, prior_pipe: u32) -> Ack {
        Ack { rtt: Some(Duration::from_millis(600)), ..ack(delivered, prior_pipe) }
    }

    #[test]
    fn the_first_ack_jumps_to_half_of_what_was_remembered() {
        let mut resume = CarefulResume::new(800_000);
        assert_eq!(resume.on_ack(&ack(2000, 10_000), 10_000, true), None, "the path has not been timed");
        assert_eq!(resume.on_ack(&timed(2000, 8_000), 10_000, true), Some(400_000));
        assert!(resume.holds_window());
        assert_eq!(resume.on_ack(&timed(6000, 400_000), 400_000, true), None, "once only");
        assert!(resume.holds_window(), "that was the last of the initial window");
        resume.on_delivered(1000);
        assert!(!resume.holds_window());
    }

    #[test]
    fn without_data_to_send_it_waits() {
        let mut resume = CarefulResume::new(800_000);
        assert_eq!(resume.on_ack(&timed(1000, 1000), 10_000, false), None);
        assert_eq!(resume.on_ack(&timed(1000, 10_000), 12_000, true), Some(400_000));
    }

    #[test]
    fn a_window_that_is_larger_already_stays() {
        let mut resume = CarefulResume::new(15_000);
        assert_eq!(resume.on_ack(&timed(2000, 10_000), 10_000, true), None);
        assert_eq!(resume.on_congestion(), None);
    }

    #[test]
    fn a_loss_in_the_jump_retreats_to_half_of_what_arrived() {
        let mut resume = CarefulResume::new(800_000);
        resume.on_ack(&timed(2000, 10_000), 10_000, true);
        resume.on_delivered(8_000);
        resume.on_delivered(90_000);
        assert_eq!(resume.on_congestion(), Some(50_000));
        assert_eq!(resume.on_congestion(), None, "once only");
        resume.on_delivered(20_000);
        resume.on_delivered(1_000_000);
        assert_eq!(resume.on_recovery_end(), Some(410_000), "the initial window and the jump, no more");
        assert_eq!(resume.on_recovery_end(), None);
    }

    #[test]
    fn a_loss_after_the_jump_arrived_is_an_ordinary_one() {
        let mut resume = CarefulResume::new(800_000);
        resume.on_ack(&timed(2000, 10_000), 10_000, true);
        resume.on_delivered(8_000);
        resume.on_delivered(400_000);
        assert_eq!(resume.on_congestion(), None);
    }
}
