//! Startup and Drain (draft-ietf-ccwg-bbr, sections 5.3.1 and 5.3.2).

use headway_units::Instant;

use super::super::bbr_common::phases::State;
use super::super::bbr_common::{STARTUP_FULL_LOSS_COUNT, is_too_high};
use super::{Bbr, Signal};
use crate::rules::Rule;

/// Drain ends after this many rounds, drained or not.
const DRAIN_ROUNDS: u32 = 3;

/// The rounds after its end in which Startup may begin again.
const DOUBT_ROUNDS: u16 = 64;
/// The rounds after damage became known in which losses are found that happened before.
const EARLIER_LOSSES: u16 = 2;

/// Whether losses end Startup. The draft knows no damage: before a path is known to damage packets, losses end Startup that
/// damage may have caused. Where no queue had built up, it begins again once that is known.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// The round in which the path was first known to damage packets. Rounds are counted modulo 2^16: idle connections are many.
    damage_since: Option<u16>,
    /// Startup saw losses.
    has_lost: bool,
    /// The round in which Startup ended.
    ended: Option<u16>,
}

impl Doubt {
    /// A segment was lost.
    pub(super) fn on_loss(&mut self, in_startup: bool) {
        self.has_lost |= in_startup;
    }

    /// Startup ends by losses, or because the rate does not grow; `queued`: and a queue has built up.
    fn on_end(&mut self, round: u16, queued: bool) {
        self.ended = (self.has_lost && self.damage_since.is_none() && !queued).then_some(round);
    }

    /// Something other than losses shows that the pipe is full.
    pub(super) fn dismiss(&mut self) {
        self.ended = None;
    }

    /// The path is known to damage packets. Says whether that is new, and Startup begins again. If it has not ended
    /// (`in_startup`), its search for a rate that does not grow begins again.
    fn on_damage(&mut self, round: u16, in_startup: bool) -> bool {
        if self.damage_since.is_some() {
            return false;
        }
        // Where nothing was lost before, the losses that follow are not older.
        self.damage_since = Some(if self.has_lost { round } else { round.wrapping_sub(EARLIER_LOSSES + 1) });
        self.ended
            .take()
            .map_or(in_startup && self.has_lost, |ended| round.wrapping_sub(ended) <= DOUBT_ROUNDS)
    }

    /// Whether the losses of this round may have happened before damage was known.
    fn is_fresh(&self, round: u16) -> bool {
        self.damage_since.is_some_and(|since| round.wrapping_sub(since) <= EARLIER_LOSSES)
    }
}

