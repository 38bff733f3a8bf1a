//! Congestion control: how much may be in the network.
//!
//! A controller hears of every signal as an event of its own, so that it can answer congestion
//! and let damage pass. It knows windows and round trips; segments and their repair belong to
//! the send side of a connection.

#[cfg(test)]
mod any_order;
mod bbr;
#[cfg(test)]
mod bottleneck;
mod careful_resume;
mod cubic;
mod domain;
mod hystart;
mod linux22;
pub(crate) mod pacer;
mod reno;
mod rounds;
mod slow_start;
#[cfg(test)]
mod testing;
mod usage;

use alloc::boxed::Box;
use core::fmt::Debug;

use headway_units::{Duration, Instant, Rate};

pub use bbr::Bbr;
pub use cubic::Cubic;
pub(crate) use domain::CongestionDomain;
pub use linux22::Linux22;
pub use reno::Reno;

/// An ACK that moved `SND.UNA` or, in a profile whose recovery is
/// [`LossRecovery::RackTlp`](crate::LossRecovery::RackTlp), told of anything that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Octets by which `SND.UNA` moved.
    pub acked: u32,
    /// Octets that are now known to have arrived and were not before, cumulatively or selectively
    /// acknowledged: each octet counts once.
    pub delivered: u32,
    /// Octets in the network before it arrived.
    pub prior_pipe: u32,
    /// Octets in the network after it, with what it made known to be lost taken out.
    pub pipe: u32,
    /// The round-trip time that it measured, if it did.
    pub rtt: Option<Duration>,
    /// Whether loss recovery was under way when it arrived.
    pub in_recovery: bool,
    /// Whether it is a duplicate that may be the first sign of a loss: "the TCP sender MUST NOT change
    /// cwnd to reflect" what it lets go (RFC 5681, 3.2, step 1).
    pub duplicate: bool,
    /// Whether it covered a segment that had been sent more than once.
    pub retransmitted: bool,
    /// How fast the network delivers, where that is measured.
    pub rate: Option<RateSample>,
}

/// A sample of the delivery rate: what arrived between the sending of a segment and the ACK for
/// it (draft-ietf-ccwg-bbr, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Octets that arrived during the interval. Those that arrived damaged, and were reported, count
    /// here and in the other totals: they crossed the bottleneck like any other. If they did not, a
    /// sender that follows the rate would slow down with every share of it that is damaged, and
    /// again with that share of the slower rate.
    pub delivered: u64,
    /// The longer of the time in which they were sent and that in which they were acknowledged.
    pub interval: Duration,
    /// Whether the sender had nothing to send for a part of it.
    pub app_limited: bool,
    /// Octets delivered before the segment was sent. A round trip ends with the first segment
    /// that was sent after the end of the one before.
    pub prior_delivered: u64,
    /// Octets delivered since the connection began.
    pub total_delivered: u64,
    /// Octets in the network just after the segment was sent.
    pub in_flight: u32,
    /// Octets lost to congestion, or to nothing known, since it was sent.
    pub lost: u64,
}

impl RateSample {
    /// Octets over time.
    pub fn rate(&self) -> Rate {
        let nanos = u128::from(self.interval.as_nanos().max(1));
        let bits = u128::from(self.delivered) * 8 * 1_000_000_000 / nanos;
        Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
    }
}

/// What is known at the moment of a loss.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was found.
    pub now: Instant,
    /// Octets sent and not yet cumulatively acknowledged (RFC 5681's FlightSize).
    pub flight: u32,
}

/// A segment that was lost, and not to damage.
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// Its number among all segments that were sent: neighbours that are lost are one hole.
    pub order: u64,
    /// When that was found.
    pub now: Instant,
    /// Its octets.
    pub octets: u32,
    /// Octets in the network just after it was sent.
    pub in_flight: u32,
    /// Octets lost, not to damage, since it was sent, its own included.
    pub lost: u64,
    /// Octets delivered before it was sent.
    pub prior_delivered: u64,
    /// Whether the sender had nothing to send when it was sent.
    pub app_limited: bool,
}

