//! The Internet checksum (RFC 1071): the one's-complement sum of 16-bit words.

/// A one's-complement sum in the making.
///
/// It is kept in the byte order of the machine and wider than 16 bits, which RFC 1071 (section 2)
/// shows to be harmless; [`fold`](Self::fold) puts both right. Addition wraps around the end of
/// the 64 bits (end-around carry), so a sum never overflows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds one 16-bit word, given in host byte order.
    #[inline]
    pub const fn add_u16(&mut self, word: u16) {
        self.add_native(word.to_be() as u64);
    }

    /// Adds two 16-bit words, given as one number in host byte order.
    #[inline]
    pub const fn add_u32(&mut self, words: u32) {
        self.add_native(words.to_be() as u64);
    }

    /// Adds what another sum has come to.
    #[inline]
    pub const fn add(&mut self, other: Self) {
        self.add_native(other.0);
    }

    /// Adds `bytes`, which start on an even offset of what is summed. Of several slices only the
    /// last may have an odd length; otherwise see [`add_bytes_at`](Self::add_bytes_at).
    #[inline]
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.add(sum(bytes));
    }

    /// Adds `bytes`, which start on an odd offset of what is summed if `odd`.
    #[inline]
    pub fn add_bytes_at(&mut self, odd: bool, bytes: &[u8]) {
        self.add_at(odd, sum(bytes));
    }

    /// Adds the sum of bytes that start on an odd offset if `odd`. One byte further on, each byte
    /// is the other half of its word: "the sum of 16-bit integers can be computed in either byte
    /// order" (RFC 1071, 2 (B)).
    #[inline]
    pub const fn add_at(&mut self, odd: bool, other: Self) {
        if odd {
            self.add_u16(other.fold().swap_bytes());
        } else {
            self.add(other);
        }
    }

    /// The sum in 16 bits, in host byte order. Zero only if nothing but zeros was added.
    #[inline]
    pub const fn fold(self) -> u16 {
        let sum = (self.0 >> 32) + (self.0 & 0xffff_ffff);
        let sum = (sum >> 16) + (sum & 0xffff);
        let sum = (sum >> 16) + (sum & 0xffff);
        let sum = (sum >> 16) + (sum & 0xffff);
        u16::from_be(sum as u16)
    }

    /// The checksum: the complement of [`fold`](Self::fold), in host byte order.
    #[inline]
    pub const fn complement(self) -> u16 {
        !self.fold()
    }

    /// Whether the sum of data and its checksum says that both are sound: "the result is all 1
    /// bits" (RFC 1071, 1 (3)).
    #[inline]
    pub const fn is_sound(self) -> bool {
        self.fold() == 0xffff
    }

    #[inline]
    const fn add_native(&mut self, words: u64) {
        let (sum, carry) = self.0.overflowing_add(words);
        self.0 = sum + carry as u64;
    }
}

/// The checksum of a header in which one 16-bit word changes from `old` to `new`, without the rest
/// of the header: "HC' = ~(~HC + ~m + m')" (RFC 1624, 3, equation 3). All in host byte order.
#[inline]
pub const fn update(check: u16, old: u16, new: u16) -> u16 {
    let mut sum = Sum(0);
    sum.add_u16(!check);
    sum.add_u16(!old);
    sum.add_u16(new);
    sum.complement()
}

/// The sum of `bytes`; an odd last byte counts as if a zero followed it.
pub fn sum(bytes: &[u8]) -> Sum {
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut lanes = [0_u64; 8];
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<4>().0) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    let mut sum = Sum(lanes.iter().sum());
    sum.add(sum_short(rest));
    sum
}

/// The sum of a header whose length is known to the compiler.
#[inline]
pub(crate) fn sum_array<const N: usize>(bytes: &[u8; N]) -> Sum {
    sum_short(bytes)
}

/// The sum of a header of unknown length, which is short.
#[inline]
pub(crate) fn sum_words(bytes: &[u8]) -> Sum {
    sum_short(bytes)
}

/// The sum of a few bytes.
#[inline]
fn sum_short(bytes: &[u8]) -> Sum {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut sum: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let mut last = [0; 4];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    sum += u64::from(u32::from_ne_bytes(last));
    Sum(sum)
}

/// Copies `src` to `dst` and returns its sum.
///
/// # Panics
///
/// If the lengths differ.
#[inline]
pub fn copy_and_sum(dst: &mut [u8], src: &[u8]) -> Sum {
    dst.copy_from_slice(src);
    sum(src)
}
