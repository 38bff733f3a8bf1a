//! Recorded cross traffic as people write it, read from captures.

use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use headway_sim::{PacketTrace, PacketTraceBuilder, PacketTraceError};
use headway_trace::reader::{Network, ReadError, Reader};

/// A text names no capture, or no packets of it can be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PacketsError {
    /// The text has another form.
    #[error("{text:?}: expected pcap:FILE, pcap:FILE:to=ADDRESS or pcap:FILE:from=ADDRESS")]
    Form {
        /// The text.
        text: String,
    },
    /// The file cannot be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file, as it was given.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no capture.
    #[error("{}: {source}", path.display())]
    Capture {
        /// The file, as it was given.
        path: PathBuf,
        /// What is wrong with it.
        source: ReadError,
    },
    /// The capture has none of the packets.
    #[error("{}: expected IP packets{selection}, found none among {packets} packets", path.display())]
    NoPackets {
        /// The file, as it was given.
        path: PathBuf,
        /// Which packets are meant, such as ` to 192.0.2.1`; empty: all.
        selection: String,
        /// The packets that it has.
        packets: u64,
    },
    /// They cannot be replayed.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The file, as it was given.
        path: PathBuf,
        /// Why.
        source: PacketTraceError,
    },
}

/// Which packets of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    All,
    To(IpAddr),
    From(IpAddr),
}

impl Selection {
    fn has(self, (source, destination): (IpAddr, IpAddr)) -> bool {
        match self {
            Self::All => true,
            Self::To(address) => destination == address,
            Self::From(address) => source == address,
        }
    }
}

/// The text behind `pcap:`; `None` for other texts.
pub(crate) fn name_of(text: &str) -> Option<&str> {
    text.trim().strip_prefix("pcap:")
}

/// The file that the text behind `pcap:` names.
pub fn capture_of(text: &str) -> Option<&Path> {
    name_of(text).and_then(parse).map(|(path, _)| path)
}

/// `FILE`, `FILE:to=ADDRESS` or `FILE:from=ADDRESS`. A path may have colons.
fn parse(name: &str) -> Option<(&Path, Selection)> {
    let (to, from) = (name.rsplit_once(":to="), name.rsplit_once(":from="));
    let (file, selection) = match (to, from) {
        (Some((file, address)), _) => (file, Selection::To(address.parse().ok()?)),
        (None, Some((file, address))) => (file, Selection::From(address.parse().ok()?)),
        (None, None) => (name, Selection::All),
    };
    (!file.is_empty()).then_some((Path::new(file), selection))
}

/// Reads the packets that `name` names, the text behind `pcap:`, from the capture, or, where they were stored as text,
/// from that.
pub(crate) fn read(
    name: &str,
    is_stored: bool,
    open: impl FnOnce(&Path) -> io::Result<Box<dyn Read>>,
) -> Result<PacketTrace, PacketsError> {
    let (path, selection) = parse(name).ok_or_else(|| PacketsError::Form { text: format!("pcap:{name}") })?;
    let unreadable = |source| PacketsError::Unreadable { path: path.into(), source };
    let trace = |source| PacketsError::Trace { path: path.into(), source };
    let mut file = open(path).map_err(unreadable)?;
    if is_stored {
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unreadable)?;
        return Ok(text.parse::<PacketTrace>().map_err(trace)?.named(name));
    }
    let capture = |error| match error {
        ReadError::Io(source) => unreadable(source),
        source => PacketsError::Capture { path: path.into(), source },
    };
    let mut reader = Reader::new(file).map_err(capture)?;
    let mut builder = PacketTraceBuilder::default();
    let mut packets = 0;
    while let Some(packet) = reader.next_packet().map_err(capture)? {
        packets += 1;
        let Network::Ip(ip) = packet.link.network(packet.bytes) else { continue };
        // What precedes the IP packet was captured whole, or it would not have been found.
        let on_wire = packet.original_len - (packet.bytes.len() - ip.len()) as u32;
        let Some((len, ends)) = header(ip, on_wire) else { continue };
        if selection.has(ends) {
            builder.push(packet.at, len).map_err(trace)?;
        }
    }
    if builder.count() == 0 {
        let selection = match selection {
            Selection::All => String::new(),
            Selection::To(address) => format!(" to {address}"),
            Selection::From(address) => format!(" from {address}"),
        };
        return Err(PacketsError::NoPackets { path: path.into(), selection, packets });
    }
    builder.finish(name).map_err(trace)
}

/// The length of an IP packet, of which only the first bytes may have been captured, and its source and destination;
/// `None` if these bytes are no IP header. `on_wire` is the length with the padding of the link.
fn header(ip: &[u8], on_wire: u32) -> Option<(u32, (IpAddr, IpAddr))> {
    let field = |at: usize| Some(u32::from(u16::from_be_bytes(*ip.get(at..)?.first_chunk()?)));
    let (len, ends) = match ip.first()? >> 4 {
        4 => {
            let address = |at: usize| Some(IpAddr::from(*ip.get(at..)?.first_chunk::<4>()?));
            (field(2)?, (address(12)?, address(16)?))
        }
        6 => {
            let address = |at: usize| Some(IpAddr::from(*ip.get(at..)?.first_chunk::<16>()?));
            let len = field(4)?;
            (if len == 0 { 0 } else { len + 40 }, (address(8)?, address(24)?))
        }
        _ => return None,
    };
    // Zero stands in packets that the network card was to cut into segments.
    Some((if len == 0 { on_wire } else { len }, ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_may_have_colons() {
        let to: IpAddr = "2001:db8::1".parse().unwrap();
        for (name, path, selection) in [
            ("a.pcap", "a.pcap", Selection::All),
            ("c:/a:b.pcap", "c:/a:b.pcap", Selection::All),
            ("c:/a.pcap:to=2001:db8::1", "c:/a.pcap", Selection::To(to)),
            ("a.pcap:from=192.0.2.1", "a.pcap", Selection::From("192.0.2.1".parse().unwrap())),
        ] {
            assert_eq!(parse(name), Some((Path::new(path), selection)));
            assert_eq!(capture_of(&format!("pcap:{name}")), Some(Path::new(path)));
        }
        for name in ["", ":to=192.0.2.1", "a.pcap:to=", "a.pcap:to=host", "a.pcap:from=192.0.2.256"] {
            assert_eq!(parse(name), None, "{name}");
        }
        assert_eq!(capture_of("10mbit"), None);
    }

    #[test]
    fn lengths_are_those_of_the_ip_header() {
        let v4 = [&[0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0][..], &[192, 0, 2, 1, 192, 0, 2, 2]].concat();
        let ends = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        // Padding to the shortest Ethernet frame, and bytes that were not captured, count for nothing.
        assert_eq!(header(&v4, 64), Some((60, ends)));
        let mut merged = v4.clone();
        merged[2..4].fill(0);
        assert_eq!(header(&merged, 70_000), Some((70_000, ends)));
        let mut v6 = vec![0; 40];
        (v6[0], v6[5]) = (0x60, 8);
        assert_eq!(header(&v6, 99).map(|(len, _)| len), Some(48));
        v6[5] = 0;
        assert_eq!(header(&v6, 99).map(|(len, _)| len), Some(99));
        for cut in [&v4[..19], &v6[..39], &[], &[0x15; 40]] {
            assert_eq!(header(cut, 60), None);
        }
    }
}
