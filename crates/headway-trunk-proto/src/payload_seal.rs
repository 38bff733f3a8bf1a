//! The seal of a payload that arrived damaged: what is completed from it later is believed if the seal holds.

use std::fmt;
use std::sync::Arc;

use chacha20poly1305::{AeadInPlace as _, ChaCha20Poly1305, KeyInit as _, Tag};

use crate::key::{Key, Part};

/// The tag of one payload and the key that it was made with. Its header was authenticated, and the tag with it.
#[derive(Clone)]
pub struct PayloadSeal {
    key: Arc<Key>,
    number: u64,
    tag: Tag,
}

impl PayloadSeal {
    pub(crate) fn new(key: Arc<Key>, number: u64, tag: Tag) -> Self {
        Self { key, number, tag }
    }

    /// Whether `payload`, decrypted, is what was sealed.
    pub fn holds(&self, payload: &[u8]) -> bool {
        let mut sealed = payload.to_vec();
        self.key.apply_keystream(Part::Payload, self.number, &mut sealed);
        let cipher = ChaCha20Poly1305::new(self.key.bytes().into());
        // The library compares tags in constant time only where it decrypts.
        cipher
            .decrypt_in_place_detached(&Part::Payload.nonce(self.number), &[], &mut sealed, &self.tag)
            .is_ok()
    }
}

impl fmt::Debug for PayloadSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadSeal").field("number", &self.number).finish_non_exhaustive()
    }
}
