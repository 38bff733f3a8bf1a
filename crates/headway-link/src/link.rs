//! One direction of a link.

use crate::{
    EnqueueResult, Frame, FrameCheck, Headers, Histogram, Hit, LinkConfig, LinkCounters, ManagedQueue,
    PacketBuffer, QueueDiscipline,
    damage::{Effect, Outcome},
    delay::{PacketInFlight, Propagation},
    impairments::{Arq, Impairments, OpenFrame, Ticket},
    random::Streams,
    rate::{Serializer, TokenBucket},
};
use headway_units::Instant;

/// One direction of a link, in stages: a policer, a queue, a transmitter, what goes wrong while it transmits, and the
/// way to the receiver.
///
/// `P` is a packet, or a buffer that holds one at its start. It is cloned for duplicates, and for the other part of a frame that is
/// split, only. `Q` is the queue discipline.
///
/// Time must not run backwards from call to call.
#[derive(Clone, Debug)]
pub struct Link<P, Q = ManagedQueue<P>> {
    config: LinkConfig,
    policer: Option<TokenBucket>,
    classifier: Option<Classifier>,
    queue: Q,
    serializer: Serializer,
    impairments: Impairments,
    arq: Option<Arq<Frame<P>, Frame<P>>>,
    /// The frame that was transmitted last, if its end is missing.
    open: Option<OpenFrame<P>>,
    propagation: Propagation<P>,
    /// All that happens to an intact frame is the same delay: on most links.
    only_delays: bool,
    counters: LinkCounters,
    waits: Histogram,
}

/// Says which flow a packet is of, by its bytes: whoever owns the packets knows what they are.
pub type Classifier = fn(&[u8]) -> u64;

/// A packet that arrives at the far end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery<P> {
    /// The packet, with its damage.
    pub packet: P,
    /// When its last bit arrived.
    pub at: Instant,
    /// How many bytes of the buffer are the packet: the `wire_len` it was enqueued with, unless damage changed it.
    pub len: usize,
    /// What damage was done to it. For observers: a receiver finds out by its checksums.
    pub damage: Option<Hit>,
    /// Whether this is the copy that the link made of a packet.
    pub duplicate: bool,
}

impl<P: PacketBuffer> Link<P> {
    /// A link that has carried nothing yet, with the queue that [`LinkConfig::aqm`] names. All its randomness
    /// comes from `seed`.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        let queue = ManagedQueue::new(&config, seed);
        Self::with_queue(config, queue, seed)
    }

    /// A link of another configuration that takes the place of `earlier`, which carries what it has to
    /// its end and is given nothing more.
    ///
    /// Its transmitter is busy until that of `earlier` has transmitted everything that waits, and no packet
    /// arrives before those that `earlier` had: both are one link to whoever sends through it. Not waited
    /// for are packets that `earlier` holds back so that others overtake them, and retransmissions of its
    /// link ARQ. What waits in `earlier` takes no room in the queue of the new link.
    pub fn succeeding(config: LinkConfig, seed: u64, earlier: &Self) -> Self {
        let mut link = Self { classifier: earlier.classifier, ..Self::new(config, seed) };
        let free_at = earlier.serializer.free_after(earlier.queue.lengths());
        let is_waiting = !earlier.queue.is_empty() || earlier.open.is_some();
        let ends = is_waiting.then_some((earlier.serializer.free_at(), free_at));
        link.serializer.occupy_until(free_at);
        link.propagation.hold_until(earlier.propagation.latest_arrival(ends));
        link
    }
}

impl<P: PacketBuffer, Q: QueueDiscipline<P>> Link<P, Q> {
    /// A link that has carried nothing yet, with this queue.
    pub fn with_queue(config: LinkConfig, queue: Q, seed: u64) -> Self {
        let streams = Streams::new(seed);
        Self {
            policer: config.policer.map(TokenBucket::new),
            classifier: None,
            queue,
            serializer: Serializer::new(&config),
            impairments: Impairments::new(&config, &streams),
            arq: match config.frame_check {
                FrameCheck::Arq(max_retransmissions) => Some(Arq::new(max_retransmissions)),
                FrameCheck::Keep | FrameCheck::Drop => None,
            },
            open: None,
            propagation: Propagation::new(&config, &streams),
            only_delays: config.mute.is_empty()
                && config.loss.is_zero()
                && config.duplicate.is_zero()
                && config.reorder.is_zero()
                && config.jitter.is_zero()
                && config.delay_steps.is_none(),
            counters: LinkCounters::default(),
            waits: Histogram::default(),
            config,
        }
    }

