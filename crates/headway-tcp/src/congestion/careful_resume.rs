//! Resuming with the window of an earlier connection over the path, safely if the path has changed (RFC
//! 9040; the phases are those of Careful Resume, RFC 9959).
//!
//! The initial window is sent as usual. Its first ACK measures the RTT. If that confirms the path, the
//! window *jumps* to half of the saved window. Slow start would take the same step from a validated
//! window, and pacing spreads the segments over a round trip, so at worst the path gets twice its
//! capacity for one round trip, as with any slow start. Slow start then continues up to the saved window,
//! if that had filled the path.
//! A loss among the segments of the jump means that the path has changed: the window is then reduced to
//! half of the bytes that arrived (*safe retreat*), not to a share of an unvalidated window.
//!
//! RFC 9959 waits for the ACK of the whole initial window before the jump. Here the first ACK decides:
//! the initial window is paced over half a round trip, for which the path would be idle.
//!
//! A rate from outside, or one that is only tried, is tested by trains of segments first ([`Trial`]), and used in full: the window jumps
//! to what the path then carries in a round trip. RFC 9959's half covers what an unchanged RTT cannot see; a train shows the rate itself.
//! Where the rate was told, that is all that the path is believed to carry, and the jump is paced at it. Where it was tried, slow start
//! goes on from there. Where the test fails the sender is as if nothing had been told or tried.

use alloc::boxed::Box;

use headway_units::{Duration, Rate};

use super::Ack;
use super::trial::{Finding, Trial};

/// What an earlier connection over the path learnt of it (RFC 9959's saved congestion control parameters).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavedPath {
    /// Bytes that the path delivered in its minimum RTT: saved_cwnd.
    pub window: u32,
    /// The minimum RTT when the window was measured: saved_rtt.
    pub min_rtt: Duration,
    /// Whether that window filled the path. If it did not, slow start has no reason to end there.
    pub filled: bool,
}

impl SavedPath {
    /// A path that delivered `window` bytes in its minimum RTT.
    pub fn new(window: u32, min_rtt: Duration, filled: bool) -> Self {
        Self { window, min_rtt, filled }
    }

    fn is_confirmed_by(&self, rtt: Duration) -> bool {
        is_same_path(self.min_rtt, rtt)
    }
}

/// Whether a connection whose minimum RTT is `rtt` may use the same path as one that had `saved`. RFC 9959: an RTT "less than or
/// equal to (saved_rtt / 2)" is too small, since half of the window would then be sent at more than the
/// rate that was seen, and one "more than ten times the saved_rtt" indicates a path change.
pub(super) fn is_same_path(saved: Duration, rtt: Duration) -> bool {
    rtt > saved / 2 && rtt <= saved * 10
}

/// What a confirmed path allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Jump {
    /// The new congestion window, in bytes.
    pub(super) window: u32,
    /// Where slow start ends, if an earlier connection has filled the path.
    pub(super) ssthresh: Option<u32>,
    /// Whether the rate that fills it was measured. (What was told is checked with the samples after the jump.)
    pub(super) is_measured: bool,
}

/// The phases of a resumed connection.
#[derive(Clone, Debug, Default)]
pub(super) struct CarefulResume {
    saved: Option<SavedPath>,
    /// Boxed, since it is over soon.
    trial: Option<Box<Trial>>,
    /// The window of the jump, bytes.
    jump: u32,
    /// The minimum RTT of this connection.
    min_rtt: Option<Duration>,
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
    /// Begins with what an earlier connection learnt of the path.
    pub(super) fn new(saved: SavedPath) -> Self {
        Self { saved: Some(saved), phase: Phase::Reconnaissance, ..Self::default() }
    }

    /// Begins with windows at a rate that is to be tested.
    pub(super) fn testing(trial: Trial) -> Self {
        Self { trial: Some(Box::new(trial)), phase: Phase::Reconnaissance, ..Self::default() }
    }

    /// The path is said to carry `rate`, which is tested in place of what was to be tried. `initial` and `mss` as of [`Trial::told`].
    pub(super) fn tell(&mut self, rate: Rate, initial: u32, mss: u32) {
        match &mut self.trial {
            Some(trial) => trial.tell(rate),
            None => *self = Self::testing(Trial::told(rate, initial, mss)),
        }
    }

