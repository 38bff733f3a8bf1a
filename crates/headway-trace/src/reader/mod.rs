//! Reads captures as a stream of packets: pcap and pcapng, of either byte order and any time resolution.

mod error;
mod link;
mod pcap;
mod pcapng;
mod places;
mod source;

use std::io::Read;

use headway_units::Instant;

pub use error::ReadError;
pub use link::{LinkType, Network};
use pcap::Pcap;
use pcapng::PcapNg;
use places::Places;
use source::{Filled, Source};

use crate::Direction;

/// The maximum length of a packet in a capture: libpcap's maximum snapshot length.
pub const MAX_PACKET: u32 = 262_144;

/// An interface where packets were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// Its name, if the capture has one.
    pub name: Option<String>,
    /// The link type of its packets.
    pub link: LinkType,
}

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The index of its interface in [`Reader::interfaces`].
    pub interface: usize,
    /// Its link type.
    pub link: LinkType,
    /// When it was captured, since the epoch of the capturing clock.
    pub at: Instant,
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// Its length on the wire; more than [`Packet::bytes`] if it was captured in part.
    pub original_len: u32,
    /// The direction in which it passed its interface, if the capture has it.
    pub direction: Option<Direction>,
    /// Its first comment, if there is one: UTF-8, not validated.
    pub comment: Option<&'a [u8]>,
}

/// The last packet of a capture is incomplete: the capture was still being written, or the disk was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfWritten {
    /// Where its record starts, in bytes from the start of the file.
    pub offset: u64,
    /// The minimum number of missing bytes.
    pub missing: u64,
}

/// Reads a capture packet by packet, in bounded memory.
///
/// ```
/// use headway_trace::{Capture, Direction};
/// use headway_trace::reader::Reader;
/// use headway_units::Instant;
///
/// let mut capture = Capture::new(Vec::new(), &["client"])?;
/// capture.packet(0, Instant::from_nanos(7), &[0x45; 40], Direction::Outbound, None)?;
/// let file = capture.finish()?;
///
/// let mut reader = Reader::new(&file[..])?;
/// let packet = reader.next_packet()?.expect("a packet");
/// assert_eq!((packet.at, packet.bytes), (Instant::from_nanos(7), &[0x45; 40][..]));
/// assert!(reader.next_packet()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader<R> {
    source: Source<R>,
    format: Format,
    /// The interfaces declared by the capture.
    declared: Vec<Interface>,
    places: Places,
    half_written: Option<HalfWritten>,
}

enum Format {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

/// The position of a packet in the record that was read last.
struct Located {
    interface: usize,
    at: Instant,
    bytes: core::ops::Range<usize>,
    original_len: u32,
    direction: Option<Direction>,
    comment: Option<core::ops::Range<usize>>,
}

/// The next record of a file.
enum Next {
    Packet(Located),
    /// Nothing to report.
    Other,
    End,
    Half(HalfWritten),
}

impl<R: Read> Reader<R> {
    /// Reads the file header. `source` needs no buffer of its own.
    ///
    /// # Errors
    ///
    /// The source cannot be read, or is neither a pcap nor a pcapng file.
    pub fn new(source: R) -> Result<Self, ReadError> {
        let mut source = Source::new(source);
        if let Filled::Short { .. } = source.fill(4)? {
            let got = format!("{} bytes", source.record().len());
            return Err(ReadError::malformed(0, "a pcap or pcapng file", got));
        }
        let magic = source.record().first_chunk().copied().unwrap_or_default();
        let mut declared = Vec::new();
        let format = if magic == pcapng::SECTION_HEADER {
            Format::PcapNg(PcapNg::new())
        } else {
            Format::Pcap(Pcap::begin(&mut source, magic, &mut declared)?)
        };
        let mut places = Places::default();
        places.declare(&declared);
        Ok(Self { source, format, declared, places, half_written: None })
    }

    /// The next packet, or `None` at the end. A half-written packet at the end is not returned: see
    /// [`Reader::half_written`].
    ///
    /// # Errors
    ///
    /// The source cannot be read, or violates its format. Reading cannot continue after an error.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        loop {
            let next = match &mut self.format {
                Format::Pcap(pcap) => pcap.next(&mut self.source)?,
                Format::PcapNg(pcapng) => pcapng.next(&mut self.source, &mut self.declared)?,
            };
            match next {
                Next::Packet(located) => {
                    let link = self.declared.get(located.interface).map_or(LinkType::RAW, |known| known.link);
                    let bytes = self.source.record().get(located.bytes).unwrap_or_default();
                    return Ok(Some(Packet {
                        interface: self.places.place(located.interface, link, bytes),
                        link,
                        at: located.at,
                        bytes,
                        original_len: located.original_len,
                        direction: located.direction,
                        comment: located.comment.and_then(|place| self.source.record().get(place)),
                    }));
                }
                Next::Other => self.places.declare(&self.declared),
                Next::End => return Ok(None),
                Next::Half(half) => {
                    self.half_written = Some(half);
                    return Ok(None);
                }
            }
        }
    }

    /// The interfaces found so far. A pcap file has one, unless its packets contain interface indices
    /// (`LINUX_SLL2`, as `tcpdump -i any` writes it): then each index is an interface.
    pub fn interfaces(&self) -> &[Interface] {
        self.places.known()
    }

    /// Whether the last packet was incomplete; known when the end has been reached.
    pub fn half_written(&self) -> Option<HalfWritten> {
        self.half_written
    }
}
