//! What a connection has seen of the peer's headers, and so expects of the next one.

use alloc::boxed::Box;
use alloc::vec::Vec;

use headway_units::{Duration, Instant};
use headway_wire::{Segment, SeqNumber};

use super::{Knowledge, Seal, Span};
use crate::receive::ReceiveSide;

/// Sequence numbers that are expected at most.
const MAX_EXPECTED: usize = 256;
/// Segments of new data that may have gone before, each of them unreadable.
const NEW_SEGMENTS: u32 = 32;
/// Holes whose segments are expected, and segments of one hole.
const HOLES: usize = 64;
const IN_ONE_HOLE: u32 = 4;

/// The newest data segment of the peer, where headers are repaired or counted, and there has been one.
#[derive(Default)]
pub(crate) struct HeaderHistory(Option<Box<Newest>>);

struct Newest {
    /// Where the newest data ended.
    end: SeqNumber,
    ack: SeqNumber,
    window: u16,
    tsval: u32,
    tsecr: u32,
    at: Instant,
}

impl Newest {
    /// As if a segment without data had come with the handshake.
    fn of_handshake(expectations: &Expectations<'_>) -> Self {
        /// Ticks for which the peer may not have seen a newer TSval of ours.
        const ECHOED: u32 = 4096;
        let receive = expectations.receive;
        let (tsval, at) = receive.ts_recent_since();
        let tsecr = expectations.tsval.unwrap_or_default().wrapping_sub(ECHOED);
        Self { end: receive.nxt(), ack: expectations.sent.0, window: 0, tsval, tsecr, at }
    }
}

/// What else a connection knows about the headers it may receive.
pub(crate) struct Expectations<'a> {
    /// Whether headers are repaired.
    pub(crate) repairs: bool,
    /// The peer's port and ours.
    pub(crate) ports: (u16, u16),
    pub(crate) seal: Seal,
    /// Our TSval now, if timestamps are in use.
    pub(crate) tsval: Option<u32>,
    /// Whether there may be SACK blocks.
    pub(crate) sack: bool,
    /// SND.UNA and SND.NXT.
    pub(crate) sent: (SeqNumber, SeqNumber),
    /// The largest window that the peer has offered.
    pub(crate) max_send_window: u32,
    pub(crate) receive: &'a ReceiveSide,
}

impl HeaderHistory {
    /// A data segment arrived whose header was vouched for.
    pub(crate) fn record(&mut self, now: Instant, segment: &Segment<'_>) {
        let end = segment.tcp.seq + segment.payload.len() as u32;
        let (tsval, tsecr) =
            segment.options.timestamps.map_or((0, 0), |timestamps| (timestamps.tsval, timestamps.tsecr));
        let (ack, window) = (segment.tcp.ack, segment.tcp.window);
        let latest = Newest { end, ack, window, tsval, tsecr, at: now };
        match &mut self.0 {
            Some(newest) => {
                let end = newest.end.max(end);
                // One that was overtaken says nothing new.
                if (tsval.wrapping_sub(newest.tsval) as i32) >= 0 {
                    **newest = latest;
                }
                newest.end = end;
            }
            None => self.0 = Some(Box::new(latest)),
        }
    }

    /// What is known of the next data segment. Before the first one only the handshake says something: no
    /// header is repaired then.
    pub(crate) fn knowledge(&self, now: Instant, expectations: &Expectations<'_>) -> Knowledge {
        let handshake;
        let newest = match &self.0 {
            Some(newest) => &**newest,
            None => {
                handshake = Newest::of_handshake(expectations);
                &handshake
            }
        };
        // RFC 7323, 5.4: a timestamp clock ticks once a millisecond at the most.
        const TICK: Duration = Duration::from_millis(1);
        let ticks = now.saturating_since(newest.at).as_nanos() / TICK.as_nanos();
        let ahead = u32::try_from(ticks + 4).unwrap_or(u32::MAX).min(1 << 16);
        let timestamps = expectations.tsval.map(|tsval| {
            let echoed = tsval.wrapping_sub(newest.tsecr).min(1 << 20);
            (Span { newest: newest.tsval, ahead }, Span { newest: newest.tsecr, ahead: echoed })
        });
        let receive = expectations.receive;
        let (una, nxt) = expectations.sent;
        Knowledge {
            repairs: expectations.repairs && self.0.is_some(),
            ports: expectations.ports,
            seal: expectations.seal,
            timestamps,
            sack: expectations.sack,
            seqs: expected_numbers(receive, newest.end),
            window_of_numbers: (receive.nxt(), receive.nxt() + receive.wnd()),
            acks: [una, newest.ack, nxt],
            ack_range: (una - expectations.max_send_window, nxt),
            window: newest.window,
        }
    }

    /// Bytes of heap in use.
    pub(crate) fn allocated(&self) -> usize {
        self.0.as_ref().map_or(0, |_| size_of::<Newest>())
    }
}

/// The sequence numbers of segments that may come: new ones behind `end`, in the order of sending, and
/// what is missing.
fn expected_numbers(receive: &ReceiveSide, end: SeqNumber) -> Vec<SeqNumber> {
    let segment = receive.peer_segment().max(1);
    let new = (0..NEW_SEGMENTS).map(|place| end + place * segment);
    let mut expected: Vec<SeqNumber> = new.collect();
    for (start, end) in receive.holes().take(HOLES) {
        let segments = (0..IN_ONE_HOLE).map(|place| start + place * segment);
        expected.extend(segments.take_while(|seq| seq.lt(end)));
    }
    expected.truncate(MAX_EXPECTED);
    expected
}
