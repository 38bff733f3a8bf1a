//! Sealed packets: the header of a segment is sealed for itself, its payload with a tag that the header carries.
//!
//! ```text
//!  0        1                5                 9             9+h          25+h       41+h
//! +--------+----------------+-----------------+-------------+------------+----------+----------------+
//! | type,  | receiver index | packet number,  | TCP header  | tag of the | tag of   | payload        |
//! | offset |                | low 32 bits     | and options | payload    | header   | (encrypted)    |
//! +--------+----------------+-----------------+-------------+------------+----------+----------------+
//!                                             |<----- encrypted -------->|
//! ```
//!
//! A segment without payload has no tag of the payload. Of a data segment of headway's TCP the header is [`compact`], and *h* is
//! the length of that: 28 in place of 44 bytes without SACK blocks. The inner IPv6 header is not sent: addresses follow
//! from the session, the lengths from the datagram, and the ECN field is the outer packet's.

#[cfg(test)]
mod limits;

use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;

use chacha20poly1305::Tag;
use headway_wire::{Ecn, IpHeader};

use crate::compact::{LEFT_OUT, compact, expand};
use crate::damage_trust::{Damage, DamageTrust};
use crate::key::{Key, Part};
use crate::message::{MessageKind, PADDED_LEN, PADDED_MESSAGE, PREFIX, prefix};
use crate::payload_seal::PayloadSeal;
use crate::replay::{self, ReplayWindow};

/// Bytes of a tag (RFC 8439, 2.8).
pub(crate) const TAG: usize = 16;
/// Bytes of the inner IPv6 header, which is not sent.
pub(crate) const IP_HEADER: usize = 40;
/// By how many bytes a datagram is longer than the segment that is sealed in it at most: if its header is not compact.
const MAX_OVERHEAD: usize = PREFIX + 2 * TAG;
/// Room that must be before a packet that is sealed in place, and before a datagram that is opened.
pub const HEADROOM: usize = 16;
/// TCP's number among the IP protocols.
const TCP: u8 = 6;
/// The numbers of a session. It is replaced long before.
pub(crate) const MOST_PACKETS: u64 = 1 << 32;

/// What a sealed segment turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentIntegrity {
    /// Header and payload are as they were sealed.
    Intact,
    /// The header is, the payload is not. It was decrypted without being authenticated: what is completed from it is
    /// believed if its [`PayloadSeal`] holds.
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
    longest.saturating_sub((MAX_OVERHEAD - LEFT_OUT) as u16).saturating_add(IP_HEADER as u16)
}

/// What is authenticated with a segment's header: the prefix, and how long the payload is. A datagram that was cut or made longer has
/// none.
fn header_ad(prefix: &[u8], payload: &[u8]) -> [u8; PREFIX + 2] {
    let mut ad = [0; PREFIX + 2];
    ad[..PREFIX].copy_from_slice(prefix);
    // No IP packet is longer than 16 bits say.
    ad[PREFIX..].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    ad
}

/// Where in a sealed segment of `len` bytes the tag of the header begins, and where it ends.
fn segment_parts(len: usize, header: usize, is_compact: bool) -> Option<(usize, usize)> {
    let plain = PREFIX + header;
    // One tag, or two and a payload, which a segment with a compact header has.
    match len.checked_sub(plain + TAG)? {
        0 if !is_compact => Some((plain, plain + TAG)),
        rest if rest > TAG => Some((plain + TAG, plain + 2 * TAG)),
        _ => None,
    }
}

/// The length of what is authenticated as a whole at the beginning of a sealed datagram of `len` bytes: the header of a
/// segment with its tag, or a control message without padding.
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
        let payload = tcp + header;
        let tags = if payload == packet.end { TAG } else { 2 * TAG };
        let short = compact(&room[tcp..payload], packet.end - payload, &inner.header());
        let (kind, header) = match &short {
            Some(short) => (MessageKind::Compact { header: short.bytes().len() }, short.bytes().len()),
            None => (MessageKind::Segment { header }, header),
        };
        let start = payload.checked_sub(header + tags + PREFIX).ok_or(not_one)?;
        let datagram = room.get_mut(start..packet.end).ok_or(not_one)?;
        let number = self.number().ok_or(SealError::NoSession)?;
        let first = prefix(kind, self.receiver, number);
        match &short {
            Some(short) => datagram[PREFIX..PREFIX + header].copy_from_slice(short.bytes()),
            None => datagram.copy_within(tcp - start..payload - start, PREFIX),
        }
        datagram[..PREFIX].copy_from_slice(&first);
        let (head, payload) = datagram.split_at_mut(payload - start);
        let ad = header_ad(&first, payload);
        let mut sealed = PREFIX + header;
        if tags > TAG {
            let tag = self.seal(Part::Payload, number, &[], payload)?;
            head[sealed..sealed + TAG].copy_from_slice(&tag);
            sealed += TAG;
        }
        let tag = self.seal(Part::Header, number, &ad, &mut head[PREFIX..sealed])?;
        head[sealed..].copy_from_slice(&tag);
        Ok((start..packet.end, short.is_some()))
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

