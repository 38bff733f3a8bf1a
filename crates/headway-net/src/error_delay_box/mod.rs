//! The error/delay box: the link of the simulator between two interfaces, in real time.
//!
//! Frames with an IP packet pass a [`Link`](headway_link::Link), one for each direction: its rate, queue,
//! delay and damage to the real bytes are those of the simulator. All other frames (ARP, spanning tree)
//! are forwarded at once and undamaged. IPv6's neighbour discovery is IP, and passes the link.
//!
//! - [`ErrorDelayBox`] is the box without interfaces and without a clock, for virtual time.
//! - [`LiveBox`] runs one between two interfaces of this machine: Ethernet cards, ends of veths, TUN
//!   devices.
//!
//! A receiver must be able to verify each packet. So packets with checksum offload are completed before
//! they enter, and packets with segmentation offload are segmented.
//!
//! ```
//! use headway_link::LinkConfig;
//! use headway_net::error_delay_box::{End, ErrorDelayBox, Frame, LaneConfig};
//! use headway_units::{Duration, Instant};
//!
//! let link = LinkConfig { delay: Duration::from_millis(10), ..LinkConfig::default() };
//! let lane = |seed| LaneConfig { link: link.clone(), seed };
//! let mut edbox = ErrorDelayBox::new([lane(1), lane(2)]);
//! edbox.enqueue(End::First, Instant::ZERO, Frame::new(&[], &[0x45; 40], b"data"));
//! let due = edbox.next_event().unwrap();
//! assert_eq!(due, Instant::from_nanos(10_000_000));
//! assert_eq!(edbox.poll(End::First, due).unwrap().packet.packet().len(), 44);
//! ```

mod control;
mod finish;
mod frame;
mod lane;
mod live;
mod port;
mod receive_offload;
mod report;
mod resolver;

use headway_link::{Delivery, LinkConfig, LinkCounters};
use headway_units::Instant;

pub use control::BoxControl;
pub use frame::Frame;
pub use headway_link::Quantiles;
use lane::Lane;
pub use live::{BoxConfig, BoxEnd, LiveBox};
pub use report::{BoxReport, LaneReport, PortCounters, Priority};

/// One of the two ends of the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The first interface.
    First,
    /// The second interface.
    Second,
}

impl End {
    /// Both, in order.
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    /// Its index in [`End::BOTH`].
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

/// The configuration of one direction of a box.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneConfig {
    /// Its link.
    pub link: LinkConfig,
    /// The RNG seed of the link.
    pub seed: u64,
}

/// The box without interfaces: packets and the time come in, packets go out.
pub struct ErrorDelayBox {
    /// By the end at which packets come in.
    lanes: [Lane; 2],
}

impl ErrorDelayBox {
    /// An empty box: the path from the first end, then the path from the second.
    pub fn new(lanes: [LaneConfig; 2]) -> Self {
        Self::starting_at(Instant::ZERO, lanes)
    }

    /// As [`new`](Self::new), with links whose time zero is `start`: from then on count the times of
    /// [`LinkConfig::rate_steps`], [`LinkConfig::rate_trace`], [`LinkConfig::delay_steps`] and [`LinkConfig::mute`].
    pub fn starting_at(start: Instant, lanes: [LaneConfig; 2]) -> Self {
        Self { lanes: lanes.map(|lane| Lane::new(lane.link, lane.seed, start)) }
    }

    /// A packet arrives at an end. If the box's time is later than `at`, the packet arrives at that time.
    pub fn enqueue(&mut self, end: End, at: Instant, frame: Frame) {
        self.lanes[end.index()].enqueue(at, frame);
    }

    /// The next packet that arrived at `end` and is due at the other end by `now`. To be called until
    /// `None`.
    pub fn poll(&mut self, end: End, now: Instant) -> Option<Delivery<Frame>> {
        self.lanes[end.index()].poll(now)
    }

    /// When to poll next; `None` while it is empty.
    pub fn next_event(&self) -> Option<Instant> {
        self.lanes.iter().filter_map(Lane::next_event).min()
    }

    /// Packets that arrive from now on pass new links; see [`BoxControl::change`].
    pub fn change(&mut self, now: Instant, lanes: [LaneConfig; 2]) {
        for (lane, LaneConfig { link, seed }) in self.lanes.iter_mut().zip(lanes) {
            lane.change(now, link, seed);
        }
    }

    /// The counters of all links for packets from an end since the start.
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
