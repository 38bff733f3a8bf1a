//! What is done to the bits of one frame.

use headway_units::Share;
use std::{collections::BTreeSet, fmt};

/// The bits of the longest IP packet: an IPv6 header and all that its length field can say.
pub(crate) const PACKET_BITS: u32 = (40 + 65_535) * 8;

/// One change to the bits of a frame. Places are those of the frame as it was sent, bit 0 being the most significant one
/// of the first byte.
///
/// The receiver is handed whole bytes: of a piece that does not end at one the last bits are dropped. A piece without a
/// byte does not arrive.
///
/// | text | change |
/// |---|---|
/// | `161` | the bit is flipped |
/// | `~800..1600@15%` | each of these bits is flipped with this probability; without an end (`~800..@15%`) up to the frame's |
/// | `-161`, `-161..169` | these bits are missing, and what is behind them moves forward; `-8000..`: the frame ends early |
/// | `+161`, `+161*8` | before this bit one bit was added, or eight; chance says which |
/// | `/4000` | the frame is split: what begins here arrives as another frame |
/// | `&` | the end is missing: the next frame arrives in one with this, if it follows without a gap |
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Edit {
    /// A bit is flipped.
    Flip(u32),
    /// Each bit from `from` up to `to` (excluded; `None`: the end) is flipped with a probability.
    Dense {
        /// The first bit.
        from: u32,
        /// The bit behind the last.
        to: Option<u32>,
        /// The probability.
        rate: Share,
    },
    /// The bits from `from` up to `to` (excluded; `None`: the end) are missing.
    Missing {
        /// The first bit.
        from: u32,
        /// The bit behind the last.
        to: Option<u32>,
    },
    /// Bits of chance were added before this bit.
    Added {
        /// The bit.
        before: u32,
        /// How many; at least 1.
        count: u32,
    },
    /// From this bit on it is another frame.
    Break(u32),
    /// The end of the frame is missing.
    NoEnd,
}

/// No [`Share`] differs from itself.
impl Eq for Edit {}

impl Edit {
    /// The first bit that it concerns, and at one bit what comes first: a break is in front of what was added.
    pub(super) fn order(self) -> (u32, u8) {
        match self {
            Self::Break(place) => (place, 0),
            Self::Added { before: place, .. } => (place, 1),
            Self::Missing { from: place, .. } => (place, 2),
            Self::Dense { from: place, .. } => (place, 3),
            Self::Flip(place) => (place, 4),
            Self::NoEnd => (u32::MAX, 0),
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |from: u32, to: Option<u32>| match to {
            Some(to) if to.checked_sub(1) == Some(from) => from.to_string(),
            Some(to) => format!("{from}..{to}"),
            None => format!("{from}.."),
        };
        match *self {
            Self::Flip(place) => write!(f, "{place}"),
            Self::Dense { from, to, rate } => write!(f, "~{}@{rate}", range(from, to)),
            Self::Missing { from, to } => write!(f, "-{}", range(from, to)),
            Self::Added { before, count: 1 } => write!(f, "+{before}"),
            Self::Added { before, count } => write!(f, "+{before}*{count}"),
            Self::Break(place) => write!(f, "/{place}"),
            Self::NoEnd => f.write_str("&"),
        }
    }
}

/// How many blocks of `block` bytes of a packet of `packet` bytes have no use after these edits, which are in order: those with a
/// flipped bit, and all from the first one on at which bits are missing or added or another frame begins. `None` if
/// chance says which bits are flipped.
pub(super) fn blocks_hit(edits: &[Edit], block: usize, packet: usize) -> Option<usize> {
    let blocks = packet.div_ceil(block);
    let of_bit = |bit: u32| bit as usize / 8 / block;
    let is_within = |bit: u32| (bit as usize) < packet * 8;
    let mut hit = BTreeSet::new();
    for edit in edits {
        match *edit {
            Edit::Flip(bit) if is_within(bit) => {
                hit.insert(of_bit(bit));
            }
            Edit::Dense { from, rate, .. } if is_within(from) && !rate.is_zero() => return None,
            Edit::Missing { from: bit, .. } | Edit::Added { before: bit, .. } | Edit::Break(bit)
                if is_within(bit) =>
            {
                hit.retain(|hit| *hit < of_bit(bit));
                return Some(hit.len() + blocks - of_bit(bit));
            }
            _ => {}
        }
    }
    Some(hit.len())
}

/// Reads what [`Display`](fmt::Display) writes.
pub(super) fn read(word: &str) -> Option<Edit> {
    let (first, rest) = (word.bytes().next()?, word.get(1..)?);
    Some(match first {
        b'~' => {
            let (bits, rate) = rest.split_once('@')?;
            let (from, to) = range(bits)?;
            Edit::Dense { from, to, rate: rate.parse().ok()? }
        }
        b'-' => {
            let (from, to) = range(rest)?;
            Edit::Missing { from, to }
        }
        b'+' => {
            let (before, count) = rest.split_once('*').unwrap_or((rest, "1"));
            let count = place(count).filter(|count| *count >= 1)?;
            Edit::Added { before: place(before)?, count }
        }
        b'/' => Edit::Break(place(rest)?),
        b'&' if rest.is_empty() => Edit::NoEnd,
        _ => Edit::Flip(place(word)?),
    })
}

/// `161`, `161..169` or `161..`.
fn range(text: &str) -> Option<(u32, Option<u32>)> {
    let Some((from, to)) = text.split_once("..") else {
        let from = place(text)?;
        return Some((from, Some(from + 1)));
    };
    let from = place(from)?;
    let to = if to.is_empty() { None } else { Some(super::text::number(to)?) };
    // A range may end where the longest packet does.
    let to = to.map(|to| u32::try_from(to).ok().filter(|to| (from + 1..=PACKET_BITS).contains(to)));
    to.map_or(Some((from, None)), |to| to.map(|to| (from, Some(to))))
}

fn place(text: &str) -> Option<u32> {
    u32::try_from(super::text::number(text)?).ok().filter(|bit| *bit < PACKET_BITS)
}
