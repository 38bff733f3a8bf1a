//! One direction of the box.

use std::collections::VecDeque;

use headway_link::{Delivery, EnqueueResult, Link, LinkConfig, LinkCounters};
use headway_units::Instant;

use super::Frame;

/// A link that tells the flows of IP packets apart.
fn new_link(config: LinkConfig, seed: u64) -> Link<Frame> {
    Link::new(config, seed).with_classifier(headway_wire::flow_hash)
}

/// A time of the links as the box counts it.
fn box_time(start: Instant, at: Instant) -> Instant {
    start + at.saturating_since(Instant::ZERO)
}

/// One direction: the current link, and earlier links that still have packets.
pub(super) struct Lane {
    /// The oldest first.
    links: VecDeque<Link<Frame>>,
    /// Counters of removed links.
    retired: LinkCounters,
    /// Time zero of the links.
    start: Instant,
    /// The time of a link must not go back, but timestamps of packets may be earlier than the clock.
    time: Instant,
}

impl Lane {
    pub(super) fn new(config: LinkConfig, seed: u64, start: Instant) -> Self {
        let links = VecDeque::from([new_link(config, seed)]);
        Self { links, retired: LinkCounters::default(), start, time: start }
    }

    /// Packets that arrive from now on pass a link with this configuration.
    pub(super) fn change(&mut self, now: Instant, config: LinkConfig, seed: u64) {
        self.time = self.time.max(now);
        let next = match self.links.back() {
            Some(link) => Link::succeeding(config, seed, link),
            None => new_link(config, seed),
        };
        self.links.push_back(next);
        self.retire();
    }

    pub(super) fn enqueue(&mut self, at: Instant, frame: Frame) {
        self.time = self.time.max(at);
        let (len, headers, time) = (frame.packet().len(), frame.headers(), self.link_time());
        let Some(link) = self.links.back_mut() else { return };
        match link.enqueue(time, frame, len, headers, true) {
            // The link counts both.
            EnqueueResult::Queued | EnqueueResult::Dropped(_) => {}
        }
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Delivery<Frame>> {
        self.time = self.time.max(now);
        let (time, start) = (self.link_time(), self.start);
        let delivery = self.links.iter_mut().find_map(|link| link.poll(time));
        self.retire();
        delivery.map(|mut delivery| {
            delivery.at = box_time(start, delivery.at);
            delivery
        })
    }

    /// The time as the links count it.
    fn link_time(&self) -> Instant {
        Instant::ZERO + self.time.saturating_since(self.start)
    }

    pub(super) fn next_event(&self) -> Option<Instant> {
        let next = self.links.iter().filter_map(Link::next_event).min()?;
        Some(box_time(self.start, next))
    }

    pub(super) fn counters(&self) -> LinkCounters {
        let mut counters = self.retired;
        for link in &self.links {
            counters += *link.counters();
        }
        counters
    }

    pub(super) fn queue(&self) -> (usize, u64) {
        let lengths = self.links.iter().map(|link| (link.queue_len(), link.queue_bytes()));
        lengths.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    pub(super) fn in_link(&self) -> usize {
        self.links.iter().map(Link::in_link).sum()
    }

    /// Removes empty links, except the last.
    fn retire(&mut self) {
        while self.links.len() > 1 && self.links.front().is_some_and(|link| link.next_event().is_none()) {
            if let Some(link) = self.links.pop_front() {
                self.retired += *link.counters();
            }
        }
    }
}
