//! Control messages: what two gateways say to each other beside TCP. They are sealed whole, and repeated where it
//! matters: a damaged one is lost.

use crate::message::PREFIX;
use crate::seal::TAG;

/// What a challenge says: whoever has not received it cannot know it (RFC 9000, 19.17).
pub(crate) type Token = [u8; 8];
/// Bytes of a datagram with a challenge, or with the answer.
pub(crate) const CHALLENGE_LEN: usize = PREFIX + 1 + size_of::<Token>() + TAG;

/// A control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// The peer is there. It confirms a session, and is answered by nothing.
    KeepAlive,
    /// It was sent without a UDP checksum. The receiver reports it: the path leaves such datagrams alone.
    Probe,
    /// A [`Control::Probe`] has arrived.
    ProbeSeen,
    /// The sender ends: all connections to it are over.
    Close,
    /// It comes in a datagram of this length. The receiver reports it: the path carries such datagrams (RFC 8899).
    MtuProbe(u16),
    /// A [`Control::MtuProbe`] of this length has arrived.
    MtuSeen(u16),
    /// "Are you at the address that this was sent to?" (RFC 9000, 8.2.1)
    PathChallenge(Token),
    /// It has received a [`Control::PathChallenge`] with this.
    PathResponse(Token),
}

impl Control {
    /// The message. Receivers ignore what follows it, and messages that they do not know.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let sized = |kind: u8, size: u16| [&[kind], &size.to_be_bytes()[..]].concat();
        match self {
            Self::KeepAlive => vec![0],
            Self::Probe => vec![1],
            Self::ProbeSeen => vec![2],
            Self::Close => vec![3],
            Self::MtuProbe(size) => sized(4, size),
            Self::MtuSeen(size) => sized(5, size),
            Self::PathChallenge(token) => [&[6], &token[..]].concat(),
            Self::PathResponse(token) => [&[7], &token[..]].concat(),
        }
    }

    /// Reads a message.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let size = || bytes.get(1..)?.first_chunk().map(|size| u16::from_be_bytes(*size));
        Some(match bytes.first()? {
            0 => Self::KeepAlive,
            1 => Self::Probe,
            2 => Self::ProbeSeen,
            3 => Self::Close,
            4 => Self::MtuProbe(size()?),
            5 => Self::MtuSeen(size()?),
            6 => Self::PathChallenge(*bytes.get(1..)?.first_chunk()?),
            7 => Self::PathResponse(*bytes.get(1..)?.first_chunk()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let known: [(Control, &[u8]); 6] = [
            (Control::KeepAlive, &[0]),
            (Control::Probe, &[1]),
            (Control::ProbeSeen, &[2]),
            (Control::Close, &[3]),
            (Control::MtuProbe(0x1234), &[4, 0x12, 0x34]),
            (Control::MtuSeen(0x1234), &[5, 0x12, 0x34]),
        ];
        for (control, bytes) in known {
            assert_eq!((control.bytes(), Control::parse(bytes)), (bytes.to_vec(), Some(control)));
            assert_eq!(Control::parse(&[bytes, &[9, 9]].concat()), Some(control), "what follows is ignored");
            assert_eq!(Control::parse(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(Control::parse(&[6, 0, 0]), None);
    }
}
