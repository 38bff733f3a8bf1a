//! What the stack tells the controller, and the steps that answer it (draft-ietf-ccwg-bbr, section 5.2).

use headway_units::{Duration, Instant, Rate};

use super::super::bbr_common::phases::State;
use super::super::{Ack, CongestionControl, Loss, LostSegment};
use super::DraftBbr;
use super::recovery::Recovery;

impl CongestionControl for DraftBbr {
    fn window(&self) -> u32 {
        self.c.cwnd
    }

    /// There is none.
    fn ssthresh(&self) -> u32 {
        u32::MAX
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (self.c.pacing_rate > 0).then(|| Rate::from_bits_per_second(self.c.pacing_rate))
    }

    fn bandwidth(&self) -> Option<Rate> {
        let bandwidth = self.max_bw.max_bw;
        (bandwidth > 0).then(|| Rate::from_bits_per_second(bandwidth))
    }

    fn set_mss(&mut self, mss: u32, initial: bool) {
        self.c.smss = mss;
        if initial {
            self.c.cwnd = self.c.initial_cwnd();
        }
        self.c.cwnd = self.c.cwnd.max(mss);
    }

    fn on_established(&mut self, now: Instant, smoothed: Option<Duration>) {
        self.on_init(now, smoothed);
    }

    /// OnTransmit() (5.2.2).
    fn on_sent(&mut self, now: Instant, pipe: u32, app_limited: bool) {
        self.on_init(now, None);
        self.handle_restart_from_idle(now, pipe, app_limited);
    }

    /// UpdateOnACK() (5.2.3).
    fn on_ack(&mut self, ack: &Ack) {
        self.on_init(ack.now, None);
        self.c.inflight = ack.pipe;
        self.c.usage.on_ack(ack, self.c.cwnd, self.c.smss);
        if let Some(rtt) = ack.rtt {
            self.c.min_rtt = Some(self.c.min_rtt.map_or(rtt, |min| min.min(rtt)));
            self.take_first_rtt(rtt);
        }
        self.follow_recovery(ack.acked, ack.in_recovery);
        if let Some(sample) = &ack.rate {
            self.c.delivered = sample.total_delivered;
            let rs = self.generate_rate_sample(ack, sample);
            self.update_model_and_state(&rs);
        }
        self.update_control_parameters(ack.delivered);
    }

    /// The draft has no other reduction in recovery than its own.
    fn recovers_by_itself(&self) -> bool {
        true
    }

    /// 5.2.4.
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.c.delivered = lost.total_delivered;
        self.on_enter_fast_recovery();
        self.startup_losses.holes.on_lost(lost);
        self.handle_lost_packet(lost);
    }

    /// Recovery begins, and has begun here with the first of the segments that [`Self::on_segment_lost`] was told of. A
    /// recovery without SACK tells of none.
    fn on_loss(&mut self, _loss: &Loss) {
        if self.recovery == Recovery::None {
            self.on_enter_fast_recovery();
            self.note_loss();
        }
    }

    fn on_timeout(&mut self, loss: &Loss, first: bool) {
        if first {
            self.note_loss();
        }
        self.on_enter_rto(loss.flight, first);
    }

    fn on_recovery_end(&mut self, _loss: &Loss) {
        self.exit_recovery();
    }

    /// 3.7: "MUST treat any CE marks as congestion".
    fn on_ecn(&mut self, loss: &Loss) {
        self.note_loss();
        if self.state == State::Startup {
            self.exit_startup_for_losses();
        } else if self.cycle.is_bw_probe_sample {
            self.handle_inflight_too_high(loss.now, self.c.inflight, false);
        }
    }

    /// 5.2.5.
    fn on_spurious(&mut self) {
        self.recovery = Recovery::None;
        self.handle_spurious_loss_detection();
    }

    /// RFC 5681, 3.1: "the initial window used by a sender after a correctly transmitted SYN MUST be one segment". The initial
    /// window is "outside the scope of the BBR algorithm" (5.6.4.1).
    fn on_syn_loss(&mut self) {
        self.c.cwnd = self.c.smss;
    }
}
