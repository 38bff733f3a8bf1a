//! The next-generation format (draft-ietf-opsawg-pcapng: "PCAP Now Generic").

use std::io::Read;
use std::time::Duration;

use headway_units::Instant;

use super::pcap::half;
use super::source::{Filled, Order, Source};
use crate::Direction;

use super::{HalfWritten, Interface, LinkType, Located, MAX_PACKET, Next, ReadError};

/// The type of a Section Header Block, the same in both byte orders.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Section 4.1: "If the section's endianness matches, the value is 0x1A2B3C4D".
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// The maximum length of a block: larger than the longest packet with its options.
const MAX_BLOCK: u32 = 16 << 20;
/// The maximum number of interfaces in a file.
const MAX_INTERFACES: usize = 1 << 16;

/// Block types.
mod block {
    pub(super) const INTERFACE: u32 = 1;
    pub(super) const OLD_PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const ENHANCED_PACKET: u32 = 6;
}

/// Options of Interface Description Blocks, and of other blocks as noted.
mod option {
    pub(super) const END: u16 = 0;
    /// In any block.
    pub(super) const COMMENT: u16 = 1;
    /// In packet blocks.
    pub(super) const FLAGS: u16 = 2;
    pub(super) const NAME: u16 = 2;
    pub(super) const TIME_RESOLUTION: u16 = 9;
    pub(super) const TIME_OFFSET: u16 = 14;
}

/// A pcapng file, positioned between two blocks.
pub(super) struct PcapNg {
    order: Order,
    /// The block type of the very first block has been read already.
    at_start: bool,
    /// The index of the first interface of this section.
    first_interface: usize,
    clocks: Vec<Clock>,
    /// The last timestamp, used for packets without one.
    latest: Instant,
}

/// The timestamp format of an interface.
#[derive(Clone, Copy)]
struct Clock {
    /// The value of `if_tsresol`.
    resolution: u8,
    /// `if_tsoffset`: seconds to add.
    offset: i64,
    /// The snapshot length, 0 for unlimited.
    snap_len: u32,
}

impl PcapNg {
    pub(super) fn new() -> Self {
        Self {
            order: Order::Little,
            at_start: true,
            first_interface: 0,
            clocks: Vec::new(),
            latest: Instant::ZERO,
        }
    }

    /// Reads the next block.
    pub(super) fn next<R: Read>(
        &mut self,
        source: &mut Source<R>,
        interfaces: &mut Vec<Interface>,
    ) -> Result<Next, ReadError> {
        // Section 3.1: type and total length; a section header's byte order follows them.
        let filled = if core::mem::take(&mut self.at_start) { source.extend(8)? } else { source.fill(12)? };
        if let Filled::Short { missing } = filled {
            return Ok(half(source, missing));
        }
        let is_section = source.record().starts_with(&SECTION_HEADER);
        if is_section {
            self.order = byte_order(source)?;
        }
        let len = self.order.u32(source.record(), 4);
        if !(12..=MAX_BLOCK).contains(&len) || !len.is_multiple_of(4) {
            let at = source.offset() + 4;
            let expected = "the length of a block: 12 to 16777216, a multiple of 4";
            return Err(ReadError::malformed(at, expected, len.to_string()));
        }
        if let Filled::Short { missing } = source.extend(len - 12)? {
            return Ok(Next::Half(HalfWritten { offset: source.offset(), missing }));
        }
        let block = source.record();
        let again = self.order.u32(block, block.len() - 4);
        if again != len {
            let at = source.offset() + u64::from(len) - 4;
            return Err(ReadError::malformed(
                at,
                "the length of the block once more",
                format!("{again}, not {len}"),
            ));
        }
        if is_section {
            self.first_interface = interfaces.len();
            self.clocks.clear();
            return Ok(Next::Other);
        }
        match self.order.u32(block, 0) {
            block::INTERFACE => {
                self.interface(source, interfaces)?;
                Ok(Next::Other)
            }
            block::ENHANCED_PACKET => {
                let interface = self.order.u32(block, 8) as usize;
                self.packet(source, interface).map(Next::Packet)
            }
            block::OLD_PACKET => {
                let interface = usize::from(self.order.u16(block, 8));
                self.packet(source, interface).map(Next::Packet)
            }
            block::SIMPLE_PACKET => self.simple_packet(source).map(Next::Packet),
            // Section 3.1: "a reader ... MUST skip blocks it does not know".
            _ => Ok(Next::Other),
        }
    }

