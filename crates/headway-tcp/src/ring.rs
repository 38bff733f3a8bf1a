//! A growable ring of bytes: the storage behind the send and the receive buffer.

use alloc::vec::Vec;

/// Capacities are powers of two, from this up to the first that holds the limit.
const SMALLEST: usize = 512;

/// Bytes addressed by their distance from the front. Bytes beyond [`Ring::len`] may be written
/// ahead of time (the receive side stores what arrives out of order where it will belong).
///
/// Memory starts at nothing and doubles as offsets are used; it never exceeds the power of two
/// that holds `limit`.
#[derive(Debug)]
pub(crate) struct Ring {
    bytes: Vec<u8>,
    head: usize,
    len: usize,
    limit: usize,
}

impl Ring {
    /// An empty ring for at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), head: 0, len: 0, limit }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Sets how many bytes it may hold: at least as many as it does.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        debug_assert!(limit >= self.len);
        self.limit = limit;
    }

    /// Bytes of heap in use.
    pub(crate) fn allocated(&self) -> usize {
        self.bytes.len()
    }

    /// Gives the memory back; the ring must be empty and nothing written ahead.
    pub(crate) fn release(&mut self) {
        *self = Self::new(self.limit);
    }

    /// Appends as much of `data` as the limit permits and says how much that was.
    pub(crate) fn push(&mut self, data: &[u8]) -> usize {
        let n = data.len().min(self.limit - self.len);
        self.write_at(self.len, &data[..n]);
        self.len += n;
        n
    }

    /// Writes `data` at `offset` from the front without changing the length.
    ///
    /// The caller keeps `offset + data.len()` within the limit.
    pub(crate) fn write_at(&mut self, offset: usize, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        debug_assert!(offset + data.len() <= self.limit);
        if self.bytes.is_empty() && offset == 0 {
            return self.fill(data);
        }
        self.reserve(offset + data.len());
        let mask = self.bytes.len() - 1;
        let start = (self.head + offset) & mask;
        let first = data.len().min(self.bytes.len() - start);
        self.bytes[start..start + first].copy_from_slice(&data[..first]);
        self.bytes[..data.len() - first].copy_from_slice(&data[first..]);
    }

    /// Makes `n` bytes written ahead part of the content.
    pub(crate) fn extend(&mut self, n: usize) {
        debug_assert!(self.len + n <= self.limit);
        self.len += n;
    }

    /// `n` bytes from `offset`, in the one or two pieces in which they lie.
    #[inline]
    pub(crate) fn slices(&self, offset: usize, n: usize) -> (&[u8], &[u8]) {
        debug_assert!(offset + n <= self.len);
        self.written(offset, n)
    }

    /// As [`Ring::slices`], also of bytes that were written ahead.
    #[inline]
    pub(crate) fn written(&self, offset: usize, n: usize) -> (&[u8], &[u8]) {
        debug_assert!(offset + n <= self.bytes.len());
        if n == 0 {
            return (&[], &[]);
        }
        let mask = self.bytes.len() - 1;
        let start = (self.head + offset) & mask;
        let first = n.min(self.bytes.len() - start);
        (&self.bytes[start..start + first], &self.bytes[..n - first])
    }

    /// Drops `n` bytes from the front.
    pub(crate) fn consume(&mut self, n: usize) {
        debug_assert!(n <= self.len);
        self.len -= n;
        if !self.bytes.is_empty() {
            self.head = (self.head + n) & (self.bytes.len() - 1);
        }
    }

    /// Begins at the first byte again, in memory that was used a moment ago and is in the cache. The ring must be empty
    /// and nothing written ahead.
    pub(crate) fn rewind(&mut self) {
        debug_assert!(self.is_empty());
        self.head = 0;
    }

    /// The first bytes of a ring without memory: most of what a program writes at once is not worth
    /// zeroing before it is written over.
    fn fill(&mut self, data: &[u8]) {
        let capacity = data.len().next_power_of_two().max(SMALLEST);
        self.bytes.reserve_exact(capacity);
        self.bytes.extend_from_slice(data);
        self.bytes.resize(capacity, 0);
    }

    fn reserve(&mut self, needed: usize) {
        let old = self.bytes.len();
        if needed <= old {
            return;
        }
        let grown = needed.next_power_of_two().max(SMALLEST);
        // Where the memory can grow in place, nothing is copied.
        self.bytes.reserve_exact(grown - old);
        self.bytes.resize(grown, 0);
        // What had wrapped around, or was written ahead of `len`, moves behind the rest.
        self.bytes.copy_within(..self.head, old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_deque(ops in prop::collection::vec((0..3u8, 0..700usize), 1..60)) {
            let mut ring = Ring::new(3000);
            let mut model: VecDeque<u8> = VecDeque::new();
            let mut next = 0u8;
            for (op, n) in ops {
                match op {
                    0 => {
                        let data: Vec<u8> = (0..n).map(|i| next.wrapping_add(i as u8)).collect();
                        next = next.wrapping_add(31);
                        let taken = ring.push(&data);
                        prop_assert_eq!(taken, n.min(3000 - model.len()));
                        model.extend(&data[..taken]);
                    }
                    1 => {
                        let n = n.min(model.len());
                        ring.consume(n);
                        model.drain(..n);
                    }
                    _ => {
                        let ahead = n.min(3000 - model.len());
                        let data: Vec<u8> = (0..ahead).map(|i| next ^ i as u8).collect();
                        let half = ahead / 2;
                        ring.write_at(ring.len() + half, &data[half..]);
                        ring.write_at(ring.len(), &data[..half]);
                        ring.extend(ahead);
                        model.extend(&data);
                    }
                }
                let (a, b) = ring.slices(0, ring.len());
                let whole: Vec<u8> = a.iter().chain(b).copied().collect();
                prop_assert_eq!(whole, model.iter().copied().collect::<Vec<_>>());
                prop_assert!(ring.allocated() <= 4096);
            }
        }
    }
}
