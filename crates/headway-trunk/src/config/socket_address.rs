//! Socket addresses in a configuration. A link-local one of IPv6 has its interface after a percent sign (RFC 4007, 11.2).

use std::net::SocketAddr;

use headway_net::Interface;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

/// Reads a key whose value is an address and a port.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// As [`deserialize`], for a key that may be left out.
pub(crate) fn deserialize_option<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    deserialize(deserializer).map(Some)
}

/// Whether nothing can listen at `address` without the interface that it is at, and none is named.
pub(crate) fn lacks_interface(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() == 0)
}

/// The standard library reads the numbers of interfaces, and not their names.
pub(super) fn parse(text: &str) -> Result<SocketAddr, String> {
    let named = text
        .split_once('%')
        .and_then(|(address, rest)| Some((address, rest.split_once("]:")?)))
        .filter(|(_, (interface, _))| !interface.bytes().all(|byte| byte.is_ascii_digit()));
    let numbered = match named {
        Some((address, (interface, port))) => {
            let found = Interface::named(interface)
                .map_err(|error| format!("{text:?}: {error}: expected an interface of this machine"))?;
            &format!("{address}%{}]:{port}", found.index)
        }
        None => text,
    };
    numbered.parse().map_err(|error: std::net::AddrParseError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_a_name_or_a_number() {
        let loopback = Interface::named("lo").expect("the loopback").index;
        for text in ["[fe80::1%lo]:4433".to_owned(), format!("[fe80::1%{loopback}]:4433")] {
            let Ok(SocketAddr::V6(address)) = parse(&text) else { panic!("{text}") };
            assert_eq!((address.scope_id(), address.port()), (loopback, 4433));
            assert!(!lacks_interface(address.into()));
        }
        for text in ["192.0.2.1:7", "[2001:db8::1]:7", "[::]:0"] {
            let address = parse(text).expect(text);
            assert_eq!(address.to_string(), text);
            assert!(!lacks_interface(address));
        }
        assert!(lacks_interface(parse("[fe80::1]:7").expect("an address")));
        for (text, expected) in [
            ("[fe80::1%no-such-one]:7", "no such interface: expected an interface of this machine"),
            ("[fe80::1%]:7", "invalid socket address syntax"),
            ("[fe80::1%lo]", "invalid socket address syntax"),
            ("192.0.2.1%lo]:7", "invalid socket address syntax"),
            ("%lo]:7", "invalid socket address syntax"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
