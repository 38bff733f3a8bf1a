//! Damaged packets, and packets that only look damaged.

use headway_trace::analysis::Damage;
use headway_wire::{ExId, TcpOptions, V2};

use crate::wire::{ACK, Captured, after_handshake, analyse_packets, client, server};

/// Segments with data, with the sums of TCP HACK or without them.
fn transfer(has_sums: bool, count: u32) -> Vec<Captured> {
    let options = TcpOptions { hack: has_sums.then_some(0), ..TcpOptions::default() };
    let data: Vec<_> = (0..count).map(|n| client(ACK, 101 + 100 * n, 501, 100).options(options)).collect();
    after_handshake(&data).iter().map(|segment| (0, segment.bytes())).collect()
}

fn flip(packet: &mut Captured, at: usize) {
    packet.1[at] ^= 0x10;
}

#[test]
fn damaged_packets_count_as_damaged_and_as_nothing_else() {
    let mut packets = transfer(true, 6);
    let last = packets[4].1.len() - 1;
    flip(&mut packets[4], last);
    // The window: the header's own sum finds out.
    flip(&mut packets[6], 20 + 14);
    let analysis = analyse_packets(&packets, None);
    let client = &analysis.connections[0].directions[0];
    assert_eq!(client.all_damage(), Damage { corrupted: 1, unreadable: 1 });
    assert_eq!((client.data.packets, client.data.unique_bytes, client.packets), (4, 400, 6));
    assert_eq!(client.graph.as_ref().expect("points").corrupted.points()[0].seq, 100);
}

/// The CRCs of version 2 decide, whatever the checksum says.
#[test]
fn damage_that_only_version_2_sees() {
    let options = TcpOptions { v2: Some(V2::data(ExId::DEFAULT)), ..TcpOptions::default() };
    let data: Vec<_> = (0..4).map(|n| client(ACK, 101 + 100 * n, 501, 100).options(options)).collect();
    let mut packets: Vec<Captured> =
        after_handshake(&data).iter().map(|segment| (0, segment.bytes())).collect();
    // One up and one down, in the data and in sequence and acknowledgement number: the sum stays.
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
    // A port of a host that does not exist.
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

/// The system leaves the sum of the pseudo-header, or nothing, to the network card.
#[test]
fn checksums_that_the_card_computes_are_no_damage() {
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
fn a_host_whose_sums_are_never_right_has_them_computed_later() {
    let spoil = |packets: &mut [Captured], at| {
        for packet in packets.iter_mut().filter(|packet| packet.1[12..16] == [192, 0, 2, 1]) {
            flip(packet, at);
        }
    };
    // The checksum field, which holds something that means nothing.
    let mut packets = transfer(false, 8);
    spoil(&mut packets, 36);
    let analysis = analyse_packets(&packets, None);
    assert_eq!((analysis.not_computed, analysis.connections[0].directions[0].data.unique_bytes), (10, 800));

    // Too few to tell: damage.
    let mut packets = transfer(false, 3);
    spoil(&mut packets, 36);
    let analysis = analyse_packets(&packets, None);
    assert_eq!((analysis.not_computed, analysis.connections[0].directions[0].data.packets), (0, 0));

    // Some are right: the others are damaged.
    let mut packets = transfer(false, 20);
    spoil(&mut packets[5..], 36);
    let analysis = analyse_packets(&packets, None);
    let client = &analysis.connections[0].directions[0];
    assert_eq!((analysis.not_computed, client.all_damage().unreadable), (0, 18));

    // None is right, but headers are vouched for: damage.
    let mut packets = transfer(true, 20);
    packets.drain(..3);
    spoil(&mut packets, 80);
    packets.insert(0, (0, server(ACK, 501, 101, 0).bytes()));
    let analysis = analyse_packets(&packets, None);
    let client = analysis.connections[0].directions.iter().find(|direction| direction.packets == 0);
    assert_eq!(client.map(|client| client.all_damage().corrupted), Some(20));
}

#[test]
fn ipv4_headers_that_the_card_completes_are_read() {
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
