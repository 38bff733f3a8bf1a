//! Keys: X25519 key pairs of gateways, and secrets that two of them share.

use std::fmt;
use std::str::FromStr;

use base64ct::{Base64, Encoding as _};
use curve25519_dalek::montgomery::MontgomeryPoint;
use zeroize::{Zeroize as _, Zeroizing};

use crate::secret::{LEN, Secret, with_wiped_stack};
use crate::tunnel::Random;

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

/// The secret key of a gateway (X25519). It is overwritten when it is dropped. Two are compared in constant time.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(Secret);

/// The public key of a gateway, by which its peers know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; LEN]);

/// A secret that two gateways share beside their key pairs, against an attacker who can break X25519 one day. It is overwritten
/// when it is dropped. Two are compared in constant time.
#[derive(Clone, PartialEq, Eq)]
pub struct PresharedKey(Secret);

impl SecretKey {
    /// The key of these bytes, which must be random. The caller overwrites its own copy.
    pub fn from_bytes(mut bytes: [u8; LEN]) -> Self {
        let secret = Secret::new(&bytes);
        bytes.zeroize();
        Self(secret)
    }

    /// A new one.
    pub(crate) fn generate(random: &mut Random) -> Self {
        Self(Secret::fill(|secret| random(secret)))
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> &[u8; LEN] {
        self.0.bytes()
    }

    /// The public key that belongs to it.
    pub fn public(&self) -> PublicKey {
        with_wiped_stack(|| PublicKey(MontgomeryPoint::mul_base_clamped(*self.0.bytes()).to_bytes()))
    }

    /// What the owners of both keys can compute (X25519; RFC 7748, 5).
    pub(crate) fn agree(&self, with: &PublicKey) -> Secret {
        let agreed = MontgomeryPoint(with.0).mul_clamped(*self.0.bytes());
        Secret::new(agreed.as_bytes())
    }

    /// The key as text, to be written to a file that only its owner can read.
    pub fn to_base64(&self) -> Zeroizing<String> {
        encode(&self.0)
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
    /// The key of these bytes, which must be random. The caller overwrites its own copy.
    pub fn from_bytes(mut bytes: [u8; LEN]) -> Self {
        let secret = Secret::new(&bytes);
        bytes.zeroize();
        Self(secret)
    }

    /// What two gateways use that share none: the handshake has a place for it all the same.
    pub(crate) fn none() -> Self {
        Self(Secret::new(&[0; LEN]))
    }

    /// The key as text, to be written to a file that only its owner can read.
    pub fn to_base64(&self) -> Zeroizing<String> {
        encode(&self.0)
    }

    pub(crate) fn bytes(&self) -> &[u8; LEN] {
        self.0.bytes()
    }
}

fn encode(secret: &Secret) -> Zeroizing<String> {
    Zeroizing::new(Base64::encode_string(secret.bytes()))
}

/// Writes the bytes that `text` has into `key`.
fn decode(text: &str, key: &mut [u8; LEN]) -> Result<(), KeyError> {
    match Base64::decode(text, key) {
        Ok(decoded) if decoded.len() == LEN => Ok(()),
        _ => Err(KeyError { got: text.len() }),
    }
}

fn decode_secret(text: &str) -> Result<Secret, KeyError> {
    let mut result = Ok(());
    let secret = Secret::fill(|bytes| result = decode(text, bytes));
    result.map(|()| secret)
}

impl FromStr for SecretKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        decode_secret(text).map(Self)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut key = [0; LEN];
        decode(text, &mut key).map(|()| Self(key))
    }
}

impl FromStr for PresharedKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        decode_secret(text).map(Self)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7748, 6.1: Alice's and Bob's key pairs, and what they share.
    #[test]
    fn keys_are_those_of_x25519() {
        let hex = |text: &str| -> [u8; LEN] {
            std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex"))
        };
        let alice =
            SecretKey::from_bytes(hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
        let bob =
            SecretKey::from_bytes(hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
        let public = hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
        assert_eq!(alice.public(), PublicKey::from_bytes(public));
        let shared = hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
        assert_eq!(alice.agree(&bob.public()).bytes(), &shared);
        assert_eq!(bob.agree(&alice.public()).bytes(), &shared);
    }

    /// RFC 4648, 10, and what is no key: wrong lengths, other alphabets, bits that the text has too many.
    const WRONG: [&str; 9] = [
        "",
        "abc",
        "Zm9vYmFy",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=",
        "--------------------------------------------",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= ",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    ];

    #[test]
    fn texts_are_read_back_and_others_refused() {
        let bytes = std::array::from_fn(|i| 8 * i as u8 + 3);
        let text = "AwsTGyMrMztDS1NbY2tze4OLk5ujq7O7w8vT2+Pr8/s=";
        let (secret, preshared) = (SecretKey::from_bytes(bytes), PresharedKey::from_bytes(bytes));
        assert_eq!((secret.to_base64().as_str(), preshared.to_base64().as_str()), (text, text));
        assert_eq!(PublicKey::from_bytes(bytes).to_string(), text);
        assert_eq!(text.parse(), Ok(secret));
        assert_eq!(text.parse(), Ok(preshared));
        assert_eq!(text.parse(), Ok(PublicKey::from_bytes(bytes)));
        for text in WRONG {
            let error = KeyError { got: text.len() };
            assert_eq!(text.parse::<SecretKey>(), Err(error), "{text}");
            assert_eq!(text.parse::<PublicKey>(), Err(error), "{text}");
            assert_eq!(text.parse::<PresharedKey>(), Err(error), "{text}");
        }
    }

    #[test]
    fn secrets_are_equal_if_every_bit_is() {
        let bytes = [9; LEN];
        assert_eq!(SecretKey::from_bytes(bytes), SecretKey::from_bytes(bytes).clone());
        assert_eq!(PresharedKey::from_bytes(bytes), PresharedKey::from_bytes(bytes).clone());
        for bit in 0..8 * LEN {
            let mut other = bytes;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(SecretKey::from_bytes(bytes), SecretKey::from_bytes(other), "{bit}");
            assert_ne!(PresharedKey::from_bytes(bytes), PresharedKey::from_bytes(other), "{bit}");
        }
        assert_ne!(PresharedKey::none(), PresharedKey::from_bytes(bytes));
        assert_eq!(PresharedKey::none(), PresharedKey::from_bytes([0; LEN]));
    }

    #[test]
    fn secrets_are_not_printed() {
        let bytes = [9; LEN];
        assert_eq!(format!("{:?}", SecretKey::from_bytes(bytes)), "SecretKey(..)");
        assert_eq!(format!("{:?}", PresharedKey::from_bytes(bytes)), "PresharedKey(..)");
        let public = PublicKey::from_bytes(bytes);
        assert_eq!(format!("{public:?}"), format!("PublicKey({public})"));
        let message = KeyError { got: 3 }.to_string();
        assert!(message.starts_with("a text of 3 characters: expected 32 bytes in base64"), "{message}");
    }
}
