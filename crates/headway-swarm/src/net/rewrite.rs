//! Packets changed on their way, as boxes do it that know nothing of TCP HACK: the checksum of TCP is put right, and no other.

use headway_wire::checksum::Sum;
use headway_wire::{HeaderLayout, Segment, layout};

/// TCP's number among the IP protocols.
const TCP: u8 = 6;

/// A TCP segment in its IP packet.
pub(super) struct Rewrite<'a> {
    bytes: &'a mut Vec<u8>,
    layout: HeaderLayout,
}

impl<'a> Rewrite<'a> {
    /// `None` if it is not one.
    pub(super) fn new(bytes: &'a mut Vec<u8>) -> Option<Self> {
        Segment::parse(bytes).ok()?;
        let layout = layout(bytes)?;
        Some(Self { bytes, layout })
    }

    /// The TCP header with its options.
    pub(super) fn header(&mut self) -> &mut [u8] {
        &mut self.bytes[self.layout.ip_header_len..self.layout.header_len]
    }

    /// Adds to a number of 32 bits of the TCP header, at `at` from its start.
    pub(super) fn add(&mut self, at: usize, by: u32) {
        if let Some(place) = self.header().get_mut(at..).and_then(<[u8]>::first_chunk_mut::<4>) {
            *place = u32::from_be_bytes(*place).wrapping_add(by).to_be_bytes();
        }
    }

    /// Sets a number of 16 bits.
    pub(super) fn set(&mut self, at: usize, value: u16) {
        if let Some(place) = self.header().get_mut(at..).and_then(<[u8]>::first_chunk_mut::<2>) {
            *place = value.to_be_bytes();
        }
    }

    /// Where each option is in the TCP header, by its kind, and how long it is.
    pub(super) fn options(&mut self) -> Vec<(u8, usize, usize)> {
        let header = self.header();
        let mut options = Vec::new();
        let mut at = 20;
        while at < header.len() {
            let len = match header[at] {
                0 => break,
                1 => 1,
                _ => usize::from(header.get(at + 1).copied().unwrap_or(0)),
            };
            if len == 0 || at + len > header.len() {
                break;
            }
            options.push((header[at], at, len));
            at += len;
        }
        options
    }

    /// Cuts the payload behind its first `len` bytes, or takes those away.
    pub(super) fn keep(&mut self, range: std::ops::Range<usize>) {
        let start = self.layout.header_len;
        let payload = self.bytes[start + range.start..start + range.end].to_vec();
        self.bytes.truncate(start);
        self.bytes.extend(payload);
    }

    /// More payload.
    pub(super) fn append(&mut self, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
    }

    /// Puts lengths and checksums right.
    pub(super) fn finish(self) {
        let Self { bytes, layout } = self;
        let at = layout.ip_header_len;
        let (len, tcp_len) = (bytes.len(), bytes.len() - at);
        let mut sum = Sum::default();
        if bytes[0] >> 4 == 4 {
            bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            bytes[10..12].fill(0);
            let mut ip = Sum::default();
            ip.add_bytes(&bytes[..at]);
            let ip = ip.complement().to_be_bytes();
            bytes[10..12].copy_from_slice(&ip);
            sum.add_bytes(&bytes[12..20]);
        } else {
            bytes[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
            sum.add_bytes(&bytes[8..40]);
        }
        sum.add_bytes(&[0, TCP]);
        sum.add_bytes(&(tcp_len as u32).to_be_bytes());
        bytes[at + 16..at + 18].fill(0);
        sum.add_bytes(&bytes[at..]);
        let sum = sum.complement().to_be_bytes();
        bytes[at + 16..at + 18].copy_from_slice(&sum);
    }
}
