//! Captures, read back with the library that wrote them and compared byte by byte.

use std::io::{self, Write};

use headway_trace::reader::Reader;
use headway_trace::{Capture, Direction, TraceError};
use headway_units::Instant;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::section_header::SectionHeaderOption;
use pcap_file::pcapng::{Block, PcapNgReader};

const COMMENT: &str = "damaged: 3 bits flipped, header hit";

/// `(interface, nanoseconds, bytes, direction, comment)` of each packet.
type Record = (usize, u64, Vec<u8>, Direction, Option<&'static str>);

fn records() -> Vec<Record> {
    let bytes = |len: usize| (0..len).map(|n| n as u8 ^ 0x45).collect::<Vec<u8>>();
    vec![
        (0, 0, bytes(40), Direction::Outbound, None),
        (1, 1, bytes(41), Direction::Inbound, Some(COMMENT)),
        (1, 999_999_999, bytes(0), Direction::Outbound, Some("")),
        (0, 1_000_000_001, bytes(1500), Direction::Inbound, Some("größer")),
        // More than 32 bits, and the latest time.
        (0, 12_345_678_901_234_567, bytes(3), Direction::Outbound, None),
        (1, u64::MAX, bytes(262_144), Direction::Inbound, None),
    ]
}

fn capture(records: &[Record]) -> Vec<u8> {
    let mut capture = Capture::new(Vec::new(), &["client", "server"]).unwrap();
    for (interface, nanos, bytes, direction, comment) in records {
        capture.packet(*interface, Instant::from_nanos(*nanos), bytes, *direction, *comment).unwrap();
    }
    capture.finish().unwrap()
}

#[test]
fn reads_back_what_was_written() {
    let records = records();
    let file = capture(&records);
    let mut reader = PcapNgReader::new(&file[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            packets.push(packet.into_owned());
        }
    }
    assert_eq!(packets.len(), records.len());
    for (packet, (interface, nanos, bytes, direction, comment)) in packets.iter().zip(&records) {
        let EnhancedPacketBlock { interface_id, timestamp, original_len, data, options } = packet;
        assert_eq!(*interface_id as usize, *interface);
        assert_eq!(timestamp.as_nanos(), u128::from(*nanos));
        assert_eq!((*original_len as usize, &data[..]), (bytes.len(), &bytes[..]));
        let flags = if *direction == Direction::Inbound { 0b01 } else { 0b10 };
        let mut expected = Vec::new();
        expected.extend(comment.map(|comment| EnhancedPacketOption::Comment(comment.into())));
        expected.push(EnhancedPacketOption::Flags(flags));
        assert_eq!(*options, expected);
    }
}

#[test]
fn names_interfaces_and_omits_the_machine() {
    let file = capture(&[]);
    let mut reader = PcapNgReader::new(&file[..]).unwrap();
    while let Some(block) = reader.next_block() {
        block.unwrap();
    }
    let application = concat!("headway ", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        reader.section().options,
        [
            SectionHeaderOption::Hardware("virtual".into()),
            SectionHeaderOption::OS("virtual".into()),
            SectionHeaderOption::UserApplication(application.into()),
        ]
    );
    assert_eq!(reader.interfaces().len(), 2);
    for (interface, name) in reader.interfaces().iter().zip(["client", "server"]) {
        assert_eq!(interface.linktype, DataLink::RAW);
        assert_eq!(
            interface.options,
            [InterfaceDescriptionOption::IfName(name.into()), InterfaceDescriptionOption::IfTsResol(9)]
        );
    }
}

/// Every byte of a packet block, by the pcapng specification (section 4.3).
#[test]
fn a_packet_block_follows_the_specification() {
    let header_len = capture(&[]).len();
    let file =
        capture(&[(1, 0x0102_0304_0506_0708, vec![0x45, 1, 2, 3, 4], Direction::Inbound, Some("hit"))]);
    #[rustfmt::skip]
    let expected = [
        6, 0, 0, 0,  60, 0, 0, 0, // type, length
        1, 0, 0, 0, // interface
        4, 3, 2, 1,  8, 7, 6, 5, // time, upper and lower half
        5, 0, 0, 0,  5, 0, 0, 0, // captured and original length
        0x45, 1, 2, 3, 4, 0, 0, 0, // packet, padded
        1, 0, 3, 0, b'h', b'i', b't', 0, // opt_comment
        2, 0, 4, 0,  1, 0, 0, 0, // epb_flags: inbound
        0, 0, 0, 0, // opt_endofopt
        60, 0, 0, 0,
    ];
    assert_eq!(file[header_len..], expected);
    // Little-endian on every machine.
    assert_eq!(file[8..12], [0x4d, 0x3c, 0x2b, 0x1a]);
}

#[test]
fn refuses_what_the_format_cannot_hold() {
    let mut capture = Capture::new(Vec::new(), &["only"]).unwrap();
    let at = Instant::ZERO;
    let error = capture.packet(1, at, &[], Direction::Inbound, None).unwrap_err();
    assert!(matches!(error, TraceError::UnknownInterface { index: 1, count: 1 }), "{error:?}");
    let error = capture.packet(0, at, &vec![0; 262_145], Direction::Inbound, None).unwrap_err();
    assert!(matches!(error, TraceError::PacketTooLong { len: 262_145, limit: 262_144 }), "{error:?}");
    let long = "x".repeat(65_536);
    let error = capture.packet(0, at, &[], Direction::Inbound, Some(&long)).unwrap_err();
    assert!(matches!(error, TraceError::TextTooLong { len: 65_536, limit: 65_535 }), "{error:?}");
    let before = Capture::new(Vec::new(), &["only"]).unwrap().finish().unwrap();
    assert_eq!(capture.finish().unwrap(), before, "what was refused left no trace");
    assert!(matches!(Capture::new(Vec::new(), &[&long]), Err(TraceError::TextTooLong { .. })));
}

/// A writer with little space.
struct Full {
    room: usize,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported() {
    let is_full = |error: &TraceError| matches!(error, TraceError::Io(error) if error.kind() == io::ErrorKind::StorageFull);
    // Detected when the buffer is flushed at the end.
    let capture = Capture::new(Full { room: 10 }, &["only"]).unwrap();
    assert!(capture.finish().is_err_and(|error| is_full(&error)));
    // Detected while writing.
    let mut capture = Capture::new(Full { room: 10_000 }, &["only"]).unwrap();
    let result =
        (0..100).try_for_each(|_| capture.packet(0, Instant::ZERO, &[0; 1500], Direction::Inbound, None));
    assert!(result.is_err_and(|error| is_full(&error)));
}

#[test]
fn keeps_the_beginnings_of_packets() {
    let packet: Vec<u8> = (0..=255).collect();
    let write = |snap_len| {
        let mut capture = Capture::with_snap_len(Vec::new(), &["only"], snap_len).unwrap();
        for len in [100, 128, 129, 256] {
            capture.packet(0, Instant::ZERO, &packet[..len], Direction::Outbound, None).unwrap();
        }
        capture.finish().unwrap()
    };
    let file = write(128);
    let mut reader = Reader::new(&file[..]).unwrap();
    for len in [100, 128, 129, 256] {
        let read = reader.next_packet().unwrap().unwrap();
        assert_eq!((read.bytes, read.original_len), (&packet[..len.min(128)], len as u32));
    }
    assert!(reader.next_packet().unwrap().is_none());
    // As for tcpdump, 0 means everything.
    assert_eq!(write(0), write(262_144));
    assert_eq!(write(usize::MAX), write(262_144));
}
