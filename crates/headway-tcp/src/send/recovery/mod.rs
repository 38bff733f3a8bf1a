//! Loss recovery: which segments to send again, and when new data may go.
//!
//! One file a method. Each hears of ACKs and timeouts, marks segments in the
//! [`SentQueue`](super::SentQueue) and tells the congestion controller; what it wants resent it
//! names one by one when asked. Damage reported by special ACKs is not its business
//! ([`crate::hack`] has them retransmitted), but it must not take such holes for losses.

mod linux22;
pub(crate) mod modern;
mod standard;

use alloc::boxed::Box;

use headway_units::Instant;
use headway_wire::SeqNumber;

use super::scoreboard::Scoreboard;
use super::sent_queue::SentQueue;
use crate::congestion::CongestionControl;
use crate::event::{RecoveryPhase, RetransmitReason};
use crate::profile::{LossRecovery, Profile};

pub(crate) use linux22::Linux22;
use modern::Modern;
pub(crate) use standard::Standard;

/// What an acceptable ACK brought.
pub(crate) struct AckSignal {
    pub(crate) now: Instant,
    /// `SND.UNA` before it, and now.
    pub(crate) prior_una: SeqNumber,
    pub(crate) una: SeqNumber,
    pub(crate) nxt: SeqNumber,
    /// It is a duplicate (RFC 5681, section 2): no data, no window change, something outstanding.
    pub(crate) duplicate: bool,
    /// It carried payload.
    pub(crate) has_data: bool,
    /// It is a special ACK: never a duplicate (design rule 1).
    pub(crate) special: bool,
    /// Octets newly covered by SACK blocks.
    pub(crate) newly_sacked: u32,
    /// FlightSize before it.
    pub(crate) prior_flight: u32,
    pub(crate) mss: u32,
}

impl AckSignal {
    pub(crate) fn advanced(&self) -> bool {
        self.una != self.prior_una
    }
}

/// What an ACK led to.
#[derive(Default)]
pub(crate) struct Verdict {
    /// A stage of recovery began or ended.
    pub(crate) phase: Option<RecoveryPhase>,
    /// The retransmission timer starts anew.
    pub(crate) restart_timer: bool,
}

/// The state that every method shares: the queue and what SACK said of it.
pub(crate) struct Board<'a> {
    pub(crate) queue: &'a mut SentQueue,
    pub(crate) sacks: &'a mut Scoreboard,
    pub(crate) control: &'a mut dyn CongestionControl,
}

/// A method of loss recovery.
pub(crate) enum Recovery {
    Standard(Standard),
    Linux22(Linux22),
    /// Hears of ACKs and timeouts by calls of its own: see [`modern`].
    Modern(Box<Modern>),
}

impl Recovery {
    pub(crate) fn new(profile: &Profile, sack: bool) -> Self {
        match profile.recovery {
            LossRecovery::Linux22 => Self::Linux22(Linux22::new(sack)),
            LossRecovery::Reno => Self::Standard(Standard::new(sack, sack, profile.limited_transmit)),
            // RFC 8985, 4: it needs SACK.
            LossRecovery::Modern if sack => Self::Modern(Box::new(Modern::new(profile.modern))),
            LossRecovery::Standard | LossRecovery::Modern => {
                Self::Standard(Standard::new(sack, true, profile.limited_transmit))
            }
        }
    }

    /// Octets of heap beyond its own size.
    pub(crate) fn allocated(&self) -> usize {
        match self {
            Self::Modern(_) => size_of::<Modern>(),
            Self::Standard(_) | Self::Linux22(_) => 0,
        }
    }

    /// An acceptable ACK was processed: the queue is trimmed and its SACK blocks are marked.
    pub(crate) fn on_ack(&mut self, board: Board<'_>, ack: &AckSignal) -> Verdict {
        match self {
            Self::Standard(standard) => standard.on_ack(board, ack),
            Self::Linux22(linux) => linux.on_ack(board, ack),
            Self::Modern(_) => Verdict::default(),
        }
    }

