//! The inner addresses of gateways.

use std::net::Ipv6Addr;

use blake2::{Blake2s256, Digest as _};

use crate::PublicKey;

/// The address that the gateway `of` has inside its tunnel to `peer`: both ends compute the same. It is one of
/// RFC 4193's unique local addresses, and never leaves the tunnel. For each pair of gateways it is another, so that
/// all that a TCP keeps for a pair of addresses (its path) belongs to one tunnel.
pub fn inner_address(of: &PublicKey, peer: &PublicKey) -> Ipv6Addr {
    let mut hash = Blake2s256::new();
    hash.update(b"headway trunk inner address");
    hash.update(of.bytes());
    hash.update(peer.bytes());
    let mut bits: [u8; 16] = std::array::from_fn(|_| 0);
    bits.copy_from_slice(&hash.finalize()[..16]);
    // RFC 4193, 3.1: the prefix fc00::/7, with the L bit set for one that is locally assigned.
    bits[0] = 0xfd;
    bits.into()
}
