//! What a packet that arrives is.

use core::net::IpAddr;

use crate::{
    Integrity, ParseError, Segment,
    icmp::{ICMP, ICMPV6, IcmpMessage},
    integrity,
    ip::{self, Datagram, Frame},
    segment::{self, Parts},
    tcp,
};

/// Which checksums a carrier vouches for.
///
/// Those of the IPv4 header and of ICMP are always verified: that costs little, and hardware that
/// verifies TCP's leaves ICMP's alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChecksumTrust {
    /// None.
    #[default]
    None,
    /// The TCP checksum: hardware or kernel verified it, or the kernel of this machine hands the packet
    /// over before it computes it (Linux's `CHECKSUM_PARTIAL`). The payload is not read.
    Tcp,
}

/// A packet that arrived, parsed and judged by its checksums. It borrows the packet's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "nearly every packet is an intact segment")]
pub enum Received<'a> {
    /// A TCP segment, as it was sent.
    Intact(Segment<'a>),
    /// A corrupted TCP segment: its header is valid, its payload is not.
    Corrupted(Segment<'a>),
    /// A packet whose header is corrupted, with its IP header and the bytes behind it if the IP header
    /// at least is valid. What was sent may be inferred from what a receiver expects.
    Unreadable(Option<Datagram<'a>>),
    /// ICMP or ICMPv6.
    Icmp {
        /// Where it was sent to.
        dst: IpAddr,
        /// What it says.
        message: IcmpMessage<'a>,
    },
    /// A packet of another protocol, by its number.
    OtherProtocol(u8),
    /// TCP that was sent like this and cannot be parsed.
    Malformed(ParseError),
}

impl<'a> Received<'a> {
    /// Parses and judges an IP packet. See [`judge`](crate::judge) for how checksums are used.
    #[inline]
    pub fn parse(bytes: &'a [u8], trust: ChecksumTrust) -> Self {
        // Apart, so that what is found in the header stays in registers: where either version may come, it goes through
        // memory in pieces, and each packet waits for it.
        if ip::is_v4(bytes) {
            Self::of_frame(Frame::parse_v4(bytes), trust)
        } else {
            Self::parse_v6(bytes, trust)
        }
    }

    #[inline(never)]
    fn parse_v6(bytes: &'a [u8], trust: ChecksumTrust) -> Self {
        Self::of_frame(Frame::parse(bytes).ok(), trust)
    }

    #[inline(always)]
    fn of_frame(frame: Option<Frame<'a>>, trust: ChecksumTrust) -> Self {
        let Some(frame) = frame else { return Self::Unreadable(None) };
        if frame.protocol != tcp::PROTOCOL {
            return Self::other(frame);
        }
        let Some(parts) = Parts::of_frame(frame) else { return Self::misfit(frame, trust) };
        let integrity = match trust {
            ChecksumTrust::None => integrity::of_parts(&parts),
            ChecksumTrust::Tcp => Integrity::Intact,
        };
        if integrity == Integrity::Unreadable {
            return Self::unreadable(frame);
        }
        if integrity == Integrity::Intact {
            Segment::of_parts(&parts, Self::Intact, |error| Self::Malformed(error.into()))
        } else {
            Self::corrupted(&parts)
        }
    }

    #[inline(never)]
    fn misfit(frame: Frame<'a>, trust: ChecksumTrust) -> Self {
        match trust {
            ChecksumTrust::Tcp => Self::Malformed(segment::misfit(frame.body)),
            // A corrupted data offset, if it was not sent like this.
            ChecksumTrust::None => Self::unreadable(frame),
        }
    }

    #[inline(never)]
    fn unreadable(frame: Frame<'a>) -> Self {
        Self::Unreadable(Some(frame.datagram()))
    }

    #[inline(never)]
    fn corrupted(parts: &Parts<'a>) -> Self {
        Segment::of_parts(parts, Self::Corrupted, |error| Self::Malformed(error.into()))
    }

    #[inline(never)]
    fn other(frame: Frame<'a>) -> Self {
        let datagram = frame.datagram();
        match frame.protocol {
            ICMP | ICMPV6 => Self::Icmp { dst: datagram.header.dst, message: IcmpMessage::parse(&datagram) },
            protocol => Self::OtherProtocol(protocol),
        }
    }
}
