//! Writes a header as 32-bit words and sums it on the way.

use crate::checksum::Sum;

/// Room for a header, filled from the front.
pub(crate) struct Words<'a> {
    room: core::slice::IterMut<'a, [u8; 4]>,
    sum: Sum,
}

impl<'a> Words<'a> {
    /// Room of `room.len()` bytes, of which whole words are used.
    #[inline]
    pub(crate) fn new(room: &'a mut [u8]) -> Self {
        Self { room: room.as_chunks_mut().0.iter_mut(), sum: Sum::default() }
    }

    /// Writes one word in network byte order. One that has no room is dropped: callers measure first.
    #[inline]
    pub(crate) fn put(&mut self, word: u32) {
        if let Some(place) = self.room.next() {
            *place = word.to_be_bytes();
            self.sum.add_u32(word);
        }
    }

    /// The sum of everything written.
    #[inline]
    pub(crate) fn sum(&self) -> Sum {
        self.sum
    }
}
