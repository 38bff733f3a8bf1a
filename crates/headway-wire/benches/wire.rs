//! The hot path of a simulator: sums, parsing, emitting and judging a full-sized segment of a
//! connection with timestamps and Header Checksum, and the same with version 2. With the feature
//! `std` CRC-32C is computed by the machine's instruction.

use divan::{Bencher, black_box, counter::BytesCount};
use headway_wire::{
    ChecksumTrust, IpHeader, Received, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, V2,
    V2Offsets, blocks, checksum, crc, emit, judge, layout,
    repair::{HeaderRepair, at},
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn main() {
    divan::main();
}

const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

fn headers(addr: IpAddr, hack: bool) -> (IpHeader, TcpHeader, TcpOptions) {
    let ip = IpHeader { identification: 7, ..IpHeader::new(addr, addr) };
    let tcp = TcpHeader {
        src_port: 5001,
        dst_port: 80,
        seq: SeqNumber(0x1234_5678),
        ack: SeqNumber(0x9abc_def0),
        flags: TcpFlags::ACK,
        window: 1000,
        urgent: 0,
    };
    let options = TcpOptions {
        timestamps: Some(Timestamps { tsval: 77, tsecr: 55 }),
        hack: hack.then_some(0),
        ..TcpOptions::default()
    };
    (ip, tcp, options)
}

fn packet(addr: IpAddr, hack: bool) -> Vec<u8> {
    let (ip, tcp, options) = headers(addr, hack);
    let mut buf = vec![0; 2048];
    let len = emit(&mut buf, &ip, &tcp, &options, (&payload(1448), &[])).unwrap();
    buf.truncate(len);
    buf
}

#[divan::bench(args = [20, 64, 536, 1460, 9000])]
fn sum(bencher: Bencher<'_, '_>, len: usize) {
    let bytes = payload(len);
    bencher.counter(BytesCount::new(len)).bench_local(|| checksum::sum(black_box(&bytes)));
}

#[divan::bench(args = [20, 64, 536, 1460, 9000])]
fn copy_and_sum(bencher: Bencher<'_, '_>, len: usize) {
    let src = payload(len);
    let mut dst = vec![0; len];
    bencher
        .counter(BytesCount::new(len))
        .bench_local(|| checksum::copy_and_sum(black_box(&mut dst), black_box(&src)));
}

#[divan::bench(args = [("v4", V4, true), ("v4 without HACK", V4, false), ("v6", V6, true)])]
fn emit_1448(bencher: Bencher<'_, '_>, (_, addr, hack): (&str, IpAddr, bool)) {
    let (ip, tcp, options) = headers(addr, hack);
    let payload = payload(1448);
    let mut buf = vec![0; 2048];
    bencher.bench_local(|| {
        emit(
            black_box(&mut buf),
            black_box(&ip),
            black_box(&tcp),
            black_box(&options),
            (black_box(&payload), &[]),
        )
        .unwrap()
    });
}

#[divan::bench(args = [("v4", V4), ("v6", V6)])]
fn emit_ack(bencher: Bencher<'_, '_>, (_, addr): (&str, IpAddr)) {
    let (ip, tcp, options) = headers(addr, false);
    let mut buf = vec![0; 2048];
    bencher.bench_local(|| {
        emit(black_box(&mut buf), black_box(&ip), black_box(&tcp), black_box(&options), (&[], &[])).unwrap()
    });
}

#[divan::bench(args = [("v4", V4), ("v6", V6)])]
fn parse_1448(bencher: Bencher<'_, '_>, (_, addr): (&str, IpAddr)) {
    let packet = packet(addr, true);
    bencher.bench_local(|| Segment::parse(black_box(&packet)).unwrap().tcp.seq);
}

#[divan::bench(args = [("v4", V4), ("v6", V6)])]
fn judge_1448(bencher: Bencher<'_, '_>, (_, addr): (&str, IpAddr)) {
    let packet = packet(addr, true);
    bencher.bench_local(|| judge(black_box(&packet)).unwrap());
}

#[divan::bench(args = [("v4", V4), ("v6", V6)])]
fn judge_1448_corrupted(bencher: Bencher<'_, '_>, (_, addr): (&str, IpAddr)) {
    let mut packet = packet(addr, true);
    if let Some(last) = packet.last_mut() {
        *last ^= 1;
    }
    bencher.bench_local(|| judge(black_box(&packet)).unwrap());
}

#[divan::bench(args = [("v4", V4), ("v6", V6)])]
fn receive_1448(bencher: Bencher<'_, '_>, (_, addr): (&str, IpAddr)) {
    let packet = packet(addr, true);
    bencher.bench_local(|| match Received::parse(black_box(&packet), ChecksumTrust::None) {
        Received::Intact(segment) => segment.tcp.seq,
        other => panic!("{other:?}"),
    });
}

#[divan::bench]
fn layout_1448(bencher: Bencher<'_, '_>) {
    let packet = packet(V4, true);
    bencher.bench_local(|| layout(black_box(&packet)));
}

#[divan::bench(args = [20, 64, 536, 1448, 9000])]
fn crc32c(bencher: Bencher<'_, '_>, len: usize) {
    let bytes = payload(len);
    bencher.counter(BytesCount::new(len)).bench_local(|| crc::crc32c(black_box(&bytes)));
}

#[divan::bench]
fn block_sums_1448(bencher: Bencher<'_, '_>) {
    let bytes = payload(1448);
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| blocks::sums((black_box(&bytes), &[])).fold(0, |all, (_, sum)| all ^ sum));
}

