//! The headers of datagrams, for a carrier that sends them twice.

use headway_wire::Ecn;

use super::Tunnel;
use crate::compact;
use crate::cookie;
use crate::message::{Message, PREFIX};
use crate::seal::{self, TAG};

/// The longest header of a segment with data whose header is compact, with one SACK block.
pub const LONGEST_DATA_HEADER: usize = PREFIX + *compact::LENGTHS.start() + SACK + TAG;
/// Two NOPs and an option with one block.
const SACK: usize = 2 + 2 + 8;

/// The length of the header of `datagram`: of what has to arrive intact if anything of it is to be used. A handshake or control
/// message is a header as a whole. `None`: it is no datagram of a tunnel.
pub fn header_len(datagram: &[u8]) -> Option<usize> {
    match Message::parse(datagram)? {
        Message::Sealed { kind, .. } => seal::header_len(kind, datagram.len()),
        Message::Initiation { .. } | Message::Response { .. } | Message::CookieReply { .. } => {
            Some(datagram.len())
        }
    }
}

impl Tunnel {
    /// Whether the [header](header_len) of a datagram is as it was sent. It changes nothing, and believes no more than
    /// [`Tunnel::receive`] does.
    pub fn has_intact_header(&self, datagram: &[u8]) -> bool {
        match Message::parse(datagram) {
            Some(Message::Sealed { receiver, low, kind }) => {
                let peer = self.indices.get(&receiver).and_then(|id| self.peers.get(id.0));
                let session =
                    peer.and_then(|peer| Some((peer.session(receiver)?, peer.arriving(Ecn::NotEct))));
                session
                    .is_some_and(|(session, inner)| session.opener.has_header(datagram, (low, kind), inner))
            }
            Some(Message::Initiation { .. } | Message::Response { .. }) => {
                cookie::has_mac1(&self.public, datagram)
            }
            // It is short, and is asked for again.
            Some(Message::CookieReply { .. }) => true,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{PeerConfig, SecretKey, TunnelConfig};

    proptest! {
        #[test]
        fn any_bytes_have_a_header_that_is_in_them_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let keys = [1, 2].map(|byte| SecretKey::from_bytes([byte; 32]));
            let mut config = TunnelConfig::new(keys[0].clone(), Box::new(|bytes: &mut [u8]| bytes.fill(7)));
            config.peers.push(PeerConfig::new(keys[1].public()));
            let tunnel = Tunnel::new(config);
            for first in [1, 2, 3, 0x40, 0x41, 0x45, 0x48, 0x4f, 0x57, 0x5f] {
                let mut bytes = bytes.clone();
                if let Some(kind) = bytes.first_mut() {
                    *kind = first;
                }
                prop_assert!(header_len(&bytes).is_none_or(|len| len <= bytes.len()));
                prop_assert!(first == 3 || !tunnel.has_intact_header(&bytes));
            }
        }
    }
}
