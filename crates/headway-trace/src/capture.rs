//! Writes packets to a capture file (pcapng).

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use headway_units::Instant;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};

use crate::TraceError;

/// The maximum length of a packet: Wireshark rejects files with longer packets.
const MAX_PACKET: usize = 262_144;

/// The maximum length of a text: the length field of an option has 16 bits.
const MAX_TEXT: usize = u16::MAX as usize;

/// pcapng, 4.2, `if_tsresol`: "If the Most Significant Bit is equal to zero, the remaining bits
/// indicate the resolution of the timestamp as a negative power of 10".
const NANOSECONDS: u8 = 9;

/// The direction in which a packet passed its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// It arrived.
    Inbound,
    /// It was sent.
    Outbound,
}

impl Direction {
    /// pcapng, 4.3.1, the flags word of a packet: "Inbound / Outbound packet (00 = information not
    /// available, 01 = inbound, 10 = outbound)".
    const fn flags(self) -> u32 {
        match self {
            Self::Inbound => 1,
            Self::Outbound => 2,
        }
    }
}

/// A capture file being written: IP packets (`LINKTYPE_RAW`) of one or several interfaces, with
/// timestamps in nanoseconds.
///
/// Timestamps count from the epoch of the caller's clock, which a reader shows as 1970. The file depends
/// only on the calls: the same packets give the same bytes on every machine.
///
/// Writing is buffered; [`Capture::finish`] writes the rest and reports whether that worked.
///
/// A file of both ends contains each packet twice: as sent and as received. Tools that expect the packets of one end take
/// the second for a retransmission: [`Capture::in_files`] gives each interface a file of its own.
///
/// ```
/// use headway_trace::{Capture, Direction};
/// use headway_units::Instant;
///
/// let mut capture = Capture::new(Vec::new(), &["client", "server"])?;
/// let packet = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
/// capture.packet(0, Instant::ZERO, &packet, Direction::Outbound, None)?;
/// let arrival = Instant::from_nanos(300_000_000);
/// capture.packet(1, arrival, &packet, Direction::Inbound, Some("damaged: 3 bits flipped, header hit"))?;
/// let file = capture.finish()?;
/// assert_eq!(file[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
/// # Ok::<(), headway_trace::TraceError>(())
/// ```
pub struct Capture<W: Write> {
    /// The file of all interfaces, or of the first.
    first: PcapNgWriter<BufWriter<W>>,
    /// Those of the other interfaces, if each has its own.
    others: Vec<PcapNgWriter<BufWriter<W>>>,
    snap_len: usize,
}

impl<W: Write> Capture<W> {
    /// Starts a capture of the `interfaces` with these names; [`Capture::packet`] counts them from 0.
    ///
    /// # Errors
    ///
    /// The writer failed, or a name is longer than 65,535 bytes.
    pub fn new(writer: W, interfaces: &[&str]) -> Result<Self, TraceError> {
        Self::with_snap_len(writer, interfaces, MAX_PACKET)
    }

    /// As [`Capture::new`], but only the first `snap_len` bytes of each packet are kept, as with `tcpdump
    /// -s`; at most 262,144, and 0 means 262,144.
    ///
    /// # Errors
    ///
    /// As [`Capture::new`].
    pub fn with_snap_len(writer: W, interfaces: &[&str], snap_len: usize) -> Result<Self, TraceError> {
        let snap_len = if snap_len == 0 { MAX_PACKET } else { snap_len.min(MAX_PACKET) };
        Ok(Self { first: begin(writer, interfaces, snap_len)?, others: Vec::new(), snap_len })
    }

    /// Starts a capture of two or more interfaces with these names, each in a file of its own.
    ///
    /// # Errors
    ///
    /// As [`Capture::new`].
    pub fn in_files(first: (W, &str), others: Vec<(W, &str)>) -> Result<Self, TraceError> {
        let begin = |(writer, name)| begin(writer, &[name], MAX_PACKET);
        let others = others.into_iter().map(begin).collect::<Result<_, _>>()?;
        Ok(Self { first: begin(first)?, others, snap_len: MAX_PACKET })
    }

