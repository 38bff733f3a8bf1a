//! What a connection has seen of the peer's headers, and so expects of the next one: what header
//! repair ([`crate::hack::repair`]) holds damaged headers against.

use alloc::boxed::Box;
use alloc::vec::Vec;

use headway_units::{Duration, Instant};
use headway_wire::{Segment, SeqNumber};

use super::{Connection, State};
use crate::hack::repair::{Knowledge, Seal, Span};

/// Sequence numbers that are expected at most.
const MAX_EXPECTED: usize = 256;
/// Segments of new data that may have gone before, each of them unreadable.
const NEW_SEGMENTS: u32 = 32;
/// Holes whose segments are expected, and segments of one hole.
const HOLES: usize = 64;
const IN_ONE_HOLE: u32 = 4;

/// The newest data segment of the peer.
pub(super) struct Seen {
    /// Where the newest data ended.
    end: SeqNumber,
    ack: SeqNumber,
    window: u16,
    stamp: u32,
    echo: u32,
    at: Instant,
}

impl Connection {
    /// A data segment arrived whose header was vouched for.
    pub(super) fn note_header(&mut self, now: Instant, segment: &Segment<'_>) {
        if !self.profile.modern.repair || segment.payload.is_empty() {
            return;
        }
        let end = segment.tcp.seq + segment.payload.len() as u32;
        let stamps = segment.options.timestamps;
        let (stamp, echo) = stamps.map_or((0, 0), |stamps| (stamps.value, stamps.echo));
        let (ack, window) = (segment.tcp.ack, segment.tcp.window);
        let news = Seen { end, ack, window, stamp, echo, at: now };
        match &mut self.seen {
            Some(seen) => {
                let end = seen.end.max(end);
                // One that was overtaken says nothing new.
                if (stamp.wrapping_sub(seen.stamp) as i32) >= 0 {
                    **seen = news;
                }
                seen.end = end;
            }
            None => self.seen = Some(Box::new(news)),
        }
    }

    /// What is known of the next data segment; `None` where nothing may be repaired.
    pub(crate) fn knowledge(&self, now: Instant) -> Option<Knowledge> {
        if !self.profile.modern.repair || !self.negotiated.hack || self.state == State::Closed {
            return None;
        }
        let seen = self.seen.as_ref()?;
        // RFC 7323, 5.4: a timestamp clock ticks once a millisecond at the most.
        const TICK: Duration = Duration::from_millis(1);
        let ticks = now.saturating_since(seen.at).as_nanos() / TICK.as_nanos();
        let ahead = u32::try_from(ticks + 4).unwrap_or(u32::MAX).min(1 << 16);
        let ours = self.stamp(now).wrapping_sub(seen.echo);
        let echoed = Span { newest: seen.echo, ahead: ours.min(1 << 20) };
        let stamps = (Span { newest: seen.stamp, ahead }, echoed);
        let (nxt, edge) = (self.rcv.nxt(), self.rcv.nxt() + self.rcv.wnd());
        Some(Knowledge {
            ports: (self.ends.remote.port(), self.ends.local.port()),
            seal: if self.negotiated.v2 { Seal::V2(self.profile.exid) } else { Seal::Classic },
            stamps: self.negotiated.timestamps.then_some(stamps),
            sack: self.negotiated.sack,
            seqs: self.expected(seen.end),
            window_of_numbers: (nxt, edge),
            acks: [self.snd.una, seen.ack, self.snd.nxt],
            ack_range: (self.snd.una - self.snd.max_wnd, self.snd.nxt),
            window: seen.window,
        })
    }

    /// The sequence numbers of segments that may come: new ones, in the order of sending, and what is
    /// missing.
    fn expected(&self, end: SeqNumber) -> Vec<SeqNumber> {
        let segment = self.rcv.peer_segment().max(1);
        let new = (0..NEW_SEGMENTS).map(|place| end + place * segment);
        let mut expected: Vec<SeqNumber> = new.collect();
        for (start, end) in self.rcv.holes().take(HOLES) {
            let segments = (0..IN_ONE_HOLE).map(|place| start + place * segment);
            expected.extend(segments.take_while(|seq| seq.lt(end)));
        }
        expected.truncate(MAX_EXPECTED);
        expected
    }
}
