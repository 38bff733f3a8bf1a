//! The oracle: the measure for senders that know nothing at the start.
//!
//! It is not a TCP. It faces the same link with packets of the same lengths, so the same damage model
//! hits the same places in their order, and it is notified of everything that a special ACK could report,
//! by one that never fails: one round trip for the handshake, then a window of 10 segments that
//! grows by one for each packet that it is notified of, which doubles it each round trip, up to one
//! bandwidth-delay product, and never falls. What was hit is retransmitted first.

use std::collections::VecDeque;

use headway_link::{Aqm, EnqueueResult, FrameCheck, Headers, Link, LinkConfig, PacketBuffer, QueueLimit};
use headway_units::{Duration, Instant, Rate};

use super::arena::FORWARD_LINK;
use super::scenario::{IP_HEADER, Scenario, TCP_HEADER};
use crate::seed::derive_seed;

/// RFC 6928: "an initial window of 10".
const INITIAL_WINDOW: u64 = 10;
/// A SYN with its options: MSS, SACK permitted, timestamps, window scale.
const SYN: usize = IP_HEADER + 40;

/// What came of an oracle's run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OracleOutcome {
    /// The seed of the run.
    pub seed: u64,
    /// Whether all had arrived within the time limit; in a run of fixed duration, always.
    pub finished: bool,
    /// From the SYN to the arrival of the last byte, or until the run was ended.
    pub time: Duration,
    /// Bytes that had arrived in order.
    pub delivered_bytes: u64,
    /// Payload bits delivered per second.
    pub goodput_bps: f64,
    /// Packets retransmitted.
    pub retransmissions: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Packets sent, those of the handshake too.
    pub packets: u64,
}

/// Runs the oracle over `scenario` with `size` bytes, or for the scenario's fixed duration.
///
/// `None` where there is no such thing: the link has no rate and so no bandwidth-delay product,
/// it repairs damage itself, others share it, or there are several in a row.
///
/// The reverse path is clean and adds its delay only. The queue has no limit, which a window of one
/// bandwidth-delay product does not need.
pub fn oracle(scenario: &Scenario, size: u64, seed: u64) -> Option<OracleOutcome> {
    if no_oracle(scenario).is_some() {
        return None;
    }
    let rate = scenario.links().first()?.0.rate?;
    let mut oracle = Oracle::new(scenario, rate, size, seed);
    oracle.run(Instant::ZERO + scenario.duration.unwrap_or(scenario.time_limit));
    Some(oracle.judge(seed, scenario.duration))
}

/// Why there is no oracle for `scenario`, if so.
pub(super) fn no_oracle(scenario: &Scenario) -> Option<&'static str> {
    let [(forward, reverse)] = scenario.links()[..] else {
        return Some("expected one hop: it is a sender over one link");
    };
    if forward.rate.is_none() {
        return Some("expected a link with a rate: without one there is no bandwidth-delay product");
    }
    if forward.rate_steps.is_some() || forward.rate_trace.is_some() {
        return Some("expected a link of one rate: its window is one bandwidth-delay product");
    }
    if forward.delay_steps.is_some() || reverse.delay_steps.is_some() {
        return Some("expected a link of one delay: its window is one bandwidth-delay product");
    }
    if forward.jitter_model.is_some() {
        return Some(
            "expected no jitter-distribution: it takes packets to arrive in the order in which they leave",
        );
    }
    if forward.policer.is_some() {
        return Some("expected a link without a policer, whose tokens it does not count");
    }
    if scenario.trunk.is_some() {
        return Some("expected no trunk: the oracle is a sender between two hosts");
    }
    if !scenario.companions.is_empty() || scenario.cross.is_some() {
        return Some("expected a link without other flows: it does not respond to congestion");
    }
    matches!(forward.frame_check, FrameCheck::Arq(_))
        .then_some("expected frame check keep or drop: with arq the link repairs damage itself")
}

/// A packet on the link.
#[derive(Clone)]
struct Parcel {
    /// How many were sent before it.
    transmission: u64,
    /// Damage flips bits in it; nothing reads them.
    bytes: Vec<u8>,
}

