//! What a router says of a segment that the host has sent.

use std::net::IpAddr;

use headway_wire::icmp::{ICMP, ICMPV6};
use headway_wire::{
    ChecksumTrust, Ecn, IpHeader, Received, SeqNumber, TcpFlags, TcpHeader, TcpOptions, checksum::Sum, emit,
};

use super::peer::Peer;
use super::runner::Runner;
use super::words::Words;

impl Runner {
    /// `icmp KIND about SEQ long OCTETS`, where the kind may have an MTU behind it.
    pub(crate) fn icmp(&mut self, index: usize, words: &mut Words<'_>) -> Result<(), String> {
        let kind = words.word("a kind of message")?;
        let mtu: u32 = if kind == "too-big" { words.value("an MTU")? } else { 0 };
        let peer = self.peer(index);
        let start = start(kind, peer.local.ip())?;
        words.take("about");
        let seq = words.value::<i64>("a sequence number")?;
        words.take("long");
        let len = words.value("the length of the packet")?;
        let quote = quote(peer, SeqNumber(peer.iss.unwrap_or_default().0.wrapping_add(seq as u32)), len);
        let packet = message(peer.host.ip(), start, mtu, &quote);
        self.host.receive(self.now, &Received::parse(&packet, ChecksumTrust::None));
        Ok(())
    }
}

/// Type and code.
fn start(kind: &str, address: IpAddr) -> Result<[u8; 2], String> {
    let v4 = address.is_ipv4();
    Ok(match kind {
        "too-big" => {
            if v4 {
                [3, 4]
            } else {
                [2, 0]
            }
        }
        "no-host" => {
            if v4 {
                [3, 1]
            } else {
                [1, 3]
            }
        }
        "no-port" => {
            if v4 {
                [3, 3]
            } else {
                [1, 4]
            }
        }
        "prohibited" => {
            if v4 {
                [3, 13]
            } else {
                [1, 1]
            }
        }
        "no-protocol" => {
            if v4 {
                [3, 2]
            } else {
                [4, 1]
            }
        }
        "time-exceeded" => {
            if v4 {
                [11, 0]
            } else {
                [3, 0]
            }
        }
        other => return Err(format!("unknown kind of ICMP message {other:?}")),
    })
}

/// The headers of a segment of the host's, which was `len` octets long.
fn quote(peer: &Peer, seq: SeqNumber, len: usize) -> Vec<u8> {
    let tcp = TcpHeader {
        src_port: peer.host.port(),
        dst_port: peer.local.port(),
        seq,
        ack: SeqNumber(0),
        flags: TcpFlags::ACK,
        window: 1,
        urgent: 0,
    };
    let ip = header(peer.host.ip(), peer.local.ip());
    let payload = vec![0; len - ip.emitted_len() - 20];
    let mut bytes = vec![0; len];
    emit(&mut bytes, &ip, &tcp, &TcpOptions::default(), (&payload, &[])).unwrap();
    bytes.truncate(ip.emitted_len() + 8);
    bytes
}

fn message(host: IpAddr, start: [u8; 2], mtu: u32, quote: &[u8]) -> Vec<u8> {
    let (router, protocol): (&str, u8) =
        if host.is_ipv4() { ("203.0.113.1", ICMP) } else { ("2001:db8:1::1", ICMPV6) };
    let ip = header(router.parse().unwrap(), host);
    let mut body = [&start[..], &[0, 0], &mtu.to_be_bytes(), quote].concat();
    let mut sum = if protocol == ICMPV6 { ip.pseudo_header_sum(ICMPV6, body.len()) } else { Sum::default() };
    sum.add_bytes(&body);
    body[2..4].copy_from_slice(&sum.complement().to_be_bytes());
    let mut packet = vec![0; ip.emitted_len() + body.len()];
    let at = ip.emit(&mut packet, protocol, body.len()).unwrap();
    packet[at..].copy_from_slice(&body);
    packet
}

fn header(src: IpAddr, dst: IpAddr) -> IpHeader {
    IpHeader { src, dst, ecn: Ecn::NotEct, hop_limit: 64, identification: 0 }
}