    /// The retransmission timer expired.
    pub(crate) fn on_timeout(&mut self, board: Board<'_>, now: Instant, nxt: SeqNumber) {
        match self {
            Self::Standard(standard) => standard.on_timeout(board, now, nxt),
            Self::Linux22(linux) => linux.on_timeout(board, now, nxt),
            Self::Modern(_) => {}
        }
    }

    /// The segment to send again now, if any. `room` is what the congestion window leaves.
    pub(crate) fn next_resend(
        &mut self,
        queue: &mut SentQueue,
        cwnd: u32,
        room: u32,
    ) -> Option<(usize, RetransmitReason)> {
        match self {
            Self::Standard(standard) => standard.next_resend(queue, room),
            Self::Linux22(linux) => linux.next_resend(queue, cwnd),
            Self::Modern(modern) => modern.next_resend(queue, room),
        }
    }

    /// Whether [`next_resend`](Self::next_resend) may name a segment.
    #[inline]
    pub(crate) fn may_resend(&self, queue: &SentQueue) -> bool {
        match self {
            Self::Standard(_) | Self::Modern(_) => queue.any_missing(),
            Self::Linux22(linux) => linux.may_resend(),
        }
    }

    /// Whether [`next_speculative`](Self::next_speculative) may name a segment.
    #[inline]
    pub(crate) fn may_speculate(&self) -> bool {
        matches!(self, Self::Standard(standard) if standard.may_speculate())
    }

    /// A segment worth sending again if there is no new data to send (RFC 6675, `NextSeg` rules
    /// 3 and 4).
    pub(crate) fn next_speculative(
        &mut self,
        queue: &SentQueue,
        sacks: &Scoreboard,
        room: u32,
    ) -> Option<(usize, RetransmitReason)> {
        match self {
            Self::Standard(standard) => standard.next_speculative(queue, sacks, room),
            Self::Linux22(_) | Self::Modern(_) => None,
        }
    }

    /// Octets that may be in the network beyond the congestion window: what duplicate ACKs say
    /// has left it.
    pub(crate) fn inflation(&self, mss: u32) -> u32 {
        match self {
            Self::Standard(standard) => standard.inflation(),
            Self::Linux22(linux) => linux.inflation(mss),
            Self::Modern(_) => 0,
        }
    }

    /// Whether new data may be sent, the congestion window permitting.
    pub(crate) fn permits_new_data(&self) -> bool {
        match self {
            Self::Standard(_) => true,
            Self::Modern(modern) => modern.permits_new_data(),
            Self::Linux22(linux) => linux.permits_new_data(),
        }
    }

    /// Whether an ACK that covers new data is to leave the congestion window alone.
    pub(crate) fn in_fast_recovery(&self, sacks: &Scoreboard) -> bool {
        match self {
            Self::Standard(standard) => standard.in_fast_recovery(),
            Self::Modern(modern) => modern.in_fast_recovery(),
            Self::Linux22(linux) => !linux.recovering_from_timeout() && sacks.highest().is_none(),
        }
    }

    /// Whether the backoff of the timer stays although a new sample arrived.
    pub(crate) fn keeps_backoff(&self) -> bool {
        match self {
            Self::Standard(_) | Self::Modern(_) => false,
            Self::Linux22(linux) => linux.recovering_from_timeout(),
        }
    }

    /// Whether an ACK starts the timer for the full timeout, or for what is left of it since the
    /// oldest segment was sent. The latter is Linux 2.2's way, and makes it take an ACK that is held
    /// back long for a loss (`crates/headway-sim/tests/spurious_timeout.rs`).
    pub(crate) fn restarts_timer_in_full(&self) -> bool {
        match self {
            Self::Standard(_) | Self::Modern(_) => true,
            Self::Linux22(linux) => linux.recovering_from_timeout(),
        }
    }
}

/// Whether `SND.UNA`'s own segment is known to be damaged, so that duplicate ACKs for it say
/// nothing new.
fn head_is_damaged(queue: &SentQueue) -> bool {
    queue.head().is_some_and(|head| head.has(super::sent_queue::Marks::DAMAGED))
}
