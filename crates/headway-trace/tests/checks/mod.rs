//! Properties that hold for any input. The fuzz targets and the corpus test call these functions.

use headway_trace::analysis::{Analyser, Analysis, Connection, Direction, Graphs, Offload, Options};
use headway_trace::reader::{LinkType, MAX_PACKET, Packet, Reader};
use headway_trace::{
    PathDirection, Series, read_fates, write_outstanding, write_rtt, write_segments, write_throughput,
};
use headway_units::Instant;

/// Few, so that series are thinned.
const POINTS: usize = 16;

/// Reads any bytes as a capture, with the same passes as `headway trace`.
pub(crate) fn check_capture(bytes: &[u8]) {
    let mut offload = Offload::new();
    let Some(first) = read(bytes, |packet| offload.packet(packet)) else { return };
    let mut analyser = Analyser::new(options(offload.clone(), None));
    assert_eq!(read(bytes, |packet| analyser.packet(packet)), Some(first), "the same in each pass");
    check_analysis(analyser.finish(), first);
    // Packets of other interfaces than the requested one are counted as skipped.
    let mut analyser = Analyser::new(options(offload, Some(1)));
    read(bytes, |packet| analyser.packet(packet));
    check_analysis(analyser.finish(), first);
    for direction in [PathDirection::Forward, PathDirection::Reverse] {
        // An empty capture is not a trace, and must not panic.
        let _ = read_fates("fuzzed", direction, bytes);
    }
}

/// Interprets the bytes as a sequence of packets between two hosts: 16 bytes each, followed by its
/// options. Checksums are marked as not computed, since nearly all mutations would make them wrong.
pub(crate) fn check_packets(bytes: &[u8]) {
    let mut analyser = Analyser::new(options(Offload::new(), None));
    let (mut at, mut packets, mut rest) = (0_u64, 0, bytes);
    while let Some((head, behind)) = rest.split_first_chunk::<16>() {
        let [sides, flags, numbers @ .., len_high, len_low, wait, scale, options] = *head;
        let options_len = usize::from(options % 11 * 4).min(behind.len() / 4 * 4);
        let (options, behind) = behind.split_at(options_len);
        rest = behind;
        at = at.saturating_add(u64::from(wait) << (scale % 64));
        let len = u16::from_be_bytes([len_high, len_low]) % 2048;
        let packet = segment(sides, flags, &numbers, options);
        let original_len = (packet.len() + usize::from(len)) as u32;
        analyser.packet(&Packet {
            interface: usize::from(sides >> 6 & 1),
            link: LinkType::RAW,
            at: Instant::from_nanos(at),
            bytes: &packet,
            original_len,
            direction: None,
            comment: None,
        });
        packets += 1;
    }
    check_analysis(analyser.finish(), packets);
}

/// The headers of a segment: `numbers` are its sequence number, its ACK number and its window in units
/// of 256 bytes.
fn segment(sides: u8, flags: u8, numbers: &[u8; 9], options: &[u8]) -> Vec<u8> {
    let [seq @ .., ack0, ack1, ack2, ack3, window] = *numbers;
    let forth = sides & 1 == 0;
    let (here, there) = if forth { (1, 2) } else { (2, 1) };
    let mut packet =
        vec![0x45, sides >> 4 & 3, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, here, 10, 0, 0, there];
    let ports: [u8; 4] = if forth { [0, 9, 0, 7] } else { [0, 7, 0, 9] };
    packet.extend(ports);
    packet.extend(seq);
    packet.extend([ack0, ack1, ack2, ack3]);
    packet.push(((5 + options.len() / 4) as u8) << 4);
    packet.push(flags);
    // Zero windows more often than once in 256.
    packet.extend(if window < 32 { [0, 0] } else { [window, 0] });
    // Sometimes a wrong checksum.
    packet.extend(if sides & 0x0e == 0x0e { [0xba, 0xad] } else { [0, 0] });
    packet.extend([0, 0]);
    packet.extend_from_slice(options);
    packet
}

fn options(offload: Offload, interface: Option<usize>) -> Options {
    Options { interface, graphs: Some(Graphs { points: POINTS, connections: 0..8 }), offload }
}

