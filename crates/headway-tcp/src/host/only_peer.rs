//! Carriers with exactly one peer: they know who sent a packet whose IP header does not say so any more.

use alloc::vec::Vec;
use core::net::IpAddr;

use headway_units::Instant;
use headway_wire::{ChecksumTrust, Received, ip, is_judged_by_crc};

use super::Host;
use crate::event::Observer;
use crate::path::table::PathKey;

/// The only peer of a carrier: whatever arrives, this host has sent it. So it is for a point-to-point link,
/// and not where other hosts are, beyond a router for example.
///
/// An intact segment from another address refutes that, and from then on nothing is taken for the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnlyPeer {
    local: IpAddr,
    remote: IpAddr,
    refuted: bool,
}

impl OnlyPeer {
    /// The host at `remote` is the only one that sends to the host at `local` over the carrier.
    pub fn new(local: IpAddr, remote: IpAddr) -> Self {
        Self { local, remote, refuted: false }
    }

    /// The peer's address.
    pub fn remote(&self) -> IpAddr {
        self.remote
    }

    /// Whether another host has sent an intact segment over the carrier.
    pub fn is_refuted(&self) -> bool {
        self.refuted
    }
}

impl<O: Observer> Host<O> {
    /// As [`Host::receive`], for a carrier that has exactly one peer; `packet` is the IP packet that was
    /// parsed.
    ///
    /// A packet whose IP header is corrupted is counted on the path to the peer, as an unreadable packet is
    /// whose IP header is valid, if it is longer than any packet without data and its TCP header resembles that of
    /// a connection; so is an unreadable packet between addresses that have no connection. Every other packet goes
    /// the ordinary way. Such a packet is evidence of damage on the link and of nothing else: no connection
    /// receives it.
    ///
    /// A packet that ends before its IP header says so is read as if zeros followed, if CRC-32Cs judge it (HACK v2): they
    /// find out what is missing, and only that is retransmitted. A sum of 16 bits would take 0xFFFF for zeros.
    pub fn receive_from_only_peer(
        &mut self,
        at: Instant,
        peer: &mut OnlyPeer,
        packet: &[u8],
        received: &Received<'_>,
    ) {
        if let Received::Intact(segment) = received {
            if segment.ip.src != peer.remote && self.is_ours(&segment.ip.dst) {
                peer.refuted = true;
            }
        } else if let Some(whole) = completed(packet, received).filter(|_| !peer.refuted) {
            let received = Received::parse(&whole, ChecksumTrust::None);
            return self.receive_from_only_peer(at, peer, &whole, &received);
        } else if !peer.refuted && self.hides_its_sender(packet, received) {
            let key = PathKey { local: peer.local, remote: peer.remote };
            return self.receive_without_ip_header(at, &key, packet);
        }
        self.receive(at, received);
    }

    /// Whether the addresses of a damaged packet are worth nothing.
    #[inline(never)]
    fn hides_its_sender(&self, packet: &[u8], received: &Received<'_>) -> bool {
        match received {
            Received::Unreadable(None) => ip::is_header_corrupted(packet),
            // IPv6 has no checksum, and that of IPv4 misses 3 % of the headers with two flipped bits. The sums
            // of TCP cover the addresses too; those of a path that is in use are right.
            Received::Unreadable(Some(datagram)) => {
                let key = PathKey { local: datagram.header.dst, remote: datagram.header.src };
                self.paths.find(&key).is_none()
            }
            _ => false,
        }
    }
}

/// A packet that ended early, with zeros up to the length that its IP header says.
fn completed(packet: &[u8], received: &Received<'_>) -> Option<Vec<u8>> {
    let Received::Unreadable(None) = received else { return None };
    let missing = ip::missing(packet);
    if missing == 0 {
        return None;
    }
    let mut whole = packet.to_vec();
    whole.resize(packet.len() + missing, 0);
    is_judged_by_crc(&whole).then_some(whole)
}
