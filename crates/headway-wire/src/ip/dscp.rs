//! The Differentiated Services Codepoint (RFC 2474, 3): how routers are asked to treat a packet.
//!
//! A connection or listener has it from its profile (`headway_tcp::Profile::ip_header`), datagrams from the socket of their
//! carrier (`headway_net`, `carrier::udp::socket`), connections of the kernel from `headway_net::kernel_dscp`. The gateway
//! carries that of a host in the request of its stream (`headway_trunk::request`).

use core::{fmt, str::FromStr};

use super::Ecn;

/// The six upper bits of IPv4's type of service and of IPv6's traffic class. The two lower ones are [`Ecn`]'s.
///
/// By name or by number:
///
/// ```
/// use headway_wire::Dscp;
///
/// assert_eq!("ef".parse(), Ok(Dscp::EF));
/// assert_eq!("46".parse(), Ok(Dscp::EF));
/// assert_eq!(Dscp::EF.to_string(), "EF");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dscp(u8);

/// Names and numbers: class selectors (RFC 2474, 4.2.2), the default (RFC 2474, 4.1), assured forwarding (RFC 2597, 6),
/// expedited forwarding (RFC 3246), lower effort (RFC 8622), capacity-admitted traffic (RFC 5865). Of two names for one
/// number the first is shown.
const NAMES: [(&str, u8); 24] = [
    ("CS0", 0),
    ("DF", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VOICE-ADMIT", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

impl Dscp {
    /// Best effort (RFC 2474, 4.1).
    pub const DEFAULT: Self = Self(0);
    /// Expedited forwarding (RFC 3246).
    pub const EF: Self = Self(46);

    /// `None` if `value` is beyond 63.
    pub const fn new(value: u8) -> Option<Self> {
        if value < 64 { Some(Self(value)) } else { None }
    }

    /// That of IPv4's type of service or of IPv6's traffic class.
    #[inline]
    pub const fn from_traffic_class(octet: u8) -> Self {
        Self(octet >> 2)
    }

    /// That of a packet of IPv4 or IPv6, of which no more than the first two bytes are read. `None` if it is neither.
    pub const fn of_packet(packet: &[u8]) -> Option<Self> {
        match packet {
            [first, second, ..] if *first >> 4 == 4 => Some(Self::from_traffic_class(*second)),
            [first, second, ..] if *first >> 4 == 6 => {
                Some(Self::from_traffic_class(*first << 4 | *second >> 4))
            }
            _ => None,
        }
    }

    /// IPv4's type of service, IPv6's traffic class.
    #[inline]
    pub const fn traffic_class(self, ecn: Ecn) -> u8 {
        self.0 << 2 | ecn.bits()
    }

    /// 0 to 63.
    #[inline]
    pub const fn value(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Dscp {
    /// The name, if there is one, or the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, value)| *value == self.0) {
            Some((name, _)) => f.pad(name),
            None => self.0.fmt(f),
        }
    }
}

/// A text that is neither the name nor the number of a codepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {}", Self::EXPECTED)]
#[non_exhaustive]
pub struct UnknownDscp;

impl UnknownDscp {
    /// What was expected.
    pub const EXPECTED: &str =
        "a name (EF, LE, VOICE-ADMIT, CS0 to CS7, AF11 to AF43) or a number from 0 to 63";
}

impl FromStr for Dscp {
    type Err = UnknownDscp;

    fn from_str(text: &str) -> Result<Self, UnknownDscp> {
        if let Some((_, value)) = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            return Ok(Self(*value));
        }
        // Not "+46", which `u8` would take.
        let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        number.and_then(Self::new).ok_or(UnknownDscp)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    fn parsed(text: &str) -> Option<u8> {
        text.parse().ok().map(Dscp::value)
    }

    #[test]
    fn names_are_those_of_the_rfcs() {
        // RFC 2597, 6: class 1 to 4 times 8, drop precedence 1 to 3 times 2.
        for class in 1..=4 {
            for precedence in 1..=3 {
                let name = std::format!("AF{class}{precedence}");
                assert_eq!(parsed(&name), Some(class * 8 + precedence * 2), "{name}");
            }
        }
        for class in 0..=7 {
            assert_eq!(parsed(&std::format!("cs{class}")), Some(class * 8));
        }
        assert_eq!([parsed("EF"), parsed("LE"), parsed("DF")], [Some(46), Some(1), Some(0)]);
        assert_eq!(parsed("voice-admit"), Some(44));
    }

    #[test]
    fn what_is_shown_is_read_again() {
        for value in 0..64 {
            assert_eq!(parsed(&std::format!("{}", Dscp(value))), Some(value));
            assert_eq!(parsed(&std::format!("{value}")), Some(value));
        }
    }

    #[test]
    fn no_other_texts_are_codepoints() {
        for text in ["", "64", "256", "-1", "+1", "AF44", "AF14", "CS8", "E F", "0x2e", "1.0"] {
            assert_eq!(parsed(text), None, "{text:?}");
        }
        assert_eq!(Dscp::new(64), None);
    }
}
