//! TCP HACK, version 2: one experimental option in four forms, which differ in length
//! (`docs/protocol.md`, section 3).

use crate::{List, SeqNumber};

/// The experiment's identifier, "ExID": what distinguishes options of kind 253 (RFC 6994, 3).
///
/// 0x4857 is "HW" in ASCII. It is not registered with IANA: use it among peers that agree on it only.
pub const EXID: u16 = 0x4857;

/// The identifier of the form for blocks of a segment: the complement, so that damage does not make one form of the other.
pub const PATCH_EXID: u16 = !EXID;

/// The version that a SYN offers.
pub(super) const VERSION: u8 = 2;

/// The bit of a SYN's flags that says "partial recovery understood".
pub(super) const PARTIAL_RECOVERY: u8 = 4;

/// The bit of a SYN's flags that says "compact headers understood".
pub(super) const COMPACT: u8 = 2;

/// The lengths of the option in its forms, kind and length included.
mod len {
    /// On a segment with SYN.
    pub(super) const SYN: usize = 8;
    /// On a segment with data, or with blocks of one that arrived damaged.
    pub(super) const DATA: usize = 12;
    /// On a segment without data that reports nothing; each segment reported takes four bytes more.
    pub(super) const ACK: usize = 10;
}

/// The option of version 2 of TCP HACK, in one of its forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum V2 {
    /// On a segment with SYN: an offer, or its acceptance.
    Syn(V2Syn),
    /// On a segment with data.
    Data(V2Data),
    /// On a segment that carries [blocks](crate::patch) of one that arrived damaged and began at its sequence number.
    Patch(V2Data),
    /// On a segment without data.
    Ack(V2Ack),
}

/// What a SYN says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct V2Syn {
    /// Whether the sender understands partial recovery: as a receiver of data it may send block
    /// sums, as a sender it can act on them.
    pub partial_recovery: bool,
    /// Whether the sender's carrier understands compact headers ([`compact`](crate::compact)).
    pub compact: bool,
    /// The path check: 16 bits of a CRC-32C over what must not be rewritten on the way (addresses,
    /// ports, sequence and acknowledgement number). Computed by [`emit()`](crate::emit()).
    pub path_check: u16,
}

/// What a segment with data, or with blocks of it, says. Both values are computed by [`emit()`](crate::emit()).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct V2Data {
    /// The CRC-32C of pseudo-header and TCP header.
    pub header_crc: u32,
    /// The CRC-32C of the payload.
    pub payload_crc: u32,
}

/// What a segment without data says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct V2Ack {
    /// The CRC-32C of pseudo-header and TCP header. Computed by [`emit()`](crate::emit()).
    pub header_crc: u32,
    /// The receiver's running count of damaged packets that carried data, modulo 2^16.
    pub damaged: u16,
    /// The first byte of each segment that arrived damaged, as an offset from the acknowledgement number, the newest first.
    /// Empty in an ACK that is not special. What follows the header is a report on the first of them: the sums of its blocks
    /// ([`Segment::blocks`](crate::Segment::blocks)).
    pub reported: V2Offsets,
}

/// Offsets from the acknowledgement number: seven fill the option space.
pub type V2Offsets = List<u32, 7>;

impl V2 {
    /// The option on a SYN or SYN-ACK.
    #[inline]
    pub fn syn(partial_recovery: bool) -> Self {
        Self::Syn(V2Syn { partial_recovery, ..V2Syn::default() })
    }

    /// The option on a segment with data.
    #[inline]
    pub fn data() -> Self {
        Self::Data(V2Data::default())
    }

    /// The option on a segment with blocks of another.
    #[inline]
    pub fn patch() -> Self {
        Self::Patch(V2Data::default())
    }

    /// The option on a segment without data.
    #[inline]
    pub fn ack(damaged: u16, reported: V2Offsets) -> Self {
        Self::Ack(V2Ack { damaged, reported, ..V2Ack::default() })
    }

    /// What a SYN says, if this is on one.
    #[inline]
    pub const fn as_syn(&self) -> Option<&V2Syn> {
        if let Self::Syn(syn) = self { Some(syn) } else { None }
    }

    /// What a segment with data says, if this is on one.
    #[inline]
    pub const fn as_data(&self) -> Option<&V2Data> {
        if let Self::Data(data) = self { Some(data) } else { None }
    }

