//! The seal of a payload that arrived damaged: what is completed from it later is believed if the seal holds.

use std::fmt;

use chacha20poly1305::Tag;

use crate::key::{Key, Part};

/// The tag of one payload, or of a compact header and its payload, and the key that it was made with.
#[derive(Clone)]
pub struct PayloadSeal {
    key: Key,
    part: Part,
    number: u64,
    tag: Tag,
    /// What is authenticated beside the text: the beginning of the datagram.
    ad: Box<[u8]>,
    /// The text before the payload.
    header: Box<[u8]>,
}

impl PayloadSeal {
    pub(crate) fn new(
        (key, part, number): (Key, Part, u64),
        tag: &[u8; 16],
        ad: &[u8],
        header: &[u8],
    ) -> Self {
        Self { key, part, number, tag: (*tag).into(), ad: ad.into(), header: header.into() }
    }

    /// Whether the header has a tag of its own, which held. If not, it has its CRC.
    pub fn has_authentic_header(&self) -> bool {
        matches!(self.part, Part::Payload)
    }

    /// Whether `payload`, decrypted, is what was sealed.
    pub fn holds(&self, payload: &[u8]) -> bool {
        let mut sealed = [&self.header, payload].concat();
        self.key.apply_keystream(self.part, self.number, &mut sealed);
        // The library compares tags in constant time only where it decrypts.
        self.key.open(self.part, (self.number, &self.tag), &self.ad, &mut sealed)
    }
}

impl fmt::Debug for PayloadSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadSeal").field("number", &self.number).finish_non_exhaustive()
    }
}
