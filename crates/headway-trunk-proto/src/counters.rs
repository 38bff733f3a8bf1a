//! What is counted of datagrams, of each peer and over all.

/// What was counted of one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerCounters {
    /// Segments whose header and payload were authenticated.
    pub intact: u64,
    /// Segments with an authenticated header and a damaged payload.
    pub corrupted: u64,
    /// Sealed packets of a session with it whose header is damaged.
    pub unreadable: u64,
    /// Damaged packets that were not announced, since most of those before them arrived intact too.
    pub disbelieved: u64,
    /// Packets of a session with it that were replayed, or are damaged beyond use.
    pub ignored: u64,
    /// Handshakes that came to a session.
    pub handshakes: u64,
    /// Segments to it that were sealed.
    pub sealed: u64,
}

/// What was counted over all peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TunnelCounters {
    /// Segments whose header and payload were authenticated.
    pub intact: u64,
    /// Segments with an authenticated header and a damaged payload.
    pub corrupted: u64,
    /// Sealed packets of a session whose header is damaged.
    pub unreadable: u64,
    /// Datagrams that belong to nothing: of unknown type, length or index, replayed, forged, or damaged beyond that.
    pub ignored: u64,
    /// Handshakes that came to a session.
    pub handshakes: u64,
    /// Handshake messages that were not valid, or too many from one address.
    pub bad_handshakes: u64,
    /// Initiations that were answered with a cookie.
    pub cookies_sent: u64,
    /// Packets that were not sealed, for lack of a session.
    pub without_session: u64,
}