    /// Records an IP packet that passed `interface` in this `direction`, with an optional comment. The
    /// bytes are not checked.
    ///
    /// # Errors
    ///
    /// There is no such interface, the packet is longer than 262,144 bytes or the comment than
    /// 65,535 (nothing is written then), or the writer failed (the capture may then end within a block).
    pub fn packet(
        &mut self,
        interface: usize,
        at: Instant,
        bytes: &[u8],
        direction: Direction,
        comment: Option<&str>,
    ) -> Result<(), TraceError> {
        let count = self.first.interfaces().len() + self.others.len();
        if interface >= count {
            return Err(TraceError::UnknownInterface { index: interface, count });
        }
        if bytes.len() > MAX_PACKET {
            return Err(TraceError::PacketTooLong { len: bytes.len(), limit: MAX_PACKET });
        }
        let mut options = Vec::with_capacity(2);
        if let Some(comment) = comment {
            check_text(comment)?;
            options.push(EnhancedPacketOption::Comment(comment.into()));
        }
        options.push(EnhancedPacketOption::Flags(direction.flags()));
        let is_alone = !self.others.is_empty();
        let block = EnhancedPacketBlock {
            interface_id: if is_alone { 0 } else { interface as u32 },
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: bytes.len() as u32,
            data: Cow::Borrowed(bytes.get(..self.snap_len).unwrap_or(bytes)),
            options,
        };
        let file = if is_alone && interface > 0 { &mut self.others[interface - 1] } else { &mut self.first };
        file.write_pcapng_block(block).map_err(io_error)?;
        Ok(())
    }

    /// Flushes the buffer and returns the writer: the first, if each interface has its own.
    ///
    /// # Errors
    ///
    /// A writer failed.
    pub fn finish(self) -> Result<W, TraceError> {
        self.finish_all().map(|(first, _)| first)
    }

    /// The same, with the writers of the other interfaces.
    ///
    /// # Errors
    ///
    /// A writer failed.
    pub fn finish_all(self) -> Result<(W, Vec<W>), TraceError> {
        let finish = |file: PcapNgWriter<BufWriter<W>>| {
            file.into_inner().into_inner().map_err(|error| TraceError::Io(error.into_error()))
        };
        let others = self.others.into_iter().map(finish).collect::<Result<_, _>>()?;
        Ok((finish(self.first)?, others))
    }
}

/// Writes the header of a file: its section and its interfaces.
fn begin<W: Write>(
    writer: W,
    interfaces: &[&str],
    snap_len: usize,
) -> Result<PcapNgWriter<BufWriter<W>>, TraceError> {
    for name in interfaces {
        check_text(name)?;
    }
    let section = SectionHeaderBlock {
        // Independent of the machine's byte order.
        endianness: Endianness::Little,
        options: vec![
            SectionHeaderOption::Hardware("virtual".into()),
            SectionHeaderOption::OS("virtual".into()),
            SectionHeaderOption::UserApplication(concat!("headway ", env!("CARGO_PKG_VERSION")).into()),
        ],
        ..SectionHeaderBlock::default()
    };
    let mut blocks = PcapNgWriter::with_section_header(BufWriter::new(writer), section).map_err(io_error)?;
    for name in interfaces {
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: snap_len as u32,
            options: vec![
                InterfaceDescriptionOption::IfName((*name).into()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        blocks.write_pcapng_block(interface).map_err(io_error)?;
    }
    Ok(blocks)
}

fn check_text(text: &str) -> Result<(), TraceError> {
    if text.len() > MAX_TEXT {
        return Err(TraceError::TextTooLong { len: text.len(), limit: MAX_TEXT });
    }
    Ok(())
}

/// After the arguments are checked, only the writer can fail.
fn io_error(error: PcapError) -> TraceError {
    match error {
        PcapError::IoError(error) => TraceError::Io(error),
        other => TraceError::Io(io::Error::other(other)),
    }
}