    /// Whether there is nothing to begin with.
    pub(super) fn is_unused(&self) -> bool {
        self.phase == Phase::Normal && self.saved.is_none() && self.trial.is_none()
    }

    /// An ACK arrived (or damage was reported) and `delivered` bytes were delivered. Returns the jump, if
    /// the path is confirmed now; its window is `cwnd` at least.
    ///
    /// `limited`: the sender is limited by the window of `cwnd` bytes.
    pub(super) fn on_ack(&mut self, ack: &Ack, cwnd: u32, limited: bool) -> Option<Jump> {
        self.deliver(ack.delivered);
        if self.phase != Phase::Reconnaissance {
            return None;
        }
        self.min_rtt = self.min_rtt.into_iter().chain(ack.rtt).min();
        if self.trial.is_some() {
            return self.confirm_rate(ack, cwnd);
        }
        ack.rtt?;
        let (saved, rtt) = (self.saved?, self.min_rtt?);
        if !saved.is_confirmed_by(rtt) {
            // "The sender MUST stop using Careful Resume".
            self.forget();
            return None;
        }
        // "The jump_cwnd MUST be no more than half of the saved_cwnd."
        let window = saved.window / 2;
        // RFC 9959 has no jump without enough data to send.
        if ack.in_recovery || (window > cwnd && !limited) {
            return None;
        }
        self.begin(ack, window, cwnd);
        Some(Jump { window: window.max(cwnd), ssthresh: self.target(), is_measured: false })
    }

    /// The jump to `window`, unless it is no more than what is sent already.
    fn begin(&mut self, ack: &Ack, window: u32, cwnd: u32) {
        self.jump = window;
        self.phase = if window > cwnd {
            Phase::Unvalidated(ack.prior_pipe.saturating_sub(ack.delivered))
        } else {
            Phase::Normal
        };
    }

    /// An ACK may show what the path carries.
    fn confirm_rate(&mut self, ack: &Ack, cwnd: u32) -> Option<Jump> {
        let (trial, rtt) = (self.trial.as_mut()?, self.min_rtt?);
        match trial.on_ack(ack)? {
            Finding::Carries(rate) if window_of(rate, rtt) > cwnd => {
                let window = window_of(rate, rtt);
                self.begin(ack, window, cwnd);
                // Slow start would double what fills the path already.
                Some(Jump { window, ssthresh: Some(window), is_measured: false })
            }
            Finding::Arrives { rate, is_last } => {
                let window = window_of(rate, rtt).min(trial.most());
                if is_last || !trial.goes_on(window, rtt) {
                    self.forget();
                }
                (window > cwnd).then_some(Jump { window, ssthresh: None, is_measured: true })
            }
            Finding::Carries(_) | Finding::Fails => {
                self.forget();
                None
            }
        }
    }

    /// Bytes arrived corrupted.
    pub(super) fn on_damage(&mut self, bytes: u32) {
        if let Some(trial) = &mut self.trial {
            trial.on_damage(bytes);
        }
        self.deliver(bytes);
    }

