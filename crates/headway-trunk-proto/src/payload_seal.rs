//! The seal of a payload that arrived damaged: what is completed from it later is believed if the seal holds.

use std::fmt;

use chacha20poly1305::Tag;

use crate::key::{Key, Part};

/// The tag of one payload and the key that it was made with. Its header was authenticated, and the tag with it.
#[derive(Clone)]
pub struct PayloadSeal {
    key: Key,
    number: u64,
    tag: Tag,
}

impl PayloadSeal {
    pub(crate) fn new(key: Key, number: u64, tag: Tag) -> Self {
        Self { key, number, tag }
    }

    /// Whether `payload`, decrypted, is what was sealed.
    pub fn holds(&self, payload: &[u8]) -> bool {
        let mut sealed = payload.to_vec();
        self.key.apply_keystream(Part::Payload, self.number, &mut sealed);
        // The library compares tags in constant time only where it decrypts.
        self.key.open(Part::Payload, (self.number, &self.tag), &[], &mut sealed)
    }
}

impl fmt::Debug for PayloadSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadSeal").field("number", &self.number).finish_non_exhaustive()
    }
}
