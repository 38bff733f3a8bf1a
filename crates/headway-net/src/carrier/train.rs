//! Segmentation offload: consecutive segments of a connection are sent as one packet, which the kernel
//! segments again or receives whole.
//!
//! Segments are coalesced here and not in the TCP, whose segments, windows, pacing and counters are the
//! same on every carrier.

use std::io::IoSlice;

use headway_wire::{TcpFlags, checksum::Sum, layout};

use super::virtio;
use crate::sys::BATCH;

/// The longest packet with a length field of 16 bits.
const LONGEST: usize = 65_535;
/// The longest headers: IPv6 without extensions, or IPv4, and TCP.
const HEADERS: usize = 40 + 60;
const TCP: u8 = 6;

/// A train: packets that are sent together.
pub(crate) struct Train<'a> {
    /// The virtio header, and for more than one packet the common headers.
    head: [u8; virtio::LEN + HEADERS],
    head_len: usize,
    /// The payloads.
    bodies: [&'a [u8]; BATCH],
    count: usize,
}

impl<'a> Train<'a> {
    /// The longest train at the beginning of `packets`; at least one packet. `None` if there are none.
    pub(crate) fn coalesce(mut packets: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let first = packets.next()?;
        let mut train =
            Self { head: [0; virtio::LEN + HEADERS], head_len: virtio::LEN, bodies: [&[]; BATCH], count: 1 };
        train.head[..virtio::LEN].copy_from_slice(&virtio::WHOLE);
        train.bodies[0] = first;
        let Some(engine) = Engine::of(first) else { return Some(train) };
        let mut len = first.len();
        let mut push = first[engine.ip + FLAGS] & TcpFlags::PSH.bits();
        for packet in packets.take(BATCH - 1) {
            let before = len - engine.all;
            if push != 0 || len + packet.len() - engine.all.min(packet.len()) > LONGEST {
                break;
            }
            let Some(body) = engine.body_of_next(packet, before) else { break };
            train.bodies[train.count] = body;
            train.count += 1;
            len += body.len();
            push = packet[engine.ip + FLAGS] & TcpFlags::PSH.bits();
            // A shorter segment ends the train: all others must have the same length.
            if body.len() < engine.segment() {
                break;
            }
        }
        if train.count > 1 {
            train.bodies[0] = &first[engine.all..];
            train.head_len += engine.all;
            let (virtio, headers) = train.head[..train.head_len].split_at_mut(virtio::LEN);
            virtio.copy_from_slice(&virtio::cut(engine.is_v4, engine.ip, engine.all, engine.segment()));
            engine.headers(headers, len, push);
        }
        Some(train)
    }

    /// The number of packets.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Calls `write` with the parts of the coalesced packet.
    pub(crate) fn write<T>(&self, write: impl FnOnce(&[IoSlice<'_>]) -> T) -> T {
        let mut pieces = [IoSlice::new(&[]); BATCH + 1];
        pieces[0] = IoSlice::new(&self.head[..self.head_len]);
        for (piece, body) in pieces[1..].iter_mut().zip(&self.bodies[..self.count]) {
            *piece = IoSlice::new(body);
        }
        write(&pieces[..=self.count])
    }
}

/// Offsets of fields in the TCP header.
const SEQ: usize = 4;
const ACK: usize = 8;
const FLAGS: usize = 13;
const WINDOW: usize = 14;
const CHECKSUM: usize = 16;
const URGENT: usize = 18;

/// The first packet of a train.
struct Engine<'a> {
    packet: &'a [u8],
    is_v4: bool,
    /// The lengths of the IP header and of all headers.
    ip: usize,
    all: usize,
}

impl<'a> Engine<'a> {
    /// `None` if the packet must not be coalesced: it has no data, or flags other than ACK and PSH.
    fn of(packet: &'a [u8]) -> Option<Self> {
        let is_v4 = packet.first()? >> 4 == 4;
        let found = layout(packet)?;
        let (ip, all) = (found.ip_header_len, found.header_len);
        (ip == if is_v4 { 20 } else { 40 }
            && all < packet.len()
            && packet[ip + FLAGS] & !TcpFlags::PSH.bits() == TcpFlags::ACK.bits())
        .then_some(Self { packet, is_v4, ip, all })
    }

    /// Bytes of payload in each packet except the last.
    fn segment(&self) -> usize {
        self.packet.len() - self.all
    }

