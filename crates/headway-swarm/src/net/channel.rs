//! One direction of a path: a link, harsh at first.

use headway_link::{EnqueueResult, Headers, Link, LinkConfig};
use headway_test_fixture::rng::Rng;
use headway_units::Instant;

use super::wire::Wire;

/// One direction of a path.
pub(super) struct Channel {
    harsh: Link<Wire>,
    healed: Link<Wire>,
    is_healed: bool,
}

impl Channel {
    pub(super) fn new(harsh: LinkConfig, healed: LinkConfig, rng: &mut Rng) -> Self {
        let classifier = headway_wire::flow_hash;
        Self {
            harsh: Link::new(harsh, rng.next()).with_classifier(classifier),
            healed: Link::new(healed, rng.next()).with_classifier(classifier),
            is_healed: false,
        }
    }

    /// From now on everything arrives, once and in order. What is under way still comes.
    pub(super) fn heal(&mut self) {
        self.is_healed = true;
    }

    /// Takes a packet; says whether it was not dropped at once.
    pub(super) fn send(&mut self, now: Instant, packet: Wire) -> bool {
        let len = packet.bytes.len();
        let headers = match packet.outer {
            Some(_) => Headers { ip_header_len: 0, header_len: len.min(60) },
            None => headway_wire::layout(&packet.bytes).map_or(
                Headers { ip_header_len: 0, header_len: len },
                |layout| Headers { ip_header_len: layout.ip_header_len, header_len: layout.header_len },
            ),
        };
        let link = if self.is_healed { &mut self.healed } else { &mut self.harsh };
        matches!(link.enqueue(now, packet, len, headers, true), EnqueueResult::Queued)
    }

    /// When something may arrive.
    pub(super) fn next(&self) -> Option<Instant> {
        [self.harsh.next_event(), self.healed.next_event()].into_iter().flatten().min()
    }

    /// Whether nothing is under way any more.
    pub(super) fn is_empty(&self) -> bool {
        self.next().is_none()
    }

    /// Whether nothing from harsh times is under way any more.
    pub(super) fn is_cleared(&self) -> bool {
        self.harsh.next_event().is_none()
    }

    /// What has arrived.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Wire> {
        let delivery = self.harsh.poll(now).or_else(|| self.healed.poll(now))?;
        Some(delivery.packet)
    }
}