    /// The same link, which tells flows apart by `classifier` where its queue has to
    /// ([`Aqm::separates_flows`](crate::Aqm::separates_flows)). Without one all packets are of one flow.
    #[must_use]
    pub fn with_classifier(self, classifier: Classifier) -> Self {
        Self { classifier: Some(classifier), ..self }
    }

    /// Gives the link a packet: the first `wire_len` bytes of `packet`, whose headers end where `headers`
    /// says.
    ///
    /// One that is not `exposed` is never damaged, and the damage model ignores it.
    ///
    /// Afterwards [`next_event`](Self::next_event) may be earlier or later than before.
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Instant,
        packet: P,
        wire_len: usize,
        headers: Headers,
        exposed: bool,
    ) -> EnqueueResult<P> {
        self.advance(now);
        self.counters.offered += 1;
        self.counters.offered_bytes += wire_len as u64;
        if let Some(policer) = &mut self.policer
            && !policer.admits(now, self.serializer.frame_bytes(wire_len))
        {
            self.counters.queue_drops += 1;
            self.counters.policed += 1;
            return EnqueueResult::Dropped(packet);
        }
        let mut frame = Frame { packet, len: wire_len, headers, exposed, flow: 0, enqueued: now };
        if self.config.aqm.separates_flows()
            && let Some(classifier) = self.classifier
        {
            frame.flow = classifier(frame.bytes_mut());
        }
        let idle_since = self.serializer.free_at();
        if idle_since <= now {
            // All that waited has begun by now, or the transmitter would be busy.
            debug_assert!(self.queue.is_empty());
            if !self.queue.passes_idle(now, idle_since, &mut frame, &mut self.counters) {
                self.counters.queue_drops += 1;
                return EnqueueResult::Dropped(frame.packet);
            }
            self.transmit(frame, now);
            return EnqueueResult::Queued;
        }
        let result = self.queue.enqueue(now, frame, &mut self.counters);
        match result {
            EnqueueResult::Dropped(_) => self.counters.queue_drops += 1,
            EnqueueResult::Queued => {
                let counters = &mut self.counters;
                counters.queue_entered += 1;
                counters.max_queue_packets = counters.max_queue_packets.max(self.queue.len() as u64);
                counters.max_queue_bytes = counters.max_queue_bytes.max(self.queue.bytes());
            }
        }
        result
    }

    /// When to call [`poll`](Self::poll) next: no packet arrives earlier. `None` while the link is empty.
    ///
    /// A poll at that time may find nothing, where packets are lost or dropped on the way; then the
    /// answer is a later time. It changes by calls of [`enqueue`](Self::enqueue) and `poll` only.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        let arrival = self.propagation.next_arrival();
        if arrival.is_some() && !self.propagation.may_reorder() {
            // What is transmitted later arrives later.
            return arrival;
        }
        self.next_of(arrival)
    }

    /// The earlier of `arrival` and the first time at which what is transmitted next may arrive.
    #[inline(never)]
    fn next_of(&self, arrival: Option<Instant>) -> Option<Instant> {
        let open = self.open.as_ref().map(|open| open.end);
        let start = self.next_start().map(|(start, _)| start).or(open);
        let later = start.map(|start| start + self.propagation.least_delay());
        match (arrival, later) {
            (Some(arrival), Some(later)) => Some(arrival.min(later)),
            (arrival, later) => arrival.or(later),
        }
    }

    /// The next packet that has arrived by `now`, in order of arrival. Call until `None`.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Delivery<P>> {
        self.advance(now);
        let PacketInFlight { at, packet, len, damage, duplicate } = self.propagation.receive(now)?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += len as u64;
        self.counters.delivered_damaged += u64::from(damage.is_some());
        self.counters.duplicated += u64::from(duplicate);
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

    /// How long packets were in the queue and the transmitter.
    pub fn waits(&self) -> &Histogram {
        &self.waits
    }

    /// Packets in the queue at the time of the last call of [`enqueue`](Self::enqueue) or
    /// [`poll`](Self::poll), without the one being transmitted.
    #[inline]
    pub fn queue_len(&self) -> usize {
        self.queue.len()
    }

    /// Bytes of the packets in the queue, as [`queue_len`](Self::queue_len).
    #[inline]
    pub fn queue_bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Packets taken and neither delivered nor dropped nor lost: in the queue, in a link ARQ or on the
    /// way. Duplicates are not counted.
    pub fn in_link(&self) -> usize {
        let in_arq = self.arq.as_ref().map_or(0, Arq::len);
        let is_held = self.open.as_ref().is_some_and(|open| open.held.is_some());
        self.queue.len() + in_arq + usize::from(is_held) + self.propagation.originals()
    }

    /// Begins every transmission that is due by `now`.
    #[inline]
    fn advance(&mut self, now: Instant) {
        // Nothing begins while the transmitter is busy.
        let may_go_on = !self.queue.is_empty() || self.arq.is_some() || self.open.is_some();
        if self.serializer.free_at() <= now && may_go_on {
            self.begin_due(now);
        }
    }

    /// As [`advance`](Self::advance), where something may wait.
    #[inline(never)]
    fn begin_due(&mut self, now: Instant) {
        while self.serializer.free_at() <= now {
            let Some((start, source)) = self.next_start().filter(|&(start, _)| start <= now) else {
                // Nothing follows without a gap.
                return self.close();
            };
            match source {
                Source::Queue => {
                    // The queue may have dropped all that waited.
                    let Some(frame) = self.queue.dequeue(start, &mut self.counters) else { continue };
                    self.counters.queue_left += 1;
                    self.transmit(frame, start);
                }
                Source::Arq => self.retransmit(start),
            }
        }
    }

    /// When the next transmission begins, and of what.
    #[inline]
    fn next_start(&self) -> Option<(Instant, Source)> {
        let free_at = self.serializer.free_at();
        let is_waiting = !self.queue.is_empty();
        let retransmission = self.arq.as_ref().and_then(|arq| arq.next_start(free_at));
        match retransmission {
            // A frame to retransmit stands at the head of the queue.
            Some(start) if !is_waiting || start <= free_at => Some((start, Source::Arq)),
            // Packets wait only while the transmitter is busy.
            _ if is_waiting => Some((free_at, Source::Queue)),
            _ => None,
        }
    }

    /// Transmits a frame from `start` on and decides what becomes of it.
    // Once in the program: every frame passes through it, and two copies would fill the instruction cache.
    #[inline(never)]
    fn transmit(&mut self, mut frame: Frame<P>, start: Instant) {
        let end = self.occupy(frame.len, start);
        self.waits.add(end.saturating_since(frame.enqueued));
        if self.arq.is_some() {
            return self.transmit_arq(frame, None, start, end);
        }
        // A packet that is lost moves the damage model on like any other: which ones are hit does not
        // depend on the loss.
        let outcome = self.impairments.damage(&mut frame, start, Effect::Apply);
        if self.only_delays && outcome == Outcome::Intact && self.open.is_none() {
            let at = self.propagation.schedule_alike(end);
            let Frame { packet, len, .. } = frame;
            self.propagation.send(PacketInFlight { at, packet, len, damage: None, duplicate: false });
        } else {
            self.finish(frame, outcome, start, end);
        }
    }

    /// What else becomes of a frame that was transmitted from `start` to `end`.
    #[inline(never)]
    fn finish(&mut self, frame: Frame<P>, outcome: Outcome, start: Instant, end: Instant) {
        let is_mute = self.is_mute(start, end);
        let is_edited = matches!(outcome, Outcome::Edited(_));
        let pieces = if is_edited { self.impairments.edited() } else { Vec::new() };
        if self.is_lost(outcome, is_mute) {
            return self.close();
        }
        let damage = self.count_hit(outcome);
        if !frame.exposed {
            self.close();
        }
        if is_edited || self.open.is_some() {
            return self.finish_edited(frame, damage, pieces, end);
        }
        if damage.is_some() && self.config.frame_check == FrameCheck::Drop {
            self.counters.frame_check_drops += 1;
            return;
        }
        let at = self.propagation.arrival(end);
        self.send(frame, at, damage);
    }

    /// As [`finish`](Self::finish), of a frame whose length changed or that is in one with the frame before it. `pieces` are
    /// what it was split into, behind the first.
    #[inline(never)]
    fn finish_edited(
        &mut self,
        mut frame: Frame<P>,
        damage: Option<Hit>,
        pieces: Vec<Vec<u8>>,
        end: Instant,
    ) {
        let has_end = !damage.is_some_and(|hit| hit.no_end);
        if self.config.frame_check == FrameCheck::Drop {
            self.counters.frame_check_drops += 1;
            self.open = (!has_end).then_some(OpenFrame { end, held: None });
            return;
        }
        self.counters.split += pieces.len() as u64;
        let others: Vec<_> = pieces.into_iter().map(|piece| frame.with(&piece)).collect();
        // What is in front of it was damaged by itself.
        let mut damage_in_front = damage;
        if let Some(open) = self.open.take() {
            match open.join(&mut frame) {
                Ok((joined, hit)) => {
                    self.counters.joined += 1;
                    (frame, damage_in_front) = (joined, Some(hit));
                }
                Err(open) => {
                    self.open = Some(open);
                    self.close();
                }
            }
        }
        let mut frames = vec![(frame, damage_in_front)];
        frames.extend(others.into_iter().map(|frame| (frame, damage)));
        let last = if has_end { None } else { frames.pop() };
        if !frames.is_empty() {
            let at = self.propagation.arrival(end);
            frames.into_iter().for_each(|(frame, damage)| self.send(frame, at, damage));
        }
        self.open = last.map(|(frame, damage)| OpenFrame { end, held: damage.map(|hit| (frame, hit)) });
    }

    /// Nothing follows in the frame whose end is missing: it is handed up as it is.
    fn close(&mut self) {
        let Some(OpenFrame { end, held: Some((frame, hit)) }) = self.open.take() else { return };
        let at = self.propagation.arrival(end);
        self.send(frame, at, Some(hit));
    }

    /// The transmitter is busy with a frame of `len` bytes from `start` on. Gives the end.
    #[inline]
    fn occupy(&mut self, len: usize, start: Instant) -> Instant {
        self.counters.transmissions += 1;
        self.counters.transmitted_bytes += self.serializer.frame_bytes(len);
        self.serializer.transmit(len, start)
    }

    /// Transmits the next frame that a link ARQ retransmits.
    #[inline(never)]
    fn retransmit(&mut self, start: Instant) {
        let Some((ticket, frame)) = self.arq.as_mut().and_then(Arq::pop_retransmission) else { return };
        self.counters.arq_retransmissions += 1;
        let end = self.occupy(frame.len, start);
        self.transmit_arq(frame, Some(ticket), start, end);
    }

    /// The part of [`transmit`](Self::transmit) that is special to a link ARQ. `ticket` is there if it retransmits
    /// the frame.
    #[inline(never)]
    fn transmit_arq(&mut self, mut frame: Frame<P>, ticket: Option<Ticket>, start: Instant, end: Instant) {
        // The receiving end drops a damaged copy; the frame here is the sending end's own.
        let outcome = self.impairments.damage(&mut frame, start, Effect::Spare);
        let is_mute = self.is_mute(start, end);
        let is_joined = self.open.take().is_some_and(|open| open.end == start) && frame.exposed;
        if ticket.is_none() && self.is_lost(outcome, false) {
            return;
        }
        let hit = self.count_hit(outcome);
        self.open = hit.filter(|hit| hit.no_end).map(|_| OpenFrame { end, held: None });
        let ready = self.propagation.answer(end);
        let at = self.propagation.arrival(end);
        let Some(arq) = &mut self.arq else { return };
        let ticket = ticket.unwrap_or_else(|| arq.number());
        if outcome == Outcome::Intact && !is_mute && !is_joined {
            arq.arrived(ticket, at, frame);
        } else if !arq.damaged(ticket, at, ready, frame) {
            self.counters.frame_check_drops += 1;
        }
        while let Some((at, frame)) = self.arq.as_mut().and_then(Arq::pop_released) {
            self.send(frame, at, None);
        }
    }

    #[inline]
    fn is_lost(&mut self, outcome: Outcome, is_mute: bool) -> bool {
        let lost = self.impairments.loses() || outcome == Outcome::Lost || is_mute;
        self.counters.lost += u64::from(lost);
        lost
    }

    /// Whether the link is mute while a frame is on the air that is transmitted from `start` to `end`.
    #[inline]
    fn is_mute(&mut self, start: Instant, end: Instant) -> bool {
        let is_mute = self.config.mute.any_in(start, self.propagation.due(end));
        self.counters.muted += u64::from(is_mute);
        is_mute
    }

    #[inline]
    fn count_hit(&mut self, outcome: Outcome) -> Option<Hit> {
        let (Outcome::Hit(hit) | Outcome::Edited(hit)) = outcome else { return None };
        self.counters.hit += 1;
        self.counters.hit_in_header += u64::from(hit.header);
        self.counters.flipped_bits += u64::from(hit.flips);
        self.counters.slipped += u64::from(hit.slips > 0);
        Some(hit)
    }

    /// Sends a frame on its way, to arrive when `due` or later.
    #[inline]
    fn send(&mut self, frame: Frame<P>, due: Instant, damage: Option<Hit>) {
        let (at, is_held_back) = self.propagation.schedule(due);
        self.counters.reordered += u64::from(is_held_back);
        let Frame { packet, len, .. } = frame;
        let packet = PacketInFlight { at, packet, len, damage, duplicate: false };
        if self.impairments.duplicates() {
            self.send_twice(packet);
        } else {
            self.propagation.send(packet);
        }
    }

    #[inline(never)]
    fn send_twice(&mut self, packet: PacketInFlight<P>) {
        let copy = PacketInFlight { duplicate: true, ..packet.clone() };
        self.propagation.send(packet);
        self.propagation.send(copy);
    }
}

/// Where the next frame to transmit comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Queue,
    Arq,
}
