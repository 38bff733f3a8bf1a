//! Reno: RFC 5681, with appropriate byte counting (RFC 3465, L = 2).

use super::{Ack, CongestionControl, Loss};

/// The standard's controller.
#[derive(Debug)]
pub struct Reno {
    mss: u32,
    initial_segments: u32,
    cwnd: u32,
    ssthresh: u32,
    /// Octets acknowledged since the window last grew in congestion avoidance.
    acked: u32,
    /// Window and threshold before the last reduction, for [`CongestionControl::on_spurious`].
    before: Option<(u32, u32)>,
}

impl Reno {
    /// A controller that starts with that many segments.
    pub fn new(initial_window: u32) -> Self {
        let mss = 536;
        let initial_segments = initial_window.max(1);
        Self {
            mss,
            initial_segments,
            cwnd: mss * initial_segments,
            ssthresh: u32::MAX,
            acked: 0,
            before: None,
        }
    }

    /// RFC 5681, equation (4): "ssthresh = max (FlightSize / 2, 2*SMSS)".
    fn reduce(&mut self, loss: &Loss) {
        self.before = Some((self.cwnd, self.ssthresh));
        self.ssthresh = (loss.flight / 2).max(2 * self.mss);
        self.acked = 0;
    }
}

impl CongestionControl for Reno {
    fn window(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    fn set_mss(&mut self, mss: u32, initial: bool) {
        self.mss = mss;
        if initial {
            self.cwnd = self.initial_segments.saturating_mul(mss);
        }
        self.cwnd = self.cwnd.max(mss);
    }

    fn on_ack(&mut self, ack: &Ack) {
        // RFC 5681, 4.3 and RFC 6675, 5: the window stands still during fast recovery.
        if ack.in_recovery {
            return;
        }
        // RFC 7661's reason, in its simplest form: a window that was not used is not probed.
        if ack.prior_pipe.saturating_add(2 * self.mss) < self.cwnd {
            return;
        }
        if self.cwnd < self.ssthresh {
            // RFC 3465, 2.2: at most L = 2 segments for each ACK.
            self.cwnd = self.cwnd.saturating_add(ack.acked.min(2 * self.mss));
        } else {
            // RFC 5681, 3.1: one segment for each window of data acknowledged.
            self.acked = self.acked.saturating_add(ack.acked);
            if self.acked >= self.cwnd {
                self.acked -= self.cwnd;
                self.cwnd = self.cwnd.saturating_add(self.mss);
            }
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reduce(loss);
        self.cwnd = self.ssthresh;
    }

    fn on_timeout(&mut self, loss: &Loss, first: bool) {
        // RFC 5681, 3.1: a segment that times out again leaves the threshold as it is.
        if first {
            self.reduce(loss);
        }
        // "cwnd MUST be set to no more than the loss window, LW, which equals 1 full-sized
        // segment".
        self.cwnd = self.mss;
    }

    fn on_spurious(&mut self) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = ssthresh;
        }
    }

    fn on_idle(&mut self) {
        // RFC 5681, 4.1: "the restart window is the minimum of IW and cwnd".
        self.cwnd = self.cwnd.min(self.initial_segments.saturating_mul(self.mss));
    }

    fn on_syn_loss(&mut self) {
        // RFC 5681, 3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after
        // a correctly transmitted SYN MUST be one segment consisting of at most SMSS bytes".
        self.cwnd = self.mss;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Instant;

    fn ack(acked: u32, prior_pipe: u32) -> Ack {
        Ack {
            now: Instant::ZERO,
            acked,
            delivered: acked,
            prior_pipe,
            rtt: None,
            in_recovery: false,
            retransmitted: false,
            rate: None,
        }
    }

    fn loss(flight: u32) -> Loss {
        Loss { now: Instant::ZERO, flight }
    }

    #[test]
    fn slow_start_then_avoidance() {
        let mut reno = Reno::new(2);
        reno.set_mss(1000, true);
        assert_eq!(reno.window(), 2000);
        reno.on_ack(&ack(2000, 2000));
        assert_eq!(reno.window(), 4000);
        reno.on_ack(&ack(9000, 4000));
        assert_eq!(reno.window(), 6000, "no more than two segments for an ACK");
        reno.on_loss(&loss(6000));
        assert_eq!((reno.window(), reno.ssthresh()), (3000, 3000));
        reno.on_ack(&ack(1000, 3000));
        reno.on_ack(&ack(1000, 3000));
        assert_eq!(reno.window(), 3000);
        reno.on_ack(&ack(1000, 3000));
        assert_eq!(reno.window(), 4000, "one segment a window");
    }

    #[test]
    fn a_timeout_halves_once_and_can_be_undone() {
        let mut reno = Reno::new(10);
        reno.set_mss(1000, true);
        reno.on_timeout(&loss(10_000), true);
        reno.on_timeout(&loss(10_000), false);
        assert_eq!((reno.window(), reno.ssthresh()), (1000, 5000));
        reno.on_spurious();
        assert_eq!((reno.window(), reno.ssthresh()), (10_000, u32::MAX));
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut reno = Reno::new(10);
        reno.set_mss(1000, true);
        reno.on_ack(&ack(1000, 1000));
        assert_eq!(reno.window(), 10_000);
    }
}
