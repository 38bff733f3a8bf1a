//! Completes what a kernel leaves to offload hardware: checksums, and segmentation.
//!
//! A receiver must be able to verify each packet: one packet in a frame, each with its checksum.

use headway_wire::checksum::{self, Sum};

use super::Frame;
use crate::packet_socket::{ChecksumPlace, Segments};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Offsets of the checksums in the TCP and UDP headers.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;

/// Completes a checksum whose field holds the sum of the pseudo-header. `place` is counted from the start
/// of the packet; an invalid place is ignored.
pub(super) fn complete(packet: &mut [u8], place: ChecksumPlace) {
    let Some(summed) = packet.get_mut(place.start..) else { return };
    let value = checksum::sum(summed).complement();
    // RFC 768: "If the computed checksum is zero, it is transmitted as all ones"; all ones and zero are the
    // same to the sum of TCP.
    let value = if place.offset == UDP_CHECKSUM && value == 0 { 0xffff } else { value };
    if let Some(field) = summed.get_mut(place.offset..).and_then(|rest| rest.first_chunk_mut()) {
        *field = value.to_be_bytes();
    }
}

/// A long packet to be segmented.
struct Long<'a> {
    headers: Vec<u8>,
    ip_header_len: usize,
    protocol: u8,
    payload: &'a [u8],
}

/// Segments a long packet into frames with `link_header`, as a network card does. False if it cannot be
/// segmented.
pub(super) fn cut(
    link_header: &[u8],
    packet: &[u8],
    segments: Segments,
    mut each: impl FnMut(Frame),
) -> bool {
    let Some(mut long) = Long::parse(packet).filter(|_| segments.payload > 0) else { return false };
    let count = long.payload.len().div_ceil(segments.payload);
    for (index, payload) in long.payload.chunks(segments.payload).enumerate() {
        long.write_headers(index, payload, index * segments.payload, index + 1 == count, packet);
        each(Frame::new(link_header, &long.headers, payload));
    }
    true
}

impl<'a> Long<'a> {
    fn parse(packet: &'a [u8]) -> Option<Self> {
        let (protocol, ip_header_len) = headway_wire::ip::layout(packet)?;
        let header_len = match protocol {
            TCP => headway_wire::layout(packet)?.header_len,
            UDP => ip_header_len + 8,
            _ => return None,
        };
        let (headers, payload) = packet.split_at_checked(header_len)?;
        let headers = headers.to_vec();
        (!payload.is_empty()).then_some(Self { headers, ip_header_len, protocol, payload })
    }

    /// The headers of one segment, from those of the whole `packet`.
    fn write_headers(&mut self, index: usize, payload: &[u8], at: usize, is_last: bool, packet: &[u8]) {
        let (ip, body) = self.headers.split_at_mut(self.ip_header_len);
        let body_len = body.len() + payload.len();
        let mut sum = Sum::default();
        if ip[0] >> 4 == 4 {
            put(ip, 2, (self.ip_header_len + body_len) as u16);
            put(ip, 4, half(packet, 4).wrapping_add(index as u16));
            put(ip, 10, 0);
            let check = checksum::sum(ip).complement();
            put(ip, 10, check);
            sum.add_bytes(&ip[12..20]);
        } else {
            put(ip, 4, (self.ip_header_len - 40 + body_len) as u16);
            sum.add_bytes(&ip[8..40]);
        }
        sum.add_u16(u16::from(self.protocol));
        sum.add_u32(body_len as u32);
        let original = &packet[self.ip_header_len..];
        let checksum_at = if self.protocol == TCP {
            const FIN_AND_PSH: u8 = 0x09;
            const CWR: u8 = 0x80;
            let seq = u32::from(half(original, 4)) << 16 | u32::from(half(original, 6));
            let seq = seq.wrapping_add(at as u32);
            put(body, 4, (seq >> 16) as u16);
            put(body, 6, seq as u16);
            let mut flags = original[13];
            flags &= if is_last { !0 } else { !FIN_AND_PSH };
            // RFC 3168, 6.1.2: CWR is set on one packet only.
            flags &= if index == 0 { !0 } else { !CWR };
            body[13] = flags;
            TCP_CHECKSUM
        } else {
            put(body, 4, body_len as u16);
            UDP_CHECKSUM
        };
        put(body, checksum_at, 0);
        sum.add_bytes(body);
        sum.add_bytes(payload);
        let value = sum.complement();
        put(body, checksum_at, if self.protocol == UDP && value == 0 { 0xffff } else { value });
    }
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use headway_wire::{
        Ecn, Integrity, IpHeader, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, emit, judge,
    };

    use super::*;
    use crate::packet_socket::SegmentKind;

    fn header(v6: bool) -> IpHeader {
        let [src, dst] = [1_u16, 2].map(|host| match v6 {
            true => [0xfd77, 0, 0, 0, 0, 0, 0, host].into(),
            false => [10, 0, 0, host as u8].into(),
        });
        IpHeader { ecn: Ecn::Ect0, identification: 65_535, ..IpHeader::new(src, dst) }
    }

