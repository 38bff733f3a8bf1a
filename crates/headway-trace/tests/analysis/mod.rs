//! Analysis of packets that the recorded captures do not have.

mod damage;
mod places;
mod wire;

use headway_trace::analysis::{Amount, Ending};
use headway_wire::{SackBlocks, SeqNumber, TcpFlags, TcpOptions, V2, V2Ack, V2Offsets};
use proptest::prelude::*;
use wire::{ACK, SYN, Seg, after_handshake, analyse, client, handshake, server, with_ack};

#[test]
fn segments_into_a_closed_window_are_probes() {
    let analysis = analyse(&after_handshake(&[
        client(ACK, 101, 501, 100),
        server(ACK, 501, 201, 0).window(0),
        client(ACK, 201, 501, 1),
        server(ACK, 501, 201, 0).window(0),
        client(ACK, 201, 501, 1),
        server(ACK, 501, 202, 0),
        // The data of the probe counts as new here, as in tcptrace.
        client(ACK, 201, 501, 100),
    ]));
    let [client, server] = &analysis.connections[0].directions;
    assert_eq!(client.probes, Amount { packets: 2, bytes: 2 });
    assert_eq!((client.retransmitted, client.data.unique_bytes), (Amount::default(), 200));
    assert_eq!((server.windows.zero, server.windows.min_open), (2, Some(1000)));
    let graph = client.graph.as_ref().expect("points");
    assert_eq!((graph.probes.total(), graph.sent.total(), graph.zero_windows.total()), (2, 3, 2));
}

#[test]
fn a_duplicate_ack_is_what_rfc_5681_calls_one() {
    let dup = || server(ACK, 501, 101, 0);
    let mut segments = after_handshake(&[dup()]);
    // Nothing is outstanding: a repeat. Then it is.
    segments.extend([client(ACK, 101, 501, 100), client(ACK, 201, 501, 100), dup(), dup()]);
    // Another window, data, FIN: not duplicates.
    segments.extend([dup().window(999), dup().window(999), server(ACK, 501, 101, 5).window(999)]);
    segments.extend([
        server(ACK, 506, 101, 0).window(999),
        server(with_ack(TcpFlags::FIN), 506, 101, 0).window(999),
    ]);
    // Three consecutive duplicates count once; a fourth does not count again.
    segments.extend([server(ACK, 507, 101, 0).window(999); 4]);
    let analysis = analyse(&segments);
    let client = &analysis.connections[0].directions[0];
    assert_eq!(client.duplicate_acks, 2 + 1 + 1 + 4);
    assert_eq!(client.triple_duplicate_acks, 1);
    assert_eq!(client.repeated_acks, 2);
}

#[test]
fn a_syn_with_another_number_is_another_connection() {
    let mut segments = vec![client(SYN, 100, 0, 0)];
    segments.extend(handshake());
    segments.push(client(with_ack(TcpFlags::RST), 101, 501, 0));
    segments.extend([
        client(SYN, 9_000, 0, 0),
        server(with_ack(SYN), 70_000, 9_001, 0),
        client(ACK, 9_001, 70_001, 7),
    ]);
    let analysis = analyse(&segments);
    let [first, second] = &analysis.connections[..] else { panic!("two connections") };
    assert_eq!((first.ending(), second.ending()), (Ending::Reset, Ending::Open));
    assert_eq!(first.directions[0].with(SYN), 2);
    assert_eq!(first.directions[0].retransmitted, Amount { packets: 1, bytes: 1 });
    assert_eq!((second.directions[0].packets, second.directions[0].data.unique_bytes), (2, 7));
}

#[test]
fn a_simultaneous_open_is_one_connection() {
    let analysis = analyse(&[
        client(SYN, 100, 0, 0),
        server(SYN, 500, 0, 0),
        client(with_ack(SYN), 100, 501, 0),
        server(with_ack(SYN), 500, 101, 0),
        client(ACK, 101, 501, 9),
    ]);
    assert_eq!(analysis.connections.len(), 1);
    assert_eq!(analysis.connections[0].directions[0].data.unique_bytes, 9);
}

#[test]
fn a_capture_may_begin_in_the_middle() {
    let analysis = analyse(&[
        server(ACK, 900, 5_000, 100),
        client(ACK, 5_000, 1_000, 0),
        server(ACK, 1_000, 5_000, 100),
        server(ACK, 900, 5_000, 100),
    ]);
    let [connection] = &analysis.connections[..] else { panic!("one connection") };
    let sender = &connection.directions[0];
    assert_eq!((sender.data.unique_bytes, sender.retransmitted), (200, Amount { packets: 1, bytes: 100 }));
    assert_eq!((sender.stream_len(), sender.not_captured(), connection.ending()), (None, None, Ending::Open));
}

#[test]
fn windows_are_scaled_where_both_sides_agreed() {
    let scale = |shift| TcpOptions { window_scale: Some(shift), ..TcpOptions::default() };
    let open = |client_options, server_options| {
        analyse(&[
            client(SYN, 100, 0, 0).options(client_options),
            server(with_ack(SYN), 500, 101, 0).options(server_options),
            client(ACK, 101, 501, 0),
        ])
        .connections[0]
            .directions[0]
            .windows
            .max
    };
    assert_eq!(open(scale(3), scale(0)), Some(8_000));
    assert_eq!(open(scale(3), TcpOptions::default()), Some(1_000));
    // RFC 7323, 2.3: more than 14 counts as 14.
    assert_eq!(open(scale(200), scale(0)), Some(1_000 << 14));
}

