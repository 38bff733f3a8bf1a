//! Reno: RFC 5681, with appropriate byte counting (RFC 3465) and optionally HyStart++ (RFC 9406).

use alloc::boxed::Box;

use headway_units::Instant;

use super::careful_resume::{CarefulResume, SavedPath};
use super::slow_start::{self, SlowStart};
use super::usage::Usage;
use super::{Ack, CongestionControl, Loss, Setup};

/// The controller of RFC 5681.
#[derive(Debug)]
pub struct Reno {
    mss: u32,
    initial_segments: u32,
    cwnd: u32,
    ssthresh: u32,
    /// Bytes acknowledged since the window last grew in congestion avoidance.
    acked: u32,
    /// The last reduction was due to a timeout.
    timed_out: bool,
    /// Segments by which one ACK opens the window in slow start, without [`Setup::deliveries`].
    slow_start_limit: u32,
    /// Window and threshold before the last reduction, for [`CongestionControl::on_spurious`].
    before: Option<(u32, u32)>,
    /// The state for [`Setup::deliveries`].
    deliveries: Option<Box<Deliveries>>,
}

#[derive(Debug)]
struct Deliveries {
    slow_start: SlowStart,
    usage: Usage,
    resume: CarefulResume,
    in_recovery: bool,
}

impl Reno {
    /// A controller at the start of a connection.
    pub fn new(setup: &Setup) -> Self {
        let mss = 536;
        let initial_segments = setup.initial_window.max(1);
        Self {
            mss,
            initial_segments,
            cwnd: initial_segments.saturating_mul(mss),
            ssthresh: u32::MAX,
            acked: 0,
            timed_out: false,
            slow_start_limit: setup.slow_start_limit.unwrap_or(slow_start::LIMIT),
            before: None,
            deliveries: setup.deliveries.then(|| {
                Box::new(Deliveries {
                    slow_start: SlowStart::new(setup),
                    usage: Usage::default(),
                    resume: CarefulResume::default(),
                    in_recovery: false,
                })
            }),
        }
    }

    /// Whether the window limits the sender (RFC 7661: an unused window must not grow).
    fn is_limited(&self, prior_pipe: u32) -> bool {
        match &self.deliveries {
            Some(deliveries) => deliveries.usage.is_limited(self.cwnd, self.mss, self.cwnd < self.ssthresh),
            None => prior_pipe.saturating_add(2 * self.mss) >= self.cwnd,
        }
    }

    fn grow(&mut self, bytes: u32) {
        if self.cwnd < self.ssthresh {
            let growth = match &self.deliveries {
                Some(deliveries) if deliveries.resume.holds_window() => 0,
                Some(deliveries) => deliveries.slow_start.growth(bytes, self.mss),
                // RFC 3465, 2.3: in "a slow start phase that follows a retransmission timeout (RTO) [...] a TCP
                // MUST use L=1*SMSS [...] since ACKs for large amounts of previously unacknowledged data
                // are common". With [`Setup::deliveries`] the newly delivered bytes are known.
                None if self.timed_out => bytes.min(self.mss),
                None => bytes.min(self.slow_start_limit.saturating_mul(self.mss)),
            };
            self.cwnd = self.cwnd.saturating_add(growth);
        } else {
            // RFC 5681, 3.1: one segment for each window of data acknowledged.
            self.acked = self.acked.saturating_add(bytes);
            if self.acked >= self.cwnd {
                self.acked -= self.cwnd;
                self.cwnd = self.cwnd.saturating_add(self.mss);
            }
        }
    }

    /// RFC 5681, equation (4): "ssthresh = max (FlightSize / 2, 2*SMSS)".
    fn reduce(&mut self, loss: &Loss) {
        self.before = Some((self.cwnd, self.ssthresh));
        self.acked = 0;
        self.timed_out = false;
        let Some(deliveries) = &mut self.deliveries else {
            self.ssthresh = (loss.flight / 2).max(2 * self.mss);
            return;
        };
        // FlightSize includes selectively acknowledged bytes; during recovery of corrupted segments it
        // may be much larger than the window ever was.
        let mut ssthresh = loss.flight.min(self.cwnd) / 2;
        deliveries.slow_start.on_congestion();
        if let Some(retreat) = deliveries.resume.on_congestion() {
            ssthresh = retreat;
        }
        self.ssthresh = ssthresh.max(2 * self.mss);
    }

