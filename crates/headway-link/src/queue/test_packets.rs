//! Packets for the tests of the disciplines.

use headway_units::{Duration, Instant};

use crate::{Frame, Headers};

/// A traffic class without ECN.
pub(super) const NOT_CAPABLE: u8 = 0;

/// A traffic class with ECT(0).
pub(super) const CAPABLE: u8 = 2;

/// The start of an IPv4 packet of `len` bytes with this traffic class; its fifth byte is the lowest of `id`.
pub(super) fn frame(id: u64, len: usize, tos: u8) -> Frame<Vec<u8>> {
    let mut packet = vec![0x45, tos, 0, 0, id as u8];
    packet.resize(len.max(20), 0);
    Frame { packet, len, headers: Headers::default(), exposed: true, flow: 0, enqueued: Instant::ZERO }
}

pub(super) fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub(super) fn us(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}
