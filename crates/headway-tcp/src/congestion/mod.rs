//! Congestion control.
//!
//! A controller gets every signal as a separate event, so that it can respond to congestion and ignore
//! corruption. It has windows and round trips; segments and their recovery belong to the send side of a
//! connection.
//!
//! A module each has a controller, which implements [`CongestionControl`]; [`Algorithm`] lists them all. One of a program's own is
//! given to a profile as [`Custom`].

#[cfg(test)]
mod any_order;
mod bbr;
mod bbr_common;
#[cfg(test)]
mod bottleneck;
mod careful_resume;
mod copa;
mod copy_budget;
mod cubic;
mod custom;
mod deliveries;
mod domain;
mod draft_bbr;
mod hystart;
mod linux22;
pub(crate) mod pacer;
mod reno;
mod rounds;
mod slow_start;
mod start;
#[cfg(test)]
mod testing;
mod train;
mod trial;
mod usage;
mod vivace;

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::rules::RulesOff;
use headway_units::{Duration, Instant, Rate};

pub use bbr::Bbr;
pub use careful_resume::SavedPath;
pub use copa::Copa;
pub use cubic::Cubic;
pub use custom::Custom;
pub(crate) use deliveries::{Before, Deliveries, Others};
pub(crate) use domain::CongestionDomain;
pub use domain::DomainStatus;
pub use draft_bbr::DraftBbr;
pub use linux22::Linux22;
pub use reno::Reno;
pub use start::StartEstimate;
pub use vivace::Vivace;

/// An ACK that moved `SND.UNA` or, in a profile whose recovery is
/// [`LossRecovery::RackTlp`](crate::LossRecovery::RackTlp), reported any newly delivered data.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Bytes by which `SND.UNA` advanced.
    pub acked: u32,
    /// Newly delivered bytes, cumulatively or selectively acknowledged: each byte counts once.
    pub delivered: u32,
    /// Bytes in the network before it arrived.
    pub prior_pipe: u32,
    /// Bytes in the network after it, without those newly detected as lost.
    pub pipe: u32,
    /// Its RTT sample, if any.
    pub rtt: Option<Duration>,
    /// Whether the sender was in loss recovery when it arrived.
    pub in_recovery: bool,
    /// Whether it is a duplicate ACK before loss recovery: "the TCP sender MUST NOT change cwnd to
    /// reflect" the segments that it permits (RFC 5681, 3.2, step 1).
    pub duplicate: bool,
    /// Whether it acknowledged a retransmitted segment.
    pub retransmitted: bool,
    /// Whether the path is known to damage packets.
    pub damages: bool,
    /// Whether at most half of what the path carries should be in flight, which would show if it damages packets.
    pub asks_for_less: bool,
    /// Whether no one else seems to use the path: none keeps a queue, and one would be seen.
    pub alone: bool,
    /// The delivery-rate sample, if measured.
    pub rate: Option<RateSample>,
}

/// A delivery-rate sample: the bytes delivered between the sending of a segment and its ACK
/// (draft-ietf-ccwg-bbr, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered during the interval. Bytes reported as corrupted count here and in the other
    /// totals, since they passed the bottleneck. Otherwise a sender that follows the rate would slow
    /// down repeatedly by the corrupted share.
    pub delivered: u64,
    /// The longer of the sending interval and the ACK interval.
    pub interval: Duration,
    /// Whether the sender was application-limited in it.
    pub app_limited: bool,
    /// Bytes delivered before the segment was sent. A round trip ends with the first segment sent after
    /// the end of the previous one.
    pub prior_delivered: u64,
    /// Bytes delivered since the connection began.
    pub total_delivered: u64,
    /// Bytes in the network just after the segment was sent.
    pub in_flight: u32,
    /// Bytes lost since it was sent, not to corruption.
    pub lost: u64,
}

