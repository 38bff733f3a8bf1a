//! Writes TCP options, in Linux's order and padding: every part is whole 32-bit words.

use super::{MAX_LEN, TcpOptions, kind};
use crate::{EmitError, words::Words};

/// One word of four bytes.
const fn word(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes)
}

impl TcpOptions {
    /// How many bytes the options take, padding included: a multiple of four.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        let list = |len: usize, each: usize| if len == 0 { 0 } else { 4 + each * len };
        self.hack_at()
            + if self.hack.is_some() { 4 } else { 0 }
            + if self.hack_ack.is_some() { 8 } else { 0 }
            + list(self.xhack_ack.len(), 4)
            + list(self.sack.len(), 8)
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
        let len = self.checked_len()?;
        let room = buf.len();
        let buf = buf.get_mut(..len).ok_or(EmitError::BufferTooSmall { needed: len, room })?;
        self.put(&mut Words::new(buf), self.hack);
        Ok(len)
    }

    /// [`encoded_len`](Self::encoded_len), if a header has room for that.
    #[inline]
    pub(crate) fn checked_len(&self) -> Result<usize, EmitError> {
        let len = self.encoded_len();
        if len > MAX_LEN { Err(EmitError::OptionsTooLong { len }) } else { Ok(len) }
    }

    /// Writes the options, with `hack` as the value of the Header Checksum.
    #[inline]
    pub(crate) fn put(&self, words: &mut Words<'_>, hack: Option<u16>) {
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
            words.put(timestamps.value);
            words.put(timestamps.echo);
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
        if !self.sack.is_empty() {
            words.put(word([NOP, NOP, kind::SACK, 2 + 8 * self.sack.len() as u8]));
            for (left, right) in &self.sack {
                words.put(left.0);
                words.put(right.0);
            }
        }
    }
}