    fn forget_remembered(&mut self) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.resume.forget();
        }
    }

    fn record_recovery(&mut self, in_recovery: bool) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.in_recovery = in_recovery;
        }
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
        self.record_recovery(ack.in_recovery);
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.usage.on_ack(ack);
        }
        let limited = self.is_limited(ack.prior_pipe);
        let bytes = match &mut self.deliveries {
            Some(deliveries) => {
                if let Some(jump) = deliveries.resume.on_ack(ack, self.cwnd, limited) {
                    self.cwnd = jump.window;
                    self.ssthresh = jump.ssthresh.map_or(self.ssthresh, |saved| saved.max(2 * self.mss));
                }
                ack.delivered
            }
            None => ack.acked,
        };
        // RFC 5681, 4.3 and RFC 6675, 5: the window does not change during fast recovery.
        if ack.in_recovery || ack.duplicate || !limited {
            return;
        }
        if let Some(deliveries) = &mut self.deliveries
            && self.cwnd < self.ssthresh
            && deliveries.slow_start.on_ack(ack)
        {
            self.ssthresh = self.cwnd;
        }
        self.grow(bytes);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reduce(loss);
        self.cwnd = self.ssthresh;
        self.record_recovery(true);
    }

    fn on_timeout(&mut self, loss: &Loss, first: bool) {
        // RFC 5681, 3.1: a repeated timeout of a segment does not change the threshold.
        if first {
            self.reduce(loss);
        }
        // "cwnd MUST be set to no more than the loss window, LW, which equals 1 full-sized
        // segment".
        self.cwnd = self.mss;
        self.timed_out = true;
        self.forget_remembered();
        self.record_recovery(false);
    }

    fn on_recovery_end(&mut self, _loss: &Loss) {
        self.record_recovery(false);
        if let Some(deliveries) = &mut self.deliveries
            && let Some(threshold) = deliveries.resume.on_recovery_end()
        {
            self.ssthresh = self.ssthresh.max(threshold);
        }
    }

    fn on_damage(&mut self, _now: Instant, bytes: u32) {
        let Some(deliveries) = &mut self.deliveries else { return };
        deliveries.resume.on_damage(bytes);
        if !deliveries.in_recovery && self.is_limited(0) {
            self.grow(bytes);
        }
    }

    fn on_spurious(&mut self) {
        self.forget_remembered();
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = ssthresh;
        }
    }

    fn on_idle(&mut self) {
        self.forget_remembered();
        // RFC 5681, 4.1: "the restart window is the minimum of IW and cwnd".
        self.cwnd = self.cwnd.min(self.initial_segments.saturating_mul(self.mss));
    }

    fn on_syn_loss(&mut self) {
        // RFC 5681, 3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after
        // a correctly transmitted SYN MUST be one segment consisting of at most SMSS bytes".
        self.cwnd = self.mss;
    }

    fn doubles(&self) -> bool {
        let jumps = self.deliveries.as_ref().is_some_and(|deliveries| deliveries.resume.holds_window());
        self.cwnd < self.ssthresh && !jumps
    }

    fn resume(&mut self, saved: SavedPath) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.resume = CarefulResume::new(saved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, loss, sample, setup};
    use super::*;

    #[test]
    fn slow_start_then_avoidance() {
        let mut reno = Reno::new(&setup(2));
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
        let mut reno = Reno::new(&setup(10));
        reno.set_mss(1000, true);
        reno.on_timeout(&loss(10_000), true);
        reno.on_timeout(&loss(10_000), false);
        assert_eq!((reno.window(), reno.ssthresh()), (1000, 5000));
        reno.on_spurious();
        assert_eq!((reno.window(), reno.ssthresh()), (10_000, u32::MAX));
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut reno = Reno::new(&setup(10));
        reno.set_mss(1000, true);
        reno.on_ack(&ack(1000, 1000));
        assert_eq!(reno.window(), 10_000);
    }

    fn modern() -> Reno {
        let mut reno = Reno::new(&Setup { hystart: true, pacing: true, deliveries: true, ..setup(10) });
        reno.set_mss(1000, true);
        reno
    }

    #[test]
    fn delivered_bytes_open_the_window() {
        let mut reno = modern();
        reno.on_ack(&Ack { acked: 0, delivered: 4000, ..ack(0, 10_000) });
        assert_eq!(reno.window(), 14_000, "selectively acknowledged, and more than two segments");
        reno.on_damage(Instant::ZERO, 1000);
        assert_eq!(reno.window(), 15_000);
        reno.on_loss(&loss(40_000));
        assert_eq!(reno.window(), 7500, "half the window: the flight counts what has arrived");
        reno.on_damage(Instant::ZERO, 5000);
        assert_eq!(reno.window(), 7500, "not in recovery");
    }

    #[test]
    fn damage_is_nothing_to_the_standard_profile() {
        let mut reno = Reno::new(&setup(10));
        reno.set_mss(1000, true);
        reno.on_damage(Instant::ZERO, 1000);
        assert_eq!(reno.window(), 10_000);
    }

    #[test]
    fn a_growing_queue_ends_slow_start() {
        let mut reno = modern();
        let mut delivered = 0;
        for round in 0..20 {
            let prior = delivered;
            for _ in 0..10 {
                delivered += 1000;
                let mut one = ack(1000, reno.window());
                one.rate = Some(sample(prior, delivered));
                one.rtt = Some(headway_units::Duration::from_millis(100 + 13 * round));
                reno.on_ack(&one);
            }
        }
        assert!(reno.ssthresh() < 100_000, "{}", reno.ssthresh());
    }

    #[test]
    fn a_remembered_window_is_reached_by_a_jump() {
        let mut reno = modern();
        let rtt = headway_units::Duration::from_millis(600);
        reno.resume(SavedPath::new(200_000, rtt, true));
        assert_eq!((reno.window(), reno.ssthresh()), (10_000, u32::MAX), "the path is not confirmed");
        let mut first = ack(1000, 10_000);
        first.rtt = Some(rtt);
        reno.on_ack(&first);
        assert_eq!((reno.window(), reno.ssthresh()), (100_000, 200_000));
        reno.on_ack(&ack(9000, 100_000));
        assert_eq!(reno.window(), 100_000, "what was sent before the jump proves nothing");
        reno.on_ack(&ack(1000, 100_000));
        assert_eq!(reno.window(), 101_000);
        reno.on_loss(&loss(100_000));
        assert_eq!(reno.window(), 5500, "half of the 11,000 bytes that arrived");
    }
}
