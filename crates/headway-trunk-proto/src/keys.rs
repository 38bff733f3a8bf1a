//! Keys: X25519 key pairs of gateways, and secrets that two of them share.

use std::fmt;
use std::str::FromStr;

use base64ct::{Base64, Encoding as _};
use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver as _, DefaultResolver};
use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of a key.
const LEN: usize = 32;

/// A key that cannot be read. The text itself is left out: it may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a text of {got} characters: expected {}", Self::EXPECTED)]
pub struct KeyError {
    got: usize,
}

impl KeyError {
    /// What a key looks like.
    pub const EXPECTED: &str = "32 bytes in base64 (44 characters), as `headway trunk keygen` prints them";
}

/// The secret key of a gateway (X25519).
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SecretKey([u8; LEN]);

/// The public key of a gateway, by which its peers know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; LEN]);

/// A secret that two gateways share beside their key pairs, against an attacker who can break X25519 one day.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PresharedKey([u8; LEN]);

impl SecretKey {
    /// The key of these bytes, which must be random.
    pub fn from_bytes(bytes: [u8; LEN]) -> Self {
        Self(bytes)
    }

    /// The public key that belongs to it.
    pub fn public(&self) -> PublicKey {
        let mut public = [0; LEN];
        // The resolver has X25519: the crate is built with it.
        if let Some(mut dh) = DefaultResolver.resolve_dh(&DHChoice::Curve25519) {
            dh.set(&self.0);
            public.copy_from_slice(&dh.pubkey()[..LEN]);
        }
        PublicKey(public)
    }

    /// The key as text, to be written to a file that only its owner can read.
    pub fn to_base64(&self) -> String {
        Base64::encode_string(&self.0)
    }

    pub(crate) fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

impl PublicKey {
    /// The key of these bytes.
    pub fn from_bytes(bytes: [u8; LEN]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

impl PresharedKey {
    /// The key of these bytes, which must be random.
    pub fn from_bytes(bytes: [u8; LEN]) -> Self {
        Self(bytes)
    }

    /// What two gateways use that share none: the handshake has a place for it all the same.
    pub(crate) fn none() -> Self {
        Self([0; LEN])
    }

    /// The key as text, to be written to a file that only its owner can read.
    pub fn to_base64(&self) -> String {
        Base64::encode_string(&self.0)
    }

    pub(crate) fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

fn decode(text: &str) -> Result<[u8; LEN], KeyError> {
    let error = KeyError { got: text.len() };
    let mut bytes = [0; LEN];
    match Base64::decode(text, &mut bytes) {
        Ok(decoded) if decoded.len() == LEN => Ok(bytes),
        _ => Err(error),
    }
}

impl FromStr for SecretKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        decode(text).map(Self)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        decode(text).map(Self)
    }
}

impl FromStr for PresharedKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        decode(text).map(Self)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Base64::encode_string(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

/// A secret is never printed.
impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// A secret is never printed.
impl fmt::Debug for PresharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PresharedKey(..)")
    }
}

/// In constant time.
impl PartialEq for SecretKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretKey {}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7748, 6.1: Alice's key pair.
    #[test]
    fn public_keys_are_those_of_x25519() {
        let hex = |text: &str| -> [u8; LEN] {
            std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex"))
        };
        let secret =
            SecretKey::from_bytes(hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
        let public = hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
        assert_eq!(secret.public().bytes(), &public);
    }

    #[test]
    fn texts_are_read_back_and_others_refused() {
        let key = SecretKey::from_bytes([9; LEN]);
        assert_eq!(key.to_base64().parse(), Ok(key.clone()));
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
        for text in ["", "abc", &"A".repeat(43), &"A".repeat(44), &"-".repeat(44), &"A".repeat(1000)] {
            assert_eq!(text.parse::<PublicKey>(), Err(KeyError { got: text.len() }), "{text}");
        }
        assert!(!format!("{key:?}").contains(&key.to_base64()));
    }
}
