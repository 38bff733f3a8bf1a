//! Repair of damaged headers that carry a CRC-32C (version 2 of TCP HACK).
//!
//! A receiver knows what most fields of a header can be. [`HeaderRepair`] says at the price of a few
//! XORs whether a header is what was sent once some of its fields hold other values, and finds the
//! one or two flipped bits that explain the rest. A CRC is linear: what a change does to it depends
//! on the change and its place alone, so changes are tried without computing a CRC anew.
//!
//! # How far a repair can be trusted
//!
//! Each header that is tried and is not what was sent passes with probability 2^-32. Up to two flips
//! within an otherwise right header are never taken for others: no two such patterns have the same
//! effect, since CRC-32C has a Hamming distance of 6 at these lengths (Koopman, "32-Bit Cyclic
//! Redundancy Codes for Internet Applications", 2002). Beyond that, a search of `c` combinations of
//! candidates accepts a wrong header with a probability of about c / 2^32 without flips, 480 c / 2^32
//! with one and 115,000 c / 2^32 with two. So a repaired header may only do what that of a corrupted segment may.

use crate::{
    Integrity, IpHeader, List, ParseError, Segment, TcpFlags, TcpHeader, TcpOptions,
    crc::{self, crc32c},
    header_crc::{Seal, header_crc},
    ip::Datagram,
    options::walk::Walk,
    segment::Parts,
    tcp::{self, FIXED_LEN},
};
use core::ops::Range;

/// Where the fields of the fixed header are, in bytes from its start.
pub mod at {
    use core::ops::Range;

    /// Source and destination port.
    pub const PORTS: Range<usize> = 0..4;
    /// Sequence number.
    pub const SEQ: Range<usize> = 4..8;
    /// Acknowledgement number.
    pub const ACK: Range<usize> = 8..12;
    /// Data offset and reserved bits.
    pub const DATA_OFFSET: Range<usize> = 12..13;
    /// Control bits.
    pub const FLAGS: Range<usize> = 13..14;
    /// Window.
    pub const WINDOW: Range<usize> = 14..16;
    /// Checksum, which the CRC does not cover: its value cannot be repaired and need not be.
    pub const CHECKSUM: Range<usize> = 16..18;
    /// Urgent pointer.
    pub const URGENT: Range<usize> = 18..20;
}

/// The longest TCP header, in bytes.
const MAX_HEADER: usize = 60;

/// Bits of the header that were flipped, counted from its first byte's most significant bit.
pub type Flips = List<u16, 2>;

/// A field and what it may hold.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Where it is, in bytes from the start of the TCP header: at most four bytes.
    pub at: usize,
    /// How many bytes it has: 1 to 4.
    pub len: usize,
    /// What it may hold besides what arrived.
    pub values: &'a [u32],
}

/// A damaged header on the way to what was sent.
#[derive(Clone, Debug)]
pub struct HeaderRepair<'a> {
    ip: IpHeader,
    ip_header_len: usize,
    header: [u8; MAX_HEADER],
    header_len: usize,
    payload: &'a [u8],
    crc_at: usize,
    syndrome: u32,
}