/// What a sealed datagram is.
#[derive(Clone, Debug)]
pub(crate) enum Opened {
    /// An IP packet, at this place of the datagram. `newest`: no packet with a higher number has arrived; `seal`: that of a
    /// corrupted payload.
    Segment { verdict: SegmentIntegrity, packet: Range<usize>, newest: bool, seal: Option<PayloadSeal> },
    /// A control message, at this place.
    Control { message: Range<usize>, newest: bool },
    /// A damaged packet, of which it is not believed that it will not arrive intact: most of the last ones did.
    Disbelieved,
    /// It was received before, or does not belong to this session.
    Nothing,
}

/// Opens packets of one key.
pub(crate) struct Opener {
    key: Key,
    /// One more than the highest number of an authentic header.
    next: u64,
    /// Intact packets.
    received: ReplayWindow,
    /// Corrupted ones: each counts once, and may still arrive intact. Someone on the path may have sent a damaged copy ahead of it.
    corrupted: DamageTrust,
    /// Unreadable ones, likewise. Apart from the others: whoever sees no more than the numbers can make such up, and must not
    /// have corrupted ones disbelieved.
    unreadable: DamageTrust,
    /// What is being opened, as it arrived: the cipher leaves nothing of what is damaged.
    kept: Vec<u8>,
}

impl Opener {
    pub(crate) fn new(key: &Key) -> Self {
        Self {
            key: key.clone(),
            next: 0,
            received: ReplayWindow::new(),
            corrupted: DamageTrust::new(),
            unreadable: DamageTrust::new(),
            kept: Vec::new(),
        }
    }

    /// As if all packets before `next` had been sent, and the one before it had arrived.
    #[cfg(test)]
    pub(crate) fn expect(&mut self, next: u64) {
        if let Some(last) = next.checked_sub(1) {
            self.on_authentic(last);
            self.on_intact(last);
        }
    }

    /// Opens the sealed datagram of `kind` from `start` on in place, to the end of `room`; `low` is the number in
    /// its prefix. What it contains is at the place that is returned.
    pub(crate) fn open(
        &mut self,
        room: &mut [u8],
        start: usize,
        (low, kind): (u32, MessageKind),
        inner: Inner,
    ) -> Opened {
        let number = replay::number(self.next, low);
        if !self.received.is_new(number) {
            return Opened::Nothing;
        }
        let newest = number >= self.next;
        match kind {
            MessageKind::Control => self.control(room, start, (number, newest)),
            MessageKind::Padded => match room.get_mut(..start + PREFIX + PADDED_MESSAGE + TAG) {
                Some(sealed) => self.control(sealed, start, (number, newest)),
                None => Opened::Nothing,
            },
            MessageKind::Segment { header } | MessageKind::Compact { header } => {
                let is_compact = matches!(kind, MessageKind::Compact { .. });
                self.segment(room, start, (number, newest), (header, is_compact), inner)
            }
        }
    }

    /// Whether the header of a sealed datagram is authentic. It changes nothing.
    pub(crate) fn has_header(&self, datagram: &[u8], (low, kind): (u32, MessageKind)) -> bool {
        let Some(end) = header_len(kind, datagram.len()).filter(|end| *end >= PREFIX + TAG) else {
            return false;
        };
        let (head, body) = datagram.split_at(end);
        let (first, sealed) = head.split_at(PREFIX);
        let (text, tag) = sealed.split_at(sealed.len() - TAG);
        let number = replay::number(self.next, low);
        let ad = header_ad(first, body);
        let ad = match kind {
            MessageKind::Control | MessageKind::Padded => first,
            MessageKind::Segment { .. } | MessageKind::Compact { .. } => &ad[..],
        };
        let Some(tag) = tag.first_chunk::<TAG>() else { return false };
        self.key.open(Part::Header, (number, tag.into()), ad, &mut text.to_vec())
    }

    fn control(&mut self, room: &mut [u8], start: usize, (number, newest): (u64, bool)) -> Opened {
        let Some(end) = room.len().checked_sub(TAG).filter(|&end| end >= start + PREFIX) else {
            return Opened::Nothing;
        };
        let (message, tag) = room[start..].split_at_mut(end - start);
        let (first, message) = message.split_at_mut(PREFIX);
        if !self.unseal(Part::Header, (number, tag), first, message) {
            return Opened::Nothing;
        }
        self.on_authentic(number);
        self.on_intact(number);
        Opened::Control { message: start + PREFIX..end, newest }
    }

