//! One direction of a link.

use crate::{
    FrameCheck, Headers, Hit, LinkConfig, LinkCounters,
    air::{Air, Flight},
    arq::{Arq, Ticket},
    injector::{Effect, Injector, Outcome},
    mark::mark,
    random::{Chance, Stream, Streams},
};
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

/// One direction of a link: a drop-tail queue, a transmitter and the way to the receiver.
///
/// `P` is a packet, or a buffer that holds one at its start. It is cloned for duplicates only.
///
/// Time must not run backwards from call to call.
#[derive(Clone, Debug)]
pub struct Link<P> {
    config: LinkConfig,
    waiting: VecDeque<Frame<P>>,
    waiting_bytes: u64,
    /// When the transmitter has done with all that it has begun.
    free_at: Instant,
    /// The length that was transmitted last, and how long that took: most are alike.
    last_time: (usize, Duration),
    injector: Injector,
    loss: (Chance, Stream),
    jitter: Stream,
    duplicate: (Chance, Stream),
    reorder: (Chance, Stream),
    arq: Option<Arq<Frame<P>, Frame<P>>>,
    air: Air<P>,
    air_duplicates: usize,
    /// The latest arrival of a packet that was not held back: none arrives before it.
    last_arrival: Instant,
    counters: LinkCounters,
}

/// A packet on its way to the transmitter, or through a link ARQ.
#[derive(Clone, Debug)]
struct Frame<P> {
    packet: P,
    len: usize,
    headers: Headers,
    exposed: bool,
}

/// What became of a packet that was offered to a link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Offer<P> {
    /// The link has it.
    Queued,
    /// The queue is full; here it is back.
    QueueFull(P),
}

/// A packet that arrives at the far end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery<P> {
    /// The packet, with its damage.
    pub packet: P,
    /// When its last bit arrived.
    pub at: Instant,
    /// How many bytes of the buffer are the packet: the `wire_len` it was offered with.
    pub len: usize,
    /// What damage was done to it. For observers: a receiver finds out by its checksums.
    pub damage: Option<Hit>,
    /// Whether this is the copy that the link made of a packet.
    pub duplicate: bool,
}

