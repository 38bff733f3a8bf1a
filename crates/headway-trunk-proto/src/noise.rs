//! The part of the Noise Protocol Framework (revision 34) that `Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s` needs: its hashes, and
//! the keys of its messages.

use blake2::{Blake2s256, Digest as _};
use chacha20poly1305::{AeadInPlace as _, ChaCha20Poly1305, KeyInit as _, Nonce, Tag};
use zeroize::Zeroize as _;

use crate::keys::{PresharedKey, PublicKey};
use crate::secret::{LEN, Secret};

const NAME: &[u8] = b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
/// Both ends must speak this version of the protocol.
const PROLOGUE: &[u8] = b"headway trunk 4";
/// Bytes that BLAKE2s takes at a time.
const BLOCK: usize = 64;

/// The symmetric state of a handshake (section 5.2). Each text is sealed under a key of its own, which is used up: all nonces are
/// 0.
#[derive(Clone)]
pub(crate) struct Noise {
    chaining: Secret,
    hash: [u8; LEN],
}

/// A key for one text.
pub(crate) struct MessageKey(Secret);

impl Noise {
    /// Before the first message, with the responder's public key.
    pub(crate) fn new(responder: &PublicKey) -> Self {
        // The name is longer than a hash.
        let name = hash(&[NAME]);
        let mut noise = Self { chaining: Secret::new(&name), hash: name };
        noise.mix_hash(PROLOGUE);
        noise.mix_hash(responder.bytes());
        noise
    }

    fn mix_hash(&mut self, data: &[u8]) {
        self.hash = hash(&[&self.hash, data]);
    }

    /// `MixKey`.
    pub(crate) fn mix_key(&mut self, input: &[u8; LEN]) -> MessageKey {
        let [chaining, key] = derive(&self.chaining, input);
        self.chaining = chaining;
        MessageKey(key)
    }

    /// The token `e` of a handshake with a preshared key.
    pub(crate) fn mix_ephemeral(&mut self, key: &PublicKey) {
        self.mix_hash(key.bytes());
        self.mix_key(key.bytes());
    }

    /// The token `psk`: `MixKeyAndHash`.
    pub(crate) fn mix_preshared(&mut self, preshared: &PresharedKey) -> MessageKey {
        let [chaining, mixed, key] = derive(&self.chaining, preshared.bytes());
        self.chaining = chaining;
        self.mix_hash(mixed.bytes());
        MessageKey(key)
    }

    /// `EncryptAndHash`: the last 16 bytes of `text` are the place of the tag.
    pub(crate) fn seal(&mut self, key: MessageKey, text: &mut [u8]) -> Option<()> {
        let (body, place) = text.split_last_chunk_mut::<16>()?;
        let tag = key.cipher().encrypt_in_place_detached(&Nonce::default(), &self.hash, body).ok()?;
        place.copy_from_slice(&tag);
        self.mix_hash(text);
        Some(())
    }

    /// `DecryptAndHash`: of `sealed`, whose last 16 bytes are the tag.
    pub(crate) fn open<const N: usize>(&mut self, key: MessageKey, sealed: &[u8]) -> Option<[u8; N]> {
        let (body, tag) = sealed.split_last_chunk::<16>()?;
        let mut text: [u8; N] = body.try_into().ok()?;
        let cipher = key.cipher();
        let opened =
            cipher.decrypt_in_place_detached(&Nonce::default(), &self.hash, &mut text, Tag::from_slice(tag));
        opened.ok()?;
        self.mix_hash(sealed);
        Some(text)
    }

    /// `Split`: the keys of what the initiator sends and of what the responder sends.
    pub(crate) fn split(&self) -> [Secret; 2] {
        derive(&self.chaining, &[])
    }
}

impl MessageKey {
    fn cipher(&self) -> ChaCha20Poly1305 {
        ChaCha20Poly1305::new(self.0.bytes().into())
    }
}

fn hash(parts: &[&[u8]]) -> [u8; LEN] {
    let mut hash = Blake2s256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// HMAC (RFC 2104) with BLAKE2s.
fn hmac(key: &Secret, parts: &[&[u8]]) -> Secret {
    let keyed = |pad: u8| {
        let mut block = [pad; BLOCK];
        block.iter_mut().zip(key.bytes()).for_each(|(byte, key)| *byte ^= key);
        let hash = Blake2s256::new_with_prefix(block);
        block.zeroize();
        hash
    };
    let mut inner = keyed(0x36);
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = keyed(0x5c);
    outer.update(inner.finalize());
    Secret::fill(|secret| outer.finalize_into(secret.into()))
}

/// `HKDF` (section 4.3, RFC 5869): as many secrets as are asked for.
fn derive<const N: usize>(chaining: &Secret, input: &[u8]) -> [Secret; N] {
    let from = hmac(chaining, &[input]);
    let mut last: Option<Secret> = None;
    std::array::from_fn(|i| {
        let before = last.as_ref().map_or(&[][..], |secret| &secret.bytes()[..]);
        let next = hmac(&from, &[before, &[i as u8 + 1]]);
        last.insert(next).clone()
    })
}
