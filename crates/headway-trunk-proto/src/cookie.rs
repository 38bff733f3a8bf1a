//! The two authentication codes of handshake messages, and cookies: as in WireGuard, a gateway under load answers only
//! those who receive what is sent to the address that they send from.

use std::net::{IpAddr, SocketAddr};

use blake2::digest::consts::U16;
use blake2::digest::{FixedOutput as _, Mac};
use blake2::{Blake2s256, Blake2sMac, Digest as _};
use chacha20poly1305::{AeadInPlace as _, KeyInit as _, XChaCha20Poly1305};
use headway_units::{Duration, Instant};
use subtle::ConstantTimeEq as _;

use crate::PublicKey;
use crate::message::{COOKIE_NONCE, COOKIE_REPLY_LEN, MAC, cookie_reply_header};

/// For how long a secret makes cookies, and for how long it takes them back after that. A gateway uses a cookie for as long.
const LIFETIME: Duration = Duration::from_secs(120);

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; MAC] {
    // A key of at most 32 bytes is always taken.
    let Ok(mut mac) = <Blake2sMac<U16> as Mac>::new_from_slice(key) else { return [0; MAC] };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize_fixed().into()
}

fn key(label: &[u8], of: &PublicKey) -> [u8; 32] {
    let mut hash = Blake2s256::new();
    hash.update(label);
    hash.update(of.bytes());
    hash.finalize().into()
}

/// mac1 keeps out all who do not know the receiver's public key. `message` ends before mac1.
pub(crate) fn mac1(receiver: &PublicKey, message: &[u8]) -> [u8; MAC] {
    mac(&key(b"headway trunk mac1", receiver), &[message])
}

/// mac2 proves that its sender has received a cookie. `message` ends before mac2.
pub(crate) fn mac2(cookie: &[u8; MAC], message: &[u8]) -> [u8; MAC] {
    mac(cookie, &[message])
}

/// Writes both codes into the last bytes of a handshake message.
pub(crate) fn authenticate(receiver: &PublicKey, cookie: Option<&[u8; MAC]>, message: &mut [u8]) {
    let at = message.len() - 2 * MAC;
    let first = mac1(receiver, &message[..at]);
    message[at..at + MAC].copy_from_slice(&first);
    if let Some(cookie) = cookie {
        let second = mac2(cookie, &message[..at + MAC]);
        message[at + MAC..].copy_from_slice(&second);
    }
}

/// Whether mac1 of a handshake message is right.
pub(crate) fn has_mac1(receiver: &PublicKey, message: &[u8]) -> bool {
    let Some(at) = message.len().checked_sub(2 * MAC) else { return false };
    mac1(receiver, &message[..at]).ct_eq(&message[at..at + MAC]).into()
}

/// Makes cookies and takes them back.
pub(crate) struct CookieJar {
    /// The secret in use and the one before it.
    secrets: [Secret; 2],
}

#[derive(Clone, Copy)]
struct Secret {
    bytes: [u8; 32],
    /// When it was drawn.
    since: Instant,
}

impl Secret {
    fn cookie(&self, from: SocketAddr) -> [u8; MAC] {
        let port = from.port().to_be_bytes();
        match from.ip() {
            IpAddr::V4(ip) => mac(&self.bytes, &[&ip.octets(), &port]),
            IpAddr::V6(ip) => mac(&self.bytes, &[&ip.octets(), &port]),
        }
    }

    /// Whether its cookies are taken back.
    fn is_valid(&self, now: Instant) -> bool {
        now.saturating_since(self.since) < LIFETIME * 2
    }
}

impl CookieJar {
    /// With a random secret.
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        Self { secrets: [Secret { bytes: secret, since: Instant::ZERO }; 2] }
    }

    /// Whether the secret in use is old, and [`CookieJar::renew`] due.
    pub(crate) fn is_stale(&self, now: Instant) -> bool {
        now.saturating_since(self.secrets[0].since) >= LIFETIME
    }

    /// Another random secret. The cookies of the one before stay valid for their time.
    pub(crate) fn renew(&mut self, now: Instant, secret: [u8; 32]) {
        self.secrets = [Secret { bytes: secret, since: now }, self.secrets[0]];
    }

    /// Whether mac2 of a handshake message was made with a cookie that was sent to `from`, and not too long ago.
    pub(crate) fn has_mac2(&self, now: Instant, from: SocketAddr, message: &[u8]) -> bool {
        let Some(at) = message.len().checked_sub(MAC) else { return false };
        self.secrets
            .iter()
            .filter(|secret| secret.is_valid(now))
            .any(|secret| bool::from(mac2(&secret.cookie(from), &message[..at]).ct_eq(&message[at..])))
    }

    /// The answer to a handshake message without a valid mac2. `nonce` is random.
    pub(crate) fn reply(
        &self,
        ours: &PublicKey,
        (from, sender): (SocketAddr, u32),
        message: &[u8],
        nonce: [u8; COOKIE_NONCE],
    ) -> Option<Vec<u8>> {
        let at = message.len().checked_sub(2 * MAC)?;
        let mut sealed = self.secrets[0].cookie(from).to_vec();
        let cipher = XChaCha20Poly1305::new(&key(b"headway trunk cookie", ours).into());
        cipher.encrypt_in_place(&nonce.into(), &message[at..at + MAC], &mut sealed).ok()?;
        let mut reply = Vec::with_capacity(COOKIE_REPLY_LEN);
        reply.extend_from_slice(&cookie_reply_header(sender));
        reply.extend_from_slice(&nonce);
        reply.extend_from_slice(&sealed);
        Some(reply)
    }
}

