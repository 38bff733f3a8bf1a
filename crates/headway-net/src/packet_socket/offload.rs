//! Pending offload of a frame (`struct virtio_net_hdr`, `linux/virtio_net.h`).

/// The length of the offload header before every frame of a socket with `PACKET_VNET_HDR`. All zeros: no
/// pending offload.
pub const OFFLOAD_HEADER: usize = 10;

/// What must be completed before a frame can be sent on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// The checksum of TCP or UDP: its field holds the sum of the pseudo-header alone
    /// (`CHECKSUM_PARTIAL`).
    pub checksum: Option<ChecksumPlace>,
    /// The frame must be segmented.
    pub segments: Option<Segments>,
}

/// Where a checksum is to be computed, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChecksumPlace {
    /// The start of the summed bytes, from the start of the frame; they extend to its end.
    pub start: usize,
    /// The offset of the checksum field from there.
    pub offset: usize,
}

/// How a frame is to be segmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// The kind of its payload.
    pub kind: SegmentKind,
    /// Bytes of payload in every segment except the last.
    pub payload: usize,
}

/// The payload of a frame to be segmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SegmentKind {
    /// TCP (TSO, GSO, GRO).
    Tcp,
    /// UDP datagrams, one in each segment (`UDP_SEGMENT`).
    Udp,
    /// Another kind, by the header's number.
    Other(u8),
}

impl Offload {
    /// Reads the header.
    pub(super) fn parse(header: &[u8; OFFLOAD_HEADER]) -> Self {
        const NEEDS_CHECKSUM: u8 = 1;
        const TCP_V4: u8 = 1;
        const TCP_V6: u8 = 4;
        const UDP: u8 = 5;
        /// A flag of both TCP kinds: the first segment has CWR set.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_segments_is_read_with_and_without_a_mark_of_congestion() {
        let [a, b] = 1400_u16.to_ne_bytes();
        for (kind, expected) in [
            (0, None),
            (1, Some(SegmentKind::Tcp)),
            (4, Some(SegmentKind::Tcp)),
            (5, Some(SegmentKind::Udp)),
            (6, Some(SegmentKind::Other(6))),
        ] {
            for mark in [0, 0x80] {
                let mut header = [0; OFFLOAD_HEADER];
                header[..6].copy_from_slice(&[0, kind | mark, 0, 0, a, b]);
                let offload = Offload::parse(&header);
                assert_eq!(offload.checksum, None);
                assert_eq!(offload.segments, expected.map(|kind| Segments { kind, payload: 1400 }));
            }
        }
    }

    #[test]
    fn the_place_of_a_checksum_is_read_where_it_is_needed() {
        let ([a, b], [c, d]) = (34_u16.to_ne_bytes(), 16_u16.to_ne_bytes());
        for (flags, is_needed) in [(1, true), (3, true), (2, false)] {
            let mut header = [0; OFFLOAD_HEADER];
            header[..10].copy_from_slice(&[flags, 0, 0, 0, 0, 0, a, b, c, d]);
            let place = is_needed.then_some(ChecksumPlace { start: 34, offset: 16 });
            assert_eq!(Offload::parse(&header).checksum, place);
        }
    }
}
