//! Resuming with the window of an earlier connection over the path, safely if the path has changed (RFC
//! 9040; the phases are those of Careful Resume, RFC 9959).
//!
//! The initial window is sent as usual. Its first ACK confirms the path and measures the RTT; then the
//! window *jumps* to half of the saved window. Slow start would take the same step from a validated
//! window, and pacing spreads the segments over a round trip, so at worst the path gets twice its
//! capacity for one round trip, as with any slow start. Slow start then continues up to the saved window.
//! A loss among the segments of the jump means that the path has changed: the window is then reduced to
//! half of the bytes that arrived (*safe retreat*), not to a share of an unvalidated window.

use super::Ack;

/// The phases of a resumed connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CarefulResume {
    /// The saved window, in bytes.
    saved: u32,
    phase: Phase,
    /// Bytes delivered so far: PipeSize.
    pipe_size: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// There is no saved window, or it was validated.
    #[default]
    Normal,
    /// The initial window is in the network.
    Reconnaissance,
    /// The jump is in the network; this many bytes sent before it are not delivered yet.
    Unvalidated(u32),
    /// The segments of the jump are arriving; this many bytes are not delivered yet.
    Validating(u32),
    /// The jump was too large; this many of its bytes are neither delivered nor lost yet.
    Retreat(u32),
}

impl CarefulResume {
    /// Saves the window of a connection that had `window` bytes in the network without loss.
    pub(super) fn new(window: u32) -> Self {
        Self { saved: window, phase: Phase::Reconnaissance, pipe_size: 0 }
    }

    /// An ACK arrived (or damage was reported) and `delivered` bytes were delivered. Returns the window
    /// to jump to, if now.
    ///
    /// `limited`: the sender is limited by the window of `cwnd` bytes.
    pub(super) fn on_ack(&mut self, ack: &Ack, cwnd: u32, limited: bool) -> Option<u32> {
        self.on_delivered(ack.delivered);
        // RFC 9959 requires a confirmed path before the jump, limits the jump to half of the saved
        // window, and has no jump without enough data to send.
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

    /// Bytes were delivered.
    pub(super) fn on_delivered(&mut self, bytes: u32) {
        // After a failed jump, later segments do not count for it.
        let counted = if let Phase::Retreat(left) = self.phase { bytes.min(left) } else { bytes };
        self.pipe_size = self.pipe_size.saturating_add(counted);
        self.phase = match self.phase {
            Phase::Unvalidated(left) if bytes > left => {
                let jumped = self.saved / 2;
                Self::validating(jumped.saturating_sub(bytes - left))
            }
            Phase::Unvalidated(left) => Phase::Unvalidated(left - bytes),
            Phase::Validating(left) => Self::validating(left.saturating_sub(bytes)),
            Phase::Retreat(left) => Phase::Retreat(left - counted),
            other => other,
        };
    }

    const fn validating(left: u32) -> Phase {
        if left == 0 { Phase::Normal } else { Phase::Validating(left) }
    }

    /// Whether the window must not change: nothing of the jump has arrived yet.
    pub(super) fn holds_window(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated(_))
    }

    /// A loss or an ECN mark. Returns the window to retreat to, in bytes, if it was in the jump.
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
        // Safe retreat: at most half of the delivered bytes.
        Some(self.pipe_size / 2)
    }

    /// The recovery ended. Returns the threshold given by the delivered part of the jump.
    pub(super) fn on_recovery_end(&mut self) -> Option<u32> {
        let Phase::Retreat(_) = self.phase else { return None };
        self.phase = Phase::Normal;
        // The delivered bytes are the capacity of the path in a round trip.
        Some(self.pipe_size)
    }
}

impl CarefulResume {
    /// The window at which slow start ends, as in the earlier connection.
    pub(super) fn target(&self) -> Option<u32> {
        (self.saved > 0).then_some(self.saved)
    }

    /// Discards the saved window: the timer expired, the loss was spurious, or the path was idle for
    /// long.
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
    fn the_first_ack_jumps_to_half_of_the_saved_window() {
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
