//! Where streams of a peer may go.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;

/// Where streams of a peer may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Destinations {
    any: bool,
    prefixes: Vec<IpNet>,
}

impl Destinations {
    /// Reads prefixes, or `any`. The error is what cannot be read.
    pub(crate) fn parse(texts: &[String]) -> Result<Self, String> {
        let mut destinations = Self::default();
        for text in texts {
            match text.as_str() {
                "any" => destinations.any = true,
                prefix => destinations.prefixes.push(prefix.parse().map_err(|_| prefix.to_owned())?),
            }
        }
        Ok(destinations)
    }

    /// Whether `address` is among them. `any` does not mean addresses of this machine, or of no machine: who means
    /// those names them.
    pub(crate) fn allow(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.prefixes.iter().any(|prefix| prefix.contains(&address)) || self.any && !is_special(address)
    }
}

fn is_special(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80 || address == Ipv6Addr::UNSPECIFIED,
    };
    is_link_local || address.is_loopback() || address.is_unspecified() || address.is_multicast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_is_not_this_machine_and_prefixes_are_what_they_say() {
        let of = |texts: &[&str]| {
            Destinations::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
                .expect("prefixes")
        };
        let ip = |text: &str| -> IpAddr { text.parse().expect("an address") };
        let (any, some, none) = (of(&["any"]), of(&["10.0.0.0/8", "127.0.0.1/32", "2001:db8::/32"]), of(&[]));
        for (address, by_any, by_some) in [
            ("10.1.2.3", true, true),
            ("::ffff:10.1.2.3", true, true),
            ("192.0.2.1", true, false),
            ("127.0.0.1", false, true),
            ("::ffff:127.0.0.1", false, true),
            ("127.0.0.2", false, false),
            ("::1", false, false),
            ("0.0.0.0", false, false),
            ("::", false, false),
            ("169.254.0.1", false, false),
            ("fe80::1", false, false),
            ("224.0.0.1", false, false),
            ("2001:db8::1", true, true),
        ] {
            assert_eq!((any.allow(ip(address)), some.allow(ip(address))), (by_any, by_some), "{address}");
            assert!(!none.allow(ip(address)));
        }
        assert_eq!(Destinations::parse(&["10.0.0.0/33".into()]).map(drop), Err("10.0.0.0/33".into()));
    }
}
