//! An address with its prefix length.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address with its prefix length, as in `10.77.2.2/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

/// Text that is not a [`Prefix`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{input:?}: expected an address and its prefix length, such as 10.77.2.2/24")]
#[non_exhaustive]
pub struct PrefixError {
    input: String,
}

impl Prefix {
    /// The address.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// The prefix length, in bits.
    pub const fn len(&self) -> u8 {
        self.len
    }

    /// Whether the network is the whole address space.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `other` is in the same network.
    pub fn contains(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => shared(u128::from(a.to_bits() ^ b.to_bits()) << 96, self.len),
            (IpAddr::V6(a), IpAddr::V6(b)) => shared(a.to_bits() ^ b.to_bits(), self.len),
            _ => false,
        }
    }

    /// Whether the address is a host's, and not that of the network or its broadcast address. RFC 3021 and RFC 6164:
    /// in a network of two addresses, both are hosts'.
    pub fn is_host(&self) -> bool {
        let longest = if self.address.is_ipv4() { 32 } else { 128 };
        if longest - self.len <= 1 {
            return true;
        }
        let is_broadcast =
            self.address.is_ipv4() && self.address == self.host(u128::MAX >> (128 - (32 - self.len)));
        self.address != self.host(0) && !is_broadcast
    }

    /// The first host address of the network other than this one: the address of the other end of a TUN.
    /// `None` if the network has only one host.
    pub fn first_other(&self) -> Option<IpAddr> {
        let host_bits = if self.address.is_ipv4() { 32 } else { 128 } - u32::from(self.len);
        if host_bits == 0 {
            return None;
        }
        // RFC 3021: a network of two addresses has two hosts.
        let first = u128::from(host_bits > 1);
        (first..=first + 1).map(|host| self.host(host)).find(|&other| other != self.address)
    }

    fn host(&self, host: u128) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shr(u32::from(self.len)).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & !mask | host as u32).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shr(u32::from(self.len)).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & !mask | host).into()
            }
        }
    }
}

fn shared(difference: u128, len: u8) -> bool {
    difference.leading_zeros() >= u32::from(len)
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(input: &str) -> Result<Self, PrefixError> {
        let bad = || PrefixError { input: input.into() };
        let (address, len) = input.split_once('/').ok_or_else(bad)?;
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let len = len.parse().ok().filter(|&len: &u8| len <= longest).ok_or_else(bad)?;
        Ok(Self { address, len })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_networks_are_no_hosts() {
        for (text, expected) in [
            ("10.77.2.0/24", false),
            ("10.77.2.255/24", false),
            ("10.77.2.254/24", true),
            ("10.77.2.0/31", true),
            ("10.77.2.1/32", true),
            ("0.0.0.0/0", false),
            ("fd77::/64", false),
            ("fd77::ffff:ffff:ffff:ffff/64", true),
            ("fd77::/127", true),
        ] {
            assert_eq!(text.parse::<Prefix>().unwrap().is_host(), expected, "{text}");
        }
    }

    #[test]
    fn networks_contain_their_hosts() {
        let prefix: Prefix = "10.77.2.2/24".parse().unwrap();
        assert_eq!(prefix.to_string(), "10.77.2.2/24");
        assert!(prefix.contains("10.77.2.255".parse().unwrap()));
        assert!(!prefix.contains("10.77.3.2".parse().unwrap()));
        assert!(!prefix.contains("::1".parse().unwrap()));
        let prefix: Prefix = "fd00::2/64".parse().unwrap();
        assert!(prefix.contains("fd00::ffff".parse().unwrap()));
        assert!(!prefix.contains("fd00:0:0:1::2".parse().unwrap()));
        let everywhere: Prefix = "192.0.2.1/0".parse().unwrap();
        assert!(everywhere.contains("255.255.255.255".parse().unwrap()));
    }

    #[test]
    fn the_other_end_gets_the_first_address() {
        for (prefix, other) in [
            ("10.77.2.2/24", Some("10.77.2.1")),
            ("10.77.2.1/24", Some("10.77.2.2")),
            ("10.77.2.0/31", Some("10.77.2.1")),
            ("10.77.2.1/31", Some("10.77.2.0")),
            ("10.77.2.1/32", None),
            ("fd00::1/64", Some("fd00::2")),
        ] {
            let other = other.map(|other| other.parse().unwrap());
            assert_eq!(prefix.parse::<Prefix>().unwrap().first_other(), other, "{prefix}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for input in ["10.0.0.1", "10.0.0.1/33", "10.0.0/8", "fd00::/129", "/8", "10.0.0.1/-1", ""] {
            assert!(input.parse::<Prefix>().is_err(), "{input:?}");
        }
    }
}
