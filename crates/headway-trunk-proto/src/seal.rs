//! Sealed packets: damage to the payload of a segment leaves its header readable.
//!
//! ```text
//!  0        1                5                 9                  9+c          25+c
//! +--------+----------------+-----------------+------------------+------------+----------------+
//! | type,  | receiver index | packet number,  | compact header   | tag        | payload        |
//! | length |                | low 32 bits     | (encrypted)      |            | (encrypted)    |
//! +--------+----------------+-----------------+------------------+------------+----------------+
//!  0        1                5                 9             9+h          25+h       41+h
//! +--------+----------------+-----------------+-------------+------------+----------+----------------+
//! | type,  | receiver index | packet number,  | TCP header  | tag of the | tag of   | payload        |
//! | offset |                | low 32 bits     | and options | payload    | header   | (encrypted)    |
//! +--------+----------------+-----------------+-------------+------------+----------+----------------+
//!                                             |<----- encrypted -------->|
//! ```
//!
//! A data segment of headway's TCP has a [`compact`] header, and one tag for header and payload. Where the tag does not hold, the
//! header CRC says whether the header does: it is good enough to ask for a retransmission, and for nothing else. Whatever else has
//! a payload, such as a special ACK with sums, has a tag for each. Without payload there is one tag. The inner IPv6
//! header is not sent: addresses follow from the session, the lengths from the datagram, and the ECN field is the outer packet's.

#[cfg(test)]
mod limits;
mod opener;

use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;

use chacha20poly1305::Tag;
use headway_wire::{Ecn, IpHeader};

use crate::compact::{LEFT_OUT, compact, mask_crc};
use crate::key::{Key, Part};
use crate::message::{MessageKind, PADDED_LEN, PADDED_MESSAGE, PREFIX, prefix};

pub(crate) use opener::{Opened, Opener};

/// Bytes of a tag (RFC 8439, 2.8).
pub(crate) const TAG: usize = 16;
/// Bytes of the inner IPv6 header, which is not sent.
pub(crate) const IP_HEADER: usize = 40;
/// By how many bytes a datagram with data is longer if its header is not compact: it has a tag more, too.
pub(crate) const LONGER: usize = LEFT_OUT + TAG;
/// Room that must be before a packet that is sealed in place, and before a datagram that is opened.
pub const HEADROOM: usize = 32;
/// TCP's number among the IP protocols.
const TCP: u8 = 6;
/// The numbers of a session. It is replaced long before.
pub(crate) const MOST_PACKETS: u64 = 1 << 32;

/// What a sealed segment turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentIntegrity {
    /// Header and payload are as they were sealed.
    Intact,
    /// The header is, by its tag or, of a compact one, by its CRC; the payload is not. It was decrypted without being authenticated:
    /// what is completed from it is believed if its [`PayloadSeal`](crate::PayloadSeal) holds.
    Corrupted,
    /// Not even the header is. What stands in its place was decrypted without being authenticated: it may be used
    /// to find out what was lost, and for nothing else.
    Unreadable,
}

/// Why a packet was not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// It is not a TCP segment over IPv6, or there is no room before it.
    #[error("not a TCP segment over IPv6 with {HEADROOM} bytes of room before it")]
    NotASegment,
    /// No peer has its destination.
    #[error("no peer has the packet's destination")]
    NoPeer,
    /// There is no session with the peer yet, or its keys are used up.
    #[error("no session with the peer")]
    NoSession,
}

/// The longest IP packet inside the tunnel for datagrams of `longest` bytes, if data segments have compact headers.
///
/// They have where timestamps and version 2 of TCP HACK were agreed on, which both gateways offer: each data segment has both
/// options, new or retransmitted, bundled, with or without FIN and SACK blocks. Segments without data are shorter than
/// any MTU. A connection without one of the two can open only where many SYNs in a row that offered them were lost
/// (`headway_tcp`, `connection/opening.rs`); its first segment that is too long is an
/// [`Event::LongHeaders`](crate::Event::LongHeaders).
pub fn inner_mtu(longest: u16) -> u16 {
    longest.saturating_sub((PREFIX + TAG) as u16).saturating_add((LEFT_OUT + IP_HEADER) as u16)
}

/// What is authenticated with the header of a segment that has its own tag: the prefix, and how long the payload is. A datagram that
/// was cut or made longer has none.
fn header_ad(prefix: &[u8], payload: &[u8]) -> [u8; PREFIX + 2] {
    let mut ad = [0; PREFIX + 2];
    ad[..PREFIX].copy_from_slice(prefix);
    // No IP packet is longer than 16 bits say.
    ad[PREFIX..].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    ad
}

/// Where in a sealed segment of `len` bytes the last tag before the payload begins, and where it ends.
fn segment_parts(len: usize, header: usize, is_compact: bool) -> Option<(usize, usize)> {
    let plain = PREFIX + header;
    match (is_compact, len.checked_sub(plain + TAG)?) {
        (false, 0) | (true, 1..) => Some((plain, plain + TAG)),
        (false, rest) if rest > TAG => Some((plain + TAG, plain + 2 * TAG)),
        _ => None,
    }
}

