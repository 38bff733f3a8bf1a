//! A frame in the box.

use headway_link::{Headers, PacketBuffer};

use crate::packet_socket::{ETHERNET_HEADER, Framing, OFFLOAD_HEADER};

/// The EtherTypes of IPv4 and IPv6.
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// VLAN tags (IEEE 802.1Q, 802.1ad), 4 bytes each.
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
const MAX_TAGS: usize = 2;

/// A frame with an IP packet, as it will be sent: an empty offload header, the link header, the packet.
///
/// A [`Link`](headway_link::Link) sees the IP packet only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    bytes: Vec<u8>,
    ip: usize,
}

impl AsMut<[u8]> for Frame {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.ip..]
    }
}

impl PacketBuffer for Frame {
    fn set_len(&mut self, len: usize) {
        self.bytes.resize(self.ip + len, 0);
    }
}

impl Frame {
    /// A frame of the link header and the IP packet in two parts.
    pub fn new(link_header: &[u8], headers: &[u8], payload: &[u8]) -> Self {
        let ip = OFFLOAD_HEADER + link_header.len();
        let mut bytes = Vec::with_capacity(ip + headers.len() + payload.len());
        bytes.extend_from_slice(&[0; OFFLOAD_HEADER]);
        bytes.extend_from_slice(link_header);
        bytes.extend_from_slice(headers);
        bytes.extend_from_slice(payload);
        Self { bytes, ip }
    }

    /// The IP packet.
    pub fn packet(&self) -> &[u8] {
        &self.bytes[self.ip..]
    }

    /// The link header.
    pub(super) fn link_header(&self) -> &[u8] {
        &self.bytes[OFFLOAD_HEADER..self.ip]
    }

    /// The bytes to send, beginning with the offload header.
    pub(super) fn wire(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the headers end, as in the simulator: a packet other than TCP consists of headers only. The
    /// UDP header, which the simulator does not damage, is recognised too.
    pub(super) fn headers(&self) -> Headers {
        const UDP: u8 = 17;
        const UDP_HEADER: usize = 8;
        let packet = self.packet();
        if let Some(layout) = headway_wire::layout(packet) {
            return Headers { ip_header_len: layout.ip_header_len, header_len: layout.header_len };
        }
        match headway_wire::ip::layout(packet) {
            Some((UDP, ip)) if ip + UDP_HEADER <= packet.len() => {
                Headers { ip_header_len: ip, header_len: ip + UDP_HEADER }
            }
            Some((_, ip)) if ip <= packet.len() => Headers { ip_header_len: ip, header_len: packet.len() },
            _ => Headers { ip_header_len: 0, header_len: packet.len() },
        }
    }
}

/// Where the IP packet begins and ends in a frame; `None` if there is none.
pub(super) fn packet_range(frame: &[u8], framing: Framing) -> Option<(usize, usize)> {
    let start = match framing {
        Framing::Ip => 0,
        Framing::Ethernet => ip_behind_ethernet(frame)?,
        Framing::Other(_) => return None,
    };
    let packet = frame.get(start..)?;
    let stated = match (packet.first()? >> 4, packet.first_chunk::<6>()) {
        (4, Some(fixed)) => usize::from(u16::from_be_bytes([fixed[2], fixed[3]])),
        (6, Some(fixed)) => 40 + usize::from(u16::from_be_bytes([fixed[4], fixed[5]])),
        // Shorter than any header: does not pass the link.
        _ => return None,
    };
    // A short packet is followed by padding, which the sending card adds again. An invalid length, as of
    // a packet beyond 64 KiB with segmentation offload, is ignored.
    let len = if (20..=packet.len()).contains(&stated) { stated } else { packet.len() };
    Some((start, start + len))
}

fn ip_behind_ethernet(frame: &[u8]) -> Option<usize> {
    let mut start = ETHERNET_HEADER;
    for _ in 0..=MAX_TAGS {
        let kind: [u8; 2] = *frame.get(start - 2..)?.first_chunk()?;
        if kind == IPV4 || kind == IPV6 {
            return Some(start);
        }
        if !TAGS.contains(&kind) {
            return None;
        }
        start += 4;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shortest IPv4 packet, followed by padding.
    fn v4(total_len: u8, behind: usize) -> Vec<u8> {
        let mut packet = vec![0; usize::from(total_len) + behind];
        packet[0] = 0x45;
        packet[3] = total_len;
        packet[9] = 17;
        packet
    }

    #[test]
    fn packets_are_found_between_tags_and_padding() {
        let packet = v4(28, 18);
        let behind = |tags: &[u8]| packet_range(&[&[7; 12], tags, &packet].concat(), Framing::Ethernet);
        assert_eq!(behind(&IPV4), Some((14, 42)));
        assert_eq!(behind(&[0x81, 0, 0, 5, 8, 0]), Some((18, 46)));
        assert_eq!(behind(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0]), Some((22, 50)));
        assert_eq!(behind(&[0x81, 0, 0, 5, 0x81, 0, 0, 5, 0x81, 0, 0, 6, 8, 0]), None, "three tags");
        assert_eq!(behind(&[0x08, 0x06]), None, "ARP");
        assert_eq!(packet_range(&packet, Framing::Ip), Some((0, 28)));
        assert_eq!(packet_range(&packet, Framing::Other(1)), None);
        let mut v6 = vec![0; 70];
        v6[0] = 0x60;
        v6[5] = 20;
        assert_eq!(packet_range(&v6, Framing::Ip), Some((0, 60)));
    }

    #[test]
    fn invalid_lengths_are_ignored() {
        let mut packet = v4(60, 0);
        packet[2] = 200;
        assert_eq!(packet_range(&packet, Framing::Ip), Some((0, 60)), "too long");
        packet[2..4].copy_from_slice(&[0, 3]);
        assert_eq!(packet_range(&packet, Framing::Ip), Some((0, 60)), "too short");
        for len in 0..6 {
            assert_eq!(packet_range(&packet[..len], Framing::Ip), None);
        }
        for len in 0..20 {
            assert_eq!(packet_range(&[0x08; 20][..len], Framing::Ethernet), None);
        }
    }

    #[test]
    fn headers_end_as_in_the_simulator() {
        let headers = |packet: &[u8]| {
            let Headers { ip_header_len, header_len } = Frame::new(b"link", packet, &[]).headers();
            (ip_header_len, header_len)
        };
        let mut tcp = v4(60, 0);
        tcp[9] = 6;
        tcp[32] = 8 << 4;
        assert_eq!(headers(&tcp), (20, 52));
        assert_eq!(headers(&v4(60, 0)), (20, 28), "UDP");
        let mut icmp = v4(60, 0);
        icmp[9] = 1;
        assert_eq!(headers(&icmp), (20, 60));
        assert_eq!(headers(&v4(24, 0)), (20, 24), "not even the header of UDP");
        assert_eq!(headers(&[0x99; 30]), (0, 30));
        icmp.truncate(24);
        icmp[0] = 0x4f;
        assert_eq!(headers(&icmp), (0, 24), "shorter than its IP header");
    }

    #[test]
    fn a_link_gets_only_the_packet() {
        let mut frame = Frame::new(b"link", b"head", b"data");
        frame.as_mut().fill(1);
        assert_eq!(frame.wire(), [&[0; OFFLOAD_HEADER][..], b"link", &[1; 8]].concat());
        assert_eq!((frame.link_header(), frame.packet()), (&b"link"[..], &[1; 8][..]));
    }
}
