//! A captured packet to a segment, and what its checksum says.

use std::net::SocketAddr;

use headway_wire::{HeaderVerdict, ParseError, PayloadVerdict, Segment, checksum, judge_segment};

use crate::reader::{Network, Packet};

/// The longest IP packet: an IPv6 header and all that its length field can say.
const MAX_IP: usize = 40 + u16::MAX as usize;

/// What a captured packet is.
#[expect(clippy::large_enum_variant, reason = "one at a time, and nearly all of them are the large one")]
pub(crate) enum Seen<'a> {
    Tcp(TcpPacket<'a>),
    /// Something else than IP, or IP that carries something else than TCP.
    NotTcp,
    /// A fragment: without its siblings it says little.
    Fragment,
    /// The capture kept too little of it.
    Cut,
    /// Headers that cannot be right.
    Unreadable,
    /// The kind of link is not known.
    UnknownLink,
}

/// A segment and how far it can be believed.
pub(crate) struct TcpPacket<'a> {
    pub(crate) segment: Segment<'a>,
    pub(crate) sum: SumState,
    /// How many bytes of the payload the capture left out.
    pub(crate) missing: u32,
}

/// What the checksums of a segment say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SumState {
    /// It is what was sent.
    Sound,
    /// Its payload is damaged, its header is vouched for by the Header Checksum option.
    Corrupted,
    /// It is damaged, and its header may be.
    Wrong,
    /// It was captured before the network card was to compute the sum.
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

/// Reads `packet`. `scratch` is where a packet is completed that was captured in part or before its
/// IP header was.
pub(crate) fn examine<'a>(packet: &Packet<'a>, scratch: &'a mut Vec<u8>) -> Seen<'a> {
    let ip = match packet.link.network(packet.bytes) {
        Network::Ip(ip) => ip,
        Network::Other => return Seen::NotTcp,
        Network::Cut => return Seen::Cut,
        Network::UnknownLink => return Seen::UnknownLink,
    };
    let captured = ip.len();
    // What stands in front was captured whole, or the packet would not have been found.
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
    let end = segment.header_len + segment.payload.len();
    // At most the longest IP packet.
    let missing = end.saturating_sub(captured.max(segment.header_len)) as u32;
    let sum = if end > captured { SumState::Unknown } else { sum_state(&segment, whole) };
    Seen::Tcp(TcpPacket { segment, sum, missing })
}

/// The least length that the header at the beginning of `ip` can have.
fn min_ip_header_len(ip: &[u8]) -> usize {
    if ip.first().is_some_and(|first| first >> 4 == 6) { 40 } else { 20 }
}

fn sum_state(segment: &Segment<'_>, bytes: &[u8]) -> SumState {
    let verdicts = judge_segment(segment, bytes);
    match (verdicts.header, verdicts.payload) {
        (HeaderVerdict::Good, PayloadVerdict::Good) => SumState::Sound,
        _ if is_not_computed(segment, bytes) => SumState::NotComputed,
        (HeaderVerdict::Good, _) => SumState::Corrupted,
        _ => SumState::Wrong,
    }
}

/// Where the card computes the sum, the system leaves it the sum of the pseudo-header (Linux, "partial
/// checksum"; some leave the length out for segments that the card is to cut up) or nothing.
fn is_not_computed(segment: &Segment<'_>, bytes: &[u8]) -> bool {
    let at = segment.ip_header_len + 16;
    let Some(field) = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().map(u16::from_be_bytes) else {
        return false;
    };
    let tcp_len = segment.header_len - segment.ip_header_len + segment.payload.len();
    let pseudo = |len| segment.ip.pseudo_header_sum(6, len).fold();
    field == 0 || field == pseudo(tcp_len) || field == pseudo(0)
}

/// Whether this is an IPv4 header that the network card was to complete: its total length is zero
/// (the card cuts the segment up) or its checksum is.
fn lacks_length_or_sum(ip: &[u8]) -> bool {
    // Cards are given headers without options.
    ip.first_chunk::<20>()
        .is_some_and(|header| header[0] == 0x45 && (header[2..4] == [0, 0] || header[10..12] == [0, 0]))
}

/// Old captures keep 68 bytes of each packet, which may end within the TCP options: those that are
/// not all there are taken out (an option of kind 0 ends the list).
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

/// Puts in the length and the checksum that the network card was to compute.
fn complete_ipv4(packet: &mut [u8]) {
    if !lacks_length_or_sum(packet) {
        return;
    }
    let Ok(len) = u16::try_from(packet.len()) else { return };
    let Some(header) = packet.first_chunk_mut::<20>() else { return };
    if header[2..4] == [0, 0] {
        [header[2], header[3]] = len.to_be_bytes();
        // It was right for another length, if it was there at all.
        [header[10], header[11]] = [0, 0];
    }
    if header[10..12] == [0, 0] {
        [header[10], header[11]] = checksum::sum(&header[..]).complement().to_be_bytes();
    }
}