/// The length of what has to arrive intact at the beginning of a sealed datagram of `len` bytes if anything of it is to be used: the
/// header of a segment and its tags, or a control message without padding.
pub(crate) fn header_len(kind: MessageKind, len: usize) -> Option<usize> {
    match kind {
        MessageKind::Control => Some(len),
        MessageKind::Padded => Some(PADDED_LEN).filter(|header| *header <= len),
        MessageKind::Segment { header } => segment_parts(len, header, false).map(|(_, end)| end),
        MessageKind::Compact { header } => segment_parts(len, header, true).map(|(_, end)| end),
    }
}

/// Seals packets under one key.
pub(crate) struct Sealer {
    key: Key,
    receiver: u32,
    next: u64,
}

impl Sealer {
    /// For packets to the session that the peer knows as `receiver`.
    pub(crate) fn new(key: &Key, receiver: u32) -> Self {
        Self { key: key.clone(), receiver, next: 0 }
    }

    /// As if `next` packets had been sealed.
    #[cfg(test)]
    pub(crate) fn at(key: &Key, receiver: u32, next: u64) -> Self {
        Self { next, ..Self::new(key, receiver) }
    }

    /// How many packets were sealed.
    pub(crate) fn packets(&self) -> u64 {
        self.next
    }

    fn number(&mut self) -> Option<u64> {
        let number = self.next;
        self.next += 1;
        (number < MOST_PACKETS).then_some(number)
    }

    /// Seals the IP packet at `packet` of `room` in place; it is opened with the addresses of `inner`. Returns where in `room`
    /// the datagram is, and whether its header is compact.
    pub(crate) fn segment(
        &mut self,
        room: &mut [u8],
        packet: Range<usize>,
        inner: Inner,
    ) -> Result<(Range<usize>, bool), SealError> {
        let not_one = SealError::NotASegment;
        let tcp = packet.start + IP_HEADER;
        let offset = *room.get(tcp + 12).ok_or(not_one)? >> 4;
        let header = usize::from(offset) * 4;
        if room[packet.start] >> 4 != 6
            || room[packet.start + 6] != TCP
            || tcp + header > packet.end
            || header < 20
        {
            return Err(not_one);
        }
        let payload = tcp + header..packet.end;
        let short = compact(&room[tcp..payload.start], payload.len(), &inner.header());
        let start = match &short {
            Some(short) => self.compact(room, payload, short.bytes()),
            None => self.with_tags(room, payload, header),
        }?;
        Ok((start..packet.end, short.is_some()))
    }

    /// Seals a compact `header` and the payload at `payload` of `room`, and returns where the datagram begins.
    fn compact(&mut self, room: &mut [u8], payload: Range<usize>, header: &[u8]) -> Result<usize, SealError> {
        let len = header.len();
        let kind = MessageKind::Compact { header: len };
        let start = payload.start.checked_sub(PREFIX + len + TAG).ok_or(SealError::NotASegment)?;
        let datagram = room.get_mut(start..payload.end).ok_or(SealError::NotASegment)?;
        let number = self.number().ok_or(SealError::NoSession)?;
        let (first, text) = datagram.split_at_mut(PREFIX);
        first.copy_from_slice(&prefix(kind, self.receiver, number));
        text[TAG..TAG + len].copy_from_slice(header);
        let tag = self.seal(Part::Header, number, first, &mut text[TAG..])?;
        text.copy_within(TAG..TAG + len, 0);
        text[len..len + TAG].copy_from_slice(&tag);
        mask_crc(&mut text[..len], &tag);
        Ok(start)
    }

    /// Seals the TCP header of `header` bytes before `payload`, and the payload, with a tag each.
    fn with_tags(
        &mut self,
        room: &mut [u8],
        payload: Range<usize>,
        header: usize,
    ) -> Result<usize, SealError> {
        let tags = if payload.is_empty() { TAG } else { 2 * TAG };
        let start = payload.start.checked_sub(PREFIX + header + tags).ok_or(SealError::NotASegment)?;
        let datagram = room.get_mut(start..payload.end).ok_or(SealError::NotASegment)?;
        let number = self.number().ok_or(SealError::NoSession)?;
        let (head, payload) = datagram.split_at_mut(payload.start - start);
        head.copy_within(PREFIX + tags.., PREFIX);
        let (first, head) = head.split_at_mut(PREFIX);
        first.copy_from_slice(&prefix(MessageKind::Segment { header }, self.receiver, number));
        let ad = header_ad(first, payload);
        let mut sealed = header;
        if tags > TAG {
            let tag = self.seal(Part::Payload, number, first, payload)?;
            head[sealed..sealed + TAG].copy_from_slice(&tag);
            sealed += TAG;
        }
        let tag = self.seal(Part::Header, number, &ad, &mut head[..sealed])?;
        head[sealed..].copy_from_slice(&tag);
        Ok(start)
    }

