//! Captures of every format, and errors of invalid ones.

mod build;

use build::{Build, Order};
use headway_trace::reader::{HalfWritten, LinkType, MAX_PACKET, ReadError, Reader};
use proptest::prelude::*;

const ORDERS: [Order; 2] = [Order::Big, Order::Little];
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// `(interface, link, nanoseconds, bytes, original length)`.
type Record = (usize, u16, u64, Vec<u8>, u32);

type Contents = (Vec<Record>, Vec<Option<String>>, Option<HalfWritten>);

fn read(file: &[u8]) -> Result<Contents, ReadError> {
    let mut reader = Reader::new(file)?;
    let mut records = Vec::new();
    while let Some(packet) = reader.next_packet()? {
        let (at, bytes) = (packet.at.as_nanos(), packet.bytes.to_vec());
        records.push((packet.interface, packet.link.0, at, bytes, packet.original_len));
    }
    let names = reader.interfaces().iter().map(|interface| interface.name.clone()).collect();
    Ok((records, names, reader.half_written()))
}

#[track_caller]
fn refused(file: &[u8], at: u64, wanted: &str, found: &str) {
    match read(file).expect_err("no capture") {
        ReadError::Malformed { offset, expected, got } => {
            assert_eq!(offset, at, "{expected}, got {got}");
            assert!(expected.contains(wanted), "{expected}");
            assert!(got.contains(found), "{got}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn classic_files_of_both_orders_and_resolutions() {
    for order in ORDERS {
        for (magic, nanos) in [(MICROSECONDS, 7_000), (NANOSECONDS, 7)] {
            let file = Build::new(order)
                .pcap(magic, 1)
                .record(u32::MAX, 7, &[1, 2, 3], 1500)
                .record(5, 0, &[], 0)
                .bytes;
            let (records, names, half) = read(&file).expect("a capture");
            let late = u64::from(u32::MAX) * 1_000_000_000 + nanos;
            assert_eq!(records, [(0, 1, late, vec![1, 2, 3], 1500), (0, 1, 5_000_000_000, vec![], 0)]);
            assert_eq!((names, half), (vec![None], None));
        }
    }
}

#[test]
fn the_frame_check_sequence_length_is_not_part_of_the_link_type() {
    let file = Build::new(Order::Little).pcap(MICROSECONDS, 0x1400_0001).record(0, 0, &[1], 1).bytes;
    assert_eq!(read(&file).expect("a capture").0[0].1, LinkType::ETHERNET.0);
}

/// The format of the modified tcpdump of Linux 2.2.
#[test]
fn the_files_of_a_modified_tcpdump() {
    for order in ORDERS {
        let build = Build::new(order).pcap(0xa1b2_cd34, 1);
        let first = build.u32(1).u32(2).u32(3).u32(60).raw(&[0, 0, 0, 2, 8, 0, 4, 0]).raw(&[7, 8, 9]);
        let file = first.u32(2).u32(0).u32(0).u32(0).raw(&[0; 8]).bytes;
        let (records, _, half) = read(&file).expect("a capture");
        assert_eq!(records, [(0, 1, 1_000_002_000, vec![7, 8, 9], 60), (0, 1, 2_000_000_000, vec![], 0)]);
        assert_eq!(half, None);
    }
}

/// `tcpdump -i any` of a host that forwards has each packet once for each interface that it passed.
#[test]
fn packets_that_name_their_interface() {
    let packet = |index: u8| [&[8, 0, 0, 0, 0, 0, 0, index][..], &[0; 12], &[0x45]].concat();
    let places = |file: &[u8]| {
        let (records, names, _) = read(file).expect("a capture");
        (records.iter().map(|record| record.0).collect::<Vec<_>>(), names)
    };
    let name = |name: &str| Some(name.to_owned());
    let mut file = Build::new(Order::Little).pcap(MICROSECONDS, 276);
    for index in [3, 2, 3, 9] {
        file = file.record(0, 0, &packet(index), 21);
    }
    // Too short for an index.
    file = file.record(0, 0, &[8, 0, 0], 21);
    assert_eq!(
        places(&file.bytes),
        (vec![0, 1, 0, 2, 0], vec![name("index 3"), name("index 2"), name("index 9")])
    );
    let file = Build::new(Order::Big)
        .section()
        .interface(276, 0, &[(2, b"any")])
        .packet(0, 0, &packet(1), 21)
        .packet(0, 0, &packet(2), 21)
        // Declared later: the existing indices do not change.
        .interface(1, 0, &[(2, b"eth0")])
        .packet(1, 0, &[0; 14], 14)
        .packet(0, 0, &packet(2), 21)
        .bytes;
    assert_eq!(
        places(&file),
        (vec![0, 1, 2, 1], vec![name("any, index 1"), name("any, index 2"), name("eth0")])
    );
}

#[test]
fn several_sections_interfaces_and_kinds_of_packet() {
    for order in ORDERS {
        let other = if order == Order::Big { Order::Little } else { Order::Big };
        let old = Build::new(order).u16(0).u16(3).u32(0).u32(9).u32(2).u32(2).raw(&[8, 9]).bytes;
        let first = Build::new(order)
            .section()
            .interface(101, 0, &[(2, b"one"), (9, &[9])])
            .interface(1, 3, &[(2, b"two")])
            // A block of an unknown type, and an interface statistics block.
            .block(0x0000_0bad, &[1, 2, 3, 4, 5])
            .packet(0, 1 << 33, &[1, 2, 3, 4, 5], 5)
            .packet(1, 7, &[6], 600)
            .block(5, &[0; 12])
            .block(2, &old)
            .bytes;
        let simple = Build::new(other).u32(10).raw(&[1, 2, 3]).bytes;
        let second = Build::new(other).section().interface(276, 3, &[]).block(3, &simple).bytes;
        let (records, names, half) = read(&[first, second].concat()).expect("a capture");
        assert_eq!(
            records,
            [
                (0, 101, 1 << 33, vec![1, 2, 3, 4, 5], 5),
                (1, 1, 7_000, vec![6], 600),
                (0, 101, 9, vec![8, 9], 2),
                // Without a timestamp it has that of the packet before.
                (2, 276, 9, vec![1, 2, 3], 10),
            ]
        );
        assert_eq!(names, [Some("one".into()), Some("two".into()), None]);
        assert_eq!(half, None);
    }
}

#[test]
fn a_half_written_last_packet_is_reported() {
    let whole = Build::new(Order::Little).pcap(MICROSECONDS, 101).record(1, 0, &[7; 10], 10);
    let start = whole.bytes.len() as u64;
    let file = whole.record(2, 0, &[8; 20], 20).bytes;
    for cut in 1..36 {
        let (records, _, half) = read(&file[..file.len() - cut]).expect("a capture");
        assert_eq!(records.len(), 1, "{cut}");
        // The missing length of a truncated header is unknown.
        let missing = if cut > 20 { cut - 20 } else { cut } as u64;
        assert_eq!(half, Some(HalfWritten { offset: start, missing }), "{cut}");
    }
    let (records, _, half) = read(&file[..file.len() - 36]).expect("a capture");
    assert_eq!((records.len(), half), (1, None));

    let whole = Build::new(Order::Big).section().interface(101, 0, &[]).packet(0, 1, &[7; 10], 10);
    let start = whole.bytes.len() as u64;
    let file = whole.packet(0, 2, &[8; 20], 20).bytes;
    for cut in 1..(file.len() - start as usize) {
        let (records, _, half) = read(&file[..file.len() - cut]).expect("a capture");
        assert_eq!((records.len(), half.map(|half| half.offset)), (1, Some(start)), "{cut}");
    }
}

#[test]
fn other_files_are_refused() {
    refused(b"", 0, "a pcap or pcapng file", "0 bytes");
    refused(b"abc", 0, "a pcap or pcapng file", "3 bytes");
    refused(b"PK\x03\x04 and so on", 0, "magic number", "50, 4b");
    let header = Build::new(Order::Big).pcap(MICROSECONDS, 1).bytes;
    refused(&header[..23], 0, "file header of 24 bytes", "1 bytes too early");
    let old = Build::new(Order::Big).u32(MICROSECONDS).u16(3).raw(&[0; 18]).bytes;
    refused(&old, 4, "version 2", "3");
    let long = Build::new(Order::Big).pcap(MICROSECONDS, 1).u32(0).u32(0).u32(MAX_PACKET + 1).u32(0).bytes;
    refused(&long, 32, "at most 262144 bytes", "262145");
}

#[test]
fn blocks_that_make_no_sense() {
    let section = || Build::new(Order::Little).section();
    let at = section().bytes.len() as u64;
    let bad_magic = Build::new(Order::Little).block(0x0a0d_0d0a, &[1, 2, 3, 4, 0, 0, 0, 0]).bytes;
    refused(&bad_magic, 8, "byte-order magic", "01, 02, 03, 04");
    for len in [0_u32, 8, 11, 13, (16 << 20) + 4, u32::MAX] {
        let file = section().u32(5).u32(len).raw(&[0; 40]).bytes;
        refused(&file, at + 4, "the length of a block", &len.to_string());
    }
    let file = section().u32(5).u32(16).u32(0).u32(20).bytes;
    refused(&file, at + 12, "the length of the block once more", "20, not 16");
    refused(
        &section().packet(0, 0, &[1], 1).bytes,
        at + 8,
        "an interface that was described",
        "interface 0 of 0",
    );
    refused(&section().block(1, &[0; 4]).bytes, at, "an interface block of at least 20 bytes", "16 bytes");
    let body = Build::new(Order::Little).u16(1).u16(0).u32(0).u16(2).u16(99).raw(b"name").bytes;
    refused(
        &section().block(1, &body).bytes,
        at + 16,
        "an option that ends within",
        "option 2 of 99 bytes where 4",
    );
    let with_interface = section().interface(1, 0, &[]);
    let at = with_interface.bytes.len() as u64;
    let body = Build::new(Order::Little).u32(0).u32(0).u32(0).u32(5).u32(5).raw(&[1, 2, 3, 4]).bytes;
    refused(
        &with_interface.clone().block(6, &body).bytes,
        at,
        "a packet that ends within",
        "5 bytes where 4 are left",
    );
    let body = Build::new(Order::Little).u32(0).u32(0).u32(0).u32(MAX_PACKET + 1).u32(0).bytes;
    refused(&with_interface.block(6, &body).bytes, at + 20, "at most 262144 bytes", "262145");
}

#[test]
fn disk_errors_are_reported() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
    }
    assert!(matches!(Reader::new(Broken), Err(ReadError::Io(_))));
}

proptest! {
    /// Reading and analysing any bytes ends without a panic.
    #[test]
    fn takes_any_bytes(
        head in 0_usize..5,
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let order = if head % 2 == 0 { Order::Big } else { Order::Little };
        let mut file = match head {
            0 | 1 => Build::new(order).pcap(MICROSECONDS, 101).record(1, 2, &bytes, 700).raw(&bytes),
            2 | 3 => Build::new(order).section().interface(101, 0, &[(2, b"x")]).packet(0, 5, &bytes, 700).raw(&bytes),
            _ => Build::new(order).raw(&bytes),
        }
        .bytes;
        for (place, byte) in changes {
            if !file.is_empty() {
                let place = place.index(file.len());
                file[place] = byte;
            }
        }
        let mut analyser = headway_trace::analysis::Analyser::new(headway_trace::analysis::Options::default());
        if let Ok(mut reader) = Reader::new(&file[..]) {
            while let Ok(Some(packet)) = reader.next_packet() {
                analyser.packet(&packet);
            }
        }
        analyser.finish();
    }
}
