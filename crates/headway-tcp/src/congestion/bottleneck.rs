//! A bottleneck for tests: one sender, one link, one queue, and the rules of delivery-rate sampling.
//!
//! Packets of one size are sent as window and pacing permit, wait in a tail-drop queue, and are
//! acknowledged one by one half an RTT after they left the link. A loss is detected when three later
//! packets have arrived. Nothing is retransmitted.

use alloc::collections::VecDeque;

use headway_units::{Duration, Instant, Rate};

use super::{Ack, CongestionControl, Loss, LostSegment, RateSample};

pub(super) const MSS: u32 = 1000;

/// The fate of a packet that the link does not drop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Arrives,
    Damaged,
    Lost,
}

pub(super) struct Bottleneck<C> {
    pub(super) control: C,
    pub(super) now: Instant,
    pub(super) rate: Rate,
    /// RTT without a queue.
    pub(super) delay: Duration,
    /// The capacity of the queue, in packets.
    pub(super) limit: usize,
    /// The fate of packet number `n`.
    pub(super) fate: fn(u64) -> Fate,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// The maximum length of the queue, in packets, since this was last set to zero.
    pub(super) longest: usize,
    /// Packets that arrived intact.
    pub(super) intact: u64,
    /// A packet has arrived damaged.
    damages: bool,
    /// What ACKs say.
    pub(super) asks_for_less: bool,
    pub(super) alone: bool,
    next: u64,
    next_send: Instant,
    link_free: Instant,
    delivered_at: Instant,
    flight_start: Instant,
    /// Packets in the network, in the order of sending.
    flight: VecDeque<Packet>,
    recovery: Option<u64>,
    smoothed: Duration,
}

#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    sent_at: Instant,
    /// When its ACK arrives; `None` if lost.
    back_at: Option<Instant>,
    leaves_queue: Instant,
    damaged: bool,
    delivered: u64,
    delivered_at: Instant,
    flight_start: Instant,
    in_flight: u32,
    lost: u64,
}

impl<C: CongestionControl> Bottleneck<C> {
    pub(super) fn new(mut control: C, rate: &str, delay: u64, limit: usize) -> Self {
        control.set_mss(MSS, true);
        Self {
            control,
            now: Instant::ZERO + Duration::from_secs(1),
            rate: rate.parse().unwrap(),
            delay: Duration::from_millis(delay),
            limit,
            fate: |_| Fate::Arrives,
            delivered: 0,
            lost: 0,
            longest: 0,
            intact: 0,
            damages: false,
            asks_for_less: false,
            alone: false,
            next: 0,
            next_send: Instant::ZERO,
            link_free: Instant::ZERO,
            delivered_at: Instant::ZERO,
            flight_start: Instant::ZERO,
            flight: VecDeque::new(),
            recovery: None,
            smoothed: Duration::from_millis(delay),
        }
    }

    /// Bytes in the network.
    pub(super) fn pipe(&self) -> u32 {
        self.flight.len() as u32 * MSS
    }

    /// Runs for this many milliseconds; returns the utilisation of the link, in percent.
    pub(super) fn run(&mut self, millis: u64) -> u64 {
        let (start, before) = (self.now, self.intact);
        let end = self.now + Duration::from_millis(millis);
        loop {
            let back = self.flight.iter().find_map(|packet| packet.back_at);
            let send = (self.pipe() + MSS <= self.control.window()).then(|| self.next_send.max(self.now));
            let next = [back, send].into_iter().flatten().min().filter(|&at| at <= end);
            let Some(at) = next else { break };
            self.now = at;
            if back == Some(at) {
                self.receive();
            } else {
                self.send();
            }
        }
        self.now = end;
        let capacity = self.rate.bits_per_second() / 8 * end.saturating_since(start).as_millis() / 1000;
        (self.intact - before) * 100 / capacity.max(1)
    }

