//! Separates options by kind and length.

use super::kind;
use crate::OptionError;

/// One option as it arrived.
pub(crate) struct RawOption<'a> {
    pub(crate) kind: u8,
    /// Where its value starts, in bytes from the start of the options.
    pub(crate) value_at: usize,
    /// What follows kind and length.
    pub(crate) value: &'a [u8],
}

/// Goes through options from the first to the end of the list, past each NOP. After an error there
/// is nothing more.
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<RawOption<'a>, OptionError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let offset = self.at;
            let rest = self.bytes.get(offset..)?;
            match *rest {
                [] | [kind::END, ..] => return None,
                [kind::NOP, ..] => self.at += 1,
                [kind] => {
                    self.at = self.bytes.len();
                    return Some(Err(OptionError::NoLength { kind, offset }));
                }
                [kind, length, ..] => {
                    // "TCP implementations MUST be prepared to handle an illegal option length
                    // (e.g., zero)" (RFC 9293, 3.1, MUST-7).
                    let Some(value) = rest.get(2..usize::from(length)) else {
                        self.at = self.bytes.len();
                        return Some(Err(OptionError::Length { kind, offset, length, room: rest.len() }));
                    };
                    self.at += usize::from(length);
                    return Some(Ok(RawOption { kind, value_at: offset + 2, value }));
                }
            }
        }
    }
}
