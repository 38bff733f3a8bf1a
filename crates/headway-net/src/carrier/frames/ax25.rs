//! The header of AX.25's UI frames (AX.25 Link Access Protocol, version 2.2, 3.12 and 4.3.3.6).

use std::fmt;
use std::str::FromStr;

/// A station: a callsign of up to six characters and a number (SSID), such as `N0CALL-7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callsign {
    characters: [u8; 6],
    ssid: u8,
}

impl FromStr for Callsign {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str =
            "expected up to six capital letters and digits, and a number from 0 to 15, such as N0CALL-7";
        let (name, ssid) = text.split_once('-').unwrap_or((text, "0"));
        let is_sound = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        if name.is_empty() || name.len() > 6 || !name.bytes().all(is_sound) {
            return Err(EXPECTED);
        }
        let ssid = ssid.parse().ok().filter(|ssid| *ssid < 16 && !text.contains('+')).ok_or(EXPECTED)?;
        let mut characters = [b' '; 6];
        characters[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Self { characters, ssid })
    }
}

impl fmt::Display for Callsign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(String::from_utf8_lossy(&self.characters).trim_end())?;
        if self.ssid > 0 { write!(f, "-{}", self.ssid) } else { Ok(()) }
    }
}

impl Callsign {
    /// As an address: its characters shifted by one bit, then the SSID between `upper` and the bit that says whether it is the last.
    fn address(self, upper: u8, is_last: bool) -> [u8; 7] {
        let [a, b, c, d, e, f] = self.characters.map(|byte| byte << 1);
        [a, b, c, d, e, f, upper | self.ssid << 1 | u8::from(is_last)]
    }
}

/// What is before the information of a UI frame: destination, source, control field and protocol.
#[derive(Clone, Copy)]
pub(super) struct Header([u8; Header::LEN]);

/// The two reserved bits of an address; and before them the bit that is set in the destination of a command.
const RESERVED: u8 = 0x60;
const COMMAND: u8 = 0x80;
/// UI, without the poll bit.
const UI: u8 = 0x03;
/// "No layer 3 protocol implemented".
const NO_LAYER_3: u8 = 0xf0;
/// A header with at most as many wrong bits is taken for what it should be. The addresses of stations with different
/// callsigns differ in more, as a rule.
const MOST_WRONG_BITS: u32 = 10;

impl Header {
    pub(super) const LEN: usize = 7 + 7 + 2;

    /// Of frames between two stations.
    pub(super) fn new(from: Callsign, to: Callsign) -> Self {
        let mut bytes = [0; Self::LEN];
        bytes[..7].copy_from_slice(&to.address(COMMAND | RESERVED, false));
        bytes[7..14].copy_from_slice(&from.address(RESERVED, true));
        bytes[14..].copy_from_slice(&[UI, NO_LAYER_3]);
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether `header` is this one, or may be it with some bits flipped.
    pub(super) fn resembles(&self, header: &[u8]) -> bool {
        let wrong = self.0.iter().zip(header).map(|(ours, theirs)| (ours ^ theirs).count_ones());
        header.len() == Self::LEN && wrong.sum::<u32>() <= MOST_WRONG_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callsign(text: &str) -> Callsign {
        text.parse().expect(text)
    }

    #[test]
    fn callsigns_are_written_as_they_are_read() {
        for text in ["N0CALL", "N0CALL-7", "W1AW-15", "A"] {
            assert_eq!(callsign(text).to_string(), text);
        }
        assert_eq!(callsign("A-0"), callsign("A"));
        for text in ["", "-1", "N0CALLS", "n0call", "N0CALL-16", "N0CALL-", "N0CALL-x", "N0CALL-+1", "N0 CAL"]
        {
            assert!(text.parse::<Callsign>().is_err(), "{text}");
        }
    }

    /// As in the example of the specification (3.12.2): a command from N7LEM to NJ7P.
    #[test]
    fn a_header_is_that_of_the_specification() {
        let header = Header::new(callsign("N7LEM"), callsign("NJ7P"));
        let addresses = [0x9c, 0x94, 0x6e, 0xa0, 0x40, 0x40, 0xe0, 0x9c, 0x6e, 0x98, 0x8a, 0x9a, 0x40, 0x61];
        assert_eq!(header.bytes(), [&addresses[..], &[0x03, 0xf0]].concat());
    }

    #[test]
    fn damaged_headers_are_taken_and_those_of_others_are_not() {
        let ours = Header::new(callsign("N0CALL-1"), callsign("N0CALL-2"));
        let mut damaged = *ours.bytes().first_chunk::<{ Header::LEN }>().expect("a header");
        damaged[3] ^= 0xff;
        assert!(ours.resembles(&damaged) && !ours.resembles(&damaged[1..]));
        for (from, to) in [("W1AW", "N0CALL-2"), ("N0CALL-1", "APRS"), ("W1AW", "K1TTT")] {
            assert!(!ours.resembles(Header::new(callsign(from), callsign(to)).bytes()), "{from} to {to}");
        }
    }
}