    fn segment(
        &mut self,
        room: &mut [u8],
        start: usize,
        (number, newest): (u64, bool),
        (header, is_compact): (usize, bool),
        inner: Inner,
    ) -> Opened {
        let datagram = &mut room[start..];
        let Some((sealed, payload)) = segment_parts(datagram.len(), header, is_compact) else {
            return Opened::Nothing;
        };
        let (head, body) = datagram.split_at_mut(payload);
        let (text, tag) = head.split_at_mut(sealed);
        let (first, text) = text.split_at_mut(PREFIX);
        let mut seal = None;
        let verdict = if self.unseal(Part::Header, (number, tag), &header_ad(first, body), text) {
            self.on_authentic(number);
            if body.is_empty() || self.unseal(Part::Payload, (number, &text[header..]), &[], body) {
                self.on_intact(number);
                SegmentIntegrity::Intact
            } else {
                match self.corrupted.on_damaged(number) {
                    Damage::Believed => {}
                    Damage::Disbelieved => return Opened::Disbelieved,
                    Damage::Ignored => return Opened::Nothing,
                }
                let tag = Tag::clone_from_slice(&text[header..]);
                self.key.apply_keystream(Part::Payload, number, body);
                seal = Some(PayloadSeal::new(self.key.clone(), number, tag));
                SegmentIntegrity::Corrupted
            }
        } else {
            if self.corrupted.has(number) {
                return Opened::Nothing;
            }
            match self.unreadable.on_damaged(number) {
                Damage::Believed => {}
                Damage::Disbelieved => return Opened::Disbelieved,
                Damage::Ignored => return Opened::Nothing,
            }
            self.key.apply_keystream(Part::Header, number, text);
            SegmentIntegrity::Unreadable
        };
        // The TCP header is moved to its payload, and an IP header is put before it.
        let ip = inner.header();
        let tcp = if is_compact {
            let Some(full) = expand(&text[..header]) else { return Opened::Nothing };
            // It ends where the tags did, which have been read.
            let tcp = start + payload - full.bytes().len();
            room[tcp..start + payload].copy_from_slice(full.bytes());
            tcp
        } else {
            let tcp = start + payload - header;
            room.copy_within(start + PREFIX..start + PREFIX + header, tcp);
            tcp
        };
        let Some(at) = tcp.checked_sub(IP_HEADER) else { return Opened::Nothing };
        let len = room.len();
        match ip.emit(&mut room[at..], TCP, len - tcp) {
            Ok(_) => {
                let newest = newest && verdict != SegmentIntegrity::Unreadable;
                Opened::Segment { verdict, packet: at..len, newest, seal }
            }
            Err(_) => Opened::Nothing,
        }
    }

    /// Decrypts in place if the tag holds. If not, `bytes` stay as they arrived.
    fn unseal(&mut self, part: Part, (number, tag): (u64, &[u8]), ad: &[u8], bytes: &mut [u8]) -> bool {
        let Some(tag) = tag.first_chunk::<TAG>() else { return false };
        self.kept.clear();
        self.kept.extend_from_slice(bytes);
        let is_authentic = self.key.open(part, (number, tag.into()), ad, bytes);
        if !is_authentic {
            bytes.copy_from_slice(&self.kept);
        }
        is_authentic
    }

    /// The number of a packet was authenticated.
    fn on_authentic(&mut self, number: u64) {
        self.next = self.next.max(number + 1);
        self.corrupted.on_authentic(number);
        self.unreadable.on_authentic(number);
    }

    /// And the packet is intact.
    fn on_intact(&mut self, number: u64) {
        self.received.insert(number);
        self.corrupted.on_intact(number);
        self.unreadable.on_intact(number);
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
            if !body.is_empty() {
                let tag = sealer.seal(Part::Payload, number, &[], &mut body).expect("sealed");
                head.extend_from_slice(&tag);
                body[0] ^= u8::from(damaged.0);
            }
            let tag = sealer.seal(Part::Header, number, &header_ad(&first, &body), &mut head).expect("sealed");
            first[8] ^= u8::from(damaged.1);
            let mut room = [&vec![0; start][..], &first, &head, &tag, &body].concat();

            let Some(Message::Sealed { low, kind, .. }) = Message::parse(&room[start..]) else { return Ok(()) };
            let inner = Inner { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::LOCALHOST, ecn: Ecn::NotEct };
            let opened = Opener::new(&key()).open(&mut room, start, (low, kind), inner);
            if let Opened::Segment { packet, verdict, .. } = opened {
                let (MessageKind::Segment { header } | MessageKind::Compact { header }) = kind else { panic!("a control message") };
                let fits = head.len() == header + if body.is_empty() { 0 } else { TAG };
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
