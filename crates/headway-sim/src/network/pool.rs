//! Packets whose buffers are used again.

use super::packet::Packet;

/// Packets with buffers of one size.
pub(super) struct Pool {
    free: Vec<Packet>,
    size: usize,
}

/// More than the queue and the air of most links hold; beyond it buffers are given back.
const KEEP: usize = 4096;

impl Pool {
    pub(super) fn new(size: usize) -> Self {
        Self { free: Vec::new(), size }
    }

    /// Length of each buffer.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The one that [`take`](Self::take) gives: for what may turn out not to be a packet.
    #[inline]
    pub(super) fn next(&mut self) -> &mut Packet {
        if self.free.is_empty() {
            self.grow();
        }
        let last = self.free.len() - 1;
        &mut self.free[last]
    }

    /// Takes it after that.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Packet> {
        self.free.pop()
    }

    #[inline]
    pub(super) fn give(&mut self, packet: Packet) {
        // Damage may have made one longer.
        if self.free.len() < KEEP && packet.capacity() == self.size {
            self.free.push(packet);
        }
    }

    #[inline(never)]
    fn grow(&mut self) {
        self.free.push(Packet::new(self.size));
    }
}