    fn interface<R: Read>(
        &mut self,
        source: &Source<R>,
        interfaces: &mut Vec<Interface>,
    ) -> Result<(), ReadError> {
        let block = source.record();
        if block.len() < 20 {
            let got = format!("{} bytes", block.len());
            return Err(ReadError::malformed(
                source.offset(),
                "an interface block of at least 20 bytes",
                got,
            ));
        }
        if interfaces.len() == MAX_INTERFACES {
            return Err(ReadError::malformed(source.offset(), "at most 65536 interfaces", "one more"));
        }
        let link = LinkType(self.order.u16(block, 8));
        // Without the option: "the timestamp resolution is assumed to be microseconds".
        let mut clock = Clock { resolution: 6, offset: 0, snap_len: self.order.u32(block, 12) };
        let mut name = None;
        let mut rest = block.get(16..block.len() - 4).unwrap_or_default();
        while rest.len() >= 4 {
            let (code, len) = (self.order.u16(rest, 0), usize::from(self.order.u16(rest, 2)));
            let Some(value) = rest.get(4..4 + len) else {
                let at = source.offset() + (block.len() - 4 - rest.len()) as u64;
                let got = format!("option {code} of {len} bytes where {} are left", rest.len() - 4);
                return Err(ReadError::malformed(at, "an option that ends within its block", got));
            };
            match (code, value) {
                (option::END, _) => break,
                (option::NAME, name_bytes) => name = Some(String::from_utf8_lossy(name_bytes).into_owned()),
                (option::TIME_RESOLUTION, &[resolution]) => clock.resolution = resolution,
                (option::TIME_OFFSET, &[_, _, _, _, _, _, _, _]) => {
                    clock.offset = self.order.u64(value, 0).cast_signed();
                }
                _ => {}
            }
            rest = rest.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
        }
        interfaces.push(Interface { name, link });
        self.clocks.push(clock);
        Ok(())
    }

    /// An Enhanced Packet Block, or the old Packet Block, whose fields from the timestamp on have the
    /// same positions.
    fn packet<R: Read>(&mut self, source: &Source<R>, interface: usize) -> Result<Located, ReadError> {
        let block = source.record();
        let clock = self.clock(source, interface)?;
        let ticks = u64::from(self.order.u32(block, 12)) << 32 | u64::from(self.order.u32(block, 16));
        self.latest = clock.instant(ticks);
        let len = self.order.u32(block, 20);
        let original_len = self.order.u32(block, 24);
        let located = self.locate(source, interface, 28, len, original_len)?;
        Ok(self.read_options(block, located))
    }

    /// Reads the options of a packet block. Invalid options are ignored: the packet itself is complete.
    fn read_options(&self, block: &[u8], mut located: Located) -> Located {
        let mut at = located.bytes.end.next_multiple_of(4);
        let end = block.len() - 4;
        while at + 4 <= end {
            let (code, len) = (self.order.u16(block, at), usize::from(self.order.u16(block, at + 2)));
            let value = at + 4..at + 4 + len;
            if code == option::END || value.end > end {
                break;
            }
            match code {
                option::COMMENT if located.comment.is_none() => located.comment = Some(value.clone()),
                // Section 4.3.1: "Inbound / Outbound packet (00 = information not available, 01 =
                // inbound, 10 = outbound)".
                option::FLAGS if len == 4 => {
                    located.direction = match self.order.u32(block, value.start) & 3 {
                        1 => Some(Direction::Inbound),
                        2 => Some(Direction::Outbound),
                        _ => None,
                    };
                }
                _ => {}
            }
            at = value.end.next_multiple_of(4);
        }
        located
    }

    fn simple_packet<R: Read>(&mut self, source: &Source<R>) -> Result<Located, ReadError> {
        // Section 4.4: "The Simple Packet Block does not contain the Interface ID field. Therefore,
        // it MUST be assumed that all the Simple Packet Blocks have been captured on the interface
        // previously specified in the first Interface Description Block."
        let clock = self.clock(source, 0)?;
        let original_len = self.order.u32(source.record(), 8);
        let kept = if clock.snap_len == 0 { original_len } else { original_len.min(clock.snap_len) };
        self.locate(source, 0, 12, kept, original_len)
    }

