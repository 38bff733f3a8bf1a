//! The classic format (draft-ietf-opsawg-pcap: "PCAP Capture File Format").

use std::io::Read;

use headway_units::Instant;

use super::source::{Filled, Order, Source};
use super::{HalfWritten, Interface, LinkType, Located, MAX_PACKET, Next, ReadError};

/// The length of the file header without its magic number.
const REST_OF_HEADER: u32 = 20;
/// The length of the header of a packet.
const RECORD_HEADER: u32 = 16;
/// The same in the files of the libpcap that A. Kuznetzov modified for Linux (1999): followed by the
/// interface index, the protocol and the type of the packet, and one byte of padding.
const MODIFIED_RECORD_HEADER: u32 = 24;

/// A pcap file after its header.
pub(super) struct Pcap {
    order: Order,
    /// The unit of the second half of a timestamp.
    nanos_per_unit: u64,
    /// The length of the header of each packet.
    record_header: u32,
}

impl Pcap {
    /// Reads the file header after `magic`.
    pub(super) fn begin<R: Read>(
        source: &mut Source<R>,
        magic: [u8; 4],
        interfaces: &mut Vec<Interface>,
    ) -> Result<Self, ReadError> {
        // Section 4: "0xA1B2C3D4 ... Seconds and Microseconds", "0xA1B23C4D ... Seconds and
        // Nanoseconds", in the order of the machine that wrote it.
        let (order, nanos_per_unit, record_header) = match magic {
            [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, 1_000, RECORD_HEADER),
            [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, 1_000, RECORD_HEADER),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, 1, RECORD_HEADER),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, 1, RECORD_HEADER),
            [0xa1, 0xb2, 0xcd, 0x34] => (Order::Big, 1_000, MODIFIED_RECORD_HEADER),
            [0x34, 0xcd, 0xb2, 0xa1] => (Order::Little, 1_000, MODIFIED_RECORD_HEADER),
            // RFC 1952, 2.3.1.
            [0x1f, 0x8b, ..] => {
                let got = "a file that gzip compressed";
                return Err(ReadError::malformed(0, "the magic number of a pcap or pcapng file", got));
            }
            other => {
                let got = format!("{other:02x?}");
                return Err(ReadError::malformed(0, "the magic number of a pcap or pcapng file", got));
            }
        };
        if let Filled::Short { missing } = source.extend(REST_OF_HEADER)? {
            let got = format!("the end of the file, {missing} bytes too early");
            return Err(ReadError::malformed(0, "a pcap file header of 24 bytes", got));
        }
        let major = order.u16(source.record(), 4);
        if major != 2 {
            return Err(ReadError::malformed(4, "version 2 of the pcap format", major.to_string()));
        }
        // The upper half is the length of the frame check sequence.
        let link = LinkType(order.u32(source.record(), 20) as u16);
        interfaces.push(Interface { name: None, link });
        Ok(Self { order, nanos_per_unit, record_header })
    }

    /// Reads the next packet.
    pub(super) fn next<R: Read>(&mut self, source: &mut Source<R>) -> Result<Next, ReadError> {
        if let Filled::Short { missing } = source.fill(self.record_header)? {
            return Ok(half(source, missing));
        }
        let field = |at| self.order.u32(source.record(), at);
        let (secs, fraction, len, original_len) = (field(0), field(4), field(8), field(12));
        if len > MAX_PACKET {
            let at = source.offset() + 8;
            return Err(ReadError::malformed(at, "a packet of at most 262144 bytes", len.to_string()));
        }
        if let Filled::Short { missing } = source.extend(len)? {
            return Ok(half(source, missing));
        }
        // Below 2^64 for any two 32-bit numbers.
        let nanos = u64::from(secs) * 1_000_000_000 + u64::from(fraction) * self.nanos_per_unit;
        Ok(Next::Packet(Located {
            interface: 0,
            at: Instant::from_nanos(nanos),
            bytes: self.record_header as usize..source.record().len(),
            original_len: original_len.max(len),
            direction: None,
            comment: None,
        }))
    }
}

/// An incomplete record; an empty one is the end of the file.
pub(super) fn half<R: Read>(source: &Source<R>, missing: u64) -> Next {
    if source.record().is_empty() {
        Next::End
    } else {
        Next::Half(HalfWritten { offset: source.offset(), missing })
    }
}
