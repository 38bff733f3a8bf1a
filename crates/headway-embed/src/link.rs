//! One direction of a link, step by step.

use headway_link::{EnqueueResult, Headers, Link, LinkCounters};
use headway_sim::derive_seed;
use headway_units::Instant;

use crate::host::Clock;
use crate::{Error, Keys, settings};

/// The longest IP packet.
const MAX_PACKET: usize = 65_535;

/// One direction of a link: a queue, a rate, a delay, damage to real bytes.
///
/// Packets go in with [`EmbeddedLink::push`]; they come out with [`EmbeddedLink::pop`], from the time of
/// [`EmbeddedLink::next_event`] on.
pub struct EmbeddedLink {
    link: Link<Vec<u8>>,
    clock: Clock,
    /// It has arrived, and had no room in the buffer that was offered.
    waiting: Option<Arrival>,
}

/// A packet that arrives at the far end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its bytes, with their damage.
    pub packet: Vec<u8>,
    /// When its last bit arrived, in nanoseconds.
    pub at: u64,
    /// How many of its bits the link has flipped. For observers: a host finds out by its checksums.
    pub flipped_bits: u32,
    /// Whether this is the copy that the link made of a packet.
    pub is_duplicate: bool,
}

impl EmbeddedLink {
    /// A link that has carried nothing yet. Its randomness comes from `seed` and `name`: links of one network have
    /// different names. Keys that are not given have the values that they have in experiment files: 10 Mbit/s, a
    /// one-way delay of 300 ms, a queue of 100 packets, no damage.
    ///
    /// # Errors
    ///
    /// A key is unknown or has a value that makes no sense.
    pub fn new(keys: &Keys, name: &str, seed: u64) -> Result<Self, Error> {
        let link = Link::new(settings::link(keys)?, derive_seed(seed, name, 0));
        Ok(Self {
            link: link.with_classifier(headway_wire::flow_hash),
            clock: Clock::default(),
            waiting: None,
        })
    }

    /// Gives the link an IP packet. False if it is dropped in front of the transmitter.
    ///
    /// # Errors
    ///
    /// Time runs backwards, or the packet has no possible length.
    pub fn push(&mut self, now: u64, packet: &[u8]) -> Result<bool, Error> {
        if !(1..=MAX_PACKET).contains(&packet.len()) {
            return Err(Error::PacketLength(packet.len()));
        }
        let now = self.clock.advance(now)?;
        let headers = headway_wire::layout(packet).map_or(
            Headers { ip_header_len: 0, header_len: packet.len() },
            |layout| Headers { ip_header_len: layout.ip_header_len, header_len: layout.header_len },
        );
        let result = self.link.enqueue(now, packet.to_vec(), packet.len(), headers, true);
        Ok(matches!(result, EnqueueResult::Queued))
    }

    /// When to pop next, in nanoseconds; `None` while the link is empty. It changes by [`EmbeddedLink::push`] and
    /// [`EmbeddedLink::pop`] only. There may be nothing at that time, where packets are lost on the way; then
    /// the answer is a later one.
    pub fn next_event(&self) -> Option<u64> {
        match &self.waiting {
            Some(arrival) => Some(arrival.at),
            None => self.link.next_event().map(Instant::as_nanos),
        }
    }

    /// The next packet that has arrived by `now`, in order of arrival. To be called until `None`.
    ///
    /// # Errors
    ///
    /// Time runs backwards.
    pub fn pop(&mut self, now: u64) -> Result<Option<Arrival>, Error> {
        self.pop_at_most(now, usize::MAX)
    }

    /// As [`EmbeddedLink::pop`], if the packet has at most `room` bytes.
    ///
    /// # Errors
    ///
    /// Time runs backwards, or the packet is longer: it waits for a call with more room.
    pub fn pop_at_most(&mut self, now: u64, room: usize) -> Result<Option<Arrival>, Error> {
        let now = self.clock.advance(now)?;
        let Some(arrival) = self.waiting.take().or_else(|| self.arrive(now)) else { return Ok(None) };
        let needed = arrival.packet.len();
        if needed > room {
            self.waiting = Some(arrival);
            return Err(Error::ShortBuffer { given: room, needed });
        }
        Ok(Some(arrival))
    }

    fn arrive(&mut self, now: Instant) -> Option<Arrival> {
        let delivery = self.link.poll(now)?;
        Some(Arrival {
            packet: delivery.packet,
            at: delivery.at.as_nanos(),
            flipped_bits: delivery.damage.map_or(0, |hit| hit.flips),
            is_duplicate: delivery.duplicate,
        })
    }

    /// What the link has done so far.
    pub fn counters(&self) -> LinkCounters {
        *self.link.counters()
    }

    /// Packets in the queue at the time of the last push or pop.
    pub fn queue_len(&self) -> usize {
        self.link.queue_len()
    }
}
