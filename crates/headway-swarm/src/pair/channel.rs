//! One direction of the path: the adversary, and behind it a link of the product.

use std::collections::BTreeMap;
use std::rc::Rc;

use headway_link::{Headers, Link, LinkConfig};
use headway_test_fixture::rng::Rng;
use headway_units::Instant;

use super::adversary::Adversary;
use super::packet::{Packet, Sent};

/// One direction of the path.
pub(crate) struct Channel {
    pub(crate) adversary: Adversary,
    pub(crate) rng: Rng,
    harsh: Link<Packet>,
    healed: Link<Packet>,
    is_healed: bool,
    /// Packets that the adversary holds.
    held: BTreeMap<(Instant, u64), Packet>,
    holds: u64,
    start: Instant,
    /// The longest packet that passes.
    pub(crate) mtu: u16,
}

impl Channel {
    pub(crate) fn new(
        adversary: Adversary,
        harsh: LinkConfig,
        healed: LinkConfig,
        start: Instant,
        rng: &mut Rng,
    ) -> Self {
        Self {
            adversary,
            harsh: Link::new(harsh, rng.next()),
            healed: Link::new(healed, rng.next()),
            rng: rng.fork(),
            is_healed: false,
            held: BTreeMap::new(),
            holds: 0,
            start,
            mtu: u16::MAX,
        }
    }

    /// From now on everything arrives, once and in order. What is held or under way still comes.
    pub(crate) fn heal(&mut self) {
        self.is_healed = true;
    }

    /// Takes a packet; says how many copies go on, or `None` if it is too long for the path.
    pub(crate) fn send(&mut self, now: Instant, bytes: Vec<u8>, sent: Rc<Sent>) -> Option<usize> {
        if bytes.len() > usize::from(self.mtu) {
            return None;
        }
        let packet = Packet { bytes, sent };
        if self.is_healed {
            self.enqueue(now, packet);
            return Some(1);
        }
        let copies = self.adversary.treat(now.saturating_since(self.start), packet, &mut self.rng);
        let count = copies.len();
        for (hold, copy) in copies {
            if hold.is_zero() {
                self.enqueue(now, copy);
            } else {
                self.holds += 1;
                self.held.insert((now + hold, self.holds), copy);
            }
        }
        Some(count)
    }

    fn enqueue(&mut self, now: Instant, packet: Packet) {
        let len = packet.bytes.len();
        let headers = headway_wire::layout(&packet.bytes).map_or(
            Headers { ip_header_len: 0, header_len: len },
            |layout| Headers { ip_header_len: layout.ip_header_len, header_len: layout.header_len },
        );
        let link = if self.is_healed { &mut self.healed } else { &mut self.harsh };
        // A full queue drops it.
        let _ = link.enqueue(now, packet, len, headers, true);
    }

    /// When something may arrive, or leave the adversary's hands.
    pub(crate) fn next(&self) -> Option<Instant> {
        let held = self.held.keys().next().map(|key| key.0);
        [held, self.harsh.next_event(), self.healed.next_event()].into_iter().flatten().min()
    }

    /// Whether nothing from harsh times is under way any more.
    pub(crate) fn is_cleared(&self) -> bool {
        self.held.is_empty() && self.harsh.next_event().is_none()
    }

    /// What has arrived.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Packet> {
        while let Some(entry) = self.held.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let packet = entry.remove();
            self.enqueue(now, packet);
        }
        let delivery = self.harsh.poll(now).or_else(|| self.healed.poll(now))?;
        Some(delivery.packet)
    }
}
