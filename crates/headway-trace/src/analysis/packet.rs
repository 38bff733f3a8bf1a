//! Parses a captured packet, and verifies its checksums.

use std::net::SocketAddr;

use headway_wire::{Integrity, ParseError, Segment, checksum, judge};

use crate::reader::{Network, Packet};

/// The longest IP packet: an IPv6 header and the largest payload length.
const MAX_IP: usize = 40 + u16::MAX as usize;

/// The kind of a captured packet.
#[expect(clippy::large_enum_variant, reason = "nearly all values are the large variant")]
pub(crate) enum Seen<'a> {
    Tcp(TcpPacket<'a>),
    /// Not IP, or IP without TCP.
    NotTcp,
    /// A fragment: fragments are not reassembled.
    Fragment,
    /// Captured with incomplete headers.
    Cut,
    /// Invalid headers.
    Unreadable,
    /// The link type is not supported.
    UnknownLink,
}

/// A segment and the result of its checksums.
pub(crate) struct TcpPacket<'a> {
    pub(crate) segment: Segment<'a>,
    pub(crate) sum: SumState,
    /// How many bytes of the payload were not captured.
    pub(crate) missing: u32,
}

/// The result of a segment's checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SumState {
    /// All checksums are valid.
    Sound,
    /// A corrupted segment: its payload is damaged, its header checksum (TCP HACK) is valid.
    Corrupted,
    /// It is damaged; its header may be damaged too.
    Wrong,
    /// It was captured before the network card computed the checksum.
    NotComputed,
    /// Not all of it was captured.
    Unknown,
}

impl TcpPacket<'_> {
    pub(crate) fn source(&self) -> SocketAddr {
        SocketAddr::new(self.segment.ip.src, self.segment.tcp.src_port)
    }

    pub(crate) fn destination(&self) -> SocketAddr {
        SocketAddr::new(self.segment.ip.dst, self.segment.tcp.dst_port)
    }
}

/// Parses `packet`. `scratch` holds the completed copy of a packet that was captured in part, or before
/// its IP header was complete.
pub(crate) fn examine<'a>(packet: &Packet<'a>, scratch: &'a mut Vec<u8>) -> Seen<'a> {
    let ip = match packet.link.network(packet.bytes) {
        Network::Ip(ip) => ip,
        Network::Other => return Seen::NotTcp,
        Network::Cut => return Seen::Cut,
        Network::UnknownLink => return Seen::UnknownLink,
    };
    let captured = ip.len();
    // The link header was captured whole, or the IP packet would not have been found.
    let on_wire = packet.original_len as usize - (packet.bytes.len() - captured);
    let is_partial = on_wire > captured;
    if is_partial && captured < min_ip_header_len(ip) {
        return Seen::Cut;
    }
    let whole = if is_partial || lacks_length_or_sum(ip) {
        scratch.clear();
        scratch.extend_from_slice(ip);
        scratch.resize(on_wire.clamp(captured, MAX_IP.max(captured)), 0);
        complete_ipv4(scratch);
        drop_cut_option(scratch, captured);
        &scratch[..]
    } else {
        ip
    };
    let segment = match Segment::parse(whole) {
        Ok(segment) => segment,
        Err(ParseError::NotTcp(_)) => return Seen::NotTcp,
        Err(ParseError::Fragment) => return Seen::Fragment,
        Err(_) if is_partial => return Seen::Cut,
        Err(_) => return Seen::Unreadable,
    };
    if segment.ip_header_len + 20 > captured {
        return Seen::Cut;
    }
    let patch = if segment.is_patch() { segment.blocks.len() } else { 0 };
    let end = segment.header_len + segment.payload.len() + patch;
    // At most the longest IP packet.
    let missing = end.saturating_sub(captured.max(segment.header_len)) as u32;
    let sum = if end > captured { SumState::Unknown } else { sum_state(&segment, whole) };
    Seen::Tcp(TcpPacket { segment, sum, missing })
}

/// The minimum length of the header at the beginning of `ip`.
fn min_ip_header_len(ip: &[u8]) -> usize {
    if ip.first().is_some_and(|first| first >> 4 == 6) { 40 } else { 20 }
}

fn sum_state(segment: &Segment<'_>, bytes: &[u8]) -> SumState {
    match judge(bytes) {
        Ok(Integrity::Intact) => SumState::Sound,
        _ if is_not_computed(segment, bytes) => SumState::NotComputed,
        Ok(Integrity::Corrupted) => SumState::Corrupted,
        _ => SumState::Wrong,
    }
}

/// With checksum offload the field holds the sum of the pseudo-header (Linux, "partial checksum"; without
/// the length for segmentation offload) or zero.
fn is_not_computed(segment: &Segment<'_>, bytes: &[u8]) -> bool {
    let at = segment.ip_header_len + 16;
    let Some(field) = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().map(u16::from_be_bytes) else {
        return false;
    };
    let tcp_len = segment.header_len - segment.ip_header_len + segment.payload.len();
    let pseudo = |len| segment.ip.pseudo_header_sum(6, len).fold();
    field == 0 || field == pseudo(tcp_len) || field == pseudo(0)
}

/// Whether this is an IPv4 header that the network card completes: its total length (segmentation
/// offload) or its checksum is zero.
fn lacks_length_or_sum(ip: &[u8]) -> bool {
    // Offloaded headers have no options.
    ip.first_chunk::<20>()
        .is_some_and(|header| header[0] == 0x45 && (header[2..4] == [0, 0] || header[10..12] == [0, 0]))
}

/// Old captures keep 68 bytes of each packet, which may end within the TCP options: an incomplete option
/// is removed (an option of kind 0 ends the list).
fn drop_cut_option(packet: &mut [u8], captured: usize) {
    let Some(layout) = headway_wire::layout(packet) else { return };
    let options = layout.ip_header_len + 20;
    if captured >= layout.header_len || captured < options {
        return;
    }
    let Some(kept) = packet.get_mut(options..captured) else { return };
    let mut at = 0;
    while let Some(&kind) = kept.get(at) {
        let len = match (kind, kept.get(at + 1)) {
            (0, _) => return,
            (1, _) => 1,
            (_, Some(&len)) => usize::from(len.max(2)),
            (_, None) => 2,
        };
        if at + len > kept.len() {
            kept[at..].fill(0);
            return;
        }
        at += len;
    }
}

/// Sets the length and the checksum that the network card would have computed.
fn complete_ipv4(packet: &mut [u8]) {
    if !lacks_length_or_sum(packet) {
        return;
    }
    let Ok(len) = u16::try_from(packet.len()) else { return };
    let Some(header) = packet.first_chunk_mut::<20>() else { return };
    if header[2..4] == [0, 0] {
        [header[2], header[3]] = len.to_be_bytes();
        // The checksum covers the length.
        [header[10], header[11]] = [0, 0];
    }
    if header[10..12] == [0, 0] {
        [header[10], header[11]] = checksum::sum(&header[..]).complement().to_be_bytes();
    }
}