impl RateSample {
    /// Bytes over time.
    pub fn rate(&self) -> Rate {
        let nanos = u128::from(self.interval.as_nanos().max(1));
        let bits = u128::from(self.delivered) * 8 * 1_000_000_000 / nanos;
        Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
    }
}

/// The state at the detection of a loss.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// When it was detected.
    pub now: Instant,
    /// Bytes sent and not cumulatively acknowledged (RFC 5681's FlightSize).
    pub flight: u32,
}

/// A lost segment, not lost to corruption.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LostSegment {
    /// Its transmission number: consecutive lost segments are one hole.
    pub order: u64,
    /// When the loss was detected.
    pub now: Instant,
    /// When it was sent.
    pub sent_at: Instant,
    /// Its length in bytes.
    pub bytes: u32,
    /// Bytes in the network just after it was sent.
    pub in_flight: u32,
    /// Bytes lost since it was sent, its own included, not to corruption.
    pub lost: u64,
    /// Bytes delivered when the loss was detected.
    pub total_delivered: u64,
    /// Bytes delivered before it was sent.
    pub prior_delivered: u64,
    /// Whether the sender was application-limited when it was sent.
    pub app_limited: bool,
}

/// How much is sent in relation to what the path is known to carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Less.
    Below,
    /// As much.
    At,
    /// More, or it is not known.
    #[default]
    Above,
}

/// A congestion controller: the window and its response to each signal.
///
/// Windows are in bytes.
pub trait CongestionControl: Debug + Send {
    /// The congestion window.
    fn window(&self) -> u32;
    /// The slow-start threshold.
    fn ssthresh(&self) -> u32;
    /// The pacing rate; `None`: derived from the window and the RTT.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// What it takes the path to carry; `None`: it has no model of that.
    fn bandwidth(&self) -> Option<Rate> {
        None
    }
    /// What is sent now, in relation to what the path is known to carry.
    fn load(&self) -> Load {
        Load::Above
    }
    /// Whether the window doubles each round trip, so that a derived pacing rate must be higher.
    fn doubles(&self) -> bool {
        self.window() < self.ssthresh()
    }
    /// The handshake is complete; `smoothed`: the round-trip time that it measured. In a shared domain this is called for
    /// each member.
    fn on_established(&mut self, _now: Instant, _smoothed: Option<Duration>) {}
    /// The sender's maximum segment size changed; `initial`: it was set for the first time.
    fn set_mss(&mut self, mss: u32, initial: bool);
    /// A segment is sent. `pipe`: the bytes in the network before it. `app_limited`: not all that the window
    /// admitted was sent before, for want of data.
    fn on_sent(&mut self, _now: Instant, _pipe: u32, _app_limited: bool) {}
    /// Data was acknowledged.
    fn on_ack(&mut self, ack: &Ack);
    /// Whether it sets its window in recovery itself, without proportional rate reduction.
    fn recovers_by_itself(&self) -> bool {
        false
    }
    /// The share of losses, in percent, that it does not take for congestion.
    fn tolerates(&self) -> u32 {
        0
    }
    /// A loss was detected that congestion may have caused: called once at the start of each recovery.
    fn on_loss(&mut self, loss: &Loss);
    /// Called for each lost segment, not lost to corruption, before [`Self::on_loss`].
    fn on_segment_lost(&mut self, _lost: &LostSegment) {}
    /// The retransmission timer expired; `first`: for the first time for the same data.
    fn on_timeout(&mut self, loss: &Loss, first: bool);
    /// Everything outstanding at the start of the recovery is acknowledged.
    fn on_recovery_end(&mut self, _loss: &Loss) {}
    /// Segments arrived corrupted: delivered by the network, and not a congestion signal.
    fn on_damage(&mut self, _now: Instant, _bytes: u32) {}
    /// A router marked a packet (RFC 3168): called at most once per round trip.
    fn on_ecn(&mut self, loss: &Loss) {
        self.on_loss(loss);
    }
    /// The last reduction was due to a spurious loss: restore the window.
    fn on_spurious(&mut self) {}
    /// The connection was idle for a retransmission timeout (RFC 5681, section 4.1).
    fn on_idle(&mut self) {}
    /// The handshake is complete, and our SYN or SYN-ACK was lost in it (RFC 5681, section 3.1).
    fn on_syn_loss(&mut self) {}
    /// What an earlier connection over the path learnt of it (RFC 9040): called before anything is sent.
    fn resume(&mut self, _saved: SavedPath) {}
    /// The path, whose handshake is complete, is said to carry this rate ([`StartEstimate`]): called before anything is sent.
    /// Reno takes no notice: from a rate that is too low it would grow by a segment each round trip.
    fn start(&mut self, _rate: Rate) {}
}