#[test]
fn special_acks_are_counted_by_kind() {
    let named = TcpOptions { hack_ack: Some(SeqNumber(201)), ..TcpOptions::default() };
    let mut listed = TcpOptions::default();
    for seq in [SeqNumber(301), SeqNumber(201)] {
        assert!(listed.xhack_ack.push(seq));
    }
    let sum = TcpOptions { hack: Some(0), ..TcpOptions::default() };
    let analysis = analyse(&after_handshake(&[
        client(ACK, 101, 501, 100).options(sum),
        client(ACK, 201, 501, 100).options(sum),
        client(ACK, 301, 501, 100).options(sum),
        server(ACK, 501, 201, 0).options(named),
        server(ACK, 501, 201, 0).options(listed),
    ]));
    let [client, server] = &analysis.connections[0].directions;
    assert_eq!((client.special.header_sums, client.special.acks()), (3, 0));
    let special = &server.special;
    assert_eq!((special.reporting_one, special.listing, special.listed, special.duplicates), (1, 1, 2, 1));
    let points: Vec<u64> =
        client.graph.as_ref().expect("points").special.points().iter().map(|point| point.seq).collect();
    assert_eq!(points, [100, 200, 100]);
}

#[test]
fn version_2_is_counted() {
    let v2 = |v2| TcpOptions { v2: Some(v2), ..TcpOptions::default() };
    let names = V2Ack::offsets_from(SeqNumber(201), [SeqNumber(301), SeqNumber(201)]);
    let reported = V2Ack::offsets_from(SeqNumber(201), [SeqNumber(301)]);
    let data = v2(V2::data());
    let analysis = analyse(&[
        client(SYN, 100, 0, 0).options(v2(V2::syn(true))),
        server(with_ack(SYN), 500, 101, 0).options(v2(V2::syn(true))),
        client(ACK, 101, 501, 0).options(v2(V2::ack(0, V2Offsets::default()))),
        client(ACK, 101, 501, 100).options(data),
        client(ACK, 201, 501, 100).options(data),
        client(ACK, 301, 501, 100).options(data),
        server(ACK, 501, 201, 0).options(v2(V2::ack(7, V2Offsets::default()))),
        server(ACK, 501, 201, 0).options(v2(V2::ack(7, names))),
        server(ACK, 501, 201, 8).options(v2(V2::ack(8, reported))),
    ]);
    let [client, server] = &analysis.connections[0].directions;
    assert!(client.offers.v2 && server.offers.v2);
    assert_eq!((client.special.header_crcs, client.special.acks()), (4, 0));
    let special = &server.special;
    assert_eq!((special.version_2, special.version_2_numbers, special.with_blocks), (2, 3, 1));
    assert_eq!((special.header_crcs, special.damaged, special.duplicates), (3, Some(8), 2));
    assert_eq!((special.acks(), special.header_sums), (2, 0));
    let points: Vec<u64> =
        client.graph.as_ref().expect("points").special.points().iter().map(|point| point.seq).collect();
    assert_eq!(points, [200, 100, 200]);
}

#[test]
fn sack_blocks_and_d_sack() {
    let blocks = |pairs: &[(u32, u32)]| {
        let mut sack = SackBlocks::default();
        for &(left, right) in pairs {
            assert!(sack.push((SeqNumber(left), SeqNumber(right))));
        }
        TcpOptions { sack, ..TcpOptions::default() }
    };
    let analysis = analyse(&after_handshake(&[
        client(ACK, 101, 501, 100),
        server(ACK, 501, 101, 0).options(blocks(&[(201, 301)])),
        server(ACK, 501, 301, 0).options(blocks(&[(101, 201), (401, 501)])),
    ]));
    let acks = &analysis.connections[0].directions[1].acks;
    assert_eq!((acks.sack_packets, acks.sack_blocks, acks.max_sack_blocks, acks.dsack_packets), (2, 3, 2, 1));
}

fn any_segment() -> impl Strategy<Value = Seg> {
    let number = prop_oneof![0_u32..3_000, any::<u32>()];
    (any::<bool>(), number.clone(), number, any::<u8>(), any::<u16>(), 0_usize..300).prop_map(
        |(from_server, seq, ack, flags, window, len)| Seg {
            from_server,
            window,
            ..client(TcpFlags::from_bits(flags), seq, ack, len)
        },
    )
}

proptest! {
    /// Random segments.
    #[test]
    fn any_segments_add_up(segments in proptest::collection::vec(any_segment(), 0..120)) {
        let analysis = analyse(&segments);
        let directions = || analysis.connections.iter().flat_map(|connection| &connection.directions);
        let packets: u64 = directions().map(|direction| direction.packets).sum();
        prop_assert_eq!(packets, segments.len() as u64);
        let bytes: u64 = directions().map(|direction| direction.data.bytes).sum();
        prop_assert_eq!(bytes, segments.iter().map(|segment| segment.len as u64).sum::<u64>());
        for direction in directions() {
            prop_assert!(direction.data.unique_bytes + direction.probes.bytes <= direction.data.bytes);
            prop_assert!(
                direction.data.unique_bytes + direction.probes.bytes + direction.retransmitted.bytes
                    >= direction.data.bytes
            );
            let drawn: u64 = direction.throughput.intervals().iter().map(|interval| interval.bytes).sum();
            prop_assert_eq!(drawn, direction.data.bytes);
        }
    }
}