impl<'a> HeaderRepair<'a> {
    /// Takes a packet apart as its data offset, its option kinds and their lengths have it. `None`
    /// if it is not a TCP segment or if no option of version 2 with a CRC can be found: see
    /// [`assume`](Self::assume).
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let Parts { frame, options, .. } = Parts::parse(bytes).ok()?;
        let seal = Seal::find(options)?;
        Self::assume(&frame.datagram(), FIXED_LEN + options.len(), FIXED_LEN + seal.crc_at)
    }

    /// Takes a packet apart as other segments of the connection are laid out: a header of
    /// `header_len` bytes, with its CRC `crc_at` bytes behind its start. What separates the options
    /// is to be [`set`](Self::set) then. `None` if the packet has no room for such a header.
    pub fn assume(datagram: &Datagram<'a>, header_len: usize, crc_at: usize) -> Option<Self> {
        let is_header = header_len <= MAX_HEADER && header_len.is_multiple_of(4);
        if datagram.protocol != tcp::PROTOCOL || !is_header || crc_at < FIXED_LEN || crc_at + 4 > header_len {
            return None;
        }
        let (arrived, payload) = datagram.body.split_at_checked(header_len)?;
        let (fixed, options) = arrived.split_first_chunk()?;
        let mut header = [0; MAX_HEADER];
        header.get_mut(..header_len)?.copy_from_slice(arrived);
        let ip = datagram.header;
        let computed = header_crc(&ip, datagram.body.len(), fixed, options, crc_at - FIXED_LEN);
        let stored = arrived.get(crc_at..)?.first_chunk()?;
        Some(Self {
            ip,
            ip_header_len: datagram.header_len,
            header,
            header_len,
            payload,
            crc_at,
            syndrome: computed ^ u32::from_be_bytes(*stored),
        })
    }

    /// The TCP header with its options, as it stands now.
    pub fn header(&self) -> &[u8] {
        self.header.get(..self.header_len).unwrap_or(&self.header)
    }

    /// The IP header, which is as it arrived.
    pub fn ip(&self) -> IpHeader {
        self.ip
    }

    /// The data as it arrived.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Where the value of the first option of `kind` is, in bytes from the start of the header, as
    /// it stands now: behind kind and length.
    pub fn value_at(&self, kind: u8) -> Option<Range<usize>> {
        let options = self.header().get(FIXED_LEN..)?;
        let option = Walk::new(options).map_while(Result::ok).find(|option| option.kind == kind)?;
        let start = FIXED_LEN + option.value_at;
        Some(start..start + option.value.len())
    }

    /// The difference of the CRC of the header as it is now and the CRC in it: 0 if the
    /// header is what was sent.
    pub fn syndrome(&self) -> u32 {
        self.syndrome
    }

    /// Whether the header, as it stands now, is what its CRC says.
    pub fn is_sound(&self) -> bool {
        self.syndrome == 0
    }

    /// What the syndrome would change by (XOR) if `bytes` stood `at` bytes behind the start of the
    /// header. Changes of several places add up (XOR). Bytes beyond the header change nothing.
    pub fn change(&self, at: usize, bytes: &[u8]) -> u32 {
        let stands = self.header().iter().enumerate().skip(at);
        stands.zip(bytes).fold(0, |change, ((at, old), new)| change ^ self.byte_change(at, old ^ new))
    }

    /// Puts `bytes` in, `at` bytes behind the start of the header; those beyond its end are dropped.
    pub fn set(&mut self, at: usize, bytes: &[u8]) {
        self.syndrome ^= self.change(at, bytes);
        let places = self.header.iter_mut().take(self.header_len).skip(at);
        for (place, byte) in places.zip(bytes) {
            *place = *byte;
        }
    }

    /// Flips a bit of the header, counted from its first byte's most significant bit.
    pub fn flip(&mut self, bit: u16) {
        let at = usize::from(bit / 8);
        if let Some(byte) = self.header().get(at) {
            self.set(at, &[byte ^ 0x80 >> (bit % 8)]);
        }
    }

    /// The one or two bits whose flips explain `syndrome`, of those that `may_flip` allows, or none
    /// at all if it is 0. `None` if it takes more than `most` flips, or more than two.
    pub fn explain(&self, syndrome: u32, most: usize, may_flip: impl Fn(u16) -> bool) -> Option<Flips> {
        let mut flips = Flips::default();
        if syndrome == 0 {
            return Some(flips);
        }
        if most == 0 {
            return None;
        }
        let allowed = |change| self.bit_with(change).filter(|bit| may_flip(*bit));
        if let Some(bit) = allowed(syndrome) {
            flips.push(bit);
            return Some(flips);
        }
        if most == 1 {
            return None;
        }
        let bits = 0..self.header_len as u16 * 8;
        for first in bits.filter(|bit| may_flip(*bit)) {
            let at = usize::from(first / 8);
            let change = self.byte_change(at, 0x80 >> (first % 8));
            // What changes nothing explains nothing.
            if change != 0
                && let Some(second) = allowed(syndrome ^ change)
            {
                flips.push(first);
                flips.push(second);
                return Some(flips);
            }
        }
        None
    }

    /// Repairs the header: looks for a combination of values of `fields`, of each what arrived or one
    /// of those given, and for at most `most_flips` (up to two) flipped bits outside of `fields`,
    /// that the CRC confirms. The fewest flips win, then what comes first. Returns whether there is
    /// one; if not, the header stays as it is.
    ///
    /// Every combination is tried: keep their number (the product of the numbers of values, each
    /// plus one) in bounds, for the time that takes and for [how far](self) the outcome can be
    /// trusted.
    pub fn repair(&mut self, fields: &[Field<'_>], most_flips: usize) -> bool {
        let may_flip = |bit: u16| {
            let at = usize::from(bit / 8);
            fields.iter().all(|field| at < field.at || at - field.at >= field.len)
        };
        (0..=most_flips.min(Flips::CAPACITY)).any(|most| self.fit(fields, most, &may_flip))
    }

    /// [`repair`](Self::repair) with what is left of the fields; those before are set.
    fn fit(&mut self, fields: &[Field<'_>], most_flips: usize, may_flip: &impl Fn(u16) -> bool) -> bool {
        let Some((field, others)) = fields.split_first() else {
            let Some(flips) = self.explain(self.syndrome, most_flips, may_flip) else { return false };
            for bit in &flips {
                self.flip(*bit);
            }
            return true;
        };
        if self.fit(others, most_flips, may_flip) {
            return true;
        }
        let before = self.clone_header();
        for value in field.values {
            let value = value.to_be_bytes();
            self.set(field.at, value.get(4_usize.saturating_sub(field.len)..).unwrap_or(&value));
            if self.fit(others, most_flips, may_flip) {
                return true;
            }
            (self.header, self.syndrome) = before;
        }
        false
    }

    fn clone_header(&self) -> ([u8; MAX_HEADER], u32) {
        (self.header, self.syndrome)
    }

    /// The segment, its header as it stands now and its options read.
    ///
    /// # Errors
    ///
    /// If the data offset is not that of this header's length, or if the options make no sense.
    pub fn segment(&self) -> Result<Segment<'a>, ParseError> {
        let got = usize::from(self.header[12] >> 4) * 4;
        let (fixed, options) = match self.header().split_first_chunk() {
            Some(parts) if got == self.header_len => parts,
            _ => return Err(ParseError::DataOffset { got, room: self.header_len }),
        };
        let mut segment = Segment {
            ip: self.ip,
            tcp: TcpHeader::parse(fixed),
            options: TcpOptions::parse(options)?.0,
            payload: self.payload,
            blocks: &[],
            ip_header_len: self.ip_header_len,
            header_len: self.ip_header_len + self.header_len,
        };
        segment.drop_undue_v2(fixed);
        Ok(segment.with_blocks())
    }

    /// What is known of the segment now: nothing if the header's CRC does not hold (or if SYN is set,
    /// which no header with a CRC has); otherwise its payload is judged by the CRC in the header.
    pub fn integrity(&self) -> Integrity {
        let is_syn = TcpFlags::from_bits(self.header[13]).contains(TcpFlags::SYN);
        if !self.is_sound() || is_syn {
            return Integrity::Unreadable;
        }
        let seal = self.header().get(FIXED_LEN..).and_then(Seal::find);
        let is_payload_valid = match seal.and_then(|seal| seal.payload_crc) {
            Some(crc) => crc32c(self.payload) == crc,
            // A report, whose sums count each for itself.
            None => true,
        };
        if is_payload_valid { Integrity::Intact } else { Integrity::Corrupted }
    }

    /// What the syndrome changes by if the bits of `flips` are flipped in the byte at `at`.
    fn byte_change(&self, at: usize, flips: u8) -> u32 {
        if at::CHECKSUM.contains(&at) {
            return 0;
        }
        if let Some(place @ 0..4) = at.checked_sub(self.crc_at) {
            return u32::from(flips) << (24 - 8 * place);
        }
        let behind = 8 * (self.header_len - at);
        (0..8)
            .filter(|bit| flips >> bit & 1 == 1)
            .fold(0, |change, bit| change ^ EFFECTS.get(behind - bit).copied().unwrap_or_default())
    }

    /// The bit whose flip changes the syndrome by `change`.
    fn bit_with(&self, change: u32) -> Option<u16> {
        let bit = |at: usize, from_lowest: u32| (at as u32 * 8 + 7 - from_lowest) as u16;
        // The CRC itself.
        if change.is_power_of_two() {
            let place = change.trailing_zeros();
            return Some(bit(self.crc_at + 3 - place as usize / 8, place % 8));
        }
        let found = SORTED_EFFECTS.binary_search_by_key(&change, |(effect, _)| *effect).ok()?;
        let steps = usize::from(SORTED_EFFECTS.get(found)?.1);
        // As in `byte_change`: 8 * (header_len - at) - bit.
        let at = self.header_len.checked_sub(steps.div_ceil(8))?;
        let is_covered = !at::CHECKSUM.contains(&at) && !(self.crc_at..self.crc_at + 4).contains(&at);
        is_covered.then(|| bit(at, (8 * (self.header_len - at) - steps) as u32))
    }
}

const STEPS: usize = MAX_HEADER * 8 + 1;

/// What a flipped bit does to the CRC of a header, by how many bits are behind it, itself and those
/// less significant in its byte included.
static EFFECTS: [u32; STEPS] = effects();

/// The same sorted by the effect, with the number of bits.
static SORTED_EFFECTS: [(u32, u16); STEPS] = sorted_effects();

const fn effects() -> [u32; STEPS] {
    let mut effects = [1; STEPS];
    let mut bits = 1;
    while bits < STEPS {
        effects[bits] = crc::step(effects[bits - 1], crc::CASTAGNOLI_POLYNOMIAL);
        bits += 1;
    }
    effects
}

const fn sorted_effects() -> [(u32, u16); STEPS] {
    let effects = effects();
    let mut sorted = [(0, 0); STEPS];
    let mut bits = 0;
    while bits < STEPS {
        let mut place = bits;
        while place > 0 && sorted[place - 1].0 > effects[bits] {
            sorted[place] = sorted[place - 1];
            place -= 1;
        }
        sorted[place] = (effects[bits], bits as u16);
        bits += 1;
    }
    sorted
}
