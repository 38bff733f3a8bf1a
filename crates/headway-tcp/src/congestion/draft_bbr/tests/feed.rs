//! ACKs and losses, one by one, on a path of 100 ms with segments of 1000 bytes.

use headway_units::{Duration, Instant};

use super::super::super::bottleneck::MSS;
use super::super::super::testing::setup;
use super::super::super::{Ack, CongestionControl, Loss, LostSegment, RateSample};
use super::super::DraftBbr;

pub(super) const RTT: Duration = Duration::from_millis(100);

pub(super) struct Feed {
    pub(super) bbr: DraftBbr,
    pub(super) now: Instant,
    delivered: u64,
    /// Bytes delivered when the last round began.
    prior: u64,
    order: u64,
    /// What the next samples say.
    pub(super) app_limited: bool,
    pub(super) in_recovery: bool,
    pub(super) rtt: Duration,
    /// Bytes in the network before and after an ACK.
    pub(super) prior_pipe: u32,
    pub(super) pipe: u32,
    /// Bytes in the network when what is acknowledged or lost was sent, and bytes lost since.
    pub(super) in_flight: u32,
    pub(super) lost: u64,
}

impl Feed {
    pub(super) fn new() -> Self {
        let mut bbr = DraftBbr::new(&setup(10));
        let now = Instant::ZERO + Duration::from_secs(1);
        bbr.set_mss(MSS, true);
        bbr.on_established(now, Some(RTT));
        Self {
            bbr,
            now,
            delivered: 0,
            prior: 0,
            order: 0,
            app_limited: false,
            in_recovery: false,
            rtt: RTT,
            prior_pipe: 0,
            pipe: 0,
            in_flight: 100 * MSS,
            lost: 0,
        }
    }

    /// One whose pipe is full: 10 Mbit/s are 125 segments in a round. Startup is over, and so is Drain, whose last ACK left
    /// nothing in the network.
    pub(super) fn filled() -> Self {
        let mut feed = Self::new();
        feed.rounds(&[10_000; 5]);
        feed
    }

    /// Round trips pass, each with one ACK, with these delivery rates in kbit/s.
    pub(super) fn rounds(&mut self, rates: &[u64]) {
        for &rate in rates {
            self.now += RTT;
            self.prior = self.delivered;
            self.acknowledge(rate, (rate * 100 / 8) as u32);
        }
    }

    /// An ACK of one segment within a round.
    pub(super) fn within(&mut self, rate: u64) {
        self.acknowledge(rate, MSS);
    }

    fn acknowledge(&mut self, rate: u64, bytes: u32) {
        self.delivered += u64::from(bytes);
        self.bbr.on_ack(&Ack {
            now: self.now,
            acked: bytes,
            delivered: bytes,
            prior_pipe: self.prior_pipe,
            pipe: self.pipe,
            rtt: Some(self.rtt),
            in_recovery: self.in_recovery,
            duplicate: false,
            retransmitted: false,
            damages: false,
            asks_for_less: false,
            alone: false,
            rate: Some(RateSample {
                delivered: rate * 100 / 8,
                interval: RTT,
                app_limited: self.app_limited,
                prior_delivered: self.prior,
                total_delivered: self.delivered,
                in_flight: self.in_flight,
                lost: self.lost,
            }),
        });
    }

    /// `segments` are lost, no two of them neighbours: fast recovery begins, if it has not.
    pub(super) fn lose(&mut self, segments: u32) {
        for _ in 0..segments {
            self.order += 2;
            self.lost += u64::from(MSS);
            self.bbr.on_segment_lost(&LostSegment {
                order: self.order,
                now: self.now,
                sent_at: self.now,
                bytes: MSS,
                in_flight: self.in_flight,
                lost: self.lost,
                total_delivered: self.delivered,
                prior_delivered: self.prior,
                app_limited: self.app_limited,
            });
        }
        if !core::mem::replace(&mut self.in_recovery, true) {
            self.bbr.on_loss(&self.loss());
        }
    }

    pub(super) fn loss(&self) -> Loss {
        Loss { now: self.now, flight: self.in_flight }
    }
}