/// The cookie in the peer's reply to a message of ours whose mac1 was `mac1`.
pub(crate) fn open_reply(peer: &PublicKey, mac1: &[u8; MAC], reply: &[u8]) -> Option<[u8; MAC]> {
    let (nonce, sealed) = reply.get(8..COOKIE_REPLY_LEN)?.split_first_chunk::<COOKIE_NONCE>()?;
    let cipher = XChaCha20Poly1305::new(&key(b"headway trunk cookie", peer).into());
    let mut cookie = sealed.to_vec();
    cipher.decrypt_in_place(nonce.into(), mac1, &mut cookie).ok()?;
    cookie.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::INITIATION_LEN;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    fn at(second: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(second)
    }

    /// A message with a cookie that `jar` made.
    fn with_cookie(jar: &CookieJar, from: SocketAddr) -> Vec<u8> {
        let peer = PublicKey::from_bytes([3; 32]);
        let mut message = vec![5; INITIATION_LEN];
        authenticate(&peer, None, &mut message);
        let first: [u8; MAC] =
            message[INITIATION_LEN - 32..INITIATION_LEN - 16].try_into().expect("16 bytes");
        let reply = jar.reply(&peer, (from, 9), &message, [4; COOKIE_NONCE]).expect("a reply");
        assert_eq!(reply.len(), COOKIE_REPLY_LEN);
        assert_eq!(open_reply(&peer, &[0; MAC], &reply), None, "of another message");
        let cookie = open_reply(&peer, &first, &reply).expect("a cookie");
        authenticate(&peer, Some(&cookie), &mut message);
        message
    }

    #[test]
    fn a_cookie_counts_for_its_address_and_message() {
        let (peer, from) = (PublicKey::from_bytes([3; 32]), address("192.0.2.1:7"));
        let jar = CookieJar::new([1; 32]);
        let mut message = vec![5; INITIATION_LEN];
        authenticate(&peer, None, &mut message);
        assert!(has_mac1(&peer, &message) && !jar.has_mac2(at(0), from, &message));
        let mut message = with_cookie(&jar, from);
        assert!(jar.has_mac2(at(0), from, &message));
        assert!(!jar.has_mac2(at(0), address("192.0.2.1:8"), &message));
        message[0] ^= 1;
        assert!(!has_mac1(&peer, &message) && !jar.has_mac2(at(0), from, &message));
    }

    /// A secret is renewed when a cookie is asked for, which may be long after.
    #[test]
    fn a_cookie_counts_for_two_to_four_minutes_whenever_the_next_is_asked_for() {
        let from = address("[2001:db8::1]:7");
        let week = 7 * 24 * 3600;
        for (renewed, asked, counts) in [
            (None, 119, true),
            (Some(120), 120, true),
            (Some(120), 239, true),
            (Some(120), 240, false),
            (Some(week), week, false),
            (None, week, false),
        ] {
            let mut jar = CookieJar::new([1; 32]);
            let message = with_cookie(&jar, from);
            if let Some(second) = renewed {
                assert!(!jar.is_stale(at(119)) && jar.is_stale(at(second)));
                jar.renew(at(second), [2; 32]);
            }
            assert_eq!(jar.has_mac2(at(asked), from, &message), counts, "renewed {renewed:?}, asked {asked}");
        }
    }

    #[test]
    fn what_is_too_short_for_a_code_has_none() {
        let (ours, jar) = (PublicKey::from_bytes([3; 32]), CookieJar::new([1; 32]));
        let from: SocketAddr = "192.0.2.1:7".parse().expect("an address");
        for len in 0..2 * MAC {
            assert!(
                !has_mac1(&ours, &vec![0; len]) && !jar.has_mac2(Instant::ZERO, from, &vec![0; len]),
                "{len}"
            );
            assert!(jar.reply(&ours, (from, 9), &vec![0; len], [4; COOKIE_NONCE]).is_none(), "{len}");
        }
        let mut message = vec![0; 2 * MAC];
        authenticate(&ours, None, &mut message);
        assert!(has_mac1(&ours, &message));
        for len in 0..COOKIE_REPLY_LEN {
            assert_eq!(open_reply(&ours, &[0; MAC], &vec![3; len]), None, "{len}");
        }
    }
}
