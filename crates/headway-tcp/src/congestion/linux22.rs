//! Reno of Linux 2.2, which counts packets and takes one step for each ACK.

use super::{Ack, CongestionControl, Loss};

/// Linux 2.2's controller.
///
/// Slow start and congestion avoidance take one step for each ACK of new data, regardless of its amount;
/// the threshold is half of the window, not half of FlightSize.
#[derive(Debug)]
pub struct Linux22 {
    mss: u32,
    segments: u32,
    threshold: u32,
    /// ACKs counted towards the next step of congestion avoidance.
    count: u32,
}

/// Linux's limit of the window.
const CLAMP: u32 = 65_535;

impl Linux22 {
    /// A controller with an initial window of this many segments.
    pub fn new(initial_window: u32) -> Self {
        Self { mss: 536, segments: initial_window.max(1), threshold: u32::MAX, count: 0 }
    }

    fn halve(&mut self) {
        self.threshold = (self.segments / 2).max(2);
    }
}

impl CongestionControl for Linux22 {
    fn window(&self) -> u32 {
        self.segments.saturating_mul(self.mss)
    }

    fn ssthresh(&self) -> u32 {
        self.threshold.saturating_mul(self.mss)
    }

    fn set_mss(&mut self, mss: u32, _initial: bool) {
        self.mss = mss;
    }

    fn on_ack(&mut self, ack: &Ack) {
        // Fast recovery without SACK manages its own window: an ACK of retransmitted data does not open
        // it.
        if ack.in_recovery && ack.retransmitted {
            return;
        }
        if self.segments <= self.threshold {
            self.segments += 1;
        } else {
            self.count += 1;
            if self.count >= self.segments {
                self.segments += 1;
                self.count = 0;
            }
        }
        self.segments = self.segments.min(CLAMP);
    }

    fn on_loss(&mut self, _loss: &Loss) {
        self.halve();
        self.segments = self.threshold;
    }

    fn on_timeout(&mut self, _loss: &Loss, first: bool) {
        if first {
            self.halve();
            self.count = 0;
            self.segments = 1;
        }
    }

    fn on_recovery_end(&mut self, _loss: &Loss) {
        self.segments = self.threshold.min(CLAMP);
    }
}
