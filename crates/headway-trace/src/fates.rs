//! The fates of packets on a link, read from a text of fates or from a capture.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::IpAddr;

use headway_link::{Fate, HitPlace, ParseTraceError, Trace, TraceBuilder, TraceTooLong};

use crate::Direction;
use crate::analysis::packet::{Seen, SumState, examine};
use crate::reader::{Packet, ReadError, Reader};

/// The longest text of fates, in bytes.
const MAX_TEXT: u64 = 64 << 20;
/// The maximum number of directions of traffic in a capture.
const MAX_FLOWS: usize = 256;

/// A direction of the traffic in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathDirection {
    /// The direction that carried most payload.
    Forward,
    /// Of the others, the direction that carried most packets.
    Reverse,
}

/// Why a file is not a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FatesError {
    /// It is a capture that cannot be read.
    #[error(transparent)]
    Capture(#[from] ReadError),
    /// It cannot be read at all.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is neither a capture nor text.
    #[error("expected a capture (pcap, pcapng) or a text of fates, such as `ok 37` in a line")]
    NotText,
    /// It is a text with a wrong line.
    #[error(transparent)]
    Text(#[from] ParseTraceError),
    /// It is text beyond 64 MiB.
    #[error("expected a text of at most {MAX_TEXT} bytes")]
    TextTooLong,
    /// It is a capture with more packets than a trace can hold.
    #[error("too long a capture: {0}")]
    TooLong(#[from] TraceTooLong),
    /// It is a capture of more than 256 directions of traffic.
    #[error("expected a capture of one link, but there are more than {MAX_FLOWS} senders")]
    TooManySenders,
    /// It is a capture without packets in this direction.
    #[error("expected a capture of TCP {}", match direction {
        PathDirection::Forward => "in which packets arrive",
        PathDirection::Reverse => "in which packets arrive from both sides",
    })]
    NoPackets {
        /// The requested direction.
        direction: PathDirection,
    },
}

/// Reads a trace and names it `name`: a text as [`Trace`] describes it, or a capture. `direction` is
/// ignored for a text.
///
/// Each TCP packet that arrived gives a fate, in the order of the capture:
///
/// - a packet with the comment `damaged: N bits flipped` (as in headway's captures) is hit in N bits of
///   its payload, or of header and payload with `, header hit`; the comment does not say where bits slipped, which count as
///   one flipped bit;
/// - a packet whose TCP checksum is wrong is hit in one bit: of its payload if the header checksum (TCP
///   HACK) is valid, otherwise of any place. The actual number of bits is unknown;
/// - every other packet is intact.
///
/// Lost packets are not in the capture, and may have been dropped by a queue before the link: a trace
/// from a capture has no losses.
///
/// Outbound packets have not passed the link and are ignored. If a capture does not mark outbound
/// packets, the packets of each sender are a direction.
///
/// # Errors
///
/// The file cannot be read, is invalid or too long; see [`FatesError`].
pub fn read_fates(name: &str, direction: PathDirection, mut source: impl Read) -> Result<Trace, FatesError> {
    let mut magic = Vec::new();
    (&mut source).take(4).read_to_end(&mut magic)?;
    let is_capture = magic.first_chunk().is_some_and(is_capture);
    let mut source = magic.chain(source);
    if is_capture {
        return from_capture(name, direction, source);
    }
    let mut text = Vec::new();
    (&mut source).take(MAX_TEXT + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_TEXT {
        return Err(FatesError::TextTooLong);
    }
    let text = String::from_utf8(text).map_err(|_| FatesError::NotText)?;
    Ok(text.parse::<Trace>()?.named(name))
}

/// The magic numbers of pcapng, and of pcap in microseconds or nanoseconds, of either byte order.
fn is_capture(magic: &[u8; 4]) -> bool {
    let number = u32::from_be_bytes(*magic);
    number == 0x0a0d_0d0a
        || [0xa1b2_c3d4, 0xa1b2_3c4d].iter().any(|known| number == *known || number.swap_bytes() == *known)
}

/// A direction of traffic at an interface: the packets that arrive, or the packets of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Flow {
    Arrivals(usize),
    Sender(usize, IpAddr),
}

