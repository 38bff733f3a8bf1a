//! What this machine's kernel leaves to hardware (`struct virtio_net_hdr`, `linux/virtio_net.h`).

/// The length of the header that says so, in front of every frame of a socket that asked for it
/// (`PACKET_VNET_HDR`). All zeros: nothing is left to do.
pub const OFFLOAD_HEADER: usize = 10;

/// What is left to do to a frame before it can go on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// The checksum of TCP or UDP: its field holds the sum of the pseudo-header alone
    /// (`CHECKSUM_PARTIAL`).
    pub checksum: Option<ChecksumPlace>,
    /// The frame is longer than a packet may be and is to be cut.
    pub segments: Option<Segments>,
}

/// Where a checksum is to be computed, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChecksumPlace {
    /// What is summed begins here, counted from the start of the frame, and goes on to its end.
    pub start: usize,
    /// Where the sum goes, counted from there.
    pub offset: usize,
}

/// How a frame is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// What is in it.
    pub kind: SegmentKind,
    /// Octets of payload in every piece but the last.
    pub payload: usize,
}

/// What a frame that is to be cut carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// TCP (TSO, GSO, GRO).
    Tcp,
    /// UDP datagrams, one in each piece (`UDP_SEGMENT`).
    Udp,
    /// Something else: the header's number of it.
    Other(u8),
}

impl Offload {
    /// Reads the header.
    pub(super) fn parse(header: &[u8; OFFLOAD_HEADER]) -> Self {
        const NEEDS_CHECKSUM: u8 = 1;
        const TCP_V4: u8 = 1;
        const TCP_V6: u8 = 4;
        const UDP: u8 = 5;
        /// A mark on either kind of TCP: the first segment bears CWR.
        const ECN: u8 = 0x80;
        let half = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        let kind = match header[1] & !ECN {
            0 => None,
            TCP_V4 | TCP_V6 => Some(SegmentKind::Tcp),
            UDP => Some(SegmentKind::Udp),
            other => Some(SegmentKind::Other(other)),
        };
        Self {
            checksum: (header[0] & NEEDS_CHECKSUM != 0)
                .then(|| ChecksumPlace { start: half(6), offset: half(8) }),
            segments: kind.map(|kind| Segments { kind, payload: half(4) }),
        }
    }
}