    /// Bytes were delivered.
    fn deliver(&mut self, bytes: u32) {
        // After a failed jump, later segments do not count for it.
        let counted = if let Phase::Retreat(left) = self.phase { bytes.min(left) } else { bytes };
        self.pipe_size = self.pipe_size.saturating_add(counted);
        self.phase = match self.phase {
            Phase::Unvalidated(left) if bytes > left => {
                Self::validating(self.jump.saturating_sub(bytes - left))
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

    /// Whether the window must not change: nothing of the jump has arrived yet. After one to all of the rate, all must.
    pub(super) fn holds_window(&self) -> bool {
        match self.phase {
            Phase::Unvalidated(_) => true,
            Phase::Validating(_) => self.trial.is_some(),
            _ => false,
        }
    }

    /// The rate to send at while a told rate is tested, and the jump is in the network.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.trial.as_ref().filter(|_| self.phase != Phase::Normal).map(|trial| trial.rate())
    }

    /// The confirmed rate, once all of the jump has arrived.
    pub(super) fn validated_rate(&self) -> Option<Rate> {
        self.trial.as_ref().filter(|_| self.phase == Phase::Normal).map(|trial| trial.rate())
    }

    /// The path was idle. What was learnt of it before is old then; a rate that is tested is not.
    pub(super) fn on_idle(&mut self) {
        if self.trial.is_none() {
            self.forget();
        }
    }

    /// Whether a rate is tested, or the jump to one is in the network.
    pub(super) fn tests_rate(&self) -> bool {
        self.trial.is_some()
    }

    /// A loss or an ECN mark. Returns the window to retreat to, in bytes, if it was in the jump.
    pub(super) fn on_congestion(&mut self) -> Option<u32> {
        let left = match self.phase {
            Phase::Unvalidated(left) => left.saturating_add(self.jump),
            Phase::Validating(left) => left,
            // "Use of the saved CC parameters is inappropriate."
            Phase::Reconnaissance => {
                self.forget();
                return None;
            }
            Phase::Normal | Phase::Retreat(_) => return None,
        };
        self.phase = Phase::Retreat(left);
        self.saved = None;
        self.trial = None;
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
    /// The window at which slow start ends, as in the earlier connection, once the path is confirmed.
    pub(super) fn target(&self) -> Option<u32> {
        let saved = self.saved.filter(|saved| saved.filled && self.phase != Phase::Reconnaissance)?;
        Some(saved.window)
    }

    /// Discards the saved window: the path is another one, the timer expired, the loss was spurious, or the
    /// path was idle for long.
    pub(super) fn forget(&mut self) {
        self.phase = Phase::Normal;
        self.saved = None;
        self.trial = None;
    }
}

/// Bytes that `rate` delivers in `rtt`.
pub(super) fn window_of(rate: Rate, rtt: Duration) -> u32 {
    let bytes = u128::from(rate.bits_per_second()) * u128::from(rtt.as_nanos()) / 8_000_000_000;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use headway_units::Instant;

    use super::super::testing::{ack, sample};
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn timed(delivered: u32, prior_pipe: u32) -> Ack {
        Ack { rtt: Some(ms(600)), ..ack(delivered, prior_pipe) }
    }

    fn resume(window: u32) -> CarefulResume {
        CarefulResume::new(SavedPath::new(window, ms(600), true))
    }

    fn to(window: u32, ssthresh: u32) -> Option<Jump> {
        Some(Jump { window, ssthresh: Some(ssthresh), is_measured: false })
    }

    #[test]
    fn the_first_ack_jumps_to_half_of_the_saved_window() {
        let mut resume = resume(800_000);
        assert_eq!(resume.on_ack(&ack(2000, 10_000), 10_000, true), None, "the path has not been timed");
        assert_eq!(resume.on_ack(&timed(2000, 8_000), 10_000, true), to(400_000, 800_000));
        assert!(resume.holds_window());
        assert_eq!(resume.on_ack(&timed(6000, 400_000), 400_000, true), None, "once only");
        assert!(resume.holds_window(), "that was the last of the initial window");
        resume.on_damage(1000);
        assert!(!resume.holds_window());
    }

    #[test]
    fn without_data_to_send_it_waits() {
        let mut resume = resume(800_000);
        assert_eq!(resume.on_ack(&timed(1000, 1000), 10_000, false), None);
        assert_eq!(resume.on_ack(&timed(1000, 10_000), 12_000, true), to(400_000, 800_000));
    }

    #[test]
    fn a_window_that_is_larger_already_stays() {
        let mut resume = resume(15_000);
        assert_eq!(resume.on_ack(&timed(2000, 10_000), 10_000, true), to(10_000, 15_000));
        assert_eq!(resume.on_congestion(), None);
    }

    #[test]
    fn a_loss_in_the_jump_retreats_to_half_of_what_arrived() {
        let mut resume = resume(800_000);
        resume.on_ack(&timed(2000, 10_000), 10_000, true);
        resume.on_damage(8_000);
        resume.on_damage(90_000);
        assert_eq!(resume.on_congestion(), Some(50_000));
        assert_eq!(resume.on_congestion(), None, "once only");
        resume.on_damage(20_000);
        resume.on_damage(1_000_000);
        assert_eq!(resume.on_recovery_end(), Some(410_000), "the initial window and the jump, no more");
        assert_eq!(resume.on_recovery_end(), None);
    }

    #[test]
    fn a_loss_after_the_jump_arrived_is_an_ordinary_one() {
        let mut resume = resume(800_000);
        resume.on_ack(&timed(2000, 10_000), 10_000, true);
        resume.on_damage(8_000);
        resume.on_damage(400_000);
        assert_eq!(resume.on_congestion(), None);
    }

    /// RFC 9959, 3.2 and 4.2.1: the bounds of the RTT.
    #[test]
    fn a_path_with_another_round_trip_time_is_not_resumed() {
        let first = |rtt: Duration| {
            let mut resume = resume(800_000);
            let ack = Ack { rtt: Some(rtt), ..ack(2000, 10_000) };
            (resume.on_ack(&ack, 10_000, true).is_some(), resume.target())
        };
        assert_eq!(first(ms(1)), (false, None));
        assert_eq!(first(ms(300)), (false, None), "half of the saved RTT is too small");
        assert_eq!(first(ms(301)), (true, Some(800_000)));
        assert_eq!(first(ms(6000)), (true, Some(800_000)), "ten times the saved RTT is not too large");
        assert_eq!(first(ms(6001)), (false, None));
    }

    #[test]
    fn the_minimum_round_trip_time_decides() {
        let mut resume = resume(800_000);
        let early = Ack { rtt: Some(ms(250)), ..ack(1000, 1000) };
        assert_eq!(resume.on_ack(&early, 10_000, false), None, "nothing to send yet");
        assert_eq!(resume.on_ack(&timed(1000, 10_000), 12_000, true), None);
        assert_eq!(resume.target(), None);
    }

    #[test]
    fn nothing_of_the_past_counts_after_a_loss_in_the_initial_window() {
        let mut resume = resume(800_000);
        assert_eq!(resume.on_congestion(), None);
        assert_eq!(resume.on_ack(&timed(2000, 10_000), 10_000, true), None);
        assert_eq!(resume.target(), None);
    }

    #[test]
    fn slow_start_continues_where_the_path_was_not_filled() {
        let mut resume = CarefulResume::new(SavedPath::new(800_000, ms(600), false));
        let jump = resume.on_ack(&timed(2000, 10_000), 10_000, true);
        assert_eq!(jump, Some(Jump { window: 400_000, ssthresh: None, is_measured: false }));
    }

    /// The jump of a sender whose initial window of ten segments arrives at 8 Mbit/s, and whether the window is held then.
    fn jump_of(trial: Trial) -> (Option<Jump>, bool) {
        let mut resume = CarefulResume::testing(trial);
        let mut jumps = (1..=10).filter_map(|place| {
            let now = Instant::ZERO + ms(600 + place);
            resume.on_ack(
                &Ack { now, rate: Some(sample(0, place * 1000)), ..timed(1000, 10_000) },
                10_000,
                true,
            )
        });
        let jump = jumps.next();
        assert_eq!(jumps.next(), None, "once only");
        (jump, resume.holds_window())
    }

    #[test]
    fn what_a_train_shows_is_used_in_full() {
        let rate = Rate::from_bits_per_second;
        assert_eq!(jump_of(Trial::told(rate(10_000_000), 10_000, 1000)), (to(600_000, 600_000), true));
        let window = |trial| {
            let (jump, is_held) = jump_of(trial);
            assert!(!is_held && jump.is_none_or(|jump| jump.ssthresh.is_none()), "slow start goes on");
            jump.map(|jump| jump.window)
        };
        let tried = |gain| Trial::tried(rate(10_000_000), (10_000, gain), 1000);
        assert_eq!([80, 8, 1].map(|gain| window(tried(gain))), [Some(600_000), Some(80_000), None]);
        assert_eq!(window(Trial::told(rate(20_000_000), 10_000, 1000)), None, "another path");
        let mut mistaken = tried(8);
        mistaken.tell(rate(20_000_000));
        assert_eq!(window(mistaken), Some(80_000), "as if nothing had been told");
    }
}