    fn clock<R: Read>(&self, source: &Source<R>, interface: usize) -> Result<Clock, ReadError> {
        self.clocks.get(interface).copied().ok_or_else(|| {
            let got = format!("interface {interface} of {}", self.clocks.len());
            ReadError::malformed(source.offset() + 8, "an interface that was described before", got)
        })
    }

    fn locate<R: Read>(
        &self,
        source: &Source<R>,
        interface: usize,
        start: usize,
        len: u32,
        original_len: u32,
    ) -> Result<Located, ReadError> {
        if len > MAX_PACKET {
            let at = source.offset() + start as u64 - 8;
            return Err(ReadError::malformed(at, "a packet of at most 262144 bytes", len.to_string()));
        }
        let end = start + len as usize;
        if end + 4 > source.record().len() {
            let room = source.record().len().saturating_sub(start + 4);
            let got = format!("{len} bytes where {room} are left");
            return Err(ReadError::malformed(source.offset(), "a packet that ends within its block", got));
        }
        Ok(Located {
            interface: self.first_interface + interface,
            at: self.latest,
            bytes: start..end,
            original_len: original_len.max(len),
            direction: None,
            comment: None,
        })
    }
}

/// Section 4.1: the magic number after the length gives the byte order.
fn byte_order<R: Read>(source: &Source<R>) -> Result<Order, ReadError> {
    [Order::Little, Order::Big]
        .into_iter()
        .find(|order| order.u32(source.record(), 8) == BYTE_ORDER_MAGIC)
        .ok_or_else(|| {
            let got = format!("{:02x?}", source.record().get(8..12).unwrap_or_default());
            ReadError::malformed(
                source.offset() + 8,
                "the byte-order magic 1a2b3c4d of a pcapng section",
                got,
            )
        })
}

impl Clock {
    /// The time of `ticks`, in nanoseconds and not before the epoch.
    fn instant(self, ticks: u64) -> Instant {
        const NANOS: u128 = 1_000_000_000;
        let ticks = u128::from(ticks);
        let exponent = u32::from(self.resolution & 0x7f);
        // Section 4.2, if_tsresol: "If the Most Significant Bit is equal to zero, the remaining bits
        // indicate the resolution of the timestamp as a negative power of 10 ... If the Most
        // Significant Bit is equal to one, the remaining bits indicate the resolution as negative
        // power of 2".
        let nanos = if self.resolution & 0x80 != 0 {
            ticks.saturating_mul(NANOS).checked_shr(exponent).unwrap_or(0)
        } else {
            match exponent.checked_sub(9) {
                None => ticks * 10_u128.pow(9 - exponent),
                Some(finer) => 10_u128.checked_pow(finer).map_or(0, |divisor| ticks / divisor),
            }
        };
        let offset = Duration::from_secs(self.offset.unsigned_abs()).as_nanos();
        let nanos = if self.offset < 0 { nanos.saturating_sub(offset) } else { nanos + offset };
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(resolution: u8, offset: i64, ticks: u64) -> u64 {
        Clock { resolution, offset, snap_len: 0 }.instant(ticks).as_nanos()
    }

    #[test]
    fn timestamps_of_any_resolution() {
        assert_eq!(nanos(6, 0, 1_500_000), 1_500_000_000);
        assert_eq!(nanos(9, 0, u64::MAX), u64::MAX);
        assert_eq!(nanos(0, 0, 3), 3_000_000_000);
        assert_eq!(nanos(12, 0, 7_999), 7);
        assert_eq!(nanos(0x80 | 10, 0, 1536), 1_500_000_000);
        assert_eq!(nanos(6, 2, 500_000), 2_500_000_000);
        assert_eq!(nanos(6, -2, 3_000_000), 1_000_000_000);
        // Out of range: the nearest representable time.
        assert_eq!(nanos(0, 0, u64::MAX), u64::MAX);
        assert_eq!(nanos(6, i64::MIN, 1), 0);
        assert_eq!(nanos(6, i64::MAX, 1), u64::MAX);
        assert_eq!(nanos(127, 0, u64::MAX), 0);
        assert_eq!(nanos(255, 0, u64::MAX), 0);
    }
}
