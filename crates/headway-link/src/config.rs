//! What one direction of a link is like.

use crate::{
    Aqm, Damage, DelaySteps, DeliveryTrace, FrameCheck, HitZone, JitterModel, Loss, Mutes, Policer,
    QueueLimit, RateSteps,
};
use headway_units::{Duration, Rate, Share};

/// One direction of a link. The default carries everything at once, in order and undamaged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// How fast bytes leave the queue; `None` is infinitely fast. Counts the bytes of the packet and
    /// [`overhead`](Self::overhead).
    pub rate: Option<Rate>,
    /// A rate that changes, in place of [`rate`](Self::rate).
    pub rate_steps: Option<RateSteps>,
    /// When the link can deliver, in place of [`rate`](Self::rate) and [`rate_steps`](Self::rate_steps).
    pub rate_trace: Option<DeliveryTrace>,
    /// One-way propagation delay: from the end of the transmission to the arrival.
    pub delay: Duration,
    /// A delay that changes, in place of [`delay`](Self::delay).
    pub delay_steps: Option<DelaySteps>,
    /// What drops packets that come faster than a rate, in front of the queue; `None`: nothing does.
    pub policer: Option<Policer>,
    /// How much the queue in front of the transmitter holds.
    pub queue: QueueLimit,
    /// What else manages the queue; a link of this crate's own queue only ([`Link::new`](crate::Link::new)).
    pub aqm: Aqm,
    /// A packet that finds the queue fuller than this is marked "congestion experienced" if its sender knows
    /// ECN (RFC 3168), and waits like any other; `None`: no packet is. Of a queue without [`aqm`](Self::aqm).
    pub mark: Option<QueueLimit>,
    /// Layer-2 bytes a packet, counted by the rate. They are never damaged.
    pub overhead: u32,
    /// Without [`jitter_model`](Self::jitter_model) up to this much is added to the delay of each packet, uniformly.
    /// Packets keep their order: one that would overtake arrives together with the one before it.
    pub jitter: Duration,
    /// How the delay varies by [`jitter`](Self::jitter), in place of that.
    pub jitter_model: Option<JitterModel>,
    /// Share of the packets that arrive twice. The copy is made behind the transmitter: it takes no
    /// transmission time, carries the same damage and arrives right behind the original.
    pub duplicate: Share,
    /// Reordering rate: share of the packets that are held back by [`reorder_delay`](Self::reorder_delay), so that
    /// later ones overtake them.
    pub reorder: Share,
    /// How long a packet picked by [`reorder`](Self::reorder) is held back.
    pub reorder_delay: Duration,
    /// Which packets are lost, after taking their transmission time.
    pub loss: Loss,
    /// When nothing gets through.
    pub mute: Mutes,
    /// Which packets are damaged.
    pub damage: Damage,
    /// How often damage falls into the header; `None` leaves it to the place of the bits, uniform
    /// from the start of the [`hit_zone`](Self::hit_zone) to the end of the packet.
    ///
    /// With one flipped bit it is in the header with this probability, otherwise in the data. With
    /// several, data is always hit, and with this probability the header too: then at least one bit
    /// falls into the header, at least one into the data, and the others anywhere in both. A packet
    /// without payload that is hit is hit in its header. A [trace](crate::Trace) may say itself.
    pub header_hit: Option<Share>,
    /// Which headers damage may fall into.
    pub hit_zone: HitZone,
    /// Bits flipped in a damaged packet (at least 1, at most the bits there are); `None` is the
    /// default of the model, [`Damage::default_flips`]. Models that count in bits, and
    /// traces, say themselves which bits are wrong or how many, and ignore it.
    pub flips: Option<u32>,
    /// What the link does with a damaged frame.
    pub frame_check: FrameCheck,
}

impl LinkConfig {
    /// The rate, or one rate in place of one that changes: [`RateSteps::nominal`], [`DeliveryTrace::nominal`].
    pub fn nominal_rate(&self) -> Option<Rate> {
        let trace = self.rate_trace.as_ref().map(DeliveryTrace::nominal);
        trace.or_else(|| self.rate_steps.as_ref().map(RateSteps::nominal)).or(self.rate)
    }

    /// The delay, or the first of one that changes.
    pub fn nominal_delay(&self) -> Duration {
        self.delay_steps.as_ref().map_or(self.delay, DelaySteps::first)
    }

    /// The delay as it is written, or the steps of one that changes.
    pub fn delay_text(&self) -> String {
        self.delay_steps.as_ref().map_or_else(|| self.delay.to_string(), DelaySteps::to_string)
    }
}

/// Where the headers of a packet end, in bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Length of the IP header: where the TCP header starts.
    pub ip_header_len: usize,
    /// Length of the IP and TCP headers, options included: where the payload starts.
    pub header_len: usize,
}