    fn send(&mut self) {
        let now = self.now;
        self.control.on_sent(now, self.pipe(), false);
        if self.flight.is_empty() {
            (self.flight_start, self.delivered_at) = (now, now);
        }
        let waiting = self.flight.iter().filter(|packet| packet.leaves_queue > now).count();
        let fate = (self.fate)(self.next);
        let dropped = waiting > self.limit || fate == Fate::Lost;
        let mut leaves_queue = Instant::ZERO;
        if !dropped {
            leaves_queue = self.link_free.max(now);
            self.link_free = leaves_queue + self.rate.transmit_time(u64::from(MSS));
            self.longest = self.longest.max(waiting);
        }
        self.flight.push_back(Packet {
            number: self.next,
            sent_at: now,
            back_at: (!dropped).then_some(self.link_free + self.delay),
            leaves_queue,
            damaged: fate == Fate::Damaged,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            flight_start: self.flight_start,
            in_flight: self.pipe() + MSS,
            lost: self.lost,
        });
        self.next += 1;
        let pacing = self.control.pacing_rate().unwrap_or_else(|| {
            let gain = if self.control.window() < self.control.ssthresh() { 2 } else { 1 };
            let nanos = self.smoothed.as_nanos();
            Rate::from_bits_per_second(u64::from(self.control.window()) * gain * 8_000_000_000 / nanos)
        });
        self.next_send = self.next_send.max(now) + pacing.transmit_time(u64::from(MSS));
    }

    fn receive(&mut self) {
        let now = self.now;
        let prior_pipe = self.pipe();
        let place = self.flight.iter().position(|packet| packet.back_at.is_some()).unwrap();
        let packet = self.flight.remove(place).unwrap();
        self.delivered += u64::from(MSS);
        self.delivered_at = now;
        if packet.damaged {
            self.damages = true;
            self.control.on_damage(now, MSS);
            return;
        }
        self.intact += u64::from(MSS);
        // Packets sent at least three packets earlier are lost.
        let flight = prior_pipe;
        let mut found = false;
        while let Some(&lost) = self.flight.front()
            && lost.back_at.is_none()
            && lost.number + 3 <= packet.number
        {
            self.flight.pop_front();
            self.lost += u64::from(MSS);
            self.control.on_segment_lost(&LostSegment {
                order: lost.number,
                now,
                sent_at: lost.sent_at,
                bytes: MSS,
                in_flight: lost.in_flight,
                lost: self.lost - lost.lost,
                total_delivered: self.delivered,
                prior_delivered: lost.delivered,
                app_limited: false,
            });
            found |= self.recovery.is_none_or(|end| lost.number >= end);
        }
        let loss = Loss { now, flight };
        if found {
            self.recovery = Some(self.next);
            self.control.on_loss(&loss);
        } else if self.recovery.is_some_and(|end| packet.number >= end) {
            self.recovery = None;
            self.control.on_recovery_end(&loss);
        }
        let rtt = now.saturating_since(packet.sent_at);
        self.smoothed = (self.smoothed * 7 + rtt) / 8;
        let sending = packet.sent_at.saturating_since(packet.flight_start);
        let acknowledging = now.saturating_since(packet.delivered_at);
        self.flight_start = packet.sent_at;
        self.control.on_ack(&Ack {
            now,
            acked: MSS,
            delivered: MSS,
            prior_pipe,
            pipe: self.pipe(),
            rtt: Some(rtt),
            in_recovery: self.recovery.is_some(),
            duplicate: false,
            retransmitted: false,
            damages: self.damages,
            asks_for_less: self.asks_for_less,
            alone: self.alone,
            rate: Some(RateSample {
                delivered: self.delivered - packet.delivered,
                interval: sending.max(acknowledging),
                app_limited: false,
                prior_delivered: packet.delivered,
                total_delivered: self.delivered,
                in_flight: packet.in_flight,
                lost: self.lost - packet.lost,
            }),
        });
    }
}
