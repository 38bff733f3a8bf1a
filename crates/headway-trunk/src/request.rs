//! The first bytes of a stream: where it goes, and the answer (`docs/trunk-protocol.md`, section 6).

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The first byte.
const VERSION: u8 = 1;
const V4: u8 = 4;
const V6: u8 = 6;
const NAME: u8 = 1;
const PACKETS: u8 = 2;
const DATAGRAMS: u8 = 3;

/// What a connection of the trunk is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// A stream.
    Stream(Destination),
    /// Packets from the gateway that opened it, as records.
    Packets {
        /// Whether they may be delivered in another order.
        unordered: bool,
    },
}

/// Where a stream goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// An address and a port.
    Address(SocketAddr),
    /// A name, which the far gateway looks up, and a port.
    Name(String, u16),
}

impl Destination {
    /// Reads `HOST:PORT`, where an IPv6 address stands in brackets.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse() {
            return Some(Self::Address(address));
        }
        let (name, port) = text.rsplit_once(':')?;
        let port = port.parse().ok().filter(|&port: &u16| port > 0)?;
        Self::of_name(name, port)
    }

    /// A name that is not too long, and has no character that no name has.
    pub(crate) fn of_name(name: &str, port: u16) -> Option<Self> {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name = !name.is_empty() && name.len() <= 255 && name.bytes().all(is_good);
        is_name.then(|| Self::Name(name.to_owned(), port))
    }

    fn append(&self, bytes: &mut Vec<u8>) {
        let port = match self {
            Self::Address(address) => {
                match address.ip().to_canonical() {
                    IpAddr::V4(ip) => {
                        bytes.push(V4);
                        bytes.extend(ip.octets());
                    }
                    IpAddr::V6(ip) => {
                        bytes.push(V6);
                        bytes.extend(ip.octets());
                    }
                }
                address.port()
            }
            Self::Name(name, port) => {
                bytes.extend([NAME, name.len() as u8]);
                bytes.extend(name.as_bytes());
                *port
            }
        };
        bytes.extend(port.to_be_bytes());
    }
}

impl Request {
    /// Writes it.
    pub(crate) async fn write(&self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut bytes = vec![VERSION];
        match self {
            Self::Stream(destination) => destination.append(&mut bytes),
            Self::Packets { unordered: false } => bytes.push(PACKETS),
            Self::Packets { unordered: true } => bytes.push(DATAGRAMS),
        }
        stream.write_all(&bytes).await
    }

    /// Reads a request; `None` if the stream ends before its first byte.
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let version = match stream.read_u8().await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            version => version?,
        };
        if version != VERSION {
            return Err(invalid("a request of another version"));
        }
        let ip: IpAddr = match stream.read_u8().await? {
            V4 => Ipv4Addr::from(stream.read_u32().await?).into(),
            V6 => Ipv6Addr::from(stream.read_u128().await?).into(),
            NAME => {
                let mut name = vec![0; stream.read_u8().await?.into()];
                stream.read_exact(&mut name).await?;
                let port = stream.read_u16().await?;
                let name = String::from_utf8(name).ok().and_then(|name| Destination::of_name(&name, port));
                return Ok(Some(Self::Stream(name.ok_or_else(|| invalid("no host name"))?)));
            }
            PACKETS => return Ok(Some(Self::Packets { unordered: false })),
            DATAGRAMS => return Ok(Some(Self::Packets { unordered: true })),
            _ => return Err(invalid("a request of unknown kind")),
        };
        let address = SocketAddr::new(ip, stream.read_u16().await?);
        Ok(Some(Self::Stream(Destination::Address(address))))
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The destination is connected.
    Connected = 0,
    /// It refused.
    Refused = 1,
    /// It cannot be reached.
    HostUnreachable = 2,
    /// Its network cannot be reached.
    NetworkUnreachable = 3,
    /// It did not answer.
    TimedOut = 4,
    /// This peer may not go there.
    NotAllowed = 5,
    /// The name is unknown.
    UnknownName = 6,
    /// The gateway failed: no descriptors are left, say.
    Failed = 7,
}

impl Outcome {
    const ALL: [Self; 8] = [
        Self::Connected,
        Self::Refused,
        Self::HostUnreachable,
        Self::NetworkUnreachable,
        Self::TimedOut,
        Self::NotAllowed,
        Self::UnknownName,
        Self::Failed,
    ];

    /// What an error of connecting means.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::HostUnreachable => Self::HostUnreachable,
            io::ErrorKind::NetworkUnreachable => Self::NetworkUnreachable,
            io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Failed,
        }
    }

    /// Reads the answer.
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let byte = stream.read_u8().await?;
        Ok(Self::ALL.get(usize::from(byte)).copied().unwrap_or(Self::Failed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_are_read_as_they_were_written() {
        let texts = ["10.0.0.5:22", "[2001:db8::1]:443", "www.example.org:80", "a_b-c.local:65535"];
        let streams = texts.map(|text| Request::Stream(Destination::parse(text).expect(text)));
        let packets = [true, false].map(|unordered| Request::Packets { unordered });
        for request in streams.into_iter().chain(packets) {
            let mut bytes = Vec::new();
            request.write(&mut bytes).await.expect("a vector takes all");
            for len in 1..bytes.len() {
                assert!(Request::read(&mut &bytes[..len]).await.is_err(), "{request:?}, {len} bytes of it");
            }
            assert_eq!(Request::read(&mut &bytes[..]).await.expect("a request"), Some(request));
        }
        assert_eq!(Request::read(&mut &[][..]).await.expect("an end"), None);
    }

    #[tokio::test]
    async fn others_are_refused() {
        for text in ["", ":22", "host", "host:", "host:0", "host:65536", "ho st:1", "a\n:1", "::1:22x"] {
            assert_eq!(Destination::parse(text), None, "{text}");
        }
        for bytes in [&[2, 4, 0, 0, 0, 0, 0, 1][..], &[1, 9, 0], &[1, 1, 0, 0, 1], &[1, 1, 1, b'\n', 0, 1]] {
            assert!(Request::read(&mut &bytes[..]).await.is_err(), "{bytes:?}");
        }
        assert_eq!(Outcome::read(&mut &[200][..]).await.expect("a byte"), Outcome::Failed);
    }
}
