//! The first bytes of a stream: where it goes, and the answer (`docs/trunk-protocol.md`, section 6).

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use headway_wire::Dscp;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The first byte.
const VERSION: u8 = 1;
const V4: u8 = 4;
const V6: u8 = 6;
const NAME: u8 = 1;
const PACKETS: u8 = 2;
const DATAGRAMS: u8 = 3;
const TRAINS: u8 = 5;
/// A client's address, and after it one of the kinds of destinations.
const CLIENT: u8 = 8;
/// A DSCP other than the default one, and after it what follows without.
const DSCP: u8 = 9;

/// What a connection of the trunk is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// A stream.
    Stream(Ends),
    /// Packets from the gateway that opened it, as records.
    Packets {
        /// Whether they may be delivered in another order.
        unordered: bool,
    },
    /// Packet trains, which show what the link carries.
    Trains,
}

/// Whom a stream connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    /// The host that opened the connection, if it is known.
    pub(crate) client: Option<SocketAddr>,
    /// Where it goes.
    pub(crate) destination: Destination,
    /// With which the host asks for it, and which its packets have.
    pub(crate) dscp: Dscp,
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
    /// Reads `HOST:PORT`, where an IPv6 address stands in brackets. Interfaces (`%`) are this machine's, and no one else's.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            let is_elsewhere = !matches!(address, SocketAddr::V6(v6) if v6.scope_id() != 0);
            return (is_elsewhere && address.port() > 0).then_some(Self::Address(address));
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

    /// Reads what follows a byte that says its kind.
    async fn read(kind: u8, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let ip: IpAddr = match kind {
            V4 => Ipv4Addr::from(stream.read_u32().await?).into(),
            V6 => Ipv6Addr::from(stream.read_u128().await?).into(),
            NAME => {
                let mut name = vec![0; stream.read_u8().await?.into()];
                stream.read_exact(&mut name).await?;
                let port = stream.read_u16().await?;
                let good = std::str::from_utf8(&name).ok().and_then(|name| Self::of_name(name, port));
                let expected = "a host name of letters, digits, hyphens, underscores and dots";
                return good.ok_or_else(|| invalid(&format!("\"{}\"", name.escape_ascii()), expected));
            }
            kind => {
                return Err(invalid(&format!("a request of kind {kind}"), "1 to 6, 8 or 9"));
            }
        };
        Ok(Self::Address(SocketAddr::new(ip, stream.read_u16().await?)))
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
            Self::Stream(Ends { client, destination, dscp }) => {
                if *dscp != Dscp::DEFAULT {
                    bytes.extend([DSCP, dscp.value()]);
                }
                if let Some(client) = client {
                    bytes.push(CLIENT);
                    Destination::Address(*client).append(&mut bytes);
                }
                destination.append(&mut bytes);
            }
            Self::Packets { unordered: false } => bytes.push(PACKETS),
            Self::Packets { unordered: true } => bytes.push(DATAGRAMS),
            Self::Trains => bytes.push(TRAINS),
        }
        stream.write_all(&bytes).await
    }

    /// Reads a request; `None` if the stream ends before its first byte.
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let version = match stream.read_u8().await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            version => version?,
        };
        if version != VERSION {
            let expected = format!("version {VERSION}: that of the same headway at both ends");
            return Err(invalid(&format!("a request of version {version}"), &expected));
        }
        let mut kind = stream.read_u8().await?;
        let mut dscp = None;
        if kind == DSCP {
            let value = stream.read_u8().await?;
            dscp = Dscp::new(value);
            if dscp.is_none() {
                return Err(invalid(&format!("a DSCP of {value}"), "0 to 63"));
            }
            kind = stream.read_u8().await?;
        }
        let mut client = None;
        if kind == CLIENT {
            let family = stream.read_u8().await?;
            match Destination::read(family, stream).await? {
                Destination::Address(address) => client = Some(address),
                Destination::Name(name, _) => {
                    return Err(invalid(
                        &format!("a client named \"{name}\""),
                        "its IPv4 or IPv6 address (4, 6)",
                    ));
                }
            }
            kind = stream.read_u8().await?;
        }
        match kind {
            PACKETS if client.is_none() && dscp.is_none() => Ok(Some(Self::Packets { unordered: false })),
            DATAGRAMS if client.is_none() && dscp.is_none() => Ok(Some(Self::Packets { unordered: true })),
            TRAINS if client.is_none() && dscp.is_none() => Ok(Some(Self::Trains)),
            kind => {
                let destination = Destination::read(kind, stream).await?;
                let dscp = dscp.unwrap_or_default();
                Ok(Some(Self::Stream(Ends { client, destination, dscp })))
            }
        }
    }
}

