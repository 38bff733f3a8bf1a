//! Reads TCP options.

use super::{
    SackBlocks, SeqList, Skipped, TcpOptions, Timestamps, V2, kind,
    walk::{RawOption, Walk},
};
use crate::{OptionError, SeqNumber};

impl TcpOptions {
    /// Reads the options between the fixed header and the payload. Unknown kinds are skipped; so is
    /// a known kind with a length that it cannot have, and the first of these is returned beside
    /// the options. If a kind comes twice, the last one counts. Of experiments (kind 253) version 2
    /// of TCP HACK is known, by its identifier [`EXID`](crate::EXID).
    ///
    /// # Errors
    ///
    /// If a length makes no sense, so that what follows cannot be parsed.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, Option<Skipped>), OptionError> {
        match Self::parse_usual(bytes) {
            Some(options) => Ok((options, None)),
            None => Self::parse_any(bytes),
        }
    }

    /// The layouts of nearly every segment of a connection with timestamps: only these, or
    /// these and the Header Checksum. `None` if it is another.
    #[inline]
    pub(crate) fn parse_usual(bytes: &[u8]) -> Option<Self> {
        const START: [u8; 4] = [kind::NOP, kind::NOP, kind::TIMESTAMPS, 10];
        let Some((start, rest)) = bytes.split_first_chunk::<4>() else {
            return bytes.is_empty().then(Self::default);
        };
        let (value, rest) = rest.split_first_chunk::<8>()?;
        if *start != START {
            return None;
        }
        let hack = match *rest {
            [] => None,
            [kind::HACK, 4, high, low] => Some(u16::from_be_bytes([high, low])),
            _ => return None,
        };
        // Each by itself: of a default that is copied, the parts that mean nothing would be copied too.
        Some(Self {
            mss: None,
            window_scale: None,
            sack_permitted: false,
            timestamps: Some(timestamps(*value)),
            sack: SackBlocks::default(),
            hack,
            hack_ack: None,
            xhack_ack: SeqList::default(),
            v2: None,
        })
    }

    /// Any layout.
    pub(crate) fn parse_any(bytes: &[u8]) -> Result<(Self, Option<Skipped>), OptionError> {
        let mut options = Self::default();
        let skipped = options.read(bytes)?;
        Ok((options, skipped))
    }

    /// Takes over every option; the first whose length is wrong for its kind is named.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Option<Skipped>, OptionError> {
        let mut skipped = None;
        for option in Walk::new(bytes) {
            let option = option?;
            if self.take(&option).is_none() && skipped.is_none() {
                // A length that was read from one byte.
                skipped = Some(Skipped { kind: option.kind, length: option.value.len() as u8 + 2 });
            }
        }
        Ok(skipped)
    }

    /// Takes over one option. `None` if its length is wrong for its kind.
    fn take(&mut self, option: &RawOption<'_>) -> Option<()> {
        let value = option.value;
        match option.kind {
            kind::MSS => self.mss = Some(u16::from_be_bytes(exactly(value)?)),
            kind::WINDOW_SCALE => {
                let [shift] = exactly(value)?;
                self.window_scale = Some(shift);
            }
            kind::SACK_PERMITTED => {
                let [] = exactly(value)?;
                self.sack_permitted = true;
            }
            kind::TIMESTAMPS => self.timestamps = Some(timestamps(exactly(value)?)),
            kind::SACK => {
                let (blocks, []) = value.as_chunks::<8>() else { return None };
                if blocks.is_empty() || blocks.len() > SackBlocks::CAPACITY {
                    return None;
                }
                self.sack.clear();
                for [l0, l1, l2, l3, r0, r1, r2, r3] in blocks.iter().copied() {
                    self.sack.push((seq([l0, l1, l2, l3]), seq([r0, r1, r2, r3])));
                }
            }
            kind::HACK => self.hack = Some(u16::from_be_bytes(exactly(value)?)),
            kind::HACK_ACK => self.hack_ack = Some(seq(exactly(value)?)),
            kind::XHACK_ACK => {
                let (numbers, []) = value.as_chunks::<4>() else { return None };
                if numbers.is_empty() || numbers.len() > SeqList::CAPACITY {
                    return None;
                }
                self.xhack_ack.clear();
                for number in numbers {
                    self.xhack_ack.push(seq(*number));
                }
            }
            kind::EXPERIMENT => match value.split_first_chunk() {
                Some((id, value)) if V2::has_id(*id) => {
                    self.v2 = Some(V2::parse(*id, value)?);
                }
                // "If the ExID is not recognized, the option is ignored" is what RFC 6994, 3, comes
                // to; so is one without an identifier, of an experiment that knows of none.
                _ => {}
            },
            // "A TCP implementation MUST (MUST-6) ignore without error any TCP Option it does not
            // implement, assuming that the option has a length field." (RFC 9293, 3.1)
            _ => {}
        }
        Some(())
    }
}

#[inline]
fn exactly<const N: usize>(value: &[u8]) -> Option<[u8; N]> {
    value.try_into().ok()
}

#[inline]
fn seq(bytes: [u8; 4]) -> SeqNumber {
    SeqNumber(u32::from_be_bytes(bytes))
}

#[inline]
fn timestamps([v0, v1, v2, v3, e0, e1, e2, e3]: [u8; 8]) -> Timestamps {
    Timestamps { tsval: u32::from_be_bytes([v0, v1, v2, v3]), tsecr: u32::from_be_bytes([e0, e1, e2, e3]) }
}
