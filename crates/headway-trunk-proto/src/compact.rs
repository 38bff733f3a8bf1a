//! The compact header of a data segment: its TCP header without 16 bytes that the peer knows or that the tags replace.
//!
//! ```text
//!  TCP header                                           compact header
//!   0  ports, numbers, data offset, flags, window        0
//!  16  checksum                                          -   the tags protect the same bytes
//!  18  urgent pointer                                    -   0
//!  20  NOP, NOP, kind and length of timestamps           -   always these
//!  24  TSval, TSecr                                     16
//!  32  kind, length and ExID of HACK v2                  -   always these
//!  36  header CRC                                       24   computed anew
//!  40  payload CRC                                       -   the payload's tag protects the same bytes
//!  44  further options (SACK blocks)                    28
//! ```
//!
//! Header and payload have one tag. Where it does not hold, the header CRC says whether the header does, or how it is to be repaired.
//! It is the CRC of the header that [`expand`] makes, whose payload CRC is 0, and it is sent with that of the tag added
//! ([`mask_crc`]): without an intact tag a payload cannot be completed.

use std::ops::RangeInclusive;

use headway_wire::IpHeader;
use headway_wire::crc::crc32c;
use headway_wire::integrity::header_crc;
use headway_wire::usual::{HEADER_CRC, HeaderBytes, LONGEST, TIMESTAMPS, Usual, V2_DATA};

/// By how many bytes a compact header is shorter.
pub(crate) const LEFT_OUT: usize = 16;
/// How many bytes compact headers have: without further options, and with as many as a TCP header has room for.
pub(crate) const LENGTHS: RangeInclusive<usize> = 28..=LONGEST - LEFT_OUT;

/// The fixed TCP header.
const FIXED: usize = 20;
/// Where the header's CRC is in a compact header.
const COMPACT_CRC: usize = 24;

/// A TCP header with its options, or a compact one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header(HeaderBytes);

impl Header {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// Whether it has the header CRC that it should have before a payload of this length.
    pub(crate) fn has_crc(&self, ip: &IpHeader, payload: usize) -> bool {
        let crc = self.bytes().get(HEADER_CRC..).and_then(|rest| rest.first_chunk());
        crc.is_some_and(|crc| u32::from_be_bytes(*crc) == self.crc(ip, payload))
    }

    /// The header CRC that a TCP header should have before a payload of this length.
    pub(crate) fn crc(&self, ip: &IpHeader, payload: usize) -> u32 {
        let (fixed, options) = self.bytes().split_first_chunk().unwrap_or((&[0; FIXED], &[]));
        header_crc(ip, self.bytes().len() + payload, fixed, options, HEADER_CRC - FIXED)
    }
}

/// The compact form of a TCP header before a payload of this length. `None` if it has none: a segment without data, with
/// SYN or urgent data, or whose options are not those that `headway_wire` writes on a data segment with timestamps and
/// HACK v2. `ip` has the addresses that the packet is given when it is opened.
pub(crate) fn compact(header: &[u8], payload: usize, ip: &IpHeader) -> Option<Header> {
    if payload == 0 {
        return None;
    }
    let Usual { front, timestamps, v2 } = Usual::of(header)?;
    let (_crcs, further) = v2.strip_prefix(&V2_DATA)?.split_first_chunk::<8>()?;
    let mut compact = HeaderBytes::of(&[front, timestamps, &[0; 4], further])?;
    compact.put(COMPACT_CRC, expand(compact.bytes())?.crc(ip, payload));
    Some(Header(compact))
}

/// The TCP header of a compact one. Nothing in `compact` is relied on; `None` if it has none of [`LENGTHS`].
///
/// Its checksum and its payload CRC are 0: the payload's tag has decided ([`SegmentIntegrity`](crate::SegmentIntegrity)), the TCP reads neither
/// sum of a packet from the tunnel, and no packet leaves that as it is. To compute them would be more passes over the payload.
pub(crate) fn expand(compact: &[u8]) -> Option<Header> {
    if !LENGTHS.contains(&compact.len()) {
        return None;
    }
    let (front, rest) = compact.split_first_chunk::<16>()?;
    let (timestamps, rest) = rest.split_first_chunk::<8>()?;
    let (crc, further) = rest.split_first_chunk::<4>()?;
    let header =
        HeaderBytes::of(&[front, &[0; 4], &TIMESTAMPS, timestamps, &V2_DATA, crc, &[0; 4], further])?;
    Some(Header(header))
}

/// Adds the CRC-32C of the tag, modulo 2, to the header CRC of an encrypted compact header, or takes it away.
pub(crate) fn mask_crc(sealed: &mut [u8], tag: &[u8]) {
    if let Some(crc) = sealed.get_mut(COMPACT_CRC..COMPACT_CRC + 4) {
        crc.iter_mut().zip(crc32c(tag).to_be_bytes()).for_each(|(byte, of_tag)| *byte ^= of_tag);
    }
}

#[cfg(test)]
mod tests {
    use headway_wire::{
        Integrity, SackBlocks, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2, V2Offsets, emit,
        judge,
    };
    use proptest::prelude::*;

    use super::*;

    const IP: usize = 40;

    fn ip() -> IpHeader {
        let address = |last| std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into();
        IpHeader::new(address(1), address(2))
    }

    fn tcp() -> TcpHeader {
        TcpHeader { src_port: 1, dst_port: 2, flags: TcpFlags::ACK, window: 7, ..TcpHeader::default() }
    }

