//! Control messages: what two gateways say to each other beside TCP. They are sealed whole, and repeated where it
//! matters: a damaged one is lost.

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
}

impl Control {
    /// The message. Receivers ignore what follows the first byte, and messages that they do not know.
    pub(crate) fn bytes(self) -> [u8; 1] {
        [match self {
            Self::KeepAlive => 0,
            Self::Probe => 1,
            Self::ProbeSeen => 2,
            Self::Close => 3,
        }]
    }

    /// Reads a message.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        Some(match bytes.first()? {
            0 => Self::KeepAlive,
            1 => Self::Probe,
            2 => Self::ProbeSeen,
            3 => Self::Close,
            _ => return None,
        })
    }
}
