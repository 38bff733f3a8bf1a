//! The key of one direction of a session, and the nonces of its packets.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit as _, StreamCipher as _, StreamCipherSeek as _};
use chacha20poly1305::Nonce;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// RFC 8439, 2.4: the first block of the keystream makes the key of the tag, the text begins with the second.
const FIRST_BLOCK: u64 = 64;

/// The key of one direction.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Key([u8; 32]);

impl Key {
    pub(crate) fn new(bytes: &[u8; 32]) -> Self {
        Self(*bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Encrypts, or decrypts without authenticating: a flipped bit stays one.
    pub(crate) fn apply_keystream(&self, part: Part, number: u64, text: &mut [u8]) {
        let mut cipher = ChaCha20::new(self.bytes().into(), &part.nonce(number));
        cipher.seek(FIRST_BLOCK);
        cipher.apply_keystream(text);
    }
}

/// Header and payload of a packet have a nonce each.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Header = 0,
    Payload = 1,
}

impl Part {
    pub(crate) fn nonce(self, number: u64) -> Nonce {
        let mut nonce = Nonce::default();
        nonce[3] = self as u8;
        nonce[4..].copy_from_slice(&number.to_le_bytes());
        nonce
    }
}
