//! The send side of a connection: what is buffered, what is outstanding, what may go next.

pub(crate) mod pacer;
pub(crate) mod recovery;
pub(crate) mod rtt;
pub(crate) mod scoreboard;
pub(crate) mod sent_queue;
pub(crate) mod transmissions;

use alloc::sync::Arc;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use crate::path::ledger::Delay;
use crate::profile::{LossRecovery, Profile};
use crate::ring::Ring;
use pacer::Pacer;
use recovery::Recovery;
use recovery::modern::{Modern, Times};
use rtt::RttEstimator;
use scoreboard::Scoreboard;
use sent_queue::SentQueue;

/// What a send buffer that grows with the window may hold at first.
const INITIAL_BUFFER: usize = 64 << 10;

/// Send sequence variables (RFC 9293, 3.3.1), buffer, retransmission queue and recovery.
pub(crate) struct SendSide {
    pub(crate) iss: SeqNumber,
    pub(crate) una: SeqNumber,
    pub(crate) nxt: SeqNumber,
    /// SND.WND, scaled to octets.
    pub(crate) wnd: u32,
    pub(crate) wl1: SeqNumber,
    pub(crate) wl2: SeqNumber,
    pub(crate) max_wnd: u32,
    /// The furthest right edge that the peer offered: it takes numbers up to there even where a
    /// scaled window falls short of it (RFC 7323, 2.4).
    pub(crate) edge: SeqNumber,
    /// Shift that the peer asked for (RFC 7323, 2.2).
    pub(crate) scale: u8,
    /// Largest payload that fits beside the options of every data segment.
    pub(crate) mss: u32,
    /// What the application wrote, from the first octet that is not acknowledged.
    pub(crate) buffer: Ring,
    /// The application closed its side; FIN follows the buffer.
    pub(crate) fin_queued: bool,
    pub(crate) fin_sent: bool,
    pub(crate) queue: SentQueue,
    pub(crate) sacks: Scoreboard,
    pub(crate) recovery: Recovery,
    pub(crate) rtt: RttEstimator,
    pub(crate) last_sent: Option<Instant>,
    /// When `SND.UNA` last moved, or when the first octet of an empty queue was sent.
    pub(crate) last_advance: Instant,
    /// Unanswered zero-window probes and overrides.
    pub(crate) probes: u32,
    /// Timeouts since `SND.UNA` last moved.
    pub(crate) timeouts_in_a_row: u32,
    /// When the retransmission timer last expired.
    pub(crate) last_timeout: Option<Instant>,
    pub(crate) pacer: Pacer,
    /// A small segment may be sent although silly-window avoidance would hold it.
    pub(crate) override_sws: bool,
}

impl SendSide {
    pub(crate) fn new(iss: SeqNumber, profile: &Arc<Profile>, now: Instant) -> Self {
        Self {
            iss,
            una: iss,
            nxt: iss,
            wnd: 0,
            wl1: SeqNumber::default(),
            wl2: SeqNumber::default(),
            max_wnd: 0,
            edge: iss,
            scale: 0,
            mss: 0,
            buffer: Ring::new(if profile.modern.autotune {
                profile.send_buffer.min(INITIAL_BUFFER)
            } else {
                profile.send_buffer
            }),
            fin_queued: false,
            fin_sent: false,
            queue: if profile.recovery == LossRecovery::Modern {
                SentQueue::with_log()
            } else {
                SentQueue::default()
            },
            sacks: Scoreboard::default(),
            recovery: Recovery::new(profile, false),
            rtt: RttEstimator::new(profile.clone()),
            last_sent: None,
            last_advance: now,
            probes: 0,
            timeouts_in_a_row: 0,
            last_timeout: None,
            pacer: Pacer::default(),
            override_sws: false,
        }
    }

    /// Sequence number of the first octet in the buffer.
    pub(crate) fn buffer_start(&self) -> SeqNumber {
        if self.una == self.iss { self.iss + 1 } else { self.una }
    }

    /// Lets the buffer grow with the window, up to `most`: it holds what is outstanding, and as much again
    /// to send when the window has doubled. While a hole is repaired, much more is outstanding than
    /// the window.
    pub(crate) fn tune_buffer(&mut self, cwnd: u32, most: usize) {
        let wanted = cwnd.max(self.queue.outstanding()) as usize * 2;
        let limit = self.buffer.limit();
        self.buffer.set_limit(limit.max(wanted.min(most)));
    }

    /// Octets written and never sent.
    pub(crate) fn unsent(&self) -> u32 {
        if self.nxt == self.iss {
            return self.buffer.len() as u32;
        }
        // With FIN acknowledged the difference covers nothing of the (empty) buffer.
        let sent = ((self.nxt - self.buffer_start()) as u32).saturating_sub(u32::from(self.fin_sent));
        (self.buffer.len() as u32).saturating_sub(sent)
    }

    /// Octets that the peer's window still admits (RFC 9293, 3.8.6.2.1: the usable window).
    pub(crate) fn usable_window(&self) -> u32 {
        let edge = self.una + self.wnd;
        let usable = edge - self.nxt;
        usable.max(0) as u32
    }

    /// Whether FIN is still to be sent.
    pub(crate) fn owes_fin(&self) -> bool {
        self.fin_queued && !self.fin_sent
    }

    /// The modern sender's recovery, where it is in use.
    pub(crate) fn modern(&mut self) -> Option<&mut Modern> {
        match &mut self.recovery {
            Recovery::Modern(modern) => Some(modern),
            _ => None,
        }
    }

    /// What time-based loss detection knows of the path.
    pub(crate) fn times(&self) -> Times {
        let smoothed = self.rtt.smoothed();
        Times { smoothed, least: self.rtt.least().unwrap_or(smoothed) }
    }

    /// What the last round-trip sample says of the queue on the path.
    pub(crate) fn delay(&self) -> Option<Delay> {
        Some(Delay { latest: self.rtt.latest()?, least: self.rtt.least()?, smoothed: self.rtt.estimate()? })
    }

    /// How long a hole that is known to be damage stays hidden from the loss detectors after its
    /// resend: the path's round-trip time with its variation.
    ///
    /// While `SND.UNA` stands still there are no samples, and the measured variation misses a queue
    /// that builds up; so a quarter of the round trip is allowed for at least, as RFC 8985 (7.2)
    /// does for reordering.
    pub(crate) fn damage_hold(&self) -> Duration {
        self.rtt.with_variation().max(self.rtt.smoothed() + self.rtt.smoothed() / 4)
    }
}
