//! How many initiations arrive, in all and from each address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use headway_units::Instant;

/// Initiations that are answered in a second without asking for a cookie. An answer takes some 0.2 ms.
const WITHOUT_COOKIE: u32 = 50;
/// Initiations with a cookie that are answered in a second beyond that, from one address. A gateway sends one a second.
const FROM_ONE: u32 = 8;
/// Addresses in a second with such initiations; others wait.
const ADDRESSES: usize = 128;

/// The initiations of the present second.
#[derive(Debug, Default)]
pub(crate) struct HandshakeLoad {
    second: u64,
    count: u32,
    /// Those with a cookie, by address.
    sources: BTreeMap<IpAddr, u32>,
}

impl HandshakeLoad {
    /// One has arrived. Says whether it needs a cookie, because there are too many.
    pub(crate) fn needs_cookie(&mut self, now: Instant) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if self.second != second {
            *self = Self { second, ..Self::default() };
        }
        self.count = self.count.saturating_add(1);
        self.count > WITHOUT_COOKIE
    }

    /// Whether one with a cookie, from an address at which its sender receives, is answered.
    pub(crate) fn admits(&mut self, from: IpAddr) -> bool {
        let source = source(from);
        if !self.sources.contains_key(&source) && self.sources.len() >= ADDRESSES {
            return false;
        }
        let count = self.sources.entry(source).or_default();
        *count = count.saturating_add(1);
        *count <= FROM_ONE
    }
}

/// Who is counted as one: an IPv4 address, or a network of /64, whose addresses one host can have.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_bounded_each_and_together() {
        let mut load = HandshakeLoad::default();
        let now = |second: u64| Instant::from_nanos(second * 1_000_000_000);
        assert_eq!((0..100).filter(|_| load.needs_cookie(now(1))).count(), 50);
        let admitted = |load: &mut HandshakeLoad, n: u128, host: u128| {
            load.admits(Ipv6Addr::from_bits(0x2001_0db8 << 96 | n << 64 | host).into())
        };
        assert_eq!((0..100).filter(|host| admitted(&mut load, 0, *host)).count(), 8);
        assert_eq!((0..1000).filter(|n| admitted(&mut load, *n, 1)).count(), 127);
        assert!(!load.needs_cookie(now(2)) && admitted(&mut load, 999, 1));
        // A second is one of the clock, and an IPv4 address is one in either form.
        let nanos = |nanos| Instant::from_nanos(nanos);
        let mut load = HandshakeLoad::default();
        assert_eq!((0..60).filter(|_| load.needs_cookie(nanos(5_999_999_999))).count(), 10);
        assert_eq!((0..60).filter(|_| load.needs_cookie(nanos(6_000_000_000))).count(), 10);
        assert_eq!((0..60).filter(|_| load.needs_cookie(nanos(6_999_999_999))).count(), 60);
        let forms: [IpAddr; 2] =
            ["10.0.0.1", "::ffff:10.0.0.1"].map(|text| text.parse().expect("an address"));
        assert_eq!((0..20).filter(|at| load.admits(forms[at % 2])).count(), 8);
        assert!(load.admits("10.0.0.2".parse().expect("an address")));
    }

    #[test]
    fn a_second_begins_with_the_second() {
        let mut load = HandshakeLoad::default();
        let mut at = |nanos| load.needs_cookie(Instant::from_nanos(nanos));
        // The same second throughout, then the next.
        assert_eq!((0..60).filter(|i| at(3_000_000_000 + i * 16_666_666)).count(), 10);
        assert!(at(3_999_999_999) && !at(4_000_000_000));
        assert_eq!((0..50).filter(|i| at(4_000_000_001 + i)).count(), 1);
        let mapped = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(source(mapped("::ffff:192.0.2.1")), mapped("192.0.2.1"));
        assert_eq!(source(mapped("192.0.2.1")), mapped("192.0.2.1"));
        assert_eq!(source(mapped("2001:db8:1:2:3:4:5:6")), mapped("2001:db8:1:2::"));
    }
}
