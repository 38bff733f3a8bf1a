//! What arrived of a direction, as it is kept and as one end tells the other.

use headway_link::{BitOrigin, Edit, Fate, Trace, TraceBuilder};
use serde::{Deserialize, Serialize};

use super::frames::Found;

/// The blocks of partial recovery, in bytes.
pub(super) const BLOCK: usize = 32;
/// The most frames of a survey in each direction.
pub(super) const MAX_FRAMES: u32 = 5000;
/// The most wrong bits that are recorded: the record goes through the damaged link to the other end, 4 bytes for each.
const MAX_BITS: usize = 1 << 15;

/// No frame that was recognised ended before this byte.
const HEADERS: u32 = 40 + super::frames::HEADER as u32;

/// A frame that arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Arrived {
    /// Its number.
    pub(super) n: u32,
    /// When, in milliseconds since the first.
    pub(super) ms: u32,
    /// The bytes that arrived, if it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cut: Option<u32>,
    /// It was longer than sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) longer: bool,
    /// Its header or payload was not intact.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) hit: bool,
    /// The places of wrong bits, each as its distance from the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<u32>,
}

impl Arrived {
    pub(super) fn new(found: &Found, ms: u32, is_intact: bool) -> Self {
        let before = std::iter::once(0).chain(found.bits.iter().copied());
        Self {
            n: found.numbers.number,
            ms,
            cut: found.is_cut.then_some(found.seen as u32),
            longer: found.is_longer,
            hit: !is_intact || found.is_cut || found.is_longer || !found.bits.is_empty(),
            gaps: found.bits.iter().zip(before).map(|(bit, before)| bit - before).collect(),
        }
    }

    /// The places of wrong bits, ascending.
    pub(super) fn bits(&self) -> impl Iterator<Item = u32> {
        self.gaps.iter().scan(0_u32, |place, gap| {
            *place = place.saturating_add(*gap);
            Some(*place)
        })
    }

    fn fate(&self) -> Fate {
        if !self.hit {
            return Fate::Ok;
        }
        let from = BitOrigin::Ip;
        match self.cut {
            None => Fate::Bits { from, bits: self.bits().collect() },
            Some(cut) => {
                let end = Edit::Missing { from: cut * 8, to: None };
                Fate::Edits { from, edits: self.bits().map(Edit::Flip).chain([end]).collect() }
            }
        }
    }
}

/// What arrived of a direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// How many frames the end sent that has this record.
    pub(super) sent: u32,
    /// In order of their numbers once it is [sorted](Self::sort).
    frames: Vec<Arrived>,
    /// The room for wrong bits was used up: nothing was recorded afterwards.
    full: bool,
    #[serde(skip)]
    bits: usize,
}

impl Record {
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn frames(&self) -> &[Arrived] {
        &self.frames
    }

    pub(super) fn push(&mut self, arrived: Arrived) {
        self.bits += arrived.gaps.len();
        self.frames.push(arrived);
        self.full = self.bits > MAX_BITS || self.frames.len() >= MAX_FRAMES as usize;
    }

    pub(super) fn sort(&mut self) {
        self.frames.sort_by_key(|frame| frame.n);
    }

    /// How many frames it is about, of `sent` that the other end sent.
    pub(super) fn covered(&self, sent: u32) -> u32 {
        self.frames.last().filter(|_| self.full).map_or(sent, |last| last.n + 1)
    }

    /// Whether it can be that of `sent` frames of `len` bytes: it comes from the peer.
    pub(super) fn is_plausible(&self, sent: u32, len: usize) -> bool {
        let bits = len as u32 * 8;
        self.sent <= MAX_FRAMES
            && self.frames.is_sorted_by(|a, b| a.n < b.n)
            && self.frames.iter().all(|frame| {
                frame.n < sent
                    && frame.cut.is_none_or(|cut| (HEADERS..len as u32).contains(&cut))
                    && frame.gaps.iter().skip(1).all(|gap| *gap > 0)
                    && frame.bits().all(|bit| bit < bits)
            })
    }

    /// A damage trace of the frames; `None`: there was none.
    pub(super) fn trace(&self, sent: u32) -> Option<Trace> {
        let mut trace = TraceBuilder::new();
        let mut frames = self.frames.iter().peekable();
        for n in 0..self.covered(sent) {
            let fate = frames.next_if(|frame| frame.n == n).map_or(Fate::Lost, Arrived::fate);
            // The bounds of a trace are wider than those of a record.
            trace.push(fate).ok()?;
        }
        trace.finish("")
    }
}
