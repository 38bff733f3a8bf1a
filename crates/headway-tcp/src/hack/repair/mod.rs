//! Header repair: what a damaged header was before, from what the receiver knows of its connections
//! (`docs/repair.md`).
//!
//! Most fields of a header have one possible value, or few: ports, lengths and the frame of the
//! options one, the others those that the connection expects next ([`Knowledge`]). The header's own
//! sum decides between them. With HACK v2 that is a CRC-32C, which also finds up to two flipped bits
//! in what cannot be known, the two CRCs themselves ([`syndrome`]). The 16-bit sum of kind 14 decides
//! less, so everything must be expected there, and exactly one combination may fit.
//!
//! A repaired header may still be wrong, and may do what a corrupted segment may: ask for a
//! retransmission.
//!
//! Work is bounded, and with it the probability that a wrong header is accepted: each packet has a [`Budget`] of
//! tests, and packets are [searched](limit) no faster than the host permits.

mod combinations;
mod fields;
mod header_history;
mod knowledge;
mod layout;
mod limit;
mod resemblance;
mod syndrome;
#[cfg(test)]
mod tests;

use headway_units::Instant;
use headway_wire::ip::Datagram;
use headway_wire::repair::HeaderRepair;
use headway_wire::{SeqNumber, TcpFlags, TcpHeader, TcpOptions, checksum};

pub(crate) use header_history::{Expectations, HeaderHistory};
pub(crate) use knowledge::{Knowledge, Seal, Span};
use layout::Layout;
use limit::{Budget, SearchLimit};
pub(crate) use resemblance::resembles;
use syndrome::CrcFlips;

/// Combinations of fields that one packet is held against in one layout.
const MAX_COMBINATIONS: usize = 4096;
/// Those of them with which two flipped bits in the CRCs are looked for; with the others it is one.
const PAIRED_COMBINATIONS: u32 = 384;
/// Flipped bits in a header, beyond which it is not known what it was.
const MAX_FLIPS: u32 = 16;
/// The same where 16 bits decide.
const CLASSIC_FLIPS: u32 = 3;
/// There, every other explanation must take this many flipped bits more.
const CLASSIC_MARGIN: u32 = 2;

/// A header as it is thought to have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repaired {
    pub(crate) tcp: TcpHeader,
    pub(crate) options: TcpOptions,
    /// Bytes of the TCP header with its options.
    pub(crate) header_len: usize,
    /// Bits in which it differs from what arrived.
    pub(crate) flips: u32,
}

/// Repairs headers; keeps the tables that this takes.
#[derive(Default)]
pub(crate) struct Repairer {
    flips: CrcFlips,
    limit: SearchLimit,
}

/// The longest TCP header (RFC 9293, 3.1).
const LONGEST_HEADER: usize = 60;

/// The bytes of a header while it is worked on.
#[derive(Clone, Copy)]
struct Draft {
    bytes: [u8; LONGEST_HEADER],
    layout: Layout,
    /// Bits changed so far.
    flips: u32,
}

impl Draft {
    fn header(&self) -> &[u8] {
        &self.bytes[..self.layout.header_len]
    }

    fn word(&self, at: usize) -> u32 {
        self.bytes[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }

    fn flip_word(&mut self, at: usize, bits: u32) {
        self.flips += bits.count_ones();
        let word = self.word(at) ^ bits;
        self.bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }

    /// Flips a bit, counted from the first byte's most significant one.
    fn flip(&mut self, bit: u16) {
        self.flips += 1;
        self.bytes[usize::from(bit / 8)] ^= 0x80 >> (bit % 8);
    }
}

/// The repair with the fewest flipped bits so far.
#[derive(Default)]
struct Best {
    found: Option<Repaired>,
    /// Flipped bits of the next best.
    next: Option<u32>,
}

impl Best {
    fn offer(&mut self, repaired: Repaired) {
        let worse = match self.found {
            Some(best) if best == repaired => return,
            Some(best) if best.flips <= repaired.flips => repaired.flips,
            _ => match self.found.replace(repaired) {
                Some(before) => before.flips,
                None => return,
            },
        };
        self.next = Some(self.next.map_or(worse, |next| next.min(worse)));
    }

    /// The best, if every other takes at least `margin` flipped bits more.
    fn take(self, margin: u32) -> Option<Repaired> {
        self.found.filter(|best| self.next.is_none_or(|next| next >= best.flips + margin))
    }
}

impl Repairer {
    /// What the TCP header in `datagram` was, and whose connection it belongs to, if that can be said of
    /// one of `candidates` alone: of two that both explain it neither is believed. `None` too if packets are
    /// searched too fast.
    pub(crate) fn repair_for_one<T: Copy>(
        &mut self,
        now: Instant,
        datagram: &Datagram<'_>,
        candidates: &[&(T, Knowledge)],
    ) -> Option<(T, Repaired)> {
        if !self.limit.admit(now) {
            return None;
        }
        let mut budget = Budget::default();
        let mut repairs = candidates
            .iter()
            .filter_map(|(id, known)| Some((*id, self.repair(datagram, known, &mut budget)?)));
        let first = repairs.next()?;
        if repairs.next().is_some() { None } else { Some(first) }
    }

