//! Where a peer is: an address or a name, and a port.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use serde::Deserialize;

use super::socket_address;
use crate::request::Destination;

/// Where a peer is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Endpoint {
    /// An address and a UDP port.
    Address(SocketAddr),
    /// A name, which is looked up while the gateway runs, and a UDP port.
    Name(String, u16),
}

/// What is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EndpointError(String);

impl EndpointError {
    /// What an endpoint looks like.
    pub const EXPECTED: &str =
        "an address or a name, and a port, such as 198.51.100.1:4433 or gw.example.net:4433";
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let wrong = || EndpointError(format!("expected {}", EndpointError::EXPECTED));
        match socket_address::parse(text) {
            Ok(address) if address.port() == 0 => Err(wrong()),
            Ok(address) => Ok(Self::Address(address)),
            // Its interface is named, and does not exist.
            Err(error) if text.contains('%') => Err(EndpointError(error)),
            Err(_) => match Destination::parse(text) {
                Some(Destination::Name(name, port)) if !ends_in_a_number(&name) => Ok(Self::Name(name, port)),
                _ => Err(wrong()),
            },
        }
    }
}

/// Whether it is an address with a mistake: no name of the Internet ends so.
fn ends_in_a_number(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|label| label.bytes().all(|byte| byte.is_ascii_digit()))
}

impl TryFrom<String> for Endpoint {
    type Error = EndpointError;

    fn try_from(text: String) -> Result<Self, EndpointError> {
        text.parse()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_an_address_or_a_name() {
        for text in ["198.51.100.1:4433", "[2001:db8::1]:7", "gw.example.net:4433", "gateway:1"] {
            let endpoint: Endpoint = text.parse().expect(text);
            assert_eq!(endpoint.to_string(), text);
            assert_eq!(matches!(endpoint, Endpoint::Name(..)), text.starts_with('g'), "{text}");
        }
        for text in [
            "",
            "gw.example.net",
            "gw.example.net:0",
            "gw:70000",
            "198.51.100.1:0",
            "10.0.0.300:7",
            "10.0.0:7",
        ] {
            let error = text.parse::<Endpoint>().expect_err(text).to_string();
            assert_eq!(error, format!("expected {}", EndpointError::EXPECTED), "{text}");
        }
        let error = "[fe80::1%none]:1".parse::<Endpoint>().expect_err("no interface").to_string();
        assert!(error.contains("no such interface: expected an interface of this machine"), "{error}");
    }
}
