//! TCP segments without an IP header, as carriers have them whose ends have names for each other.
//!
//! The addresses of TCP's pseudo-header are zero: a translator on the path changes addresses that it does not find in the segment.
//! Each end has names of its own for itself and its peers, the *inner* addresses, and the sums are changed to them
//! and back ([`change_addresses`]).

use std::net::{IpAddr, Ipv4Addr};

use headway_wire::compact::{self, MOST_LEFT_OUT};
use headway_wire::ip::Datagram;
use headway_wire::{IpHeader, change_addresses};

/// The protocol number of TCP.
pub(super) const TCP: u8 = 6;
/// Room for the IP header that is written before received segments, and for what is restored of TCP's.
pub(super) const HEADROOM: usize = 40 + MOST_LEFT_OUT;
/// What the sums of a bare segment are taken with: IPv4's pseudo-header with addresses of zero.
pub(super) const WIRE: IpHeader =
    IpHeader::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED));

/// Where a TCP header has its data offset.
pub(super) const OFFSET_AT: usize = 12;
/// Where a TCP header has its checksum.
const CHECKSUM: std::ops::Range<usize> = 16..18;

/// Gives the segment at [`HEADROOM`] of `place`, from which `restored` bytes of headers were restored before it, an IP header,
/// which ends where the segment begins.
pub(super) fn give_header(place: &mut [u8], restored: usize, header: &IpHeader) {
    let start = HEADROOM - restored;
    change_addresses(&mut place[start..], &WIRE, header);
    if restored > 0 {
        // As restored: the CRCs decide.
        place[start..][CHECKSUM].fill(0);
    }
    let len = place.len() - start;
    if let Err(error) = header.emit(&mut place[start - header.emitted_len()..], TCP, len) {
        // It is counted as unreadable.
        tracing::debug!(%error, "an inner header");
    }
}

/// A segment that is sent.
pub(super) struct Bare {
    /// The IP header that was taken from it.
    pub(super) ip: IpHeader,
    /// Where in the packet it begins.
    pub(super) start: usize,
    /// The length of its TCP header, as it is sent.
    pub(super) header_len: usize,
}

/// Takes the IP header from `packet`, and gives the segment the compact form if it `is_compact`.
pub(super) fn take_header(packet: &mut [u8], is_compact: bool) -> Option<Bare> {
    let Datagram { header: ip, header_len, .. } = Datagram::parse(packet).ok()?;
    let segment = &mut packet[header_len..];
    let whole = usize::from(segment.get(OFFSET_AT)? >> 4) * 4;
    change_addresses(segment, &ip, &WIRE);
    let shorter = if is_compact { compact::compact(segment).unwrap_or_default() } else { 0 };
    Some(Bare { ip, start: header_len + shorter, header_len: whole.checked_sub(shorter)? })
}

/// The length of the IP header that segments of a host get.
pub(super) fn header_len(inner: IpAddr) -> usize {
    if inner.is_ipv4() { 20 } else { 40 }
}
