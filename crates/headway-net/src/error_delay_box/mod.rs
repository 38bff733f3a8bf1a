//! The error/delay box: the link of the simulator between two interfaces, in real time.
//!
//! Frames that carry an IP packet pass a [`Link`](headway_link::Link), one for each direction: its rate,
//! queue, delay and damage to the real bytes are those of the simulator. All other frames (ARP, spanning
//! tree) are handed across at once and undamaged. IPv6's neighbour discovery is IP, and passes the link.
//!
//! - [`ErrorDelayBox`] is the box without interfaces and without a clock, for virtual time.
//! - [`LiveBox`] runs one between two interfaces of this machine: Ethernet cards, ends of veths, TUN
//!   devices.
//!
//! A receiver must be able to judge what comes out: so packets whose checksum a kernel left to hardware
//! get it before they enter, and what comes in pieces longer than a packet may be is cut.
//!
//! ```
//! use headway_link::LinkConfig;
//! use headway_net::error_delay_box::{End, ErrorDelayBox, Frame, LaneConfig};
//! use headway_units::{Duration, Instant};
//!
//! let link = LinkConfig { delay: Duration::from_millis(10), ..LinkConfig::default() };
//! let lane = |seed| LaneConfig { link: link.clone(), seed };
//! let mut edbox = ErrorDelayBox::new([lane(1), lane(2)]);
//! edbox.offer(End::First, Instant::ZERO, Frame::new(&[], &[0x45; 40], b"data"));
//! let due = edbox.next_event().unwrap();
//! assert_eq!(due, Instant::from_nanos(10_000_000));
//! assert_eq!(edbox.poll(End::First, due).unwrap().packet.packet().len(), 44);
//! ```

mod control;
mod finish;
mod frame;
mod lane;
mod lateness;
mod live;
mod port;
mod receive_offload;
mod report;
mod resolver;

use headway_link::{Delivery, LinkConfig, LinkCounters};
use headway_units::Instant;

pub use control::BoxControl;
pub use frame::Frame;
use lane::Lane;
pub use lateness::Quantiles;
pub use live::{BoxConfig, BoxEnd, LiveBox};
pub use report::{BoxReport, LaneReport, PortCounters, Priority};

/// One of the two ends of the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The interface that is named first.
    First,
    /// The other.
    Second,
}

impl End {
    /// Both, in order.
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    /// Its place in [`End::BOTH`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The end that packets from here go to.
    pub const fn opposite(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// What one direction of a box is like.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneConfig {
    /// Its link.
    pub link: LinkConfig,
    /// All chance of the link comes from it.
    pub seed: u64,
}

/// The box without interfaces: packets and the time come in, packets go out.
pub struct ErrorDelayBox {
    /// By the end at which packets come in.
    lanes: [Lane; 2],
}

impl ErrorDelayBox {
    /// A box that has carried nothing yet: the way from the first end, then the way from the second.
    pub fn new(lanes: [LaneConfig; 2]) -> Self {
        Self { lanes: lanes.map(|lane| Lane::new(lane.link, lane.seed)) }
    }

    /// A packet comes in at an end. Where time has gone on beyond `at` already, it comes now.
    pub fn offer(&mut self, end: End, at: Instant, frame: Frame) {
        self.lanes[end.index()].offer(at, frame);
    }

    /// The next packet that came in at `end` and is due at the other by `now`. Call until `None`.
    pub fn poll(&mut self, end: End, now: Instant) -> Option<Delivery<Frame>> {
        self.lanes[end.index()].poll(now)
    }

    /// When to poll next; `None` while it is empty.
    pub fn next_event(&self) -> Option<Instant> {
        self.lanes.iter().filter_map(Lane::next_event).min()
    }

    /// Packets that come in from now on pass other links; see [`BoxControl::change`].
    pub fn change(&mut self, now: Instant, lanes: [LaneConfig; 2]) {
        for (lane, LaneConfig { link, seed }) in self.lanes.iter_mut().zip(lanes) {
            lane.change(now, link, seed);
        }
    }

    /// What the links for packets from an end have done since the start, changes or not.
    pub fn counters(&self, end: End) -> LinkCounters {
        self.lanes[end.index()].counters()
    }

    /// Packets, and their bytes, in the queue for those from an end.
    pub fn queue(&self, end: End) -> (usize, u64) {
        self.lanes[end.index()].queue()
    }

    /// Packets from an end that are neither delivered nor dropped nor lost.
    pub fn in_link(&self, end: End) -> usize {
        self.lanes[end.index()].in_link()
    }
}