    fn tcp(v6: bool, flags: TcpFlags, payload: &[u8]) -> Vec<u8> {
        let tcp = TcpHeader {
            src_port: 1,
            dst_port: 2,
            seq: SeqNumber(u32::MAX - 1000),
            ack: SeqNumber(7),
            flags,
            window: 9,
            urgent: 0,
        };
        let options = TcpOptions { mss: Some(1400), ..TcpOptions::default() };
        let mut packet = vec![0; 65_535];
        let len = emit(&mut packet, &header(v6), &tcp, &options, (payload, b"")).unwrap();
        packet.truncate(len);
        packet
    }

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 7 + at / 256) as u8).collect()
    }

    #[test]
    fn a_long_packet_is_segmented() {
        for v6 in [false, true] {
            let flags = TcpFlags::ACK | TcpFlags::PSH | TcpFlags::FIN | TcpFlags::CWR;
            let payload = bytes(30_001);
            let packet = tcp(v6, flags, &payload);
            let mut pieces = Vec::new();
            let segments = Segments { kind: SegmentKind::Tcp, payload: 1448 };
            assert!(cut(b"link", &packet, segments, |piece| pieces.push(piece)));
            assert_eq!(pieces.len(), 21);
            let mut together = Vec::new();
            for (index, piece) in pieces.iter().enumerate() {
                assert_eq!(judge(piece.packet()), Ok(Integrity::Intact), "piece {index}");
                let segment = Segment::parse(piece.packet()).unwrap();
                let at = (u32::MAX - 1000).wrapping_add(together.len() as u32);
                assert_eq!(segment.tcp.seq, SeqNumber(at));
                assert_eq!(segment.tcp.flags.contains(TcpFlags::FIN), index == 20);
                assert_eq!(segment.tcp.flags.contains(TcpFlags::PSH), index == 20);
                assert_eq!(segment.tcp.flags.contains(TcpFlags::CWR), index == 0);
                assert!(segment.tcp.flags.contains(TcpFlags::ACK));
                assert_eq!(segment.options.mss, Some(1400));
                assert_eq!(segment.ip.ecn, Ecn::Ect0);
                if !v6 {
                    assert_eq!(segment.ip.identification, 65_535_u16.wrapping_add(index as u16));
                }
                assert_eq!(&piece.wire()[10..14], b"link");
                together.extend_from_slice(segment.payload);
            }
            assert_eq!(together, payload);
        }
    }

    #[test]
    fn datagrams_are_segmented() {
        for v6 in [false, true] {
            let payload = bytes(2500);
            let mut packet = vec![0; 3000];
            let start = header(v6).emit(&mut packet, UDP, 8 + payload.len()).unwrap();
            packet.truncate(start + 8 + payload.len());
            packet[start..start + 8].copy_from_slice(&[0, 1, 0, 2, 9, 204, 0, 0]);
            packet[start + 8..].copy_from_slice(&payload);
            let mut together = Vec::new();
            let segments = Segments { kind: SegmentKind::Udp, payload: 1000 };
            assert!(cut(b"", &packet, segments, |piece| {
                let datagram = headway_wire::ip::Datagram::parse(piece.packet()).unwrap();
                let mut sum = datagram.header.pseudo_header_sum(UDP, datagram.body.len());
                sum.add_bytes(datagram.body);
                assert!(sum.is_sound());
                assert_eq!(usize::from(half(datagram.body, 4)), datagram.body.len());
                together.extend_from_slice(&datagram.body[8..]);
            }));
            assert_eq!(together, payload);
        }
    }

    #[test]
    fn what_cannot_be_segmented_is_reported() {
        let segments = Segments { kind: SegmentKind::Tcp, payload: 1000 };
        let mut icmp = tcp(false, TcpFlags::ACK, b"payload");
        icmp[9] = 1;
        let whole = tcp(false, TcpFlags::ACK, b"payload");
        let nothing = tcp(false, TcpFlags::ACK, b"");
        let none = Segments { payload: 0, ..segments };
        for (packet, segments) in
            [(&icmp[..], segments), (&whole[..30], segments), (&whole[..], none), (&nothing[..], segments)]
        {
            assert!(!cut(b"", packet, segments, |_| panic!("a piece")));
        }
    }

    #[test]
    fn checksums_are_completed() {
        let sound = tcp(false, TcpFlags::ACK, &bytes(999));
        let mut packet = sound.clone();
        let pseudo = header(false).pseudo_header_sum(TCP, packet.len() - 20).fold();
        put(&mut packet, 20 + TCP_CHECKSUM, pseudo);
        assert_eq!(judge(&packet), Ok(Integrity::Unreadable));
        complete(&mut packet, ChecksumPlace { start: 20, offset: TCP_CHECKSUM });
        assert_eq!(packet, sound);
        for (start, offset) in [(5000, 16), (20, 5000), (usize::MAX, usize::MAX)] {
            complete(&mut packet, ChecksumPlace { start, offset });
            assert_eq!(packet, sound);
        }
    }

    /// Zero says that there is no checksum.
    #[test]
    fn a_sum_of_zero_is_sent_as_all_ones_in_udp_alone() {
        let ones = [0xff; 2];
        for (offset, content, completed) in [
            (UDP_CHECKSUM, ones, ones),
            (UDP_CHECKSUM, [0x12, 0x34], [0xed, 0xcb]),
            (TCP_CHECKSUM, ones, [0; 2]),
            (TCP_CHECKSUM, [0x12, 0x34], [0xed, 0xcb]),
        ] {
            // The field's sum of the pseudo-header is zero.
            let mut packet = [&[0; 20][..], &content].concat();
            complete(&mut packet, ChecksumPlace { start: 0, offset });
            assert_eq!(packet[offset..offset + 2], completed, "{offset} {content:?}");
        }
    }
}
