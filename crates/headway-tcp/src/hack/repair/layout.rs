//! Where the fields of a header stand.

use super::knowledge::{Knowledge, Seal};
use super::{Draft, LONGEST_HEADER};
use headway_wire::options::kind;
use headway_wire::{EXID, PATCH_EXID};

/// The places of the fields of a data segment, in bytes from the start of the TCP header. Options
/// come in the order in which `headway_wire` writes them: timestamps, the sum, SACK blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) header_len: usize,
    /// The timestamp value; its echo follows.
    pub(super) timestamps_at: Option<usize>,
    /// The header's sum. The payload's CRC follows, with version 2.
    pub(super) seal_at: usize,
    /// SACK blocks behind it.
    blocks: usize,
    /// The identifier of version 2: of a segment with data, or with blocks of one.
    exid: u16,
}

const FIXED: usize = 20;
/// Two NOPs, kind and length, and two timestamps.
const TIMESTAMPS: usize = 12;
/// Two NOPs, kind and length before the blocks.
const SACK: usize = 4;
const BLOCK: usize = 8;

impl Layout {
    fn new(known: &Knowledge, blocks: usize) -> Self {
        let timestamps = if known.timestamps.is_some() { TIMESTAMPS } else { 0 };
        let (before, seal) = match known.seal {
            // Kind, length and identifier come first.
            Seal::V2 => (4, 8),
            Seal::Classic => (2, 2),
        };
        let seal_at = FIXED + timestamps + before;
        let sack = if blocks > 0 { SACK + BLOCK * blocks } else { 0 };
        Self {
            header_len: seal_at + seal + sack,
            timestamps_at: known.timestamps.map(|_| FIXED + TIMESTAMPS - 8),
            seal_at,
            blocks,
            exid: EXID,
        }
    }

    /// With the identifier that is nearer to what arrived.
    fn with_exid(self, body: &[u8]) -> Self {
        let arrived = body.get(self.seal_at - 2..).and_then(|bytes| bytes.first_chunk());
        let arrived = arrived.map_or(EXID, |bytes| u16::from_be_bytes(*bytes));
        let is_patch = (arrived ^ PATCH_EXID).count_ones() < (arrived ^ EXID).count_ones();
        Self { exid: if is_patch { PATCH_EXID } else { EXID }, ..self }
    }

    /// What the header's length says, if it says anything, and a header without SACK blocks. None
    /// that leaves no payload.
    pub(super) fn candidates(known: &Knowledge, body: &[u8]) -> impl Iterator<Item = Self> {
        let plain = Self::new(known, 0);
        let offset = body.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4);
        let as_arrived = (1..=4)
            .map(|blocks| Self::new(known, blocks))
            .find(|layout| known.sack && layout.header_len == offset && offset <= LONGEST_HEADER);
        let room = body.len();
        [as_arrived, Some(plain)]
            .into_iter()
            .flatten()
            .filter(move |layout| layout.header_len < room)
            .map(|layout| layout.with_exid(body))
    }

    pub(super) fn payload_crc_at(&self) -> usize {
        self.seal_at + 4
    }

    /// The bytes that are certain, with their values.
    fn certain(&self, known: &Knowledge, mut put: impl FnMut(usize, u8)) {
        let mut frame = |at: usize, bytes: &[u8]| {
            bytes.iter().enumerate().for_each(|(place, &byte)| put(at + place, byte));
        };
        frame(0, &known.ports.0.to_be_bytes());
        frame(2, &known.ports.1.to_be_bytes());
        frame(12, &[((self.header_len / 4) as u8) << 4]);
        // No urgent data.
        frame(18, &[0, 0]);
        if let Some(at) = self.timestamps_at {
            frame(at - 4, &[kind::NOP, kind::NOP, kind::TIMESTAMPS, 10]);
        }
        let end = match known.seal {
            Seal::V2 => {
                let [high, low] = self.exid.to_be_bytes();
                frame(self.seal_at - 4, &[kind::EXPERIMENT, 12, high, low]);
                self.seal_at + 8
            }
            Seal::Classic => {
                frame(self.seal_at - 2, &[kind::HACK, 4]);
                self.seal_at + 2
            }
        };
        if self.blocks > 0 {
            frame(end, &[kind::NOP, kind::NOP, kind::SACK, (2 + BLOCK * self.blocks) as u8]);
        }
    }

    /// The header as it arrived, with what is certain put right and the TCP checksum, which damage
    /// elsewhere makes worthless, as zero.
    pub(super) fn draft(self, known: &Knowledge, body: &[u8]) -> Draft {
        let mut bytes = [0; LONGEST_HEADER];
        bytes[..self.header_len].copy_from_slice(&body[..self.header_len]);
        let mut flips = 0;
        self.certain(known, |at, byte| {
            flips += (bytes[at] ^ byte).count_ones();
            bytes[at] = byte;
        });
        bytes[16..18].fill(0);
        Draft { bytes, layout: self, flips }
    }

    /// Whether a byte is not certain. The TCP checksum is of no account.
    pub(super) fn is_uncertain(&self, at: usize) -> bool {
        let timestamps = self.timestamps_at.map_or(0..0, |at| at..at + 8);
        let crcs = self.seal_at..self.seal_at + 8;
        let blocks = self.header_len - BLOCK * self.blocks..self.header_len;
        [4..12, 13..16, timestamps, crcs, blocks].iter().any(|range| range.contains(&at))
    }
}
