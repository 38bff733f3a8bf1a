//! Packet buffers that are used again.

/// Buffers of one size.
pub(crate) struct Pool {
    free: Vec<Box<[u8]>>,
    size: usize,
}

/// More than the queue and the air of most links hold; beyond it buffers are given back.
const KEEP: usize = 4096;

impl Pool {
    pub(crate) fn new(size: usize) -> Self {
        Self { free: Vec::new(), size }
    }

    /// Length of each buffer.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Box<[u8]> {
        self.free.pop().unwrap_or_else(|| self.make())
    }

    /// The buffer that [`take`](Self::take) gives next: for what may turn out not to be a packet.
    #[inline]
    pub(crate) fn next(&mut self) -> &mut [u8] {
        if self.free.is_empty() {
            let buffer = self.make();
            self.free.push(buffer);
        }
        self.free.last_mut().map_or(&mut [], |buffer| buffer)
    }

    #[inline(never)]
    fn make(&self) -> Box<[u8]> {
        vec![0; self.size].into_boxed_slice()
    }

    #[inline]
    pub(crate) fn give(&mut self, buffer: Box<[u8]>) {
        if self.free.len() < KEEP {
            self.free.push(buffer);
        }
    }
}
