//! Datagrams, told apart: their types and lengths (`docs/trunk-protocol.md`, section 2).

use crate::compact;

/// What the first byte says: handshake messages, and in the upper half of the byte a sealed packet, or one with a compact
/// header.
const INITIATION: u8 = 1;
const RESPONSE: u8 = 2;
const COOKIE_REPLY: u8 = 3;
const SEALED: u8 = 4;
const COMPACT: u8 = 5;

/// Bytes of mac1, mac2 and a cookie.
pub(crate) const MAC: usize = 16;
/// Type, three bytes of zero, and the sender's index.
pub(crate) const INITIATION_HEADER: usize = 8;
/// Type, three bytes of zero, the sender's and the receiver's index.
pub(crate) const RESPONSE_HEADER: usize = 12;
/// What a handshake message carries for the peer: the boot identifier and the time.
pub(crate) const HANDSHAKE_PAYLOAD: usize = 16;
/// Noise IK, first message: an ephemeral key, the sealed static key, the sealed payload.
pub(crate) const NOISE_INITIATION: usize = 32 + 48 + HANDSHAKE_PAYLOAD + 16;
/// Noise IKpsk2, second message: an ephemeral key, the sealed payload.
pub(crate) const NOISE_RESPONSE: usize = 32 + HANDSHAKE_PAYLOAD + 16;
pub(crate) const INITIATION_LEN: usize = INITIATION_HEADER + NOISE_INITIATION + 2 * MAC;
pub(crate) const RESPONSE_LEN: usize = RESPONSE_HEADER + NOISE_RESPONSE + 2 * MAC;
/// Type, three bytes of zero, the receiver's index, a nonce, the sealed cookie.
pub(crate) const COOKIE_NONCE: usize = 24;
pub(crate) const COOKIE_REPLY_LEN: usize = 8 + COOKIE_NONCE + MAC + 16;
/// Type and data offset, the receiver's index, the low half of the packet's number.
pub(crate) const PREFIX: usize = 9;

/// What a padded control message says: the type, and the length of the datagram.
pub(crate) const PADDED_MESSAGE: usize = 3;
/// The datagram without padding.
pub(crate) const PADDED_LEN: usize = PREFIX + PADDED_MESSAGE + 16;

/// A datagram by its type. Nothing of it is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Noise IK, first message.
    Initiation { sender: u32 },
    /// Noise IK, second message.
    Response { sender: u32, receiver: u32 },
    /// "Prove that you receive what is sent to your address."
    CookieReply { receiver: u32 },
    /// A sealed segment, or a control message.
    Sealed { receiver: u32, low: u32, kind: MessageKind },
}

/// What a sealed packet contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// A control message.
    Control,
    /// A control message of [`PADDED_MESSAGE`] bytes, and after its tag anything, which makes the datagram longer.
    Padded,
    /// A TCP segment whose header has this many bytes with its options.
    Segment { header: usize },
    /// A TCP segment with data whose header is compact, and has this many bytes so.
    Compact { header: usize },
}

impl MessageKind {
    /// The first byte of the datagram.
    pub(crate) fn first_byte(self) -> u8 {
        match self {
            Self::Control => SEALED << 4,
            Self::Padded => SEALED << 4 | 1,
            Self::Segment { header } => SEALED << 4 | (header / 4) as u8,
            Self::Compact { header } => COMPACT << 4 | (header / 4) as u8,
        }
    }
}

impl Message {
    /// Tells what `datagram` is; `None` if it has no such form.
    pub(crate) fn parse(datagram: &[u8]) -> Option<Self> {
        let first = *datagram.first()?;
        let kind = match (first >> 4, usize::from(first & 15) * 4) {
            (SEALED, 0) => Some(MessageKind::Control),
            (SEALED, 4) => Some(MessageKind::Padded),
            (SEALED, header @ 20..) => Some(MessageKind::Segment { header }),
            (COMPACT, header) if compact::LENGTHS.contains(&header) => Some(MessageKind::Compact { header }),
            _ => None,
        };
        if let Some(kind) = kind {
            return Some(Self::Sealed { receiver: word(datagram, 1)?, low: word(datagram, 5)?, kind });
        }
        match (first, datagram.len()) {
            (INITIATION, INITIATION_LEN) => Some(Self::Initiation { sender: word(datagram, 4)? }),
            (RESPONSE, RESPONSE_LEN) => {
                Some(Self::Response { sender: word(datagram, 4)?, receiver: word(datagram, 8)? })
            }
            (COOKIE_REPLY, COOKIE_REPLY_LEN) => Some(Self::CookieReply { receiver: word(datagram, 4)? }),
            _ => None,
        }
    }
}

/// The start of an initiation.
pub(crate) fn initiation_header(sender: u32) -> [u8; INITIATION_HEADER] {
    let mut bytes = [INITIATION, 0, 0, 0, 0, 0, 0, 0];
    bytes[4..].copy_from_slice(&sender.to_be_bytes());
    bytes
}

/// The start of a response.
pub(crate) fn response_header(sender: u32, receiver: u32) -> [u8; RESPONSE_HEADER] {
    let mut bytes = [0; RESPONSE_HEADER];
    bytes[0] = RESPONSE;
    bytes[4..8].copy_from_slice(&sender.to_be_bytes());
    bytes[8..].copy_from_slice(&receiver.to_be_bytes());
    bytes
}

/// The start of a cookie reply.
pub(crate) fn cookie_reply_header(receiver: u32) -> [u8; 8] {
    let mut bytes = [COOKIE_REPLY, 0, 0, 0, 0, 0, 0, 0];
    bytes[4..].copy_from_slice(&receiver.to_be_bytes());
    bytes
}

/// The start of a sealed packet.
pub(crate) fn prefix(kind: MessageKind, receiver: u32, number: u64) -> [u8; PREFIX] {
    let mut bytes = [0; PREFIX];
    bytes[0] = kind.first_byte();
    bytes[1..5].copy_from_slice(&receiver.to_be_bytes());
    bytes[5..].copy_from_slice(&(number as u32).to_be_bytes());
    bytes
}

fn word(datagram: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*datagram.get(at..)?.first_chunk()?))
}
