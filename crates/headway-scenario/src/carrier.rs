//! What carries segments in real time.

use std::str::FromStr;

/// What carries the segments of our stack in real time. In virtual time they are IP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RealCarrier {
    /// IP packets in Ethernet frames.
    #[default]
    Ip,
    /// UDP datagrams without checksum, which need no privilege. The kernel drops those with a corrupted IP
    /// header, and those for another port.
    Udp,
}

impl RealCarrier {
    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Udp => "udp",
        }
    }
}

impl FromStr for RealCarrier {
    type Err = String;

    fn from_str(input: &str) -> Result<Self, String> {
        [Self::Ip, Self::Udp]
            .into_iter()
            .find(|carrier| carrier.name() == input)
            .ok_or_else(|| format!("{input:?}: expected ip or udp"))
    }
}
