//! The radiotap header before each frame of an interface in monitor mode (radiotap.org, version 0): the fields that matter here.

use std::fmt;
use std::str::FromStr;

use headway_units::Rate;

/// Bits of the first word of present fields: TSFT of 8 bytes, the flags of 1 byte, the rate of 1 byte, the TX flags of 2 bytes,
/// and that another such word follows.
const TSFT: u32 = 1;
const FLAGS: u32 = 1 << 1;
const RATE: u32 = 1 << 2;
const TX_FLAGS: u32 = 1 << 15;
const EXTENDED: u32 = 1 << 31;
/// Bits of the flags: the frame has its check sequence, and that was wrong.
const FCS_AT_END: u8 = 0x10;
const BAD_FCS: u8 = 0x40;
/// Of the TX flags: no acknowledgement is waited for, and nothing is sent twice.
const NO_ACK: u16 = 8;

/// A received frame, from its 802.11 header on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Captured<'a> {
    pub(super) frame: &'a [u8],
    /// It ends with its check sequence.
    pub(super) has_fcs: bool,
    /// The card found its check sequence wrong.
    pub(super) is_bad: bool,
}

/// Reads what an interface in monitor mode hands up; `None`: it is not radiotap.
pub(super) fn parse(bytes: &[u8]) -> Option<Captured<'_>> {
    let [0, _, a, b, ..] = *bytes else { return None };
    let (header, frame) = bytes.split_at_checked(u16::from_le_bytes([a, b]).into())?;
    let present = |at: usize| Some(u32::from_le_bytes(*header.get(at..)?.first_chunk()?));
    let (first, mut at) = (present(4)?, 4);
    while present(at)? & EXTENDED != 0 {
        at += 4;
    }
    at += 4;
    if first & TSFT != 0 {
        // Each field is aligned to its size.
        at = at.next_multiple_of(8) + 8;
    }
    let flags = if first & FLAGS == 0 { 0 } else { *header.get(at)? };
    Some(Captured { frame, has_fcs: flags & FCS_AT_END != 0, is_bad: flags & BAD_FCS != 0 })
}

/// The header of frames that are sent: without acknowledgement, and at this rate if there is one.
pub(super) fn header(rate: Option<LegacyRate>) -> Vec<u8> {
    let fields = TX_FLAGS | rate.map_or(0, |_| RATE);
    // After the rate, alignment.
    let rate = rate.map(|LegacyRate(steps)| [steps, 0]);
    let len = 10 + rate.map_or(0, |rate| rate.len()) as u16;
    let mut bytes = vec![0, 0];
    bytes.extend(len.to_le_bytes());
    bytes.extend(fields.to_le_bytes());
    bytes.extend(rate.iter().flatten());
    bytes.extend(NO_ACK.to_le_bytes());
    bytes
}

/// A rate of 802.11a, b or g: 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48 or 54 Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegacyRate(u8);

/// In steps of 500 kbit/s.
const RATES: [u8; 12] = [2, 4, 11, 12, 18, 22, 24, 36, 48, 72, 96, 108];
const STEP: u64 = 500_000;

impl FromStr for LegacyRate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rate = text.parse().ok().map(Rate::bits_per_second);
        let steps = RATES.into_iter().find(|steps| Some(u64::from(*steps) * STEP) == rate);
        steps.map(Self).ok_or(
            "expected a rate of 802.11a, b or g: 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48 or 54mbit, such as 24mbit",
        )
    }
}

impl fmt::Display for LegacyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Rate::from_bits_per_second(u64::from(self.0) * STEP).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With one more word of fields, TSFT, and the flags.
    fn long(flags: u8) -> Vec<u8> {
        let mut bytes = vec![0, 0, 26, 0, 0x2f, 0x48, 0, 0x80, 0x20, 8, 0, 0, 0, 0, 0, 0];
        bytes.extend([7; 8]);
        bytes.extend([flags, 2]);
        bytes
    }

    #[test]
    fn flags_are_found_behind_other_fields() {
        for (flags, has_fcs, is_bad) in [(0, false, false), (0x10, true, false), (0x42, false, true)] {
            let bytes = [long(flags), vec![1, 2, 3]].concat();
            assert_eq!(parse(&bytes), Some(Captured { frame: &[1, 2, 3], has_fcs, is_bad }));
            let short = [0, 0, 9, 0, FLAGS as u8, 0, 0, 0, flags, 5];
            assert_eq!(parse(&short), Some(Captured { frame: &[5], has_fcs, is_bad }));
        }
        assert_eq!(parse(&header(None)).map(|captured| captured.frame.len()), Some(0));
    }

    #[test]
    fn headers_that_are_cut_are_refused() {
        let whole = long(0x50);
        for len in 0..whole.len() {
            assert_eq!(parse(&whole[..len]), None, "{len} bytes");
            // The header says that it is as long as what is there.
            let mut cut = whole[..len].to_vec();
            cut.iter_mut().skip(2).take(1).for_each(|byte| *byte = len as u8);
            assert_eq!(parse(&cut).is_some(), len > 24, "{len} bytes");
        }
        assert_eq!(parse(&[1, 0, 8, 0, 0, 0, 0, 0]), None, "another version");
    }

    /// As in Linux, Documentation/networking/mac80211-injection.rst: fields in the order of their bits, little-endian, aligned.
    #[test]
    fn what_is_sent_is_as_mac80211_reads_it() {
        assert_eq!(header(None), [0, 0, 10, 0, 0, 0x80, 0, 0, 8, 0]);
        let rate = "5.5mbit".parse().ok();
        assert_eq!(header(rate), [0, 0, 12, 0, 4, 0x80, 0, 0, 11, 0, 8, 0]);
    }

    #[test]
    fn rates_are_those_of_the_standard() {
        for text in ["1mbit", "5500kbit", "54mbit"] {
            assert_eq!(text.parse::<LegacyRate>().map(|rate| rate.to_string()), Ok(text.to_owned()));
        }
        for text in ["0bit", "7mbit", "54", "108mbit", ""] {
            assert!(text.parse::<LegacyRate>().is_err(), "{text}");
        }
    }
}