impl Bbr {
    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, signal: &Signal<'_>) {
        if self.state != State::Startup {
            return;
        }
        // CheckStartupHighLoss: "fast recovery for at least one full packet-timed round trip", "the
        // loss rate over the time scale of a single full round trip exceeds BBR.LossThresh".
        if signal.in_fast_recovery
            && (self.queued || !self.doubts_losses())
            && self.bounds.loss_round_start
            && self.bounds.holes() >= STARTUP_FULL_LOSS_COUNT
            && is_too_high(signal.sample.lost, signal.sample.in_flight)
        {
            self.leave_startup_for_congestion();
            self.doubt.on_end(self.round_count as u16, self.queued);
        } else if self.full_pipe.reached {
            self.doubt.on_end(self.round_count as u16, self.queued);
            self.enter_drain();
        } else if self.has_reached_the_saved_rate() {
            self.full_pipe.reached = true;
            self.enter_drain();
        } else if let Some(rate) = self.resume.validated_rate() {
            self.check_told_rate(rate.bits_per_second());
        }
    }

    /// Whether losses without a queue may be damage. Where nothing is known of that, the rate still grows then, which it does not in a
    /// full pipe. Later they may be older than what is known.
    fn doubts_losses(&self) -> bool {
        if self.doubt.damage_since.is_none() {
            self.rules_off.hold(Rule::Growth) && self.full_pipe.grows()
        } else {
            self.rules_off.hold(Rule::StartupAgain) && self.doubt.is_fresh(self.round_count as u16)
        }
    }

    /// All of a jump to a told rate has arrived. The first sample of what was sent after it says at what rate: if at the told
    /// one, Startup goes on from there as where a queue stands, since the pipe is probably full.
    fn check_told_rate(&mut self, rate: u64) {
        if self.model.max_bw() >= rate - rate / 16 {
            self.resume.forget();
            self.is_told = true;
            self.full_pipe.reset(self.model.max_bw());
        } else if self.round_start {
            self.resume.forget();
        }
    }

    /// The path delivers the limit found by an earlier connection: the three rounds to confirm it, and
    /// the queue that they fill, are skipped. If the path carries more now, ProbeBW finds it.
    fn has_reached_the_saved_rate(&self) -> bool {
        let measured = self.model.bdp(self.model.max_bw(), 100);
        self.resume.target().zip(measured).is_some_and(|(window, measured)| measured >= window - window / 16)
    }

    /// Losses or marks show that the pipe is full.
    pub(super) fn leave_startup_for_congestion(&mut self) {
        self.undo.state = Some(State::Startup);
        self.full_pipe.reached = true;
        // "max(BBR.bdp, BBR.inflight_latest)".
        self.bounds.inflight_longterm = self.bdp_multiple(self.bw, 100).max(self.bounds.inflight_latest);
        self.enter_drain();
    }

    fn enter_drain(&mut self) {
        self.resume.forget();
        self.state = State::Drain;
        self.drain_start_round = self.round_count as u32;
    }

    /// The path is known to damage packets: what ended Startup may have been damage too.
    pub(super) fn reconsider_startup(&mut self) {
        if self.queued {
            self.doubt.dismiss();
        }
        let in_startup = self.state == State::Startup && !self.queued;
        let begins_again = self.doubt.on_damage(self.round_count as u16, in_startup);
        if !begins_again || !self.rules_off.hold(Rule::StartupAgain) {
            return;
        }
        self.bounds.forget_short_term();
        self.bounds.forget_long_term();
        // What a probe lost was before too, and nothing of it is to be restored.
        self.cycle.forget_probe();
        self.undo.state = None;
        self.return_to_startup();
    }

    /// Startup should not have ended.
    pub(super) fn return_to_startup(&mut self) {
        self.full_pipe.reset(0);
        self.full_pipe.reached = false;
        // ProbeRTT ends in it then.
        if self.state != State::ProbeRtt {
            self.state = State::Startup;
        }
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, now: Instant) {
        if self.state == State::Drain
            && (self.inflight <= self.inflight_target(self.bw, 100)
                || (self.round_count as u32).wrapping_sub(self.drain_start_round) > DRAIN_ROUNDS)
        {
            self.start_down(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::known;
    use super::*;

    fn ended(queued: bool) -> Doubt {
        let mut doubt = Doubt::default();
        doubt.on_loss(true);
        doubt.on_end(10, queued);
        doubt
    }

    #[test]
    fn startup_begins_again_once_and_where_no_queue_had_built_up() {
        let mut doubt = ended(false);
        assert!(doubt.on_damage(11, false));
        doubt.on_end(12, false);
        assert!(!doubt.on_damage(13, false), "that was not the first");
        assert!(!ended(true).on_damage(11, false), "a queue explains the losses");
        assert!(!ended(false).on_damage(75, false), "that is long ago");
        let mut marked = ended(false);
        marked.dismiss();
        assert!(!marked.on_damage(11, false), "the pipe was full");
        let mut lossless = Doubt::default();
        lossless.on_loss(false);
        lossless.on_end(10, false);
        assert!(!lossless.on_damage(11, false), "no loss ended it");
    }

    #[test]
    fn drain_ends_with_its_rounds_where_the_queue_stays() {
        for (inflight, rounds, expected) in [
            (9_000_000, DRAIN_ROUNDS, State::Drain),
            (9_000_000, DRAIN_ROUNDS + 1, State::Down),
            (9_000_000, DRAIN_ROUNDS + 2, State::Down),
            (1000, 0, State::Down),
        ] {
            let mut bbr = known(State::Drain);
            (bbr.inflight, bbr.drain_start_round) = (inflight, 5);
            bbr.round_count = (5 + rounds).into();
            bbr.check_drain_done(Instant::ZERO);
            assert_eq!(bbr.state, expected, "{inflight} bytes, {rounds} rounds");
        }
    }

    #[test]
    fn losses_are_doubted_for_two_rounds() {
        let mut doubt = Doubt::default();
        assert!(!doubt.is_fresh(5));
        doubt.on_loss(true);
        assert!(doubt.on_damage(5, true) && !doubt.on_damage(6, true));
        assert_eq!([5, 7, 8].map(|round| doubt.is_fresh(round)), [true, true, false]);
        let mut known = Doubt::default();
        assert!(!known.on_damage(0, true));
        known.on_loss(true);
        assert!(!known.is_fresh(0) && !known.is_fresh(1), "it was known before anything was lost");
    }
}
