//! Several interfaces, truncated packets, and packets that are not TCP.

use headway_trace::analysis::{Amount, Analyser, Options};
use headway_trace::reader::{LinkType, Packet};
use headway_units::Instant;
use headway_wire::{SackBlocks, SeqNumber, TcpOptions, Timestamps};

use crate::analysis::wire::{ACK, Captured, after_handshake, analyse_packets, client, server};

/// Every packet of a transfer at both ends.
fn at_both_ends() -> Vec<Captured> {
    let segments = after_handshake(&[client(ACK, 101, 501, 100), server(ACK, 501, 201, 0)]);
    segments
        .iter()
        .flat_map(|segment| {
            let first = usize::from(segment.from_server);
            [(first, segment.bytes()), (1 - first, segment.bytes())]
        })
        .collect()
}

#[test]
fn nothing_counts_twice() {
    let analysis = analyse_packets(&at_both_ends(), None);
    let [connection] = &analysis.connections[..] else { panic!("one connection") };
    let [client, server] = &connection.directions;
    assert_eq!((connection.interface, client.packets, server.packets), (0, 3, 2));
    assert_eq!((client.retransmitted, analysis.skipped.other_interface), (Amount::default(), 5));
}

#[test]
fn another_interface_can_be_chosen() {
    let analysis = analyse_packets(&at_both_ends(), Some(1));
    let [connection] = &analysis.connections[..] else { panic!("one connection") };
    assert_eq!((connection.interface, connection.directions[0].packets), (1, 3));
    assert_eq!(analysis.skipped.other_interface, 5);
    // One millisecond after the other end.
    assert_eq!(connection.first_at, Instant::from_nanos(1_000_000));
}

/// Analyses a packet of which the capture kept `kept` bytes.
fn analyse_cut(bytes: &[u8], kept: usize) -> headway_trace::analysis::Analysis {
    let mut analyser = Analyser::new(Options::default());
    analyser.packet(&Packet {
        interface: 0,
        link: LinkType::RAW,
        at: Instant::ZERO,
        bytes: &bytes[..kept],
        original_len: bytes.len() as u32,
        direction: None,
        comment: None,
    });
    analyser.finish()
}

#[test]
fn truncated_packets_are_read_as_far_as_captured() {
    let mut sack = SackBlocks::default();
    for left in [201, 401] {
        assert!(sack.push((SeqNumber(left), SeqNumber(left + 100))));
    }
    let timestamps = Some(Timestamps { tsval: 1, tsecr: 2 });
    let options = TcpOptions { timestamps, sack, ..TcpOptions::default() };
    let bytes = server(ACK, 501, 101, 50).options(options).bytes();
    let header_len = bytes.len() - 50;
    for kept in 0..=bytes.len() {
        let analysis = analyse_cut(&bytes, kept);
        if kept < 40 {
            assert_eq!((analysis.connections.len(), analysis.skipped.cut), (0, 1), "{kept}");
            continue;
        }
        let server = &analysis.connections[0].directions[0];
        assert_eq!((server.data.bytes, server.data.unique_bytes), (50, 50), "{kept}");
        let missing = (bytes.len() - kept).min(50) as u64;
        let truncated = Amount { packets: u64::from(missing > 0), bytes: missing };
        assert_eq!(server.truncated, truncated, "{kept}");
        // A truncated option is ignored.
        assert_eq!(server.acks.sack_blocks, if kept >= header_len { 2 } else { 0 }, "{kept}");
    }
}

#[test]
fn packets_that_are_not_tcp_are_counted() {
    let mut udp = client(ACK, 1, 1, 0).bytes();
    udp[9] = 17;
    udp[10..12].fill(0);
    let mut fragment = client(ACK, 1, 1, 0).bytes();
    fragment[6] = 0x20;
    fragment[10..12].fill(0);
    let analysis = analyse_packets(&[(0, udp), (0, fragment), (0, vec![0x75; 40]), (0, vec![])], None);
    let skipped = analysis.skipped;
    assert_eq!((skipped.not_tcp, skipped.fragments, skipped.unreadable), (1, 1, 2));
    assert!(analysis.connections.is_empty());
}
