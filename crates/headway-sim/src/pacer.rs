//! Cross traffic: UDP datagrams at a constant rate that answer to nobody.

use std::net::IpAddr;

use headway_units::{Duration, Instant, Rate};
use headway_wire::{EmitError, IpHeader};

/// Length of a UDP header (RFC 768).
const UDP_HEADER: usize = 8;
/// RFC 863: the discard port.
const DISCARD: u16 = 9;
const UDP: u8 = 17;

/// Sends one datagram after another at a constant rate.
pub(crate) struct Pacer {
    packet: Vec<u8>,
    interval: Duration,
    next: Instant,
}

impl Pacer {
    /// Datagrams of `len` octets, IP header included, from `src` to `dst` at `rate` of IP octets.
    ///
    /// # Errors
    ///
    /// The addresses are not of one family, or `len` has no room for the headers.
    pub(crate) fn new(src: IpAddr, dst: IpAddr, rate: Rate, len: usize) -> Result<Self, EmitError> {
        let ip = IpHeader { src, dst, ecn: headway_wire::Ecn::NotEct, hop_limit: 64, identification: 0 };
        let mut packet = vec![0; len];
        let body_len = len.saturating_sub(ip.emitted_len());
        let header = ip.emit(&mut packet, UDP, body_len)?;
        if let Some(udp) = packet.get_mut(header..header + UDP_HEADER) {
            udp[0..2].copy_from_slice(&DISCARD.to_be_bytes());
            udp[2..4].copy_from_slice(&DISCARD.to_be_bytes());
            udp[4..6].copy_from_slice(&(body_len as u16).to_be_bytes());
            // RFC 768: "An all zero transmitted checksum value means that the transmitter generated
            // no checksum".
        }
        Ok(Self { packet, interval: rate.transmit_time(len as u64), next: Instant::ZERO })
    }

    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// The datagram that is due at `now`.
    pub(crate) fn send(&mut self, now: Instant) -> &[u8] {
        self.next = now + self.interval;
        &self.packet
    }
}