    /// Seals a control message: a whole datagram.
    pub(crate) fn control(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        self.whole(MessageKind::Control, message)
    }

    /// Seals a control message of [`PADDED_MESSAGE`] bytes: a whole datagram of `len` bytes, if it is no longer without
    /// padding. Damage to the padding does no harm.
    pub(crate) fn padded(&mut self, message: &[u8], len: usize) -> Option<Vec<u8>> {
        debug_assert_eq!(message.len(), PADDED_MESSAGE);
        let mut datagram = self.whole(MessageKind::Padded, message)?;
        datagram.resize(datagram.len().max(len), 0);
        Some(datagram)
    }

    fn whole(&mut self, kind: MessageKind, message: &[u8]) -> Option<Vec<u8>> {
        let number = self.number()?;
        let first = prefix(kind, self.receiver, number);
        let mut datagram = first.to_vec();
        datagram.extend_from_slice(message);
        let tag = self.seal(Part::Header, number, &first, &mut datagram[PREFIX..]).ok()?;
        datagram.extend_from_slice(&tag);
        Some(datagram)
    }

    fn seal(&self, part: Part, number: u64, ad: &[u8], bytes: &mut [u8]) -> Result<Tag, SealError> {
        self.key.seal(part, number, ad, bytes).ok_or(SealError::NotASegment)
    }
}

/// The ends that an opened packet is given, and its ECN field.
#[derive(Clone, Copy)]
pub(crate) struct Inner {
    pub(crate) src: Ipv6Addr,
    pub(crate) dst: Ipv6Addr,
    pub(crate) ecn: Ecn,
}

impl Inner {
    fn header(self) -> IpHeader {
        IpHeader { ecn: self.ecn, ..IpHeader::new(IpAddr::V6(self.src), IpAddr::V6(self.dst)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::Message;
    use crate::secret::Secret;

    fn key() -> Key {
        Key::new(Secret::new(&[9; 32]))
    }

    proptest! {
        /// A peer that has the key and makes no sense: nothing panics, and what is opened lies in the room.
        #[test]
        fn authentic_nonsense_is_opened_or_dropped(
            first in 0x40_u8..0x60,
            header in prop::collection::vec(any::<u8>(), 0..64),
            payload in prop::collection::vec(any::<u8>(), 0..8),
            damaged in any::<(bool, bool)>(),
            start in HEADROOM..100,
        ) {
            let mut sealer = Sealer::new(&key(), 1);
            let number = sealer.number().expect("a number");
            let mut first = [&[first][..], &[0, 0, 0, 1], &(number as u32).to_be_bytes()].concat();
            // The length that the first byte says, or another.
            let mut head = header;
            if head.len() % 2 == 0 {
                head.resize(usize::from(first[0] & 15) * 4, 7);
            }
            let mut body = payload;
            let is_compact = first[0] >> 4 == 5;
            let tag = if is_compact {
                let mut text = [&head[..], &body].concat();
                let tag = sealer.seal(Part::Header, number, &first, &mut text).expect("sealed");
                body = text.split_off(head.len());
                head = text;
                mask_crc(&mut head, &tag);
                tag
            } else {
                if !body.is_empty() {
                    let tag = sealer.seal(Part::Payload, number, &first, &mut body).expect("sealed");
                    head.extend_from_slice(&tag);
                }
                sealer.seal(Part::Header, number, &header_ad(&first, &body), &mut head).expect("sealed")
            };
            if let Some(byte) = body.first_mut() {
                *byte ^= u8::from(damaged.0);
            }
            first[8] ^= u8::from(damaged.1);
            let mut room = [&vec![0; start][..], &first, &head, &tag, &body].concat();

            let Some(Message::Sealed { low, kind, .. }) = Message::parse(&room[start..]) else { return Ok(()) };
            let inner = Inner { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::LOCALHOST, ecn: Ecn::NotEct };
            let opened = Opener::new(&key()).open(&mut room, start, (low, kind), inner);
            if let Opened::Segment { packet, verdict, .. } = opened {
                let (MessageKind::Segment { header } | MessageKind::Compact { header }) = kind else { panic!("a control message") };
                let fits = head.len() == header + if body.is_empty() || is_compact { 0 } else { TAG };
                let sent = if fits && damaged == (false, false) { SegmentIntegrity::Intact } else { verdict };
                prop_assert_eq!(verdict, sent);
                prop_assert!(packet.start + HEADROOM >= start && packet.end == room.len());
                if let MessageKind::Compact { header } = kind {
                    prop_assert!(packet.len() > IP_HEADER + header + LEFT_OUT, "it has data");
                }
                prop_assert_eq!(room[packet.start] >> 4, 6);
            }
        }
    }
}