    fn options() -> TcpOptions {
        let timestamps = Some(Timestamps { tsval: 0x1234_5678, tsecr: 0x9abc_def0 });
        TcpOptions { timestamps, v2: Some(V2::data()), ..TcpOptions::default() }
    }

    /// A packet, and the length of its headers.
    fn packet(tcp: &TcpHeader, options: &TcpOptions, payload: &[u8]) -> (Vec<u8>, usize) {
        let mut bytes = vec![0; 2048];
        let len = emit(&mut bytes, &ip(), tcp, options, (payload, &[])).expect("a packet");
        bytes.truncate(len);
        (bytes, len - payload.len())
    }

    fn compacted(tcp: &TcpHeader, options: &TcpOptions, payload: &[u8]) -> Option<Header> {
        let (packet, payload_at) = packet(tcp, options, payload);
        compact(&packet[IP..payload_at], packet.len() - payload_at, &ip())
    }

    fn sack(from: u32) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        blocks.push((SeqNumber(from), SeqNumber(from.wrapping_add(1000))));
        blocks
    }

    proptest! {
        /// What is expanded is what was compacted, every byte but the sums. The header CRC holds, and says nothing of the
        /// payload.
        #[test]
        fn a_header_is_the_same_after_both(
            ports in any::<(u16, u16)>(),
            numbers in any::<(u32, u32)>(),
            (flags, window) in any::<(u8, u16)>(),
            times in any::<(u32, u32)>(),
            block in any::<Option<u32>>(),
            payload in prop::collection::vec(any::<u8>(), 1..1400),
        ) {
            let tcp = TcpHeader {
                src_port: ports.0,
                dst_port: ports.1,
                seq: SeqNumber(numbers.0),
                ack: SeqNumber(numbers.1),
                flags: TcpFlags::from_bits(flags & 0xdd),
                window,
                urgent: 0,
            };
            let options = TcpOptions {
                timestamps: Some(Timestamps { tsval: times.0, tsecr: times.1 }),
                sack: block.map(sack).unwrap_or_default(),
                ..options()
            };
            let (mut sent, payload_at) = packet(&tcp, &options, &payload);
            let short = compact(&sent[IP..payload_at], payload.len(), &ip()).expect("a compact form");
            prop_assert_eq!(short.bytes().len(), payload_at - IP - LEFT_OUT);
            let full = expand(short.bytes()).expect("a header");

            let mut opened = sent.clone();
            opened[IP..payload_at].copy_from_slice(full.bytes());
            prop_assert_eq!(judge(&opened), Ok(Integrity::Corrupted));
            for sums in [IP + 16..IP + 18, IP + HEADER_CRC..IP + HEADER_CRC + 8] {
                opened[sums.clone()].fill(0);
                sent[sums].fill(0);
            }
            prop_assert_eq!(opened, sent);
        }

        /// Whatever stands there, and however long it is.
        #[test]
        fn any_bytes_are_compacted_and_expanded_or_not(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            payload in 0..70_000_usize,
        ) {
            if let Some(full) = expand(&bytes) {
                prop_assert!(LENGTHS.contains(&bytes.len()));
                prop_assert_eq!(full.bytes().len(), bytes.len() + LEFT_OUT);
            } else {
                prop_assert!(!LENGTHS.contains(&bytes.len()));
            }
            let mut framed = bytes;
            if let Some(frames) = framed.get_mut(18..36) {
                frames[..2].fill(0);
                frames[2..6].copy_from_slice(&TIMESTAMPS);
                frames[14..].copy_from_slice(&V2_DATA);
            }
            if let Some(short) = compact(&framed, payload, &ip()) {
                prop_assert!((44..=60).contains(&framed.len()) && payload > 0);
                prop_assert_eq!(short.bytes().len(), framed.len() - LEFT_OUT);
            }
        }
    }

    #[test]
    fn every_flag_but_syn_and_urg_stays() {
        for flags in 0..=u8::MAX {
            let flags = TcpFlags::from_bits(flags);
            let has_form = !flags.intersects(TcpFlags::SYN | TcpFlags::URG);
            assert_eq!(
                compacted(&TcpHeader { flags, ..tcp() }, &options(), b"x").is_some(),
                has_form,
                "{flags:?}"
            );
        }
    }

    #[test]
    fn other_segments_have_no_compact_form() {
        assert!(compacted(&tcp(), &options(), b"x").is_some());
        assert!(compacted(&tcp(), &options(), b"").is_none(), "no data");
        assert!(compacted(&TcpHeader { urgent: 1, ..tcp() }, &options(), b"x").is_none());
        let others = [
            TcpOptions::default(),
            TcpOptions { timestamps: None, ..options() },
            TcpOptions { v2: None, ..options() },
            TcpOptions { v2: None, hack: Some(0), ..options() },
            TcpOptions { v2: Some(V2::ack(3, V2Offsets::default())), ..options() },
            TcpOptions { mss: Some(1400), ..options() },
            TcpOptions { window_scale: Some(7), ..options() },
            TcpOptions { sack_permitted: true, ..options() },
            TcpOptions { hack: Some(1), ..options() },
        ];
        for options in others {
            assert!(compacted(&tcp(), &options, b"x").is_none(), "{options:?}");
        }
        // The same two options at other places, or with another identifier or length.
        let (packet, payload_at) = packet(&tcp(), &options(), b"x");
        for place in (18..24).chain(32..36) {
            let mut header = packet[IP..payload_at].to_vec();
            header[place] ^= 1;
            assert!(compact(&header, 1, &ip()).is_none(), "{place}");
        }
    }
}
