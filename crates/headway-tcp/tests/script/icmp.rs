//! What a router says of a segment that the host has sent.

use std::net::IpAddr;

use headway_test_fixture::packet;
use headway_test_fixture::two_hosts::hand_in;
use headway_wire::{SeqNumber, TcpFlags, TcpHeader, TcpOptions};

use super::peer::Peer;
use super::runner::Runner;
use super::words::Words;

impl Runner {
    /// `icmp KIND about SEQ long BYTES`, where the kind may have an MTU behind it.
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
        hand_in(&mut self.host, self.now, &packet);
        Ok(())
    }
}

/// Type and code.
fn start(kind: &str, address: IpAddr) -> Result<[u8; 2], String> {
    let [v4, v6] = match kind {
        "too-big" => [[3, 4], [2, 0]],
        "no-host" => [[3, 1], [1, 3]],
        "no-port" => [[3, 3], [1, 4]],
        "prohibited" => [[3, 13], [1, 1]],
        "no-protocol" => [[3, 2], [4, 1]],
        "time-exceeded" => [[11, 0], [3, 0]],
        other => return Err(format!("unknown kind of ICMP message {other:?}")),
    };
    Ok(if address.is_ipv4() { v4 } else { v6 })
}

/// The headers of a segment of the host's, which was `len` bytes long.
fn quote(peer: &Peer, seq: SeqNumber, len: usize) -> Vec<u8> {
    let (ip, tcp) = packet::headers(peer.host, peer.local, TcpFlags::ACK);
    let tcp = TcpHeader { seq, window: 1, ..tcp };
    let payload = vec![0; len - ip.emitted_len() - 20];
    let mut bytes = packet::segment(&ip, &tcp, &TcpOptions::default(), &payload);
    bytes.truncate(ip.emitted_len() + 8);
    bytes
}

fn message(host: IpAddr, start: [u8; 2], mtu: u32, quote: &[u8]) -> Vec<u8> {
    let router = if host.is_ipv4() { "203.0.113.1" } else { "2001:db8:1::1" };
    let router = router.parse().expect("an address");
    packet::icmp(&packet::ip(router, host), start, mtu.to_be_bytes(), quote)
}