impl AsMut<[u8]> for Parcel {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl PacketBuffer for Parcel {
    fn set_len(&mut self, len: usize) {
        self.bytes.resize(len, 0);
    }
}

/// What a packet is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    Syn,
    Ack,
    Segment(u64),
}

/// A packet whose arrival or loss is not known to the sender yet.
struct Outstanding {
    load: Load,
    /// When it arrives at the latest; what has not arrived by then is lost.
    due: Instant,
    settled: bool,
}

struct Oracle {
    link: Link<Parcel>,
    rate: Rate,
    mtu: usize,
    /// Bytes in a full segment.
    mss: u64,
    size: u64,
    segments: u64,
    reverse_delay: Duration,
    /// Beyond the end of its transmission and the delay, a packet takes at most this long.
    slack: Duration,
    free_at: Instant,
    now: Instant,
    window: u64,
    product: u64,
    in_flight: u64,
    next: u64,
    again: VecDeque<u64>,
    /// In the order of sending; the first is transmission `settled`.
    outstanding: VecDeque<Outstanding>,
    settled: u64,
    /// What the sender is going to be notified of: when, of what, and whether it arrived.
    reports: VecDeque<(Instant, Load, bool)>,
    /// Segments from `in_order` on, by whether they have arrived.
    arrived: VecDeque<bool>,
    in_order: u64,
    completed: Option<Instant>,
    spare: Vec<Vec<u8>>,
    retransmissions: u64,
    bytes_sent: u64,
    packets: u64,
}

impl Oracle {
    fn new(scenario: &Scenario, rate: Rate, size: u64, seed: u64) -> Self {
        let (forward, reverse) = scenario.links()[0];
        let mtu = usize::from(scenario.mtu);
        let mss = (mtu - IP_HEADER) as u64 - u64::from(TCP_HEADER);
        let config = LinkConfig {
            queue: QueueLimit::Unlimited,
            aqm: Aqm::None,
            // A damaged frame is reported when it would have arrived, whoever would have dropped it.
            frame_check: FrameCheck::Keep,
            ..forward.clone()
        };
        let one = rate.transmit_time(mtu as u64 + u64::from(config.overhead));
        let round_trip = config.delay + reverse.delay + one;
        let held_back = if config.reorder.is_zero() { Duration::ZERO } else { config.reorder_delay };
        Self {
            rate,
            mtu,
            mss,
            size,
            segments: size.div_ceil(mss),
            reverse_delay: reverse.delay,
            slack: config.jitter + held_back,
            link: Link::new(config, derive_seed(seed, FORWARD_LINK, 0)),
            free_at: Instant::ZERO,
            now: Instant::ZERO,
            window: INITIAL_WINDOW,
            product: round_trip.as_nanos().div_ceil(one.as_nanos().max(1)),
            in_flight: 0,
            next: 0,
            again: VecDeque::new(),
            outstanding: VecDeque::new(),
            settled: 0,
            reports: VecDeque::new(),
            arrived: VecDeque::new(),
            in_order: 0,
            completed: None,
            spare: Vec::new(),
            retransmissions: 0,
            bytes_sent: 0,
            packets: 0,
        }
    }

    fn run(&mut self, end: Instant) {
        self.send(Load::Syn);
        while self.completed.is_none() {
            let arrival = self.link.next_event();
            let report = self.reports.front().map(|(at, ..)| *at);
            let due = self.outstanding.front().map(|packet| packet.due);
            let Some(at) = [arrival, report, due].into_iter().flatten().min().filter(|at| *at <= end) else {
                break;
            };
            self.now = at;
            self.take_arrivals();
            self.take_reports();
        }
        if self.completed.is_none() {
            self.now = end;
        }
    }