    /// The payload of `packet` if it follows `before` bytes of payload and its headers are the same
    /// except lengths, identification, sequence number, PSH and checksums.
    fn body_of_next(&self, packet: &'a [u8], before: usize) -> Option<&'a [u8]> {
        let (headers, body) = packet.split_at_checked(self.all)?;
        let first = &self.packet[..self.all];
        let tcp = self.ip;
        let same = |from: usize, to: usize| first[from..to] == headers[from..to];
        let ip =
            if self.is_v4 { same(0, 2) && same(6, 10) && same(12, 20) } else { same(0, 4) && same(6, 40) };
        let seq = number(first, tcp + SEQ)?.wrapping_add(before as u32);
        let follows = ip
            && number(headers, tcp + SEQ)? == seq
            && same(tcp, tcp + SEQ)
            && same(tcp + ACK, tcp + FLAGS)
            && headers[tcp + FLAGS] & !TcpFlags::PSH.bits() == TcpFlags::ACK.bits()
            && same(tcp + WINDOW, tcp + CHECKSUM)
            && same(tcp + URGENT, self.all)
            && !body.is_empty()
            && body.len() <= self.segment();
        follows.then_some(body)
    }

    /// Writes the headers of a packet of `len` bytes. The checksum field holds the sum of the
    /// pseudo-header; the kernel computes the checksum.
    fn headers(&self, to: &mut [u8], len: usize, push: u8) {
        to.copy_from_slice(&self.packet[..self.all]);
        let mut pseudo = Sum::default();
        if self.is_v4 {
            to[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            to[10..12].fill(0);
            let mut sum = Sum::default();
            sum.add_bytes(&to[..self.ip]);
            to[10..12].copy_from_slice(&sum.complement().to_be_bytes());
            pseudo.add_bytes(&to[12..20]);
        } else {
            to[4..6].copy_from_slice(&((len - self.ip) as u16).to_be_bytes());
            pseudo.add_bytes(&to[8..40]);
        }
        pseudo.add_u16(TCP.into());
        pseudo.add_u32((len - self.ip) as u32);
        to[self.ip + FLAGS] |= push;
        to[self.ip + CHECKSUM..][..2].copy_from_slice(&pseudo.fold().to_be_bytes());
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use headway_wire::{
        Ecn, Integrity, IpHeader, Segment, SeqNumber, TcpHeader, TcpOptions, Timestamps, emit, judge,
    };

    use super::*;

    /// A segment of a connection over IPv4 or IPv6, changed by `change`.
    fn segment(
        is_v4: bool,
        seq: u32,
        len: usize,
        change: impl FnOnce(&mut IpHeader, &mut TcpHeader, &mut TcpOptions),
    ) -> Vec<u8> {
        let address = |last| {
            if is_v4 { [192, 0, 2, last].into() } else { [0xfd00, 0, 0, 0, 0, 0, 0, last.into()].into() }
        };
        let mut ip = IpHeader {
            ecn: Ecn::Ect0,
            identification: seq as u16,
            ..IpHeader::new(address(1_u8), address(2))
        };
        let mut tcp = TcpHeader {
            src_port: 5000,
            dst_port: 80,
            seq: SeqNumber(seq),
            ack: SeqNumber(7),
            flags: TcpFlags::ACK,
            window: 1000,
            urgent: 0,
        };
        let mut options =
            TcpOptions { timestamps: Some(Timestamps { tsval: 1, tsecr: 2 }), ..TcpOptions::default() };
        change(&mut ip, &mut tcp, &mut options);
        let payload: Vec<u8> = (0..len).map(|at| (seq as usize + at) as u8).collect();
        let mut packet = vec![0; 2000];
        let len = emit(&mut packet, &ip, &tcp, &options, (&payload, &[])).unwrap();
        packet.truncate(len);
        packet
    }

    /// The length of the train, the virtio header, and the packet with its checksum computed as the
    /// kernel does.
    fn coalesced(packets: &[Vec<u8>]) -> (usize, [u8; virtio::LEN], Vec<u8>) {
        let train = Train::coalesce(packets.iter().map(Vec::as_slice)).unwrap();
        let bytes = train.write(|pieces| pieces.iter().flat_map(|piece| piece.to_vec()).collect::<Vec<u8>>());
        let (&header, packet) = bytes.split_first_chunk().unwrap();
        let mut packet = packet.to_vec();
        if train.count() > 1 {
            let [_, _, _, _, _, _, a, b, c, d] = header;
            let start = usize::from(u16::from_ne_bytes([a, b]));
            let at = start + usize::from(u16::from_ne_bytes([c, d]));
            let mut sum = Sum::default();
            sum.add_bytes(&packet[start..]);
            packet[at..at + 2].copy_from_slice(&sum.complement().to_be_bytes());
        }
        (train.count(), header, packet)
    }

    const FIRST: u32 = u32::MAX - 1500;

    #[test]
    fn consecutive_segments_are_coalesced() {
        for is_v4 in [true, false] {
            let mut packets: Vec<Vec<u8>> =
                (0..5).map(|i| segment(is_v4, FIRST.wrapping_add(i * 1000), 1000, |_, _, _| ())).collect();
            packets
                .push(segment(is_v4, FIRST.wrapping_add(5000), 300, |_, tcp, _| tcp.flags |= TcpFlags::PSH));
            // This segment follows, but the one before is shorter.
            packets.push(segment(is_v4, FIRST.wrapping_add(5300), 300, |_, _, _| ()));
            let (count, header, packet) = coalesced(&packets);
            assert_eq!(count, 6);
            let [flags, kind, _, _, a, b, ..] = header;
            assert_eq!((flags, kind, u16::from_ne_bytes([a, b])), (1, if is_v4 { 1 } else { 4 }, 1000));
            assert_eq!(judge(&packet), Ok(Integrity::Intact));
            let whole = Segment::parse(&packet).unwrap();
            let first = Segment::parse(&packets[0]).unwrap();
            assert_eq!((whole.ip, whole.options), (first.ip, first.options));
            assert_eq!(whole.tcp, TcpHeader { flags: TcpFlags::ACK | TcpFlags::PSH, ..first.tcp });
            let payloads = packets[..6].iter().flat_map(|packet| Segment::parse(packet).unwrap().payload);
            assert!(whole.payload.iter().eq(payloads));
        }
    }

    #[test]
    fn different_segments_are_sent_alone() {
        type Change = fn(&mut IpHeader, &mut TcpHeader, &mut TcpOptions);
        let changes: [Change; 12] = [
            |ip, _, _| ip.ecn = Ecn::NotEct,
            |ip, _, _| ip.hop_limit = 63,
            |ip, _, _| ip.dst = if ip.dst.is_ipv4() { [192, 0, 2, 3].into() } else { [0; 8].into() },
            |_, tcp, _| tcp.src_port = 5001,
            |_, tcp, _| tcp.seq += 1,
            |_, tcp, _| tcp.ack += 1,
            |_, tcp, _| tcp.flags |= TcpFlags::FIN,
            |_, tcp, _| tcp.flags |= TcpFlags::CWR,
            |_, tcp, _| tcp.window = 999,
            |_, _, options| options.timestamps = Some(Timestamps { tsval: 2, tsecr: 2 }),
            |_, _, options| options.timestamps = None,
            |_, _, options| assert!(options.sack.push((SeqNumber(9), SeqNumber(10)))),
        ];
        for is_v4 in [true, false] {
            let first = segment(is_v4, 1, 1000, |_, _, _| ());
            for (index, change) in changes.into_iter().enumerate() {
                let packets = [first.clone(), segment(is_v4, 1001, 1000, change)];
                let (count, header, packet) = coalesced(&packets);
                assert_eq!((count, header), (1, virtio::WHOLE), "change {index}");
                assert_eq!(packet, first);
            }
            let longer = [first.clone(), segment(is_v4, 1001, 1001, |_, _, _| ())];
            assert_eq!(coalesced(&longer).0, 1);
            let empty = [first, segment(is_v4, 1001, 0, |_, _, _| ())];
            assert_eq!(coalesced(&empty).0, 1);
        }
    }

    #[test]
    fn special_segments_are_sent_alone() {
        let after = segment(true, 1001, 1000, |_, _, _| ());
        for flags in [TcpFlags::PSH, TcpFlags::FIN, TcpFlags::CWR, TcpFlags::ECE, TcpFlags::URG] {
            let first = segment(true, 1, 1000, |_, tcp, _| tcp.flags |= flags);
            assert_eq!(coalesced(&[first, after.clone()]).0, 1, "{flags:?}");
        }
        for first in [vec![], vec![0x45; 3], vec![0x45; 100], segment(true, 1001, 0, |_, _, _| ())] {
            assert_eq!(coalesced(&[first, after.clone()]).0, 1);
        }
        assert!(Train::coalesce([].into_iter()).is_none());
    }

    /// Not more than one system call sends.
    #[test]
    fn a_train_is_no_longer_than_a_batch() {
        let packets: Vec<Vec<u8>> =
            (0..BATCH as u32 + 6).map(|i| segment(true, 1 + i, 1, |_, _, _| ())).collect();
        let (count, _, packet) = coalesced(&packets);
        assert_eq!((count, packet.len()), (BATCH, 52 + BATCH));
        assert_eq!(judge(&packet), Ok(Integrity::Intact));
    }

    #[test]
    fn a_train_fits_the_length_field() {
        // The headers have 52 bytes; the second fits with 8 to spare, and the third lacks 37.
        for (segment_len, expected) in [(1448, 45), (1455, 45), (1456, 44)] {
            let packets: Vec<Vec<u8>> = (0..60)
                .map(|i| segment(true, 1 + i * segment_len, segment_len as usize, |_, _, _| ()))
                .collect();
            let (count, _, packet) = coalesced(&packets);
            assert_eq!((count, packet.len()), (expected, 52 + expected * segment_len as usize));
            assert_eq!(judge(&packet), Ok(Integrity::Intact));
        }
    }
}
