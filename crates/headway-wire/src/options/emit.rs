//! Writes TCP options, in Linux's order and padding: every part is whole 32-bit words.

use super::{
    MAX_LEN, TcpOptions, kind,
    v2::{self, V2},
};
use crate::{EmitError, words::Words};

/// One word of four bytes.
const fn word(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes)
}

impl TcpOptions {
    /// How many bytes the options take, padding included: a multiple of four.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        self.len_with(self.v2.as_ref())
    }

    /// How many bytes the options take with `v2` for the option of version 2.
    #[inline]
    fn len_with(&self, v2: Option<&V2>) -> usize {
        let sack_len = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.len() };
        self.v2_at()
            + match v2 {
                None => sack_len,
                // What the option lacks to a whole word is what SACK has too much.
                Some(v2) if v2.has_half_word() && sack_len > 0 => v2.len() - 2 + sack_len,
                Some(v2) => v2.len().next_multiple_of(4) + sack_len,
            }
    }

    /// Where the option of version 2 starts if there is one, in bytes from the start of the options.
    #[inline]
    pub(crate) fn v2_at(&self) -> usize {
        self.hack_at()
            + if self.hack.is_some() { 4 } else { 0 }
            + if self.hack_ack.is_some() { 8 } else { 0 }
            + if self.xhack_ack.is_empty() { 0 } else { 4 + 4 * self.xhack_ack.len() }
    }

    /// Where the Header Checksum option starts if there is one, in bytes from the start of the
    /// options.
    #[inline]
    pub(crate) fn hack_at(&self) -> usize {
        (if self.mss.is_some() { 4 } else { 0 })
            + match (self.timestamps.is_some(), self.sack_permitted) {
                (true, _) => 12,
                (false, true) => 4,
                (false, false) => 0,
            }
            + if self.window_scale.is_some() { 4 } else { 0 }
    }

    /// Writes the options to the front of `buf` and returns how many bytes they take.
    ///
    /// # Errors
    ///
    /// If they take more than 40 bytes or more than there is room for.
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, EmitError> {
        let v2 = self.v2.as_ref();
        let len = self.checked_len(v2)?;
        let room = buf.len();
        let buf = buf.get_mut(..len).ok_or(EmitError::BufferTooSmall { needed: len, room })?;
        self.put(&mut Words::new(buf), self.hack, v2, true);
        Ok(len)
    }

    /// How many bytes the options take with `v2`, if a header has room for that.
    #[inline]
    pub(crate) fn checked_len(&self, v2: Option<&V2>) -> Result<usize, EmitError> {
        let len = self.len_with(v2);
        if len > MAX_LEN { Err(EmitError::OptionsTooLong { len }) } else { Ok(len) }
    }

    /// Writes the options, with `hack` as the value of the Header Checksum, and with `v2` for the
    /// option of version 2, its CRCs as given or as zero.
    #[inline]
    pub(crate) fn put(&self, words: &mut Words<'_>, hack: Option<u16>, v2: Option<&V2>, crcs_as_given: bool) {
        use kind::NOP;
        if let Some(mss) = self.mss {
            words.put(word([kind::MSS, 4, 0, 0]) | u32::from(mss));
        }
        if let Some(timestamps) = self.timestamps {
            words.put(if self.sack_permitted {
                word([kind::SACK_PERMITTED, 2, kind::TIMESTAMPS, 10])
            } else {
                word([NOP, NOP, kind::TIMESTAMPS, 10])
            });
            words.put(timestamps.tsval);
            words.put(timestamps.tsecr);
        } else if self.sack_permitted {
            words.put(word([NOP, NOP, kind::SACK_PERMITTED, 2]));
        }
        if let Some(shift) = self.window_scale {
            words.put(word([NOP, kind::WINDOW_SCALE, 3, shift]));
        }
        if let Some(value) = hack {
            words.put(word([kind::HACK, 4, 0, 0]) | u32::from(value));
        }
        if let Some(seq) = self.hack_ack {
            words.put(word([NOP, NOP, kind::HACK_ACK, 6]));
            words.put(seq.0);
        }
        if !self.xhack_ack.is_empty() {
            words.put(word([NOP, NOP, kind::XHACK_ACK, 2 + 4 * self.xhack_ack.len() as u8]));
            for seq in &self.xhack_ack {
                words.put(seq.0);
            }
        }
        if let Some(v2) = v2 {
            self.put_v2_and_sack(v2, words, crcs_as_given);
        } else if !self.sack.is_empty() {
            words.put(word([NOP, NOP, kind::SACK, self.sack_option_len()]));
            self.put_sack_blocks(words);
        }
    }

    /// The last two options, of which the second may start where the first ends within a word.
    #[inline(never)]
    fn put_v2_and_sack(&self, v2: &V2, words: &mut Words<'_>, crcs_as_given: bool) {
        const PADDING: [u8; 2] = [kind::NOP; 2];
        let sack = [kind::SACK, self.sack_option_len()];
        if self.sack.is_empty() {
            put_v2(v2, words, PADDING, crcs_as_given);
        } else if v2.has_half_word() {
            put_v2(v2, words, sack, crcs_as_given);
        } else {
            put_v2(v2, words, PADDING, crcs_as_given);
            let [n0, n1] = PADDING;
            let [kind, length] = sack;
            words.put(word([n0, n1, kind, length]));
        }
        self.put_sack_blocks(words);
    }

    #[inline]
    fn sack_option_len(&self) -> u8 {
        2 + 8 * self.sack.len() as u8
    }

    #[inline]
    fn put_sack_blocks(&self, words: &mut Words<'_>) {
        for (left, right) in &self.sack {
            words.put(left.0);
            words.put(right.0);
        }
    }
}

/// Writes the option of version 2. Where it ends within a word, `rest` completes that.
fn put_v2(v2: &V2, words: &mut Words<'_>, rest: [u8; 2], crcs_as_given: bool) {
    let computed = |value: u32| if crcs_as_given { value } else { 0 };
    let halves = |first: u16, second: u16| u32::from(first) << 16 | u32::from(second);
    words.put(word([kind::EXPERIMENT, v2.len() as u8, 0, 0]) | u32::from(v2.exid()));
    match v2 {
        V2::Syn(syn) => {
            let flags = if syn.partial_recovery { v2::PARTIAL_RECOVERY } else { 0 }
                | if syn.compact { v2::COMPACT } else { 0 };
            words.put(word([v2::VERSION, flags, 0, 0]) | computed(syn.path_check.into()));
        }
        V2::Data(data) | V2::Patch(data) => {
            words.put(computed(data.header_crc));
            words.put(computed(data.payload_crc));
        }
        V2::Ack(ack) => {
            words.put(computed(ack.header_crc));
            for offset in &ack.reported {
                words.put(*offset);
            }
            words.put(halves(ack.damaged, u16::from_be_bytes(rest)));
        }
    }
}