/// How much a sender may have in the network, and how it answers each signal.
///
/// Windows are in octets.
pub trait CongestionControl: Debug + Send {
    /// The congestion window.
    fn window(&self) -> u32;
    /// The slow-start threshold.
    fn ssthresh(&self) -> u32;
    /// How fast to send; `None` leaves it to the window and the round-trip time.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Whether the window doubles each round trip, so that pacing, if it is left to the window, has to run
    /// ahead of it.
    fn doubles(&self) -> bool {
        self.window() < self.ssthresh()
    }
    /// The sender's maximum segment size changed; `initial` when it becomes known at first.
    fn set_mss(&mut self, mss: u32, initial: bool);
    /// A segment leaves. `pipe` is what was in the network before it.
    fn on_sent(&mut self, _now: Instant, _pipe: u32) {}
    /// Data was acknowledged.
    fn on_ack(&mut self, ack: &Ack);
    /// Whether it sets its window during recovery itself, without proportional rate reduction.
    fn recovers_by_itself(&self) -> bool {
        false
    }
    /// A loss was found that congestion may have caused: called once at the start of each recovery.
    fn on_loss(&mut self, loss: &Loss);
    /// Called for each segment that was lost, and not to damage, before [`Self::on_loss`].
    fn on_segment_lost(&mut self, _lost: &LostSegment) {}
    /// The retransmission timer expired; `first` unless it already had for the same data.
    fn on_timeout(&mut self, loss: &Loss, first: bool);
    /// Everything outstanding at the start of the recovery is acknowledged.
    fn on_recovery_end(&mut self, _loss: &Loss) {}
    /// Segments arrived damaged: not a sign of congestion. They crossed the network like any other.
    fn on_damage(&mut self, _now: Instant, _octets: u32) {}
    /// A router marked a packet (RFC 3168): called at most once a round trip.
    fn on_ecn(&mut self, loss: &Loss) {
        self.on_loss(loss);
    }
    /// The last reduction answered a loss that was none: take it back.
    fn on_spurious(&mut self) {}
    /// Nothing was sent for a retransmission timeout (RFC 5681, section 4.1).
    fn on_idle(&mut self) {}
    /// The handshake is over, and a SYN or SYN-ACK of ours was lost in it (RFC 5681, section 3.1).
    fn on_syn_loss(&mut self) {}
    /// An earlier connection over the path had this many octets in the network without harm
    /// (RFC 9040): called before anything is sent.
    fn resume(&mut self, _window: u32) {}
}

/// The controllers that a profile can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// RFC 5681 with appropriate byte counting.
    Reno,
    /// The packet-counting Reno of Linux 2.2.
    Linux22,
    /// RFC 9438.
    Cubic,
    /// BBRv3 (draft-ietf-ccwg-bbr).
    Bbr,
}

/// What a controller is told when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Initial window in segments.
    pub initial_window: u32,
    /// Leave slow start when the round-trip time grows (HyStart++, RFC 9406).
    pub hystart: bool,
    /// The connection spreads what the window allows over the round trip, so that an ACK may open it
    /// by any amount without a burst.
    pub pacing: bool,
    /// Grow by every octet that crosses the network, also by those that are selectively acknowledged
    /// or arrive damaged, and not by what `SND.UNA` moves. The recovery must report
    /// [`Ack::delivered`] for every ACK.
    pub deliveries: bool,
    /// For what is to differ between connections.
    pub seed: u64,
}

impl Algorithm {
    /// Every controller that `--cc` can name, and its name.
    pub const NAMES: [(&'static str, Self); 3] =
        [("newreno", Self::Reno), ("cubic", Self::Cubic), ("bbr", Self::Bbr)];

    /// A controller of this kind.
    pub fn build(self, setup: Setup) -> Box<dyn CongestionControl> {
        match self {
            Self::Reno => Box::new(Reno::new(&setup)),
            Self::Cubic => Box::new(Cubic::new(&setup)),
            Self::Bbr => Box::new(Bbr::new(&setup)),
            Self::Linux22 => Box::new(Linux22::new(setup.initial_window)),
        }
    }
}
