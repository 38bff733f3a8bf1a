//! What becomes of one packet.

use super::Edit;
use std::fmt;

/// What becomes of one packet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// It arrives as it was sent.
    Ok,
    /// It is lost, after taking its transmission time.
    Lost,
    /// Bits of it are flipped; chance chooses which.
    Hit {
        /// How many (0 is taken as 1, and as many as the place has where that is fewer).
        flips: u32,
        /// Where.
        place: HitPlace,
    },
    /// These bits of it are flipped, bit 0 being the most significant one of the first byte. Those
    /// beyond the end of the packet are ignored: if all are, it arrives as it was sent. Each place counts
    /// once.
    Bits {
        /// Where counting starts.
        from: BitOrigin,
        /// Their places.
        bits: Box<[u32]>,
    },
    /// Its bits are edited: some may be missing, or the frame may end early or have no end.
    Edits {
        /// Where counting starts.
        from: BitOrigin,
        /// What is done to it. Where one of them is beyond the end of the packet, nothing happens.
        edits: Box<[Edit]>,
    },
}

/// Where chance puts the flipped bits of a packet. A packet without payload that is hit is hit in its
/// header, within the [hit zone](crate::HitZone) of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HitPlace {
    /// As [`LinkConfig::header_hit`](crate::LinkConfig::header_hit) says for every model.
    Any,
    /// Headers only.
    Header,
    /// Payload only.
    Payload,
    /// At least one in the headers, and, if there are two, at least one in the payload.
    Both,
}

/// From where the places of bits are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BitOrigin {
    /// The first bit of the IP header.
    Ip,
    /// The first bit of the TCP header.
    Tcp,
    /// The first bit of the payload.
    Payload,
}

impl BitOrigin {
    /// The first words of a line that counts from here.
    fn words(self) -> &'static str {
        match self {
            Self::Ip => "bits",
            Self::Tcp => "bits tcp",
            Self::Payload => "bits payload",
        }
    }
}

impl Fate {
    /// Whether the packet follows in one frame with the next.
    pub(super) fn has_no_end(&self) -> bool {
        matches!(self, Self::Edits { edits, .. } if edits.contains(&Edit::NoEnd))
    }

    /// Whether the packet arrives damaged.
    pub fn is_hit(&self) -> bool {
        matches!(self, Self::Hit { .. } | Self::Bits { .. } | Self::Edits { .. })
    }
}

/// A line of a [`Trace`](crate::Trace)'s text.
impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("ok"),
            Self::Lost => f.write_str("lost"),
            Self::Hit { flips, place } => {
                let place = match place {
                    HitPlace::Any => "",
                    HitPlace::Header => " header",
                    HitPlace::Payload => " payload",
                    HitPlace::Both => " both",
                };
                write!(f, "hit{place} {flips}")
            }
            Self::Bits { from, bits } => {
                f.write_str(from.words())?;
                bits.iter().try_for_each(|bit| write!(f, " {bit}"))
            }
            Self::Edits { from, edits } => {
                f.write_str(from.words())?;
                edits.iter().try_for_each(|edit| write!(f, " {edit}"))
            }
        }
    }
}
