//! Partly valid packets.

use std::net::IpAddr;

use headway_test_fixture::packet;
use headway_test_fixture::rng::Rng;
use headway_wire::{IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, checksum};

use crate::{OURS, THEIRS};

/// The last packet of the stack.
#[derive(Clone)]
pub(crate) struct LastPacket {
    pub(crate) family: usize,
    pub(crate) tcp: TcpHeader,
    pub(crate) timestamp: u32,
    /// The packet.
    pub(crate) bytes: Vec<u8>,
}

/// An IP header of the attacker's.
pub(crate) fn ip(family: usize) -> IpHeader {
    let [src, dst]: [IpAddr; 2] = [THEIRS[family], OURS[family]].map(|address| address.parse().unwrap());
    packet::ip(src, dst)
}

/// Random bytes, mostly with the first byte of an IP header.
pub(crate) fn noise(chance: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; 1 + chance.below(200)];
    chance.fill(&mut bytes);
    bytes[0] = [0x45, 0x60, 0x4f, bytes[0]][chance.below(4)];
    bytes
}

/// A segment that answers a received one, or opens a connection.
pub(crate) fn segment(chance: &mut Rng, last: &LastPacket) -> Vec<u8> {
    let new = chance.below(8) == 0;
    let family = if new { chance.below(2) } else { last.family };
    let near = |number: SeqNumber, chance: &mut Rng| match chance.below(8) {
        0..=4 => number,
        5 => number + chance.below(100_000) as u32,
        6 => number - chance.below(100_000) as u32,
        _ => SeqNumber(chance.next() as u32),
    };
    let flags = if new { TcpFlags::SYN } else { TcpFlags::from_bits(chance.next() as u8 & 0xfb | 0x10) };
    let flags = if chance.below(20) == 0 { TcpFlags::from_bits(chance.next() as u8) } else { flags };
    let tcp = TcpHeader {
        src_port: if new { 1000 + chance.below(500) as u16 } else { last.tcp.dst_port },
        dst_port: if chance.below(50) == 0 { 81 } else { 80 },
        seq: near(last.tcp.ack, chance),
        ack: near(last.tcp.seq + 1, chance),
        flags,
        window: chance.next() as u16,
        urgent: chance.next() as u16,
    };
    let mut options = TcpOptions::default();
    if new {
        options.mss = Some(chance.next() as u16);
        options.sack_permitted = chance.below(2) == 0;
        options.window_scale = (chance.below(2) == 0).then_some(chance.next() as u8);
    }
    options.hack = (chance.below(4) == 0).then_some(0x5848);
    let timestamp = chance.next() as u32;
    options.timestamps =
        (chance.below(2) == 0).then_some(Timestamps { tsval: timestamp, tsecr: last.timestamp });
    let mut payload = vec![0; if new { 0 } else { chance.below(1400) }];
    chance.fill(&mut payload);
    packet::segment(&ip(family), &tcp, &options, &payload)
}

/// A captured packet with the attacker's address, possibly with sequence numbers of a current connection.
pub(crate) fn replayed(chance: &mut Rng, recorded: &[u8], last: &LastPacket) -> Vec<u8> {
    let mut packet = recorded.to_vec();
    let header = usize::from(packet[0] & 0xf) * 4;
    if packet[0] >> 4 != 4 || packet.len() < header + 20 {
        return packet;
    }
    for (at, address) in [(12, THEIRS[0]), (16, OURS[0])] {
        let IpAddr::V4(address) = address.parse().unwrap() else { unreachable!("it is IPv4") };
        packet[at..at + 4].copy_from_slice(&address.octets());
    }
    let [_, _, dst_port] = [0, header, header + 2];
    // The stack's own packet is returned as if it were the peer's.
    if packet[dst_port..dst_port + 2] != 80_u16.to_be_bytes() {
        packet[header..header + 4].rotate_left(2);
    }
    if chance.below(2) == 0 && last.family == 0 {
        packet[header..header + 2].copy_from_slice(&last.tcp.dst_port.to_be_bytes());
        packet[header + 4..header + 8].copy_from_slice(&last.tcp.ack.0.to_be_bytes());
        packet[header + 8..header + 12].copy_from_slice(&(last.tcp.seq + 1).0.to_be_bytes());
    }
    repair(&mut packet);
    packet
}

/// An ICMP message: a ping, or an error about a received or an unknown packet.
pub(crate) fn icmp(chance: &mut Rng, last: &LastPacket) -> Vec<u8> {
    let kinds: [&[[u8; 2]]; 2] = [
        &[[3, 4], [3, 1], [3, 2], [3, 3], [3, 13], [11, 0], [12, 0], [8, 0], [0, 0], [5, 1]],
        &[[2, 0], [1, 0], [1, 1], [1, 4], [3, 0], [4, 1], [128, 0], [129, 0], [135, 0], [137, 0]],
    ];
    let kind = kinds[last.family][chance.below(10)];
    let mtu = [0, 68, 296, 576, 1279, 1280, 1400, 65_535][chance.below(8)] as u32;
    let kept = chance.below(last.bytes.len() + 1).min(600);
    packet::icmp(&ip(last.family), kind, mtu.to_be_bytes(), &last.bytes[..kept])
}

/// Flips bits, truncates, extends, or inserts a part of another packet; half of the time with valid
/// checksums, so that the error is not detected at once.
pub(crate) fn damage(chance: &mut Rng, packet: &mut Vec<u8>, other: &[u8]) {
    match chance.below(6) {
        0..=2 => {
            for _ in 0..=chance.below(3) {
                chance.flip_bit(packet);
            }
        }
        3 => packet.truncate(1 + chance.below(packet.len())),
        4 => packet.resize(packet.len() + chance.below(100), chance.next() as u8),
        _ => {
            let [from, at] = [other.len(), packet.len()].map(|len| chance.below(len));
            packet.truncate(at.max(1));
            packet.extend_from_slice(&other[from..]);
        }
    }
    packet.truncate(1500);
    if chance.below(2) == 0 {
        repair(packet);
    }
}

/// Corrects lengths and checksums, if the packet is long enough.
fn repair(packet: &mut [u8]) {
    let len = packet.len() as u16;
    let [header, version] = [usize::from(packet[0] & 0xf) * 4, usize::from(packet[0] >> 4)];
    if version == 4 && header >= 20 && packet.len() >= header + 20 {
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        packet[10..12].fill(0);
        let check = checksum::sum(&packet[..header]).complement();
        packet[10..12].copy_from_slice(&check.to_be_bytes());
        let mut pseudo = checksum::sum(&packet[12..20]);
        put_sum(packet, header, &mut pseudo);
    } else if version == 6 && packet.len() >= 60 {
        packet[4..6].copy_from_slice(&(len - 40).to_be_bytes());
        let mut pseudo = checksum::sum(&packet[8..40]);
        put_sum(packet, 40, &mut pseudo);
    }
}

fn put_sum(packet: &mut [u8], start: usize, pseudo: &mut checksum::Sum) {
    const TCP: u8 = 6;
    let body = &mut packet[start..];
    pseudo.add_u16(TCP.into());
    pseudo.add_u32(body.len() as u32);
    body[16..18].fill(0);
    pseudo.add(checksum::sum(body));
    let check = pseudo.complement();
    body[16..18].copy_from_slice(&check.to_be_bytes());
}
