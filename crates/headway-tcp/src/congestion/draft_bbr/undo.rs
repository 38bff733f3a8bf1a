//! A loss recovery that was spurious (draft-ietf-ccwg-bbr, section 5.5.11).

use super::super::bbr_common::phases::State;
use super::DraftBbr;

/// The state to restore (2.15).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The state that the loss ended.
    pub(super) state: Option<State>,
    bw_shortterm: u64,
    inflight_shortterm: u32,
    inflight_longterm: u32,
}

impl DraftBbr {
    /// SaveStateUponLoss() (5.5.11.1).
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.signals.bw_shortterm,
            inflight_shortterm: self.signals.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection() (5.5.11.2).
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.restore_cwnd();
        self.signals.is_loss_in_round = false;
        self.full_bw.reset_full_bw();
        let undo = self.undo;
        self.signals.bw_shortterm = self.signals.bw_shortterm.max(undo.bw_shortterm);
        self.signals.inflight_shortterm = self.signals.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        // "If flow was probing bandwidth, return to that state".
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
        self.undo.state = None;
    }
}
