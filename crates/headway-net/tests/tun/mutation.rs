//! Partly valid packets.

use std::net::IpAddr;

use headway_wire::icmp::{ICMP, ICMPV6};
use headway_wire::{Ecn, IpHeader, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, checksum, emit};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng as _;

use crate::{OURS, THEIRS};

/// The last packet of the stack.
#[derive(Clone)]
pub(crate) struct Heard {
    pub(crate) family: usize,
    pub(crate) tcp: TcpHeader,
    pub(crate) timestamp: u32,
    /// The packet.
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn below(chance: &mut Xoshiro256PlusPlus, most: usize) -> usize {
    (chance.next_u64() % most.max(1) as u64) as usize
}

fn ip(family: usize) -> IpHeader {
    let [src, dst]: [IpAddr; 2] = [THEIRS[family], OURS[family]].map(|address| address.parse().unwrap());
    IpHeader { src, dst, ecn: Ecn::NotEct, hop_limit: 64, identification: 0 }
}

/// Random bytes, mostly with the first byte of an IP header.
pub(crate) fn noise(chance: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut bytes = vec![0; 1 + below(chance, 200)];
    chance.fill_bytes(&mut bytes);
    bytes[0] = [0x45, 0x60, 0x4f, bytes[0]][below(chance, 4)];
    bytes
}

/// A segment that answers a received one, or opens a connection.
pub(crate) fn segment(chance: &mut Xoshiro256PlusPlus, heard: &Heard) -> Vec<u8> {
    let new = below(chance, 8) == 0;
    let family = if new { below(chance, 2) } else { heard.family };
    let near = |number: SeqNumber, chance: &mut Xoshiro256PlusPlus| match below(chance, 8) {
        0..=4 => number,
        5 => number + below(chance, 100_000) as u32,
        6 => number - below(chance, 100_000) as u32,
        _ => SeqNumber(chance.next_u64() as u32),
    };
    let flags = if new { TcpFlags::SYN } else { TcpFlags::from_bits(chance.next_u64() as u8 & 0xfb | 0x10) };
    let flags = if below(chance, 20) == 0 { TcpFlags::from_bits(chance.next_u64() as u8) } else { flags };
    let tcp = TcpHeader {
        src_port: if new { 1000 + below(chance, 500) as u16 } else { heard.tcp.dst_port },
        dst_port: if below(chance, 50) == 0 { 81 } else { 80 },
        seq: near(heard.tcp.ack, chance),
        ack: near(heard.tcp.seq + 1, chance),
        flags,
        window: chance.next_u64() as u16,
        urgent: chance.next_u64() as u16,
    };
    let mut options = TcpOptions::default();
    if new {
        options.mss = Some(chance.next_u64() as u16);
        options.sack_permitted = below(chance, 2) == 0;
        options.window_scale = (below(chance, 2) == 0).then_some(chance.next_u64() as u8);
    }
    options.hack = (below(chance, 4) == 0).then_some(0x5848);
    let timestamp = chance.next_u64() as u32;
    options.timestamps =
        (below(chance, 2) == 0).then_some(Timestamps { value: timestamp, echo: heard.timestamp });
    let mut payload = vec![0; if new { 0 } else { below(chance, 1400) }];
    chance.fill_bytes(&mut payload);
    let mut packet = vec![0; 2000];
    let len = emit(&mut packet, &ip(family), &tcp, &options, (&payload, &[])).unwrap();
    packet.truncate(len);
    packet
}

/// A captured packet with the attacker's address, possibly with sequence numbers of a current connection.
pub(crate) fn replayed(chance: &mut Xoshiro256PlusPlus, recorded: &[u8], heard: &Heard) -> Vec<u8> {
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
    if below(chance, 2) == 0 && heard.family == 0 {
        packet[header..header + 2].copy_from_slice(&heard.tcp.dst_port.to_be_bytes());
        packet[header + 4..header + 8].copy_from_slice(&heard.tcp.ack.0.to_be_bytes());
        packet[header + 8..header + 12].copy_from_slice(&(heard.tcp.seq + 1).0.to_be_bytes());
    }
    repair(&mut packet);
    packet
}

/// An ICMP message: a ping, or an error about a received or an unknown packet.
pub(crate) fn icmp(chance: &mut Xoshiro256PlusPlus, heard: &Heard) -> Vec<u8> {
    let kinds: [&[[u8; 2]]; 2] = [
        &[[3, 4], [3, 1], [3, 2], [3, 3], [3, 13], [11, 0], [12, 0], [8, 0], [0, 0], [5, 1]],
        &[[2, 0], [1, 0], [1, 1], [1, 4], [3, 0], [4, 1], [128, 0], [129, 0], [135, 0], [137, 0]],
    ];
    let kind = kinds[heard.family][below(chance, 10)];
    let mtu = [0, 68, 296, 576, 1279, 1280, 1400, 65_535][below(chance, 8)] as u32;
    let kept = below(chance, heard.bytes.len() + 1).min(600);
    let mut body = [&kind[..], &[0, 0], &mtu.to_be_bytes(), &heard.bytes[..kept]].concat();
    let ip = ip(heard.family);
    let (protocol, mut sum) = match heard.family {
        0 => (ICMP, checksum::Sum::default()),
        _ => (ICMPV6, ip.pseudo_header_sum(ICMPV6, body.len())),
    };
    sum.add(checksum::sum(&body));
    body[2..4].copy_from_slice(&sum.complement().to_be_bytes());
    let mut packet = vec![0; ip.emitted_len() + body.len()];
    let start = ip.emit(&mut packet, protocol, body.len()).unwrap();
    packet[start..].copy_from_slice(&body);
    packet
}

/// Flips bits, truncates, extends, or inserts a part of another packet; half of the time with valid
/// checksums, so that the error is not detected at once.
pub(crate) fn damage(chance: &mut Xoshiro256PlusPlus, packet: &mut Vec<u8>, other: &[u8]) {
    match below(chance, 6) {
        0..=2 => {
            for _ in 0..=below(chance, 3) {
                let bit = below(chance, packet.len() * 8);
                packet[bit / 8] ^= 1 << (bit % 8);
            }
        }
        3 => packet.truncate(1 + below(chance, packet.len())),
        4 => packet.resize(packet.len() + below(chance, 100), chance.next_u64() as u8),
        _ => {
            let [from, at] = [other.len(), packet.len()].map(|len| below(chance, len));
            packet.truncate(at.max(1));
            packet.extend_from_slice(&other[from..]);
        }
    }
    packet.truncate(1500);
    if below(chance, 2) == 0 {
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