/// What arrived, and what was expected.
fn invalid(got: &str, expected: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("got {got}: expected {expected}"))
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
    async fn a_stream_that_ends_asks_for_nothing_and_one_that_fails_says_so() {
        let linked = crate::stream::linked::Linked::new();
        let (mut near, mut far) = linked.connect().await;
        near.shutdown().await.expect("open");
        assert_eq!(Request::read(&mut far).await.expect("an end"), None);
        let (near, mut far) = linked.connect().await;
        near.reset();
        let error = Request::read(&mut far).await.expect_err("a reset");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[tokio::test]
    async fn requests_are_read_as_they_were_written() {
        let texts = ["10.0.0.5:22", "[2001:db8::1]:443", "www.example.org:80", "a_b-c.local:65535"];
        let clients = [None, Some("10.0.0.1:40000"), Some("[2001:db8::2]:1")];
        let streams = texts.into_iter().flat_map(|text| {
            clients.map(|client| {
                let client = client.map(|client| client.parse().expect("an address"));
                let destination = Destination::parse(text).expect(text);
                // Some have one, and all ways through the request are taken.
                let dscp = if text.ends_with('3') { Dscp::EF } else { Dscp::DEFAULT };
                Request::Stream(Ends { client, destination, dscp })
            })
        });
        let packets = [true, false].map(|unordered| Request::Packets { unordered });
        for request in streams.chain(packets).chain([Request::Trains]) {
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
        for text in [
            "",
            ":22",
            "host",
            "host:",
            "host:0",
            "10.0.0.5:0",
            "host:65536",
            "ho st:1",
            "a\n:1",
            "::1:22x",
            "[fe80::1%2]:22",
        ] {
            assert_eq!(Destination::parse(text), None, "{text}");
        }
        // A client with a name, a client of packets, two clients.
        let client = [8, 4, 10, 0, 0, 1, 0, 9];
        let of_client = |kind: u8| [&[1][..], &client, &[kind], &[1; 20]].concat();
        for bytes in [
            &[1, 8, 1, 1, b'a', 0, 9, 4, 10, 0, 0, 1, 0, 9][..],
            &of_client(2),
            &of_client(3),
            &of_client(5),
            &of_client(8),
            &[1, 9, 46, 2],
        ] {
            assert!(Request::read(&mut &bytes[..]).await.is_err(), "{bytes:?}");
        }
        for bytes in [&[2, 4, 0, 0, 0, 0, 0, 1][..], &[1, 9, 0], &[1, 1, 0, 0, 1], &[1, 1, 1, b'\n', 0, 1]] {
            assert!(Request::read(&mut &bytes[..]).await.is_err(), "{bytes:?}");
        }
        for (bytes, text) in [
            (
                &[2, 4][..],
                "got a request of version 2: expected version 1: that of the same headway at both ends",
            ),
            (&[1, 10], "got a request of kind 10: expected 1 to 6, 8 or 9"),
            (&[1, 8, 9], "got a request of kind 9: expected 1 to 6, 8 or 9"),
            (&[1, 9, 64], "got a DSCP of 64: expected 0 to 63"),
            (&[1, 1, 2, b'\n', 255, 0, 1], "got \"\\n\\xff\": expected a host name of letters, digits, "),
            (&[1, 8, 1, 1, b'a', 0, 9], "got a client named \"a\": expected its IPv4 or IPv6 address (4, 6)"),
        ] {
            let error = Request::read(&mut &bytes[..]).await.expect_err(text).to_string();
            assert!(error.starts_with(text), "{error}");
        }
        assert_eq!(Outcome::read(&mut &[200][..]).await.expect("a byte"), Outcome::Failed);
    }
}