/// Reads every packet up to the end or the first error, and returns their number; `None` if the bytes are
/// not a capture.
fn read(bytes: &[u8], mut take: impl FnMut(&Packet<'_>)) -> Option<u64> {
    let mut reader = Reader::new(bytes).ok()?;
    let mut count = 0;
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => {
                assert!(packet.bytes.len() <= bytes.len().min(MAX_PACKET as usize));
                assert!(packet.bytes.len() <= packet.original_len as usize);
                take(&packet);
                count += 1;
                // A record has a header.
                assert!(count * 12 <= bytes.len() as u64);
            }
            Ok(None) => break,
            Err(error) => {
                assert!(error.to_string().len() < 300, "{error}");
                return Some(count);
            }
        }
    }
    if let Some(half) = reader.half_written() {
        assert!(half.offset < bytes.len() as u64 && half.missing > 0);
    }
    Some(count)
}

/// Each packet is counted once.
fn check_analysis(analysis: Analysis, packets: u64) {
    assert_eq!(analysis.packets, packets);
    let skipped = analysis.skipped;
    let left_out = skipped.not_tcp
        + skipped.fragments
        + skipped.cut
        + skipped.unreadable
        + skipped.unknown_link
        + skipped.other_interface
        + skipped.beyond_limit;
    let counted: u64 = analysis
        .connections
        .iter()
        .flat_map(|connection| &connection.directions)
        .map(|direction| {
            direction.packets + direction.all_damage().corrupted + direction.all_damage().unreadable
        })
        .sum();
    // Damage is counted for up to 64 interfaces.
    let is_full = |direction: &Direction| direction.damage.len() == 64;
    if !analysis.connections.iter().flat_map(|connection| &connection.directions).any(is_full) {
        assert_eq!(left_out + counted, packets);
    }
    for connection in &analysis.connections {
        check_connection(connection);
    }
}

fn check_connection(connection: &Connection) {
    assert!(connection.first_at <= connection.last_at);
    connection.ending();
    for direction in &connection.directions {
        check_direction(direction);
        assert!(connection.throughput(direction).is_none_or(|rate| rate >= 0.0));
    }
    let [first, second] = &connection.directions;
    for (direction, other) in [(first, second), (second, first)] {
        assert!(direction.duplicate_acks + direction.repeated_acks <= other.acks.packets);
        assert!(other.special.duplicates <= other.special.acks());
    }
}

fn check_direction(direction: &Direction) {
    let data = &direction.data;
    assert!(data.packets <= direction.packets && data.unique_bytes <= data.bytes);
    assert!(data.smallest.unwrap_or(0) <= data.largest);
    assert!(direction.acks.pure <= direction.acks.packets && direction.acks.packets <= direction.packets);
    assert!(direction.acks.dsack_packets <= direction.acks.sack_packets);
    assert!(direction.retransmitted.packets + direction.probes.packets <= direction.packets);
    assert!(direction.windows.min_open <= direction.windows.max);
    let rtt = &direction.acknowledged().rtt;
    assert!(rtt.min() <= rtt.max() && rtt.deviation().is_none_or(|deviation| deviation >= 0.0));
    if let (Some(missed), Some(len)) = (direction.not_captured(), direction.stream_len()) {
        assert!(missed <= len);
    }
    let intervals = direction.throughput.intervals();
    assert!(intervals.len() <= 1024);
    assert_eq!(intervals.iter().map(|interval| interval.bytes).sum::<u64>(), data.bytes);
    assert_eq!(intervals.iter().map(|interval| interval.new_bytes).sum::<u64>(), data.unique_bytes);
    if let Some(graph) = &direction.graph {
        for series in
            [&graph.sent, &graph.retransmitted, &graph.out_of_order, &graph.probes, &graph.corrupted]
        {
            check_series(series);
        }
        check_series(&graph.edges);
        check_series(&graph.outstanding);
        check_series(&graph.rtt);
        check_series(&graph.sacks);
        assert_eq!(graph.rtt.total(), rtt.count());
        assert_eq!(graph.duplicates.total(), direction.duplicate_acks);
    }
    let mut out = Vec::new();
    write_segments(&mut out, "title", direction).expect("a vector takes everything");
    write_outstanding(&mut out, "title", direction).expect("a vector takes everything");
    write_rtt(&mut out, "title", direction).expect("a vector takes everything");
    write_throughput(&mut out, "title", &direction.throughput).expect("a vector takes everything");
}

fn check_series<T>(series: &Series<T>) {
    assert!(series.points().len() <= POINTS && series.points().len() as u64 <= series.total());
}
