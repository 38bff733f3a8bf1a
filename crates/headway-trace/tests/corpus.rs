//! Replays the fuzz corpus in the ordinary tests.

use crate::checks;

use std::fs;
use std::path::PathBuf;

use headway_test_fixture::corpus::{check_stored, folder, replay};
use headway_trace::reader::{LinkType, Reader};

#[test]
fn captures() {
    replay("read_capture", checks::check_capture);
}

#[test]
fn packets() {
    replay("analyse_packets", checks::check_packets);
}

/// The maximum number of packets in a seed.
const PACKETS: usize = 8;
/// The number of bytes kept of each packet.
const KEPT: usize = 100;

/// The seeds that fuzzing of the reader starts from: the first packets of each recorded capture, as
/// pcap and as pcapng, in both byte orders. They are deterministic; `HEADWAY_UPDATE=1` rewrites them.
#[test]
fn seeds_are_what_was_recorded() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut names: Vec<PathBuf> = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|end| end == "pcap" || end == "pcapng"));
    names.sort();
    for (number, path) in names.iter().enumerate() {
        let (link, packets) = beginning(path);
        for (name, seed) in
            [("pcap", pcap(link, &packets, number)), ("pcapng", pcapng(link, &packets, number))]
        {
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let path = folder("read_capture").join(format!("seed-{stem}-{name}"));
            check_stored(&path, &seed);
        }
    }
}

/// Time, length on the wire, and captured bytes.
type Kept = (u64, u32, Vec<u8>);

fn beginning(path: &PathBuf) -> (LinkType, Vec<Kept>) {
    let mut reader = Reader::new(fs::File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    while packets.len() < PACKETS
        && let Some(packet) = reader.next_packet().unwrap()
    {
        let kept = &packet.bytes[..packet.bytes.len().min(KEPT)];
        packets.push((packet.at.as_nanos(), packet.original_len, kept.to_vec()));
    }
    (reader.interfaces()[0].link, packets)
}

/// Writes numbers in one of the two byte orders.
struct Writer {
    bytes: Vec<u8>,
    is_big: bool,
}

impl Writer {
    fn u16(&mut self, number: u16) {
        self.bytes.extend(if self.is_big { number.to_be_bytes() } else { number.to_le_bytes() });
    }

    fn u32(&mut self, number: u32) {
        self.bytes.extend(if self.is_big { number.to_be_bytes() } else { number.to_le_bytes() });
    }
}

fn pcap(link: LinkType, packets: &[Kept], number: usize) -> Vec<u8> {
    let mut out = Writer { bytes: Vec::new(), is_big: number.is_multiple_of(2) };
    let has_nanos = number % 4 < 2;
    out.u32(if has_nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
    out.u16(2);
    out.u16(4);
    for field in [0, 0, KEPT as u32, u32::from(link.0)] {
        out.u32(field);
    }
    for (at, original_len, kept) in packets {
        out.u32((at / 1_000_000_000) as u32);
        out.u32((at % 1_000_000_000 / if has_nanos { 1 } else { 1_000 }) as u32);
        out.u32(kept.len() as u32);
        out.u32(*original_len);
        out.bytes.extend(kept);
    }
    out.bytes
}

fn pcapng(link: LinkType, packets: &[Kept], number: usize) -> Vec<u8> {
    let mut out = Writer { bytes: Vec::new(), is_big: !number.is_multiple_of(2) };
    // Section header: byte-order magic, version 1.0, length unknown.
    for field in [0x0a0d_0d0a, 28, 0x1a2b_3c4d] {
        out.u32(field);
    }
    out.u16(1);
    out.u16(0);
    for field in [u32::MAX, u32::MAX, 28] {
        out.u32(field);
    }
    // Interface, with a name and a resolution in nanoseconds.
    out.u32(1);
    out.u32(36);
    out.u16(link.0);
    out.u16(0);
    out.u32(KEPT as u32);
    out.u16(2);
    out.u16(2);
    out.bytes.extend(*b"if\0\0");
    out.u16(9);
    out.u16(1);
    out.bytes.extend([9, 0, 0, 0]);
    out.u32(36);
    for (at, original_len, kept) in packets {
        let padded = kept.len().next_multiple_of(4);
        let len = 32 + padded as u32;
        for field in [6, len, 0, (at >> 32) as u32, *at as u32, kept.len() as u32, *original_len] {
            out.u32(field);
        }
        out.bytes.extend(kept);
        out.bytes.resize(out.bytes.len() + padded - kept.len(), 0);
        out.u32(len);
    }
    out.bytes
}
