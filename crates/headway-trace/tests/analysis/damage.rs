//! Damaged packets, and packets with checksums not yet computed.

use headway_trace::analysis::Damage;
use headway_wire::{TcpOptions, V2};

use crate::analysis::wire::{ACK, Captured, after_handshake, analyse_packets, client, server};

/// Segments with data, with the header checksums of TCP HACK or without.
fn transfer(has_sums: bool, count: u32) -> Vec<Captured> {
    let options = TcpOptions { hack: has_sums.then_some(0), ..TcpOptions::default() };
    let data: Vec<_> = (0..count).map(|n| client(ACK, 101 + 100 * n, 501, 100).options(options)).collect();
    after_handshake(&data).iter().map(|segment| (0, segment.bytes())).collect()
}

fn flip(packet: &mut Captured, at: usize) {
    packet.1[at] ^= 0x10;
}

#[test]
fn damaged_packets_count_only_as_damaged() {
    let mut packets = transfer(true, 6);
    let last = packets[4].1.len() - 1;
    flip(&mut packets[4], last);
    // The window: the header checksum detects it.
    flip(&mut packets[6], 20 + 14);
    let analysis = analyse_packets(&packets, None);
    let client = &analysis.connections[0].directions[0];
    assert_eq!(client.all_damage(), Damage { corrupted: 1, unreadable: 1 });
    assert_eq!((client.data.packets, client.data.unique_bytes, client.packets), (4, 400, 6));
    assert_eq!(client.graph.as_ref().expect("points").corrupted.points()[0].seq, 100);
}

/// The CRCs of version 2 decide, even if the TCP checksum is valid.
#[test]
fn damage_that_only_version_2_detects() {
    let options = TcpOptions { v2: Some(V2::data()), ..TcpOptions::default() };
    let data: Vec<_> = (0..4).map(|n| client(ACK, 101 + 100 * n, 501, 100).options(options)).collect();
    let mut packets: Vec<Captured> =
        after_handshake(&data).iter().map(|segment| (0, segment.bytes())).collect();
    // One bit up and one down, in the data and in sequence and acknowledgement number: the checksum stays
    // valid.
    let last = packets[4].1.len() - 1;
    packets[4].1[last] += 1;
    packets[4].1[last - 2] -= 1;
    packets[5].1[20 + 7] += 1;
    packets[5].1[20 + 11] -= 1;
    let analysis = analyse_packets(&packets, None);
    let client = &analysis.connections[0].directions[0];
    assert_eq!(client.all_damage(), Damage { corrupted: 1, unreadable: 1 });
    assert_eq!((client.data.packets, client.data.unique_bytes), (2, 200));
}

#[test]
fn no_connection_begins_with_a_damaged_packet() {
    let mut packets = transfer(true, 1);
    // A port without a connection.
    flip(&mut packets[3], 20);
    packets[3].1[30] ^= 1;
    let analysis = analyse_packets(&packets[3..], None);
    assert_eq!((analysis.connections.len(), analysis.skipped.unreadable), (0, 1));
}

#[test]
fn damage_is_counted_at_every_interface() {
    let mut packets = transfer(true, 2);
    let mut arrived = packets[4].clone();
    arrived.0 = 1;
    flip(&mut arrived, 90);
    packets.push(arrived);
    let analysis = analyse_packets(&packets, None);
    let client = &analysis.connections[0].directions[0];
    assert_eq!(client.damage.get(&1), Some(&Damage { corrupted: 1, unreadable: 0 }));
    assert_eq!(client.data.packets, 2);
}

/// With offload the field holds the sum of the pseudo-header or zero.
#[test]
fn offloaded_checksums_are_not_damage() {
    for field in [None, Some([0, 0])] {
        let mut packets = transfer(false, 3);
        for packet in &mut packets {
            if packet.1[12..16] == [192, 0, 2, 1] {
                let len = packet.1.len() as u32 - 20;
                let pseudo = 2 * (0xc000 + 0x0200) + 1 + 2 + 6 + len;
                let folded = (pseudo & 0xffff) + (pseudo >> 16);
                let field = field.unwrap_or((folded as u16).to_be_bytes());
                packet.1[36..38].copy_from_slice(&field);
            }
        }
        let analysis = analyse_packets(&packets, None);
        assert_eq!(analysis.not_computed, 5);
        let client = &analysis.connections[0].directions[0];
        assert_eq!((client.all_damage(), client.data.unique_bytes), (Damage::default(), 300));
    }
}

#[test]
fn a_host_without_a_valid_checksum_uses_offload() {
    let spoil = |packets: &mut [Captured], at| {
        for packet in packets.iter_mut().filter(|packet| packet.1[12..16] == [192, 0, 2, 1]) {
            flip(packet, at);
        }
    };
    // An arbitrary value in the checksum field.
    let mut packets = transfer(false, 8);
    spoil(&mut packets, 36);
    let analysis = analyse_packets(&packets, None);
    assert_eq!((analysis.not_computed, analysis.connections[0].directions[0].data.unique_bytes), (10, 800));

    // Too few packets: damage.
    let mut packets = transfer(false, 3);
    spoil(&mut packets, 36);
    let analysis = analyse_packets(&packets, None);
    assert_eq!((analysis.not_computed, analysis.connections[0].directions[0].data.packets), (0, 0));

    // Some checksums are valid: the other packets are damaged.
    let mut packets = transfer(false, 20);
    spoil(&mut packets[5..], 36);
    let analysis = analyse_packets(&packets, None);
    let client = &analysis.connections[0].directions[0];
    assert_eq!((analysis.not_computed, client.all_damage().unreadable), (0, 18));

    // No TCP checksum is valid, but header checksums are: damage.
    let mut packets = transfer(true, 20);
    packets.drain(..3);
    spoil(&mut packets, 80);
    packets.insert(0, (0, server(ACK, 501, 101, 0).bytes()));
    let analysis = analyse_packets(&packets, None);
    let client = analysis.connections[0].directions.iter().find(|direction| direction.packets == 0);
    assert_eq!(client.map(|client| client.all_damage().corrupted), Some(20));
}

#[test]
fn offloaded_ipv4_headers_are_completed() {
    let mut packets = transfer(false, 3);
    for packet in &mut packets {
        packet.1[10..12].fill(0);
    }
    packets[4].1[2..4].fill(0);
    let analysis = analyse_packets(&packets, None);
    assert_eq!(analysis.connections[0].directions[0].data.unique_bytes, 300);
    // A wrong checksum that is not zero is damage.
    flip(&mut packets[5], 10);
    assert_eq!(analyse_packets(&packets, None).skipped.unreadable, 1);
}
