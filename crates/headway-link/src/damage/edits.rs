//! The edits of a frame, done to its bytes.

use super::Hit;
use crate::{
    Edit,
    random::{Chance, Stream},
};

/// What arrives of a frame that was edited.
#[derive(Clone, Debug)]
pub(super) struct Edited {
    /// The frames that it arrives as, none of them empty.
    pub(super) pieces: Vec<Vec<u8>>,
    pub(super) hit: Hit,
}

/// Edits `bytes`. Places count from bit `origin` on; the headers end before bit `data`. `None` if nothing happens to it.
pub(super) fn apply(
    bytes: &[u8],
    origin: u64,
    data: u64,
    edits: &[Edit],
    stream: &mut Stream,
) -> Option<Edited> {
    let end = bytes.len() as u64 * 8;
    let at = |place: u32| origin.saturating_add(place.into()).min(end);
    let until = |to: Option<u32>| to.map_or(end, at);
    let mut sent = Sent { bytes, flipped: vec![0; bytes.len()], next: 0, data };
    for edit in edits {
        match *edit {
            Edit::Flip(bit) => sent.flip(at(bit)),
            Edit::Dense { from, to, rate } => {
                let chance = Chance::new(rate);
                (at(from)..until(to)).filter(|_| chance.happens(stream)).for_each(|bit| sent.flip(bit));
            }
            Edit::Missing { .. } | Edit::Added { .. } | Edit::Break(_) | Edit::NoEnd => {}
        }
    }
    let mut arrives = Arrives::default();
    let mut hit = Hit { flips: 0, slips: 0, header: false, no_end: false };
    for edit in edits {
        let (place, slips) = match *edit {
            Edit::Missing { from, to } => {
                arrives.take(&mut sent, at(from), &mut hit);
                let from = sent.next.max(at(from));
                sent.next = from.max(until(to));
                (from, sent.next - from)
            }
            Edit::Added { before, count } if at(before) < end => {
                arrives.take(&mut sent, at(before), &mut hit);
                (0..count).for_each(|_| arrives.push(stream.below(2) == 1));
                (at(before), count.into())
            }
            Edit::Break(place) if (sent.next..end).contains(&at(place)) && at(place) > 0 => {
                arrives.take(&mut sent, at(place), &mut hit);
                arrives.end();
                (at(place), 1)
            }
            Edit::NoEnd => {
                hit.no_end = true;
                continue;
            }
            _ => continue,
        };
        hit.slips = hit.slips.saturating_add(slips as u32);
        hit.header |= slips > 0 && place < data;
    }
    arrives.take(&mut sent, end, &mut hit);
    arrives.end();
    let changed = hit.flips > 0 || hit.slips > 0 || hit.no_end;
    changed.then_some(Edited { pieces: arrives.pieces, hit })
}

/// A frame as it was sent.
struct Sent<'a> {
    bytes: &'a [u8],
    /// A 1 for each bit that is flipped.
    flipped: Vec<u8>,
    /// The next bit to arrive.
    next: u64,
    /// Where the headers end.
    data: u64,
}

impl Sent<'_> {
    fn flip(&mut self, bit: u64) {
        if let Some(byte) = self.flipped.get_mut((bit / 8) as usize) {
            *byte |= 0x80 >> (bit % 8);
        }
    }
}

/// The frames that arrive.
#[derive(Default)]
struct Arrives {
    pieces: Vec<Vec<u8>>,
    /// The one that arrives now, and how many bits of it.
    piece: Vec<u8>,
    bits: u64,
}

impl Arrives {
    /// What was sent up to bit `to`, if it is not behind that yet.
    fn take(&mut self, sent: &mut Sent<'_>, to: u64, hit: &mut Hit) {
        while sent.next < to {
            let (place, shift) = ((sent.next / 8) as usize, sent.next % 8);
            let (byte, flipped) = (sent.bytes[place], sent.flipped[place]);
            if shift == 0 && self.bits.is_multiple_of(8) && to - sent.next >= 8 {
                self.piece.push(byte ^ flipped);
                self.bits += 8;
                hit.flips += flipped.count_ones();
                hit.header |= flipped != 0 && sent.next < sent.data;
                sent.next += 8;
            } else {
                let mask = 0x80 >> shift;
                self.push((byte ^ flipped) & mask != 0);
                hit.flips += u32::from(flipped & mask != 0);
                hit.header |= flipped & mask != 0 && sent.next < sent.data;
                sent.next += 1;
            }
        }
    }

    fn push(&mut self, bit: bool) {
        let shift = self.bits % 8;
        if shift == 0 {
            self.piece.push(0);
        }
        if let Some(last) = self.piece.last_mut() {
            *last |= u8::from(bit) << (7 - shift);
        }
        self.bits += 1;
    }

    /// The frame ends; bits that do not fill a byte are dropped.
    fn end(&mut self) {
        self.piece.truncate((self.bits / 8) as usize);
        self.bits = 0;
        let piece = std::mem::take(&mut self.piece);
        if !piece.is_empty() {
            self.pieces.push(piece);
        }
    }
}
