//! What a modem does to the length of a frame, or a decoder that fails to its bits.

use crate::{Edit, ParseLinkError, random::Stream};
use headway_units::Share;
use std::{fmt, str::FromStr};

/// What goes wrong with a frame in [`Damage::Modem`](crate::Damage::Modem).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// It ends early.
    Cut,
    /// It arrives as two frames.
    Split,
    /// It arrives in one frame with the next packet, if that waits when its transmission ends.
    Join,
    /// One bit is missing, or one was added.
    Slip,
    /// From some bit on each is flipped with a probability, which is 10 to 18 %: what a decoder leaves that fails.
    Dense,
}

impl FrameError {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Cut, Self::Split, Self::Join, Self::Slip, Self::Dense];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Split => "split",
            Self::Join => "join",
            Self::Slip => "slip",
            Self::Dense => "dense",
        }
    }

    /// The edit of a frame where it begins at bit `place`.
    pub(super) fn edit(self, place: u32, stream: &mut Stream) -> Edit {
        match self {
            Self::Cut => Edit::Missing { from: place, to: None },
            Self::Split => Edit::Break(place),
            Self::Join => Edit::NoEnd,
            Self::Slip if stream.below(2) == 0 => Edit::Missing { from: place, to: Some(place + 1) },
            Self::Slip => Edit::Added { before: place, count: 1 },
            Self::Dense => {
                let rate = Share::new(0.1 + 0.08 * stream.above_zero()).unwrap_or(Share::ZERO);
                Edit::Dense { from: place, to: None, rate }
            }
        }
    }
}

/// At least one [`FrameError`], each once. Written as `cut+split`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FrameErrors(u8);

impl FrameErrors {
    /// All of them.
    pub const ALL: Self = Self((1 << FrameError::ALL.len()) - 1);

    /// In order.
    pub fn iter(self) -> impl Iterator<Item = FrameError> {
        FrameError::ALL.into_iter().filter(move |error| self.has(*error))
    }

    /// Whether it is one of them.
    pub fn has(self, error: FrameError) -> bool {
        self.0 >> error as u8 & 1 == 1
    }

    /// How many.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// One of them, each with the same probability.
    pub(super) fn draw(self, stream: &mut Stream) -> FrameError {
        let place = stream.below(self.count().into()) as usize;
        self.iter().nth(place).unwrap_or(FrameError::Cut)
    }
}

impl FromStr for FrameErrors {
    type Err = ParseLinkError;

    fn from_str(text: &str) -> Result<Self, ParseLinkError> {
        let add = |all: Self, name| {
            let error = FrameError::ALL.into_iter().find(|error| error.name() == name);
            error.filter(|error| !all.has(*error)).map(|error| Self(all.0 | 1 << error as u8))
        };
        text.split('+').try_fold(Self(0), add).ok_or_else(|| {
            ParseLinkError::new(text, "different ones of cut, split, join, slip and dense, such as cut+split")
        })
    }
}

impl fmt::Display for FrameErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.iter().map(FrameError::name).collect::<Vec<_>>().join("+"))
    }
}

impl fmt::Debug for FrameErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameErrors({self})")
    }
}
