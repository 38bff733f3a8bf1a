//! The compact form of a segment: its header without what the receiver can restore from the rest of the datagram alone.
//! For carriers of one segment in one datagram; `docs/protocol.md`, section 3.5, specifies it.
//!
//! ```text
//!  TCP header                                        compact header
//!   0  ports, sequence number, ACK number             0
//!  12  data offset, reserved bits, flags             12  half a byte says the layout; CWR, ECE, PSH, FIN
//!  14  window                                        13
//!  16  checksum                                       -  the CRCs protect the same bytes, and alone decide
//!  18  urgent pointer                                 -  0
//!  20  NOP, NOP, kind and length of timestamps        -  always these
//!  24  TSval, TSecr                                  15
//!  32  kind, length and ExID of HACK v2               -  always these; without data, the length stays
//!  36  header CRC, payload CRC                       23
//!  44  NOP, NOP, kind and length of SACK              -  always these
//!  48  one SACK block                                31
//! ```
//!
//! Nothing that the CRC of the header protects is left to chance: it is sent, and it is that of the restored header. A bit
//! that is flipped in a compact header is the same bit of the restored one, except in the half byte that says the layout:
//! there the CRC decides which layout it was.

use crate::{
    IpHeader, TcpFlags,
    header_crc::{Seal, header_crc},
    options::kind,
    tcp::FIXED_LEN,
    usual::{HEADER_CRC, HeaderBytes, LONGEST, TIMESTAMPS, Usual, V2_DATA},
};

/// By how many bytes the compact form of a segment with data is shorter at least.
pub const LEFT_OUT: usize = 13;
/// By how many bytes a compact form is shorter at most.
pub const MOST_LEFT_OUT: usize = LEFT_OUT + SACK.len();

/// What is before the one SACK block that a segment with data has room for.
const SACK: [u8; 4] = [kind::NOP, kind::NOP, kind::SACK, 10];
/// Where the layout and the flags are: in a whole header the data offset is there.
const LAYOUT_AT: usize = 12;
/// What is before the CRC of the header in a compact header with data.
const BEFORE_CRC: usize = 23;

/// What a compact header restores.
///
/// The values are none that a data offset can have (5 to 15), and no flipped bit makes one of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Layout {
    /// Data, without SACK blocks.
    Data = 1,
    /// Data, and one SACK block.
    DataAndSack = 2,
    /// No data.
    Ack = 4,
}

impl Layout {
    const ALL: [Self; 3] = [Self::Data, Self::DataAndSack, Self::Ack];

    /// The length of the compact header of a datagram of `len` bytes. `None` if none of the layout has that length.
    fn compact_len(self, len: usize) -> Option<usize> {
        // An ACK's are 10 to 28 bytes for HACK v2, of which 3 are left out, and what completes its last word.
        const ACKS: core::ops::RangeInclusive<usize> = 32..=48;
        match self {
            Self::Data => (len > BEFORE_CRC + 8).then_some(BEFORE_CRC + 8),
            Self::DataAndSack => (len > BEFORE_CRC + 16).then_some(BEFORE_CRC + 16),
            Self::Ack => (ACKS.contains(&len) && len.is_multiple_of(4)).then_some(len),
        }
    }

    /// The whole header of `datagram`, if it has this layout. The checksum is 0: nothing depends on it where CRCs decide.
    #[inline]
    fn expand(self, datagram: &[u8]) -> Option<Expanded> {
        let compact_len = self.compact_len(datagram.len())?;
        let (front, rest) = datagram.get(..compact_len)?.split_first_chunk::<LAYOUT_AT>()?;
        let (&[layout_and_flags, ..], rest) = rest.split_first_chunk::<1>()?;
        let (window, rest) = rest.split_first_chunk::<2>()?;
        let (timestamps, kept) = rest.split_first_chunk::<8>()?;
        let (crcs, block) = kept.split_at_checked(8)?;
        let [kind, _, high, low] = V2_DATA;
        let (v2, crcs, sack, block): (&[u8], &[u8], &[u8], &[u8]) = match self {
            Self::Data => (&V2_DATA, crcs, &[], &[]),
            Self::DataAndSack => (&V2_DATA, crcs, &SACK, block),
            Self::Ack => (&[kind, kept[0], high, low], &kept[1..], &[], &[]),
        };
        let header_len = FIXED_LEN + TIMESTAMPS.len() + 8 + v2.len() + crcs.len() + sack.len() + block.len();
        let offset_and_flags = [(header_len as u8 / 4) << 4, restored_flags(layout_and_flags)];
        let header = HeaderBytes::of(&[
            front,
            &offset_and_flags,
            window,
            &[0; 4],
            &TIMESTAMPS,
            timestamps,
            v2,
            crcs,
            sack,
            block,
        ])?;
        // Damage may hide the CRC of a header without data; the checksum is not to decide then.
        let is_judged_by_crc = self != Self::Ack || is_ack(header.bytes().get(FIXED_LEN..)?);
        is_judged_by_crc.then_some(Expanded { header, compact_len })
    }
}

/// A restored header, and how long its compact form was.
struct Expanded {
    header: HeaderBytes,
    compact_len: usize,
}

impl Expanded {
    /// Whether the header's CRC holds, in a datagram of `len` bytes.
    fn is_sound(&self, ip: &IpHeader, len: usize) -> bool {
        let header = self.header.bytes();
        let tcp_len = header.len() + len - self.compact_len;
        let Some((fixed, options)) = header.split_first_chunk() else { return false };
        let crc = header_crc(ip, tcp_len, fixed, options, HEADER_CRC - FIXED_LEN);
        header.get(HEADER_CRC..).is_some_and(|rest| rest.starts_with(&crc.to_be_bytes()))
    }
}

