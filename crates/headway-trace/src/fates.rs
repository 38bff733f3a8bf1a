//! What a link did to each packet, from a file: one that lists the fates, or a capture.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::IpAddr;

use headway_link::{Fate, HitPlace, ParseTraceError, Trace, TraceBuilder, TraceTooLong};

use crate::Direction;
use crate::analysis::packet::{Seen, SumState, examine};
use crate::reader::{Packet, ReadError, Reader};

/// The longest text of fates, in bytes.
const MAX_TEXT: u64 = 64 << 20;
/// The most directions of traffic that a capture may have.
const MAX_FLOWS: usize = 256;

/// A direction of the traffic in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathDirection {
    /// The direction that carried most payload.
    Forward,
    /// Of the others, the direction that carried most packets.
    Reverse,
}

/// Why a file gives no trace.
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
    /// It is a capture of more than a trace can hold.
    #[error("too long a capture: {0}")]
    TooLong(#[from] TraceTooLong),
    /// It is a capture of more than 256 directions of traffic.
    #[error("expected a capture of one link, but there are more than {MAX_FLOWS} senders")]
    TooManySenders,
    /// It is a capture in which nothing arrives in this direction.
    #[error("expected a capture of TCP {}", match direction {
        PathDirection::Forward => "in which packets arrive",
        PathDirection::Reverse => "in which packets arrive from both sides",
    })]
    NoPackets {
        /// The direction that was asked for.
        direction: PathDirection,
    },
}

/// Reads a trace, which is called `name`: a text as [`Trace`] describes it, or a capture. `direction` is of
/// no matter to a text.
///
/// Each TCP packet that arrived in a capture gives a fate, in the order of the capture:
///
/// - one with the remark `damaged: N bits flipped` (as headway's own captures have it) is hit in N bits
///   of its payload, or of header and payload with `, header hit`;
/// - one whose TCP checksum is wrong is hit in a bit of its payload if the header's own checksum (TCP
///   HACK) is right, otherwise in a bit wherever the link says. How many bits it was, nobody knows;
/// - every other one is intact.
///
/// Packets that did not arrive leave nothing to see at the far end, and one that is missing may have
/// been dropped by a queue in front of the link: a trace from a capture loses none.
///
/// What was captured as outbound has not passed the link yet and does not count. Where a capture does
/// not say which packets are outbound, the packets of each sender are a direction of their own.
///
/// # Errors
///
/// The file cannot be read, is not what it should be, or holds too much; see [`FatesError`].
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

/// The first bytes of pcapng, and of pcap in microseconds or nanoseconds, of either byte order.
fn is_capture(magic: &[u8; 4]) -> bool {
    let number = u32::from_be_bytes(*magic);
    number == 0x0a0d_0d0a
        || [0xa1b2_c3d4, 0xa1b2_3c4d].iter().any(|known| number == *known || number.swap_bytes() == *known)
}

/// A direction of traffic at an interface: what arrives there, or what a host sent.
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
        let Some((flow, fate, payload)) = judge(&packet, &mut scratch) else { continue };
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

/// Whose packet it is, what became of it and how much payload it has; `None` if nobody can tell whose
/// it is, or it is not of TCP.
fn judge(packet: &Packet<'_>, scratch: &mut Vec<u8>) -> Option<(Flow, Fate, u64)> {
    let marked = packet.comment.and_then(remark);
    let arrivals = packet.direction.map(|_| Flow::Arrivals(packet.interface));
    let one_bit = |place| Fate::Hit { flips: 1, place };
    let tcp = match examine(packet, scratch) {
        Seen::Tcp(tcp) => tcp,
        // It arrived there, and nothing of its headers can be read.
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

/// `damaged: 3 bits flipped` or `damaged: 1 bit flipped, header hit`.
fn remark(comment: &[u8]) -> Option<Fate> {
    let rest = std::str::from_utf8(comment).ok()?.strip_prefix("damaged: ")?;
    let (flips, rest) = rest.split_once(' ')?;
    let flips = flips.parse().ok().filter(|flips| *flips > 0)?;
    let place = match rest.strip_prefix("bits flipped").or_else(|| rest.strip_prefix("bit flipped"))? {
        "" => HitPlace::Payload,
        ", header hit" => HitPlace::Both,
        _ => return None,
    };
    Some(Fate::Hit { flips, place })
}
