//! Congestion control: how much may be in the network.
//!
//! A controller hears of every signal as an event of its own, so that it can answer congestion
//! and let damage pass. It knows windows and round trips; segments and their repair belong to
//! the send side of a connection.

mod linux22;
mod reno;

use alloc::boxed::Box;
use core::fmt::Debug;

use headway_units::{Duration, Instant};

pub use linux22::Linux22;
pub use reno::Reno;

/// An ACK that advanced `SND.UNA`.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Octets newly acknowledged.
    pub acked: u32,
    /// Octets in the network before it arrived.
    pub prior_pipe: u32,
    /// The round-trip time that it measured, if it did.
    pub rtt: Option<Duration>,
    /// Whether loss recovery was under way when it arrived.
    pub in_recovery: bool,
    /// Whether it covered a segment that had been sent more than once.
    pub retransmitted: bool,
}

/// What is known at the moment of a loss.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was found.
    pub now: Instant,
    /// Octets sent and not yet cumulatively acknowledged (RFC 5681's FlightSize).
    pub flight: u32,
}

/// How much a sender may have in the network, and how it answers each signal.
///
/// Windows are in octets.
pub trait CongestionControl: Debug + Send {
    /// The congestion window.
    fn window(&self) -> u32;
    /// The slow-start threshold.
    fn ssthresh(&self) -> u32;
    /// The sender's maximum segment size changed; `initial` when it becomes known at first.
    fn set_mss(&mut self, mss: u32, initial: bool);
    /// New data was acknowledged.
    fn on_ack(&mut self, ack: &Ack);
    /// A loss was found by duplicate ACKs or SACK: called once at the start of each recovery.
    fn on_duplicate_ack_loss(&mut self, loss: &Loss);
    /// The retransmission timer expired; `first` unless it already had for the same data.
    fn on_timeout(&mut self, loss: &Loss, first: bool);
    /// Everything outstanding at the start of the recovery is acknowledged.
    fn on_recovery_end(&mut self, _loss: &Loss) {}
    /// The peer reports that a segment arrived damaged: not a sign of congestion.
    fn on_damage(&mut self, _now: Instant, _octets: u32) {}
    /// A router marked a packet (RFC 3168): called at most once a round trip.
    fn on_ecn(&mut self, loss: &Loss) {
        self.on_duplicate_ack_loss(loss);
    }
    /// The last reduction answered a loss that was none: take it back.
    fn on_spurious(&mut self) {}
    /// Nothing was sent for a retransmission timeout (RFC 5681, section 4.1).
    fn on_idle(&mut self) {}
    /// The handshake is over, and a SYN or SYN-ACK of ours was lost in it (RFC 5681, section 3.1).
    fn on_syn_loss(&mut self) {}
}

/// The controllers that a profile can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// RFC 5681 with appropriate byte counting.
    Reno,
    /// The packet-counting Reno of Linux 2.2.
    Linux22,
}

impl Algorithm {
    /// A controller of this kind with an initial window of that many segments.
    pub fn build(self, initial_window: u32) -> Box<dyn CongestionControl> {
        match self {
            Self::Reno => Box::new(Reno::new(initial_window)),
            Self::Linux22 => Box::new(Linux22::new(initial_window)),
        }
    }
}

/// A window and what uses it: of one connection, or of several that share.
#[derive(Debug)]
pub struct CongestionDomain {
    /// The controller.
    pub control: Box<dyn CongestionControl>,
    /// Octets that its connections have in the network.
    pub pipe: u32,
}

impl CongestionDomain {
    pub(crate) fn new(control: Box<dyn CongestionControl>) -> Self {
        Self { control, pipe: 0 }
    }

    /// A member's share of the pipe changed.
    pub(crate) fn adjust(&mut self, before: u32, after: u32) {
        self.pipe = (self.pipe - before.min(self.pipe)).saturating_add(after);
    }
}