/// Whether the options of a segment without data have its CRC where the usual ones have it.
fn is_ack(options: &[u8]) -> bool {
    let seal = Seal::find(options);
    seal.is_some_and(|seal| seal.crc_at == HEADER_CRC - FIXED_LEN && seal.payload_crc.is_none())
}

/// ACK is always set; these four may be.
fn kept_flags(flags: TcpFlags) -> Option<u8> {
    const MAY: TcpFlags = TcpFlags::from_bits(
        TcpFlags::CWR.bits() | TcpFlags::ECE.bits() | TcpFlags::PSH.bits() | TcpFlags::FIN.bits(),
    );
    let bits = flags.bits();
    let is_usual = bits & !MAY.bits() == TcpFlags::ACK.bits();
    is_usual.then_some(bits >> 4 & 0b1100 | bits >> 2 & 0b0010 | bits & 1)
}

fn restored_flags(kept: u8) -> u8 {
    TcpFlags::ACK.bits() | (kept & 0b1100) << 4 | (kept & 0b0010) << 2 | kept & 1
}

/// Gives a segment its compact form, and returns by how many bytes it is shorter: `segment`, which begins with the TCP
/// header, then begins that number of bytes later. `None` if it has no such form, and stays as it is: unless it has ACK, no flags
/// but CWR, ECE, PSH and FIN beside that, timestamps, HACK v2 with a CRC, and no other options than one SACK block beside
/// data, or any beside none.
pub fn compact(segment: &mut [u8]) -> Option<usize> {
    let header_len = usize::from(segment.get(LAYOUT_AT)? >> 4) * 4;
    let (header, payload) = segment.split_at_mut_checked(header_len)?;
    let Usual { front, timestamps, v2 } = Usual::of(header)?;
    let (numbers, [offset, flags, window @ ..]) = front.split_first_chunk::<LAYOUT_AT>()? else {
        return None;
    };
    let flags = kept_flags(TcpFlags::from_bits(*flags))?;
    if offset & 0x0f != 0 {
        return None;
    }
    let (layout, length, kept): (_, &[u8], &[u8]) = match (payload.is_empty(), v2.strip_prefix(&V2_DATA)) {
        (false, Some(crcs)) if crcs.len() == 8 => (Layout::Data, &[], crcs),
        (false, Some(crcs)) if crcs.len() == 20 && crcs.get(8..12) == Some(&SACK) => {
            (Layout::DataAndSack, &[], crcs)
        }
        // Where the checksum decided, it could not be left out.
        (true, None) if is_ack(header.get(FIXED_LEN..)?) => (Layout::Ack, v2.get(1..2)?, v2.get(4..)?),
        _ => return None,
    };
    let (crcs, block) = match layout {
        Layout::DataAndSack => (kept.get(..8)?, kept.get(12..)?),
        Layout::Data | Layout::Ack => (kept, &[][..]),
    };
    let layout_and_flags = [(layout as u8) << 4 | flags];
    let compact = HeaderBytes::of(&[numbers, &layout_and_flags, window, timestamps, length, crcs, block])?;
    let left_out = header.len().checked_sub(compact.bytes().len())?;
    header.get_mut(left_out..)?.copy_from_slice(compact.bytes());
    Some(left_out)
}

/// Restores the header of a segment that arrived at `at` in `room`, if it has the compact form, and returns by how many
/// bytes it is longer: it begins that number of bytes before `at`, which must leave room for [`MOST_LEFT_OUT`]. 0 for a segment
/// that has not, or of which nothing says so; it stays as it is. The CRC of the header is that between the addresses of `ip`.
///
/// Nothing is judged here: a header whose CRC does not hold is restored too.
pub fn expand(room: &mut [u8], at: usize, ip: &IpHeader) -> usize {
    let expanded = room.get(at..).and_then(|datagram| read(datagram, ip));
    let restore = |Expanded { header, compact_len }: Expanded| {
        let header = header.bytes();
        let longer = header.len().checked_sub(compact_len)?;
        let start = at.checked_sub(longer)?;
        room.get_mut(start..at + compact_len)?.copy_from_slice(header);
        Some(longer)
    };
    expanded.and_then(restore).unwrap_or_default()
}

/// The header of a datagram in the compact form.
#[inline]
fn read(datagram: &[u8], ip: &IpHeader) -> Option<Expanded> {
    let stated = datagram.get(LAYOUT_AT)? >> 4;
    // What a whole header has there, and a compact one at random only.
    let looks_whole = datagram.get(FIXED_LEN..).is_some_and(|options| options.starts_with(&TIMESTAMPS));
    let layout = Layout::ALL.into_iter().find(|layout| *layout as u8 == stated);
    if let Some(layout) = layout
        && !looks_whole
        && let Some(expanded) = layout.expand(datagram)
    {
        return Some(expanded);
    }
    read_damaged(datagram, ip, stated, looks_whole)
}

/// The half byte that says the layout is one that a flipped bit may have made of another.
#[inline(never)]
fn read_damaged(datagram: &[u8], ip: &IpHeader, stated: u8, looks_whole: bool) -> Option<Expanded> {
    let is_near = |layout: &Layout| (*layout as u8 ^ stated).count_ones() <= 1;
    let near = Layout::ALL.into_iter().filter(is_near).filter_map(|layout| layout.expand(datagram));
    let is_sound = |expanded: &Expanded| expanded.is_sound(ip, datagram.len());
    // No whole header has such a data offset: of damaged segments most have data.
    let is_compact = usize::from(stated) * 4 < FIXED_LEN && !looks_whole;
    near.into_iter().find(is_sound).or_else(|| is_compact.then(|| Layout::Data.expand(datagram)).flatten())
}

const _: () = assert!(LONGEST >= FIXED_LEN + 40 && MOST_LEFT_OUT == 17);
