//! Opening of sealed packets.

use std::ops::Range;

use headway_wire::IpHeader;

use super::{IP_HEADER, Inner, SegmentIntegrity, TAG, TCP, header_ad, header_len, segment_parts};
use crate::compact::{expand, mask_crc};
use crate::damage_trust::{Damage, DamageTrust};
use crate::key::{Key, Part};
use crate::message::{MessageKind, PADDED_MESSAGE, PREFIX};
use crate::payload_seal::PayloadSeal;
use crate::replay::{self, ReplayWindow};

/// What a sealed datagram is.
#[derive(Clone, Debug)]
pub(crate) enum Opened {
    /// An IP packet, at this place of the datagram. `newest`: it is intact, and none with a higher number has arrived; `seal`: that
    /// of a corrupted payload.
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
    /// One more than the highest number of an authentic packet, or of a header that was readable.
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

    /// The number that is expected next.
    #[cfg(test)]
    pub(super) fn next(&self) -> u64 {
        self.next
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

    /// Whether the header of a sealed datagram is as it was sent. It changes nothing.
    pub(crate) fn has_header(&self, datagram: &[u8], (low, kind): (u32, MessageKind), inner: Inner) -> bool {
        let Some(end) = header_len(kind, datagram.len()).filter(|end| *end >= PREFIX + TAG) else {
            return false;
        };
        let (head, body) = datagram.split_at(end);
        let (first, sealed) = head.split_at(PREFIX);
        let Some((text, tag)) = sealed.split_last_chunk::<TAG>() else { return false };
        let (mut text, number) = (text.to_vec(), replay::number(self.next, low));
        let ad = header_ad(first, body);
        let ad = match kind {
            MessageKind::Compact { .. } => {
                mask_crc(&mut text, tag);
                self.key.apply_keystream(Part::Header, number, &mut text);
                return expand(&text).is_some_and(|header| header.has_crc(&inner.header(), body.len()));
            }
            MessageKind::Control | MessageKind::Padded => first,
            MessageKind::Segment { .. } => &ad[..],
        };
        self.key.open(Part::Header, (number, tag.into()), ad, &mut text)
    }

    fn control(&mut self, room: &mut [u8], start: usize, (number, newest): (u64, bool)) -> Opened {
        let Some(end) = room.len().checked_sub(TAG).filter(|&end| end >= start + PREFIX) else {
            return Opened::Nothing;
        };
        let (message, tag) = room[start..].split_at_mut(end - start);
        let (first, message) = message.split_at_mut(PREFIX);
        let Some(tag) = tag.first_chunk() else { return Opened::Nothing };
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
        let ip = inner.header();
        let opened = if is_compact {
            self.compact(datagram, number, payload, &ip)
        } else {
            self.with_tags(datagram, number, (sealed, payload), header)
        };
        let (verdict, seal) = match opened {
            Ok(opened) => opened,
            Err(nothing) => return nothing,
        };
        // The header is in front of the payload, and an IP header is put before it.
        let payload = start + payload;
        let mut tcp = payload - header;
        if is_compact {
            let Some(full) = expand(&room[tcp..payload]) else { return Opened::Nothing };
            tcp = payload - full.bytes().len();
            room[tcp..payload].copy_from_slice(full.bytes());
        }
        let Some(at) = tcp.checked_sub(IP_HEADER) else { return Opened::Nothing };
        let len = room.len();
        match ip.emit(&mut room[at..], TCP, len - tcp) {
            Ok(_) => {
                let newest = newest && verdict == SegmentIntegrity::Intact;
                Opened::Segment { verdict, packet: at..len, newest, seal }
            }
            Err(_) => Opened::Nothing,
        }
    }

    /// Opens a segment with a compact header, and leaves the header in front of the payload.
    fn compact(
        &mut self,
        datagram: &mut [u8],
        number: u64,
        payload: usize,
        ip: &IpHeader,
    ) -> Result<(SegmentIntegrity, Option<PayloadSeal>), Opened> {
        let header = payload - TAG - PREFIX;
        let (first, text) = datagram.split_at_mut(PREFIX);
        let Some(&tag) = text[header..].first_chunk::<TAG>() else { return Err(Opened::Nothing) };
        mask_crc(&mut text[..header], &tag);
        text.copy_within(..header, TAG);
        let text = &mut text[TAG..];
        if self.unseal(Part::Header, (number, &tag), first, text) {
            self.on_authentic(number);
            self.on_intact(number);
            return Ok((SegmentIntegrity::Intact, None));
        }
        self.key.apply_keystream(Part::Header, number, text);
        let (head, body) = text.split_at(header);
        if expand(head).is_some_and(|full| full.has_crc(ip, body.len())) {
            self.corrupted(number)?;
            // It was sent: whoever has not its keystream makes up no header that has its CRC.
            self.on_authentic(number);
            let key = (self.key.clone(), Part::Header, number);
            Ok((SegmentIntegrity::Corrupted, Some(PayloadSeal::new(key, &tag, first, head))))
        } else {
            self.unreadable(number)?;
            Ok((SegmentIntegrity::Unreadable, None))
        }
    }

    /// Opens a segment with a tag for its header, which begins at `sealed`, and one for its payload, if it has one. Leaves the
    /// header in front of the payload.
    fn with_tags(
        &mut self,
        datagram: &mut [u8],
        number: u64,
        (sealed, payload): (usize, usize),
        header: usize,
    ) -> Result<(SegmentIntegrity, Option<PayloadSeal>), Opened> {
        let (head, body) = datagram.split_at_mut(payload);
        let (text, tag) = head.split_at_mut(sealed);
        let Some(tag) = tag.first_chunk() else { return Err(Opened::Nothing) };
        let (first, text) = text.split_at_mut(PREFIX);
        let mut seal = None;
        let verdict = if self.unseal(Part::Header, (number, tag), &header_ad(first, body), text) {
            self.on_authentic(number);
            let tag = text.get(header..).and_then(|tag| tag.first_chunk::<TAG>());
            if tag.is_none_or(|tag| self.unseal(Part::Payload, (number, tag), first, body)) {
                self.on_intact(number);
                SegmentIntegrity::Intact
            } else {
                self.corrupted(number)?;
                self.key.apply_keystream(Part::Payload, number, body);
                let key = (self.key.clone(), Part::Payload, number);
                seal = tag.map(|tag| PayloadSeal::new(key, tag, first, &[]));
                SegmentIntegrity::Corrupted
            }
        } else {
            self.unreadable(number)?;
            self.key.apply_keystream(Part::Header, number, text);
            SegmentIntegrity::Unreadable
        };
        head.copy_within(PREFIX..PREFIX + header, payload - header);
        Ok((verdict, seal))
    }

    /// The packet `number` is corrupted. The error is what it is taken for if that is not believed.
    fn corrupted(&mut self, number: u64) -> Result<(), Opened> {
        believed(self.corrupted.on_damaged(number))
    }

    /// The packet `number` is unreadable, likewise. Damage to its payload may have been announced.
    fn unreadable(&mut self, number: u64) -> Result<(), Opened> {
        if self.corrupted.has(number) {
            return Err(Opened::Nothing);
        }
        believed(self.unreadable.on_damaged(number))
    }

    /// Decrypts in place if the tag holds. If not, `bytes` stay as they arrived.
    fn unseal(&mut self, part: Part, (number, tag): (u64, &[u8; TAG]), ad: &[u8], bytes: &mut [u8]) -> bool {
        self.kept.clear();
        self.kept.extend_from_slice(bytes);
        let is_authentic = self.key.open(part, (number, tag.into()), ad, bytes);
        if !is_authentic {
            bytes.copy_from_slice(&self.kept);
        }
        is_authentic
    }

    /// A packet has this number: it was authenticated, or its header is readable.
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

/// What a damaged packet is taken for if it is not to be announced.
fn believed(damage: Damage) -> Result<(), Opened> {
    match damage {
        Damage::Believed => Ok(()),
        Damage::Disbelieved => Err(Opened::Disbelieved),
        Damage::Ignored => Err(Opened::Nothing),
    }
}