#[derive(Default)]
struct Seized {
    fates: TraceBuilder,
    payload: u64,
}

fn from_capture(name: &str, direction: PathDirection, source: impl Read) -> Result<Trace, FatesError> {
    let mut reader = Reader::new(source)?;
    let mut flows: BTreeMap<Flow, Seized> = BTreeMap::new();
    let mut scratch = Vec::new();
    while let Some(packet) = reader.next_packet()? {
        if packet.direction == Some(Direction::Outbound) {
            continue;
        }
        let Some((flow, fate, payload)) = classify(&packet, &mut scratch) else { continue };
        if flows.len() == MAX_FLOWS && !flows.contains_key(&flow) {
            return Err(FatesError::TooManySenders);
        }
        let seized = flows.entry(flow).or_default();
        seized.fates.push(fate)?;
        seized.payload += payload;
    }
    let data = flows.iter().max_by_key(|(_, seized)| seized.payload).map(|(flow, _)| *flow);
    let chosen = match direction {
        PathDirection::Forward => data,
        PathDirection::Reverse => flows
            .iter()
            .filter(|(flow, _)| Some(**flow) != data)
            .max_by_key(|(_, seized)| seized.fates.packets())
            .map(|(flow, _)| *flow),
    };
    let chosen = chosen.and_then(|flow| flows.remove(&flow));
    chosen.and_then(|seized| seized.fates.finish(name)).ok_or(FatesError::NoPackets { direction })
}

/// The flow, the fate and the payload length of a packet; `None` if the flow is unknown or it is not TCP.
fn classify(packet: &Packet<'_>, scratch: &mut Vec<u8>) -> Option<(Flow, Fate, u64)> {
    let marked = packet.comment.and_then(parse_comment);
    let arrivals = packet.direction.map(|_| Flow::Arrivals(packet.interface));
    let one_bit = |place| Fate::Hit { flips: 1, place };
    let tcp = match examine(packet, scratch) {
        Seen::Tcp(tcp) => tcp,
        // It arrived, with unreadable headers.
        Seen::Unreadable => return Some((arrivals?, marked.unwrap_or(one_bit(HitPlace::Header)), 0)),
        Seen::NotTcp | Seen::Fragment | Seen::Cut | Seen::UnknownLink => {
            return Some((arrivals?, marked?, 0));
        }
    };
    let fate = marked.unwrap_or_else(|| match tcp.sum {
        SumState::Corrupted => one_bit(HitPlace::Payload),
        SumState::Wrong => one_bit(HitPlace::Any),
        SumState::Sound | SumState::NotComputed | SumState::Unknown => Fate::Ok,
    });
    let flow = arrivals.unwrap_or(Flow::Sender(packet.interface, tcp.segment.ip.src));
    // At most the longest IP packet.
    Some((flow, fate, tcp.segment.payload.len() as u64))
}

/// `damaged: 3 bits flipped`, `damaged: 1 bit flipped, header hit` or
/// `damaged: 0 bits flipped, 800 slipped, end missing, header hit`.
fn parse_comment(comment: &[u8]) -> Option<Fate> {
    let rest = std::str::from_utf8(comment).ok()?.strip_prefix("damaged: ")?;
    let (flips, rest) = rest.split_once(' ')?;
    let mut flips: u32 = flips.parse().ok()?;
    let mut rest = rest.strip_prefix("bits flipped").or_else(|| rest.strip_prefix("bit flipped"))?;
    if let Some((slips, behind)) = rest.strip_prefix(", ").and_then(|rest| rest.split_once(" slipped")) {
        slips.parse::<u32>().ok()?;
        (flips, rest) = (flips.max(1), behind);
    }
    if let Some(behind) = rest.strip_prefix(", end missing") {
        (flips, rest) = (flips.max(1), behind);
    }
    let place = match rest {
        "" => HitPlace::Payload,
        ", header hit" => HitPlace::Both,
        _ => return None,
    };
    (flips > 0).then_some(Fate::Hit { flips, place })
}