fn v2_packet(with_data: bool) -> (V2, Vec<u8>) {
    let (ip, tcp, mut options) = headers(V4, false);
    let v2 = match with_data {
        true => V2::data(),
        false => V2::ack(3, V2Offsets::default()),
    };
    options.v2 = Some(v2);
    let data = if with_data { payload(1448) } else { vec![] };
    let mut buf = vec![0; 2048];
    let len = emit(&mut buf, &ip, &tcp, &options, (&data, &[])).unwrap();
    buf.truncate(len);
    (v2, buf)
}

#[divan::bench(args = [1448, 0])]
fn emit_v2(bencher: Bencher<'_, '_>, len: usize) {
    let (ip, tcp, mut options) = headers(V4, false);
    options.v2 = Some(v2_packet(len > 0).0);
    let payload = payload(len);
    let mut buf = vec![0; 2048];
    bencher.bench_local(|| {
        emit(
            black_box(&mut buf),
            black_box(&ip),
            black_box(&tcp),
            black_box(&options),
            (black_box(&payload), &[]),
        )
        .unwrap()
    });
}

#[divan::bench(args = [1448, 0])]
fn parse_v2(bencher: Bencher<'_, '_>, len: usize) {
    let (_, packet) = v2_packet(len > 0);
    bencher.bench_local(|| Segment::parse(black_box(&packet)).unwrap().tcp.seq);
}

#[divan::bench(args = [1448, 0])]
fn judge_v2(bencher: Bencher<'_, '_>, len: usize) {
    let (_, packet) = v2_packet(len > 0);
    bencher.bench_local(|| judge(black_box(&packet)).unwrap());
}

/// A header with `flips` flipped bits that only the CRC detects; three are looked for in vain.
#[divan::bench(args = [0, 1, 2, 3])]
fn repair_flips(bencher: Bencher<'_, '_>, flips: usize) {
    let (_, mut packet) = v2_packet(true);
    for at in [60, 61, 63].iter().take(flips) {
        packet[*at] ^= 4;
    }
    bencher.bench_local(|| {
        let mut repair = HeaderRepair::new(black_box(&packet)).unwrap();
        assert_eq!(repair.repair(&[], 2), flips <= 2);
        repair.syndrome()
    });
}

/// What one more candidate costs.
#[divan::bench]
fn repair_candidate(bencher: Bencher<'_, '_>) {
    let (_, packet) = v2_packet(true);
    let repair = HeaderRepair::new(&packet).unwrap();
    bencher.bench_local(|| repair.change(at::SEQ.start, black_box(&[1, 2, 3, 4])));
}
