//! The header that a TUN with segmentation offload puts in front of each packet: `struct virtio_net_hdr`
//! (VIRTIO 1.2, 5.1.6), in the byte order of the machine.

/// Its length in bytes.
pub(crate) const LEN: usize = 10;

/// The checksum from `csum_start` on is to be computed and put where `csum_offset` says.
const NEEDS_CSUM: u8 = 1;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
/// Where the TCP checksum stands in the TCP header.
const CHECKSUM_AT: u16 = 16;

/// The header of a packet that is as it is, with all its checksums.
pub(crate) const WHOLE: [u8; LEN] = [0; LEN];

/// The header of a TCP packet to be segmented into `segment` bytes of payload, each with a checksum
/// of its own. `ip` and `all` are the lengths of the IP header, and of it and the TCP header.
pub(crate) fn cut(is_v4: bool, ip: usize, all: usize, segment: usize) -> [u8; LEN] {
    let words = [all, segment, ip].map(|len| (len as u16).to_ne_bytes());
    let [[a, b], [c, d], [e, f]] = words;
    let [g, h] = CHECKSUM_AT.to_ne_bytes();
    [NEEDS_CSUM, if is_v4 { GSO_TCPV4 } else { GSO_TCPV6 }, a, b, c, d, e, f, g, h]
}

/// Splits the header off. Says whether the kernel vouches for the packet behind: its checksum, or those
/// of the segments that it was put together from, was checked, or has not been computed because the
/// packet was on no wire yet.
pub(crate) fn split(bytes: &[u8]) -> Option<(bool, &[u8])> {
    let (header, packet) = bytes.split_first_chunk::<LEN>()?;
    Some((header[0] & NEEDS_CSUM != 0, packet))
}
