//! The header before each packet of a TUN with segmentation offload: `struct virtio_net_hdr`
//! (VIRTIO 1.2, 5.1.6), in the byte order of the machine.

/// Its length in bytes.
pub(crate) const LEN: usize = 10;

/// The checksum from `csum_start` on is to be computed and stored at `csum_offset`.
const NEEDS_CSUM: u8 = 1;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
/// The offset of the checksum in the TCP header.
const CHECKSUM_AT: u16 = 16;

/// The header of a complete packet, with all its checksums.
pub(crate) const WHOLE: [u8; LEN] = [0; LEN];

/// The header of a TCP packet to be segmented into `segment` bytes of payload, each with its own
/// checksum. `ip` and `all` are the lengths of the IP header, and of it and the TCP header.
pub(crate) fn cut(is_v4: bool, ip: usize, all: usize, segment: usize) -> [u8; LEN] {
    let words = [all, segment, ip].map(|len| (len as u16).to_ne_bytes());
    let [[a, b], [c, d], [e, f]] = words;
    let [g, h] = CHECKSUM_AT.to_ne_bytes();
    [NEEDS_CSUM, if is_v4 { GSO_TCPV4 } else { GSO_TCPV6 }, a, b, c, d, e, f, g, h]
}

/// Splits the header off. Returns whether the kernel guarantees that the packet is intact: its checksum,
/// or those of its coalesced segments, was verified, or was not computed since the packet was not on a
/// wire.
pub(crate) fn split(bytes: &[u8]) -> Option<(bool, &[u8])> {
    let (header, packet) = bytes.split_first_chunk::<LEN>()?;
    Some((header[0] & NEEDS_CSUM != 0, packet))
}