    fn take_arrivals(&mut self) {
        while let Some(delivery) = self.link.poll(self.now) {
            let Parcel { transmission, bytes } = delivery.packet;
            self.spare.push(bytes);
            // A duplicate arrives behind the packet itself, which may have been forgotten by then.
            let Some(place) = transmission.checked_sub(self.settled) else { continue };
            if !std::mem::replace(&mut self.outstanding[place as usize].settled, true) {
                self.complete(self.outstanding[place as usize].load, delivery.damage.is_none());
            }
        }
        while let Some(first) = self.outstanding.front() {
            if !first.settled {
                if first.due > self.now {
                    break;
                }
                self.complete(first.load, false);
            }
            self.outstanding.pop_front();
            self.settled += 1;
        }
    }

    /// Whether a packet arrived is known at the time when it was to arrive.
    fn complete(&mut self, load: Load, whole: bool) {
        self.reports.push_back((self.now + self.reverse_delay, load, whole));
        let Load::Segment(number) = load else { return };
        if !whole {
            return;
        }
        self.arrived[(number - self.in_order) as usize] = true;
        while self.arrived.front() == Some(&true) {
            self.arrived.pop_front();
            self.in_order += 1;
        }
        if self.in_order == self.segments {
            self.completed = Some(self.now);
        }
    }

    fn take_reports(&mut self) {
        while let Some(&(at, load, whole)) = self.reports.front() {
            if at > self.now {
                return;
            }
            self.reports.pop_front();
            match (load, whole) {
                (Load::Syn, true) => self.send(Load::Ack),
                (Load::Syn, false) => self.send(Load::Syn),
                (Load::Ack, _) => continue,
                (Load::Segment(number), whole) => {
                    self.in_flight -= 1;
                    self.window = self.window.max((self.window + 1).min(self.product));
                    if !whole {
                        self.again.push_back(number);
                    }
                }
            }
            if load == Load::Syn && !whole {
                continue;
            }
            self.fill_window();
        }
    }

    fn fill_window(&mut self) {
        while self.in_flight < self.window {
            let number = match self.again.pop_front() {
                Some(number) => {
                    self.retransmissions += 1;
                    number
                }
                None if self.next < self.segments => {
                    self.arrived.push_back(false);
                    self.next += 1;
                    self.next - 1
                }
                None => return,
            };
            self.in_flight += 1;
            self.send(Load::Segment(number));
        }
    }

    fn send(&mut self, load: Load) {
        let headers = IP_HEADER + TCP_HEADER as usize;
        let (len, header_len) = match load {
            Load::Syn => (SYN, SYN),
            Load::Ack => (headers, headers),
            Load::Segment(number) => {
                let payload = self.mss.min(self.size - number * self.mss);
                self.bytes_sent += payload;
                (headers + payload as usize, headers)
            }
        };
        let bytes = self.spare.pop().unwrap_or_else(|| vec![0; self.mtu]);
        let parcel = Parcel { transmission: self.packets, bytes };
        let places = Headers { ip_header_len: IP_HEADER, header_len };
        match self.link.enqueue(self.now, parcel, len, places, true) {
            EnqueueResult::Queued => {}
            EnqueueResult::Dropped(_) => unreachable!("the oracle's queue has no limit"),
        }
        let takes = self.rate.transmit_time(len as u64 + u64::from(self.link.config().overhead));
        self.free_at = self.free_at.max(self.now) + takes;
        let due = self.free_at + self.link.config().delay + self.slack;
        self.outstanding.push_back(Outstanding { load, due, settled: false });
        self.packets += 1;
    }

    fn judge(&self, seed: u64, duration: Option<Duration>) -> OracleOutcome {
        let time = self.now.saturating_since(Instant::ZERO);
        let delivered = (self.in_order * self.mss).min(self.size);
        OracleOutcome {
            seed,
            finished: self.completed.is_some() || duration.is_some(),
            time,
            delivered_bytes: delivered,
            goodput_bps: if time.is_zero() { 0.0 } else { delivered as f64 * 8.0 / time.as_secs_f64() },
            retransmissions: self.retransmissions,
            bytes_sent: self.bytes_sent,
            packets: self.packets,
        }
    }
}
