//! The window in loss recovery (draft-ietf-ccwg-bbr, section 5.6.4.4).

use super::super::bbr_common::phases::State;
use super::DraftBbr;

/// Whether losses are being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovery {
    None,
    /// Fast recovery, since this number of bytes was delivered.
    Fast {
        since: u64,
    },
    /// RTO recovery, until this number of bytes more is cumulatively acknowledged.
    Timeout {
        left: u32,
    },
}

impl Recovery {
    /// 5.3.1.3: "in fast recovery for at least one full packet-timed round trip": a packet is acknowledged that was sent in
    /// it.
    pub(super) fn has_lasted_a_round(self, prior_delivered: u64) -> bool {
        matches!(self, Self::Fast { since } if prior_delivered >= since)
    }
}

impl DraftBbr {
    /// InLossRecovery().
    fn in_loss_recovery(&self) -> bool {
        self.recovery != Recovery::None
    }

    /// OnEnterFastRecovery(), if this loss begins one.
    pub(super) fn on_enter_fast_recovery(&mut self) {
        if self.recovery != Recovery::None {
            return;
        }
        self.save_cwnd();
        self.save_state_upon_loss();
        self.recovery = Recovery::Fast { since: self.c.delivered };
    }

    /// OnEnterRTO(): `flight` bytes were sent and are not cumulatively acknowledged. Where the timer expires again for the
    /// same data (`first` is false) RTO recovery goes on.
    pub(super) fn on_enter_rto(&mut self, flight: u32, first: bool) {
        if first {
            self.save_cwnd();
            self.save_state_upon_loss();
            self.recovery = Recovery::Timeout { left: flight };
        }
        // "a value that will allow 1 C.SMSS to be transmitted".
        self.c.cwnd = self.c.smss;
    }

    /// "Upon exiting loss recovery (RTO recovery or Fast Recovery)".
    pub(super) fn exit_recovery(&mut self) {
        self.recovery = Recovery::None;
        self.restore_cwnd();
    }

    /// An ACK arrived that acknowledges `acked` bytes cumulatively. Of the end of RTO recovery nothing else tells.
    pub(super) fn follow_recovery(&mut self, acked: u32, in_fast_recovery: bool) {
        match &mut self.recovery {
            Recovery::Timeout { left } => {
                *left = left.saturating_sub(acked);
                if *left == 0 {
                    self.exit_recovery();
                }
            }
            Recovery::Fast { .. } if !in_fast_recovery => self.exit_recovery(),
            _ => {}
        }
    }

    /// SaveCwnd(): "the latest C.cwnd unmodulated by loss recovery or ProbeRTT".
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if !self.in_loss_recovery() && self.state != State::ProbeRtt {
            self.c.cwnd
        } else {
            self.prior_cwnd.max(self.c.cwnd)
        };
    }

    /// RestoreCwnd().
    pub(super) fn restore_cwnd(&mut self) {
        self.c.cwnd = self.c.cwnd.max(self.prior_cwnd);
    }
}
