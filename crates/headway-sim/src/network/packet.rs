//! A packet on its way through the network.

use headway_link::{Hit, PacketBuffer};
use headway_units::Instant;

/// A packet between two nodes, in a buffer of the network's.
// In a box with all that is known of it: it is moved from hand to hand several times on each link.
#[derive(Clone, Debug)]
pub struct Packet(Box<Content>);

#[derive(Clone, Debug)]
struct Content {
    buffer: Box<[u8]>,
    len: u32,
    damage: Option<Hit>,
    /// When its host sent it.
    sent: Instant,
}

impl Packet {
    /// None yet, in a new buffer of `size` bytes.
    pub(super) fn new(size: usize) -> Self {
        let buffer = vec![0; size].into_boxed_slice();
        Self(Box::new(Content { buffer, len: 0, damage: None, sent: Instant::ZERO }))
    }

    /// Its bytes, from the IP header on.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.0.buffer[..self.0.len as usize]
    }

    /// How long the buffer is.
    pub(super) fn capacity(&self) -> usize {
        self.0.buffer.len()
    }

    /// What damage the links so far did to it. For observers: a host finds out by its checksums.
    #[inline]
    pub fn damage(&self) -> Option<Hit> {
        self.0.damage
    }

    /// Writes another packet into the buffer, sent now: `fill` gives its length, or `None` where there is none.
    #[inline]
    pub(super) fn refill(
        &mut self,
        now: Instant,
        fill: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> Option<()> {
        let content = &mut *self.0;
        content.len = fill(&mut content.buffer)? as u32;
        (content.damage, content.sent) = (None, now);
        Some(())
    }

    /// When the node that made it sent it.
    pub(super) fn sent(&self) -> Instant {
        self.0.sent
    }

    #[inline]
    pub(super) fn record_damage(&mut self, damage: Option<Hit>) {
        if damage.is_some() {
            self.0.damage = damage;
        }
    }
}

/// The whole buffer: the packet and what follows it.
impl AsMut<[u8]> for Packet {
    #[inline]
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0.buffer
    }
}

impl PacketBuffer for Packet {
    fn set_len(&mut self, len: usize) {
        let content = &mut *self.0;
        if len > content.buffer.len() {
            let mut longer = std::mem::take(&mut content.buffer).into_vec();
            longer.resize(len, 0);
            content.buffer = longer.into();
        }
        content.len = len as u32;
    }
}
