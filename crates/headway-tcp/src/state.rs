//! The states of a connection.

/// The states of RFC 9293, 3.3.2. LISTEN belongs to the host's listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Waiting for a matching connection request after having sent one.
    SynSent,
    /// Waiting for a confirming acknowledgement after having received and sent a request.
    SynReceived,
    /// Open: data can be sent and received.
    Established,
    /// We closed; waiting for the acknowledgement of our FIN, or the peer's FIN.
    FinWait1,
    /// Our FIN is acknowledged; waiting for the peer's.
    FinWait2,
    /// The peer closed; the application has not.
    CloseWait,
    /// Both closed at once; waiting for the acknowledgement of our FIN.
    Closing,
    /// The peer closed first, then we did; waiting for the acknowledgement of our FIN.
    LastAck,
    /// Waiting for old segments to leave the network.
    TimeWait,
    /// No connection.
    Closed,
}

impl State {
    /// Whether the handshake is over and the connection is not.
    pub fn is_synchronized(self) -> bool {
        !matches!(self, Self::SynSent | Self::SynReceived | Self::Closed)
    }

    /// Whether the application may still hand over data.
    pub fn may_send(self) -> bool {
        matches!(self, Self::SynSent | Self::SynReceived | Self::Established | Self::CloseWait)
    }

    /// Whether our data may be in the network.
    pub(crate) fn is_sending(self) -> bool {
        self.is_synchronized() && !matches!(self, Self::FinWait2 | Self::TimeWait)
    }

    /// Whether the peer may still send data.
    pub fn may_receive(self) -> bool {
        matches!(
            self,
            Self::SynSent | Self::SynReceived | Self::Established | Self::FinWait1 | Self::FinWait2
        )
    }
}