impl<P: AsMut<[u8]> + Clone> Link<P> {
    /// A link that has carried nothing yet. All its chance comes from `seed`.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        let streams = Streams::new(seed);
        let reorder = Chance::new(config.reorder);
        Self {
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            free_at: Instant::ZERO,
            last_time: (0, transmit_time(&config, 0)),
            injector: Injector::new(&config, streams.hit, streams.place),
            loss: (Chance::new(config.loss), streams.loss),
            jitter: streams.jitter,
            duplicate: (Chance::new(config.duplicate), streams.duplicate),
            reorder: (reorder, streams.reorder),
            arq: match config.frame_check {
                FrameCheck::Arq(max_resends) => Some(Arq::new(max_resends)),
                FrameCheck::Keep | FrameCheck::Drop => None,
            },
            air: Air::new(!reorder.is_never()),
            air_duplicates: 0,
            last_arrival: Instant::ZERO,
            counters: LinkCounters::default(),
            config,
        }
    }

    /// A link of another configuration that takes the place of `earlier`, which carries what it has to
    /// its end and is offered nothing more.
    ///
    /// Its transmitter is busy until that of `earlier` has done with all that waits, and no packet arrives
    /// before those that `earlier` had: both are one link to whoever sends through it. Not waited for are
    /// packets that `earlier` holds back so that others overtake them, and resends of its link ARQ. What
    /// waits in `earlier` takes no room in the queue of the new link.
    pub fn succeeding(config: LinkConfig, seed: u64, earlier: &Self) -> Self {
        let mut link = Self::new(config, seed);
        let transmit = |frame: &Frame<P>| transmit_time(&earlier.config, frame.len);
        link.free_at = earlier.waiting.iter().map(transmit).fold(earlier.free_at, |at, time| at + time);
        link.last_arrival = if earlier.waiting.is_empty() {
            earlier.last_arrival
        } else {
            earlier.last_arrival.max(link.free_at + earlier.config.delay + earlier.config.jitter)
        };
        link
    }

    /// Offers a packet: the first `wire_len` bytes of `packet`, whose headers end where `headers` says.
    ///
    /// One that is not `exposed` is never damaged, and the damage model takes no notice of it.
    ///
    /// Afterwards [`next_event`](Self::next_event) may be earlier or later than before.
    #[inline]
    pub fn offer(
        &mut self,
        now: Instant,
        packet: P,
        wire_len: usize,
        headers: Headers,
        exposed: bool,
    ) -> Offer<P> {
        self.advance(now);
        self.counters.offered += 1;
        self.counters.offered_bytes += wire_len as u64;
        let mut frame = Frame { packet, len: wire_len, headers, exposed };
        if self.free_at <= now {
            // All that waited has begun by now, or the transmitter would be busy.
            debug_assert!(self.waiting.is_empty());
            self.transmit(frame, None, now);
            return Offer::Queued;
        }
        if !self.config.queue.admits(self.waiting.len(), self.waiting_bytes, wire_len) {
            self.counters.queue_drops += 1;
            return Offer::QueueFull(frame.packet);
        }
        if let Some(limit) = self.config.mark
            && !limit.admits(self.waiting.len(), self.waiting_bytes, wire_len)
            && mark(&mut frame.packet.as_mut()[..wire_len])
        {
            self.counters.marked += 1;
        }
        self.waiting.push_back(frame);
        self.waiting_bytes += wire_len as u64;
        self.counters.queue_entered += 1;
        self.counters.max_queue_packets = self.counters.max_queue_packets.max(self.waiting.len() as u64);
        self.counters.max_queue_bytes = self.counters.max_queue_bytes.max(self.waiting_bytes);
        Offer::Queued
    }

    /// When to call [`poll`](Self::poll) next: no packet arrives earlier. `None` while the link is empty.
    ///
    /// A poll at that time may find nothing, where packets are lost or dropped on the way; then the
    /// answer is a later time. It changes by calls of [`offer`](Self::offer) and `poll` only.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        let arrival = self.air.next_arrival();
        if arrival.is_some() && !self.air.may_reorder() {
            // What is transmitted later arrives later.
            return arrival;
        }
        let later = self.next_start().map(|(start, _)| start + self.config.delay);
        match (arrival, later) {
            (Some(arrival), Some(later)) => Some(arrival.min(later)),
            (arrival, later) => arrival.or(later),
        }
    }

    /// The next packet that has arrived by `now`, in order of arrival. Call until `None`.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Delivery<P>> {
        self.advance(now);
        let Flight { at, packet, len, damage, duplicate } = self.air.pop(now)?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += len as u64;
        self.counters.delivered_damaged += u64::from(damage.is_some());
        if duplicate {
            self.counters.duplicated += 1;
            self.air_duplicates -= 1;
        }
        Some(Delivery { packet, at, len, damage, duplicate })
    }

    /// The configuration, as it was given.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// What the link has done so far.
    #[inline]
    pub fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// Packets in the queue at the time of the last call of [`offer`](Self::offer) or
    /// [`poll`](Self::poll), without the one being transmitted.
    #[inline]
    pub fn queue_len(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of the packets in the queue, as [`queue_len`](Self::queue_len).
    #[inline]
    pub fn queue_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Packets taken and neither delivered nor dropped nor lost: in the queue, in a link ARQ or on the
    /// way. Duplicates are not counted.
    pub fn in_link(&self) -> usize {
        let in_arq = self.arq.as_ref().map_or(0, Arq::len);
        self.waiting.len() + in_arq + self.air.len() - self.air_duplicates
    }

    /// Begins every transmission that is due by `now`.
    #[inline]
    fn advance(&mut self, now: Instant) {
        while let Some((start, source)) = self.next_start() {
            if start > now {
                return;
            }
            match source {
                Source::Queue => {
                    let Some(frame) = self.waiting.pop_front() else { return };
                    self.waiting_bytes -= frame.len as u64;
                    self.counters.queue_left += 1;
                    self.transmit(frame, None, start);
                }
                Source::Resend => {
                    let Some((ticket, frame)) = self.arq.as_mut().and_then(Arq::pop_resend) else { return };
                    self.counters.arq_resends += 1;
                    self.transmit(frame, Some(ticket), start);
                }
            }
        }
    }

    /// When the next transmission begins, and of what.
    #[inline]
    fn next_start(&self) -> Option<(Instant, Source)> {
        let resend = self.arq.as_ref().and_then(Arq::next_resend).map(|ready| ready.max(self.free_at));
        match resend {
            // A frame to resend stands at the head of the queue.
            Some(start) if self.waiting.is_empty() || start <= self.free_at => Some((start, Source::Resend)),
            // Packets wait only while the transmitter is busy.
            _ if !self.waiting.is_empty() => Some((self.free_at, Source::Queue)),
            _ => None,
        }
    }

    /// Transmits a frame from `start` on and decides what becomes of it. `ticket` is there if a link ARQ
    /// resends it.
    #[inline]
    fn transmit(&mut self, mut frame: Frame<P>, ticket: Option<Ticket>, start: Instant) {
        if frame.len != self.last_time.0 {
            self.last_time = (frame.len, transmit_time(&self.config, frame.len));
        }
        let end = start + self.last_time.1;
        self.free_at = end;
        self.counters.transmissions += 1;
        self.counters.transmitted_bytes += frame.len as u64 + u64::from(self.config.overhead);

        if self.arq.is_some() {
            return self.transmit_arq(frame, ticket, start, end);
        }
        // A packet that is lost moves the damage model on like any other: which ones are hit does not
        // depend on the loss.
        let outcome = self.damage(&mut frame, start, Effect::Flip);
        if self.is_lost(outcome) {
            return;
        }
        let damage = self.count_hit(outcome);
        if damage.is_some() && self.config.frame_check == FrameCheck::Drop {
            self.counters.frame_check_drops += 1;
            return;
        }
        let at = self.arrival(end);
        self.send(frame, at, damage);
    }

    /// The part of [`transmit`](Self::transmit) that is special to a link ARQ.
    fn transmit_arq(&mut self, mut frame: Frame<P>, ticket: Option<Ticket>, start: Instant, end: Instant) {
        // The receiving end drops a damaged copy; the frame here is the sending end's own.
        let outcome = self.damage(&mut frame, start, Effect::Spare);
        if ticket.is_none() && self.is_lost(outcome) {
            return;
        }
        self.count_hit(outcome);
        let at = self.arrival(end);
        let Some(arq) = &mut self.arq else { return };
        let ticket = ticket.unwrap_or_else(|| arq.number());
        if outcome == Outcome::Intact {
            arq.arrived(ticket, at, frame);
        } else if !arq.damaged(ticket, at, end + self.config.delay * 2, frame) {
            self.counters.frame_check_drops += 1;
        }
        while let Some((at, frame)) = self.arq.as_mut().and_then(Arq::pop_released) {
            self.send(frame, at, None);
        }
    }

    #[inline]
    fn damage(&mut self, frame: &mut Frame<P>, start: Instant, effect: Effect) -> Outcome {
        if !frame.exposed {
            return Outcome::Intact;
        }
        self.injector.pass(&mut frame.packet, frame.len, frame.headers, start, effect)
    }

    #[inline]
    fn is_lost(&mut self, outcome: Outcome) -> bool {
        let lost = self.loss.0.happens(&mut self.loss.1) || outcome == Outcome::Lost;
        self.counters.lost += u64::from(lost);
        lost
    }

    #[inline]
    fn count_hit(&mut self, outcome: Outcome) -> Option<Hit> {
        let Outcome::Hit(hit) = outcome else { return None };
        self.counters.hit += 1;
        self.counters.hit_in_header += u64::from(hit.header);
        self.counters.flipped_bits += u64::from(hit.flips);
        Some(hit)
    }

    /// When a frame whose transmission ends at `end` arrives.
    #[inline]
    fn arrival(&mut self, end: Instant) -> Instant {
        let at = end + self.config.delay;
        if self.config.jitter.is_zero() {
            return at;
        }
        at + Duration::from_nanos(self.jitter.below(self.config.jitter.as_nanos().saturating_add(1)))
    }

    /// Sends a frame on its way, to arrive at `at` or later.
    #[inline]
    fn send(&mut self, frame: Frame<P>, at: Instant, damage: Option<Hit>) {
        let mut at = at.max(self.last_arrival);
        self.last_arrival = at;
        if self.reorder.0.happens(&mut self.reorder.1) {
            at += self.config.reorder_delay;
            self.counters.reordered += 1;
        }
        let Frame { packet, len, .. } = frame;
        if self.duplicate.0.happens(&mut self.duplicate.1) {
            let copy = packet.clone();
            self.air.push(Flight { at, packet, len, damage, duplicate: false });
            self.air.push(Flight { at, packet: copy, len, damage, duplicate: true });
            self.air_duplicates += 1;
        } else {
            self.air.push(Flight { at, packet, len, damage, duplicate: false });
        }
    }
}

/// Where the next frame to transmit comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Queue,
    Resend,
}

fn transmit_time(config: &LinkConfig, len: usize) -> Duration {
    let bytes = len as u64 + u64::from(config.overhead);
    config.rate.map_or(Duration::ZERO, |rate| rate.transmit_time(bytes))
}