    /// What a segment with blocks of another says, if this is on one.
    #[inline]
    pub const fn as_patch(&self) -> Option<&V2Data> {
        if let Self::Patch(patch) = self { Some(patch) } else { None }
    }

    /// What a segment without data says, if this is on one.
    #[inline]
    pub const fn as_ack(&self) -> Option<&V2Ack> {
        if let Self::Ack(ack) = self { Some(ack) } else { None }
    }

    /// The length of the option without padding, kind and length included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Syn(_) => len::SYN,
            Self::Data(_) | Self::Patch(_) => len::DATA,
            Self::Ack(ack) => len::ACK + 4 * ack.reported.len(),
        }
    }

    /// Whether the option ends two bytes behind a word.
    #[inline]
    pub(crate) fn has_half_word(&self) -> bool {
        !self.len().is_multiple_of(4)
    }

    /// Whether an option with the identifier `id` is one of version 2.
    #[inline]
    pub(crate) const fn has_id(id: [u8; 2]) -> bool {
        matches!(u16::from_be_bytes(id), EXID | PATCH_EXID)
    }

    /// The identifier of its form.
    #[inline]
    pub(crate) const fn exid(&self) -> u16 {
        if let Self::Patch(_) = self { PATCH_EXID } else { EXID }
    }

    /// Reads the option from what follows kind, length and the identifier `id`. `None` if there is no form
    /// of that length, or if it is the offer of another version, of which nothing is known.
    pub(crate) fn parse(id: [u8; 2], value: &[u8]) -> Option<Self> {
        // Without kind, length and identifier.
        const ACK: usize = len::ACK - 4;
        if u16::from_be_bytes(id) == PATCH_EXID {
            let (&header_crc, payload_crc) = value.split_first_chunk()?;
            return Some(Self::Patch(V2Data {
                header_crc: u32::from_be_bytes(header_crc),
                payload_crc: u32::from_be_bytes(payload_crc.try_into().ok()?),
            }));
        }
        let form = match (value.len() + 4, value) {
            (len::SYN, [VERSION, flags, c0, c1]) => Self::Syn(V2Syn {
                partial_recovery: flags & PARTIAL_RECOVERY != 0,
                compact: flags & COMPACT != 0,
                path_check: u16::from_be_bytes([*c0, *c1]),
            }),
            (len::DATA, [h0, h1, h2, h3, p0, p1, p2, p3]) => Self::Data(V2Data {
                header_crc: u32::from_be_bytes([*h0, *h1, *h2, *h3]),
                payload_crc: u32::from_be_bytes([*p0, *p1, *p2, *p3]),
            }),
            (_, [h0, h1, h2, h3, reported @ .., u0, u1]) if value.len() >= ACK => Self::Ack(V2Ack {
                header_crc: u32::from_be_bytes([*h0, *h1, *h2, *h3]),
                damaged: u16::from_be_bytes([*u0, *u1]),
                reported: offsets(reported)?,
            }),
            _ => return None,
        };
        Some(form)
    }
}

fn offsets(bytes: &[u8]) -> Option<V2Offsets> {
    let (reported, []) = bytes.as_chunks::<4>() else { return None };
    let mut offsets = V2Offsets::default();
    reported.iter().all(|offset| offsets.push(u32::from_be_bytes(*offset))).then_some(offsets)
}

impl V2Ack {
    /// Whether anything is asked for.
    #[inline]
    pub fn is_special(&self) -> bool {
        !self.reported.is_empty()
    }

    /// What is asked for, as sequence numbers; `ack` is the segment's acknowledgement number.
    #[inline]
    pub fn named(&self, ack: SeqNumber) -> impl Iterator<Item = SeqNumber> {
        self.reported.iter().map(move |offset| ack + *offset)
    }
}

impl V2Ack {
    /// Segments by their first bytes, the newest first, as far as there is room in the option;
    /// `ack` is the acknowledgement number of the segment that it goes into.
    pub fn offsets_from(ack: SeqNumber, named: impl IntoIterator<Item = SeqNumber>) -> V2Offsets {
        let mut offsets = V2Offsets::default();
        for seq in named {
            if !offsets.push(seq.0.wrapping_sub(ack.0)) {
                break;
            }
        }
        offsets
    }
}
