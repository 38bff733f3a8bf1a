//! Which headers damage may fall into.

use crate::ParseLinkError;
use std::{fmt, str::FromStr};

/// Where damage that falls into the header may fall. Written as `tcp` or `ip+tcp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HitZone {
    /// From the end of the IP header on; the IP header is never damaged.
    #[default]
    TcpHeader,
    /// From the first byte on. Hosts drop a packet with a damaged IPv4 header before TCP sees it.
    IpAndTcpHeader,
}

impl FromStr for HitZone {
    type Err = ParseLinkError;

    fn from_str(input: &str) -> Result<Self, ParseLinkError> {
        match input.trim() {
            "tcp" => Ok(Self::TcpHeader),
            "ip+tcp" => Ok(Self::IpAndTcpHeader),
            _ => Err(ParseLinkError::new(input, "a hit zone: tcp or ip+tcp")),
        }
    }
}

impl fmt::Display for HitZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TcpHeader => "tcp",
            Self::IpAndTcpHeader => "ip+tcp",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for zone in [HitZone::TcpHeader, HitZone::IpAndTcpHeader] {
            assert_eq!(zone.to_string().parse(), Ok(zone));
        }
        assert_eq!(
            "ip".parse::<HitZone>().unwrap_err().to_string(),
            "\"ip\": expected a hit zone: tcp or ip+tcp"
        );
    }
}