    /// What the TCP header in `datagram` was, if it belongs to a data segment of the
    /// connection that `known` describes.
    fn repair(
        &mut self,
        datagram: &Datagram<'_>,
        known: &Knowledge,
        budget: &mut Budget,
    ) -> Option<Repaired> {
        let mut best = Best::default();
        let limit = if known.seal == Seal::Classic { CLASSIC_FLIPS } else { MAX_FLIPS };
        for layout in Layout::candidates(known, datagram.body) {
            let draft = layout.draft(known, datagram.body);
            if draft.flips > limit {
                continue;
            }
            match known.seal {
                Seal::V2 => self.by_crc(datagram, &draft, known, (&mut best, budget))?,
                Seal::Classic => by_sum(datagram, &draft, known, &mut best),
            }
        }
        best.take(match known.seal {
            Seal::V2 => 1,
            Seal::Classic => CLASSIC_MARGIN,
        })
    }

    /// Version 2: the CRC-32C of the header, itself and that of the payload possibly damaged.
    fn by_crc(
        &mut self,
        datagram: &Datagram<'_>,
        draft: &Draft,
        known: &Knowledge,
        (best, budget): (&mut Best, &mut Budget),
    ) -> Option<()> {
        let layout = draft.layout;
        let mut header = HeaderRepair::assume(datagram, layout.header_len, layout.seal_at)?;
        header.set(0, draft.header());
        let fields = fields::of(draft, known, Some(&header));
        let flips = self.flips.of(&header, &layout);
        let (mut found, mut tried) = (false, 0);
        combinations::each(&fields, |changes| {
            let syndrome = changes.iter().fold(header.syndrome(), |sum, change| sum ^ change.syndrome);
            tried += 1;
            let flips = if tried <= PAIRED_COMBINATIONS && budget.take(flips.pairs.len()) {
                flips.pairs.find(syndrome)
            } else if budget.take(flips.singles.len()) {
                flips.singles.find(syndrome)
            } else {
                None
            };
            let Some(flips) = flips else { return };
            let mut repaired = *draft;
            changes.iter().for_each(|change| change.apply(&mut repaired));
            repaired.flip_word(layout.seal_at, flips.header);
            repaired.flip_word(layout.payload_crc_at(), flips.payload);
            if let Some(repaired) = confirm(&header, &repaired, known) {
                found = true;
                best.offer(repaired);
            }
        });
        if found {
            return Some(());
        }
        // No expectation fits: what arrived may be right except for one or two bits anywhere.
        let uncertain = |bit: u16| layout.is_uncertain(usize::from(bit / 8));
        let bits = (0..8 * layout.header_len as u16).filter(|&bit| uncertain(bit)).count();
        let most = if budget.take(ways_to_flip_two(bits)) { 2 } else { 0 };
        if let Some(bits) = header.explain(header.syndrome(), most, uncertain) {
            let mut repaired = *draft;
            bits.as_slice().iter().for_each(|&bit| repaired.flip(bit));
            if let Some(repaired) = confirm(&header, &repaired, known) {
                best.offer(repaired);
            }
        }
        Some(())
    }
}

/// In how many ways none, one or two of `bits` bits can be flipped.
fn ways_to_flip_two(bits: usize) -> usize {
    1 + bits * (bits + 1) / 2
}

/// The Header Checksum of kind 14, itself hit in one bit at most. 16 bits say little: where changes of
/// two fields have the same effect on the sum, the packet stays unreadable.
fn by_sum(datagram: &Datagram<'_>, draft: &Draft, known: &Knowledge, best: &mut Best) {
    let at = draft.layout.seal_at;
    let given = u16::from_be_bytes([draft.bytes[at], draft.bytes[at + 1]]);
    let pseudo = datagram.header.pseudo_header_sum(TCP, datagram.body.len());
    let fields = fields::of(draft, known, None);
    combinations::each(&fields, |changes| {
        let mut repaired = *draft;
        changes.iter().for_each(|change| change.apply(&mut repaired));
        // "with the TCP checksum field and the option's own value as zero".
        let mut summed = repaired;
        summed.bytes[at..at + 2].fill(0);
        let mut sum = pseudo;
        sum.add(checksum::sum(summed.header()));
        let wrong = (sum.complement() ^ given).count_ones();
        repaired.flips += wrong;
        if wrong > 1 || repaired.flips > CLASSIC_FLIPS {
            return;
        }
        if let Some(repaired) = read(&repaired, known) {
            best.offer(repaired);
        }
    });
}

/// TCP's number among the protocols of IP.
const TCP: u8 = 6;

/// A repaired header of version 2, if its CRC holds and all it says can be.
fn confirm(header: &HeaderRepair<'_>, draft: &Draft, known: &Knowledge) -> Option<Repaired> {
    let mut header = header.clone();
    header.set(0, draft.header());
    if !header.is_sound() || draft.flips > MAX_FLIPS {
        return None;
    }
    read(draft, known)
}

/// Reads a repaired header, if all it says can be.
fn read(draft: &Draft, known: &Knowledge) -> Option<Repaired> {
    let bytes = &draft.bytes;
    let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let tcp = TcpHeader {
        src_port: half(0),
        dst_port: half(2),
        seq: SeqNumber(draft.word(4)),
        ack: SeqNumber(draft.word(8)),
        flags: TcpFlags::from_bits(bytes[13]),
        window: half(14),
        urgent: half(18),
    };
    let (options, _) = TcpOptions::parse(draft.header().get(20..)?).ok()?;
    known.admits(&tcp, &options).then_some(Repaired {
        tcp,
        options,
        header_len: draft.layout.header_len,
        flips: draft.flips,
    })
}
