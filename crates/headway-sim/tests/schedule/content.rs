//! What programs write: every octet follows from the seed, the connection, the side and its place.

/// One side's stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content(u32);

impl Content {
    pub(crate) fn new(seed: u64, flow: usize, side: usize) -> Self {
        let mixed = super::random::Rng::new(seed ^ ((flow * 2 + side + 1) as u64) << 40).next();
        Self(mixed as u32)
    }

    pub(crate) fn octet(self, at: usize) -> u8 {
        ((at as u32 ^ self.0).wrapping_mul(0x9e37_79b1) >> 23) as u8
    }

    pub(crate) fn fill(self, at: usize, buffer: &mut [u8]) {
        for (i, octet) in buffer.iter_mut().enumerate() {
            *octet = self.octet(at + i);
        }
    }

    /// The first place where `bytes`, which start at `at`, differ.
    pub(crate) fn differs(self, at: usize, bytes: &[u8]) -> Option<usize> {
        bytes.iter().enumerate().position(|(i, &octet)| octet != self.octet(at + i)).map(|i| at + i)
    }
}