/// The controllers of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// RFC 5681 with appropriate byte counting.
    Reno,
    /// The packet-counting Reno of Linux 2.2.
    Linux22,
    /// RFC 9438.
    Cubic,
    /// Modified BBR: BBRv3 (draft-ietf-ccwg-bbr) with changes for damaged and for long paths.
    Bbr,
    /// BBRv3 as we read draft-ietf-ccwg-bbr-06.
    DraftBbr,
    /// Copa (NSDI 2018).
    Copa,
    /// PCC Vivace (NSDI 2018).
    Vivace,
    /// The one that [`Profile::custom`](crate::Profile::custom) builds.
    Custom,
}

/// The configuration of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setup {
    /// Initial window in segments.
    pub initial_window: u32,
    /// Segments by which one ACK opens the window in slow start at most; `None`: what
    /// [`Profile::slow_start_limit`](crate::Profile::slow_start_limit) says.
    pub slow_start_limit: Option<u32>,
    /// Leave slow start when the RTT increases (HyStart++, RFC 9406).
    pub hystart: bool,
    /// The connection paces its segments, so that an ACK may open the window by any amount without a
    /// burst.
    pub pacing: bool,
    /// Grow by every delivered byte, also selectively acknowledged or corrupted, instead of the advance
    /// of `SND.UNA`. The recovery must report [`Ack::delivered`] for every ACK.
    pub deliveries: bool,
    /// The seed for randomised intervals.
    pub seed: u64,
    /// Rules that do not hold.
    pub rules_off: RulesOff,
}

/// The controllers with their names.
macro_rules! named {
    ($first:literal => $algorithm:ident, $($name:literal => $other:ident),+) => {
        /// The controllers of `--cc`, with their names.
        pub const NAMES: [(&'static str, Self); [$($name),+].len() + 1] =
            [($first, Self::$algorithm), $(($name, Self::$other)),+];
        /// Their names, as a choice of options.
        pub const CHOICE: &'static str = concat!($first $(, "|", $name)+);
    };
}

impl Algorithm {
    named!("newreno" => Reno, "cubic" => Cubic, "bbr" => Bbr, "draft-bbr" => DraftBbr, "copa" => Copa, "vivace" => Vivace);

    /// A controller of this kind.
    pub(crate) fn build(self, setup: Setup, custom: Option<&Custom>) -> Box<dyn CongestionControl> {
        match (self, custom) {
            (Self::Reno, _) => Box::new(Reno::new(&setup)),
            (Self::Cubic, _) => Box::new(Cubic::new(&setup)),
            (Self::Bbr, _) => Box::new(Bbr::new(&setup)),
            (Self::DraftBbr, _) => Box::new(DraftBbr::new(&setup)),
            (Self::Copa, _) => Box::new(Copa::new(&setup)),
            (Self::Vivace, _) => Box::new(Vivace::new(&setup)),
            (Self::Linux22, _) => Box::new(Linux22::new(setup.initial_window)),
            (Self::Custom, Some(custom)) => custom.build(setup),
            (Self::Custom, None) => unreachable!("the check of the profile refuses it"),
        }
    }
}
