//! Cross traffic: UDP datagrams at a constant rate that answer to no signal.

use std::net::IpAddr;

use headway_units::{Duration, Instant, Rate};
use headway_wire::{EmitError, IpHeader};

use crate::network::node::{Next, Node, NodeContext};
use crate::network::packet::Packet;
use crate::network::parts::Port;
use crate::network::tap::Tap;

/// Length of a UDP header (RFC 768).
const UDP_HEADER: usize = 8;
/// The shortest datagram: the headers of IPv4 and UDP.
pub(in crate::network) const LEAST: usize = 20 + UDP_HEADER;
/// RFC 863: the discard port.
const DISCARD: u16 = 9;
const UDP: u8 = 17;

/// Sends one datagram after another at a constant rate, by its first port.
pub(in crate::network) struct Source {
    datagram: Vec<u8>,
    interval: Duration,
    next: Instant,
    is_due: bool,
}

impl Source {
    /// Datagrams of `len` bytes, IP header included, from `src` to `dst` at `rate` of IP bytes.
    ///
    /// # Errors
    ///
    /// The addresses are not of one family, or `len` has no room for the headers.
    pub(in crate::network) fn new(
        src: IpAddr,
        dst: IpAddr,
        rate: Rate,
        len: usize,
    ) -> Result<Self, EmitError> {
        let mut datagram = vec![0; len];
        write_datagram(&mut datagram, src, dst)?;
        let interval = rate.transmit_time(len as u64);
        Ok(Self { datagram, interval, next: Instant::ZERO, is_due: false })
    }
}

/// Writes a datagram of zeros that is as long as `buffer`.
///
/// # Errors
///
/// As [`Source::new`].
pub(in crate::network) fn write_datagram(
    buffer: &mut [u8],
    src: IpAddr,
    dst: IpAddr,
) -> Result<(), EmitError> {
    let ip = IpHeader::new(src, dst);
    buffer.fill(0);
    let body_len = buffer.len().saturating_sub(ip.emitted_len());
    let header = ip.emit(buffer, UDP, body_len)?;
    if let Some(udp) = buffer.get_mut(header..header + UDP_HEADER) {
        udp[0..2].copy_from_slice(&DISCARD.to_be_bytes());
        udp[2..4].copy_from_slice(&DISCARD.to_be_bytes());
        udp[4..6].copy_from_slice(&(body_len as u16).to_be_bytes());
        // RFC 768: "An all zero transmitted checksum value means that the transmitter generated
        // no checksum".
    }
    Ok(())
}

impl<T: Tap> Node<T> for Source {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        cx.discard(packet);
    }

    fn handle_timeout(&mut self, cx: &mut NodeContext<'_, T>) {
        self.next = cx.now + self.interval;
        self.is_due = true;
    }

    fn poll(&mut self, cx: &mut NodeContext<'_, T>) -> Next {
        if !std::mem::take(&mut self.is_due) {
            return Next::Wait(Some(self.next));
        }
        let packet = cx.packet(|buffer| {
            buffer[..self.datagram.len()].copy_from_slice(&self.datagram);
            Some(self.datagram.len())
        });
        packet.map_or(Next::Wait(Some(self.next)), |packet| Next::Transmit(Port(0), packet))
    }
}
