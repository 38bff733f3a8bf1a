//! The receive side of a connection: reassembly, the window offered, SACK reports, and when to
//! acknowledge.

mod assembler;
mod check;
mod delayed_ack;
mod recent;
mod right_sizing;

use headway_units::{Duration, Instant};
use headway_wire::{SackBlocks, SeqNumber};

use crate::profile::Profile;
use assembler::Assembler;
use delayed_ack::AckSchedule;
use recent::Recent;
use right_sizing::{Progress, RightSizing};

pub(crate) use assembler::Placed;
pub(crate) use right_sizing::Clocks;

/// RFC 7323, 2.3: "the maximum scale exponent is limited to 14".
const MAX_SCALE: u8 = 14;

/// Receive sequence variables (RFC 9293, 3.3.1), reassembly and acknowledgement state.
pub(crate) struct ReceiveSide {
    irs: SeqNumber,
    /// Right edge of the window last offered: RCV.NXT + RCV.WND.
    edge: SeqNumber,
    size: RightSizing,
    /// Bytes read, modulo 2^32.
    consumed: u32,
    /// Our shift (RFC 7323, 2.2); 0 until negotiated.
    scale: u8,
    largest_window: u32,
    assembler: Assembler,
    /// Where FIN is, once it is known.
    fin: Option<SeqNumber>,
    fin_reached: bool,
    /// As [`Profile::sack_fin`].
    sack_fin: bool,
    /// TS.Recent and when it was set (RFC 7323, 4.3 and 5).
    ts_recent: Recent,
    last_ack_sent: SeqNumber,
    acks: AckSchedule,
    /// Largest payload seen: the peer's segment size, as far as we can tell.
    peer_segment: u32,
}

impl ReceiveSide {
    pub(crate) fn new(profile: &Profile) -> Self {
        let scale = offered_scale(profile.receive_buffer);
        Self {
            irs: SeqNumber::default(),
            edge: SeqNumber::default(),
            size: RightSizing::new(profile.receive_buffer as u32, profile.features.autotune),
            consumed: 0,
            scale: 0,
            largest_window: 0,
            // Window fields are rounded up, so the window may exceed the buffer: by one unit.
            assembler: Assembler::new(profile.receive_buffer + (1 << scale)),
            fin: None,
            sack_fin: profile.sack_fin,
            fin_reached: false,
            ts_recent: Recent::new(),
            last_ack_sent: SeqNumber::default(),
            acks: AckSchedule::new(profile.delayed_ack, profile.clock),
            peer_segment: 0,
        }
    }

    /// The peer's SYN arrived.
    pub(crate) fn start(&mut self, irs: SeqNumber) {
        self.irs = irs;
        self.assembler.start(irs + 1);
        // What our own SYN offered, if we sent one: data may follow the peer's at once.
        self.edge = irs + 1 + self.largest_window;
        self.last_ack_sent = irs + 1;
    }

    /// The number of the peer's SYN.
    pub(crate) fn irs(&self) -> SeqNumber {
        self.irs
    }

    /// Window scaling was negotiated (RFC 7323, 2.2); `buffer`: the size that we offered.
    pub(crate) fn start_scaling(&mut self, buffer: usize) {
        self.scale = offered_scale(buffer);
    }

    /// RCV.NXT.
    pub(crate) fn nxt(&self) -> SeqNumber {
        if self.fin_reached { self.assembler.nxt() + 1 } else { self.assembler.nxt() }
    }

    /// RCV.WND: what the peer may send as far as it knows.
    #[inline]
    pub(crate) fn wnd(&self) -> u32 {
        (self.edge - self.nxt()).max(0) as u32
    }

    /// The largest payload seen.
    pub(crate) fn peer_segment(&self) -> u32 {
        self.peer_segment
    }

    /// What is missing below what has arrived, lowest first.
    pub(crate) fn holes(&self) -> impl Iterator<Item = (SeqNumber, SeqNumber)> {
        self.assembler.holes()
    }

    pub(crate) fn largest_window(&self) -> u32 {
        self.largest_window
    }

    /// The window field for a segment sent now. The right edge does not move left (RFC 9293, 3.8.6)
    /// and moves right only by a step worth reporting (3.8.6.2.2).
    ///
    /// A scaled field seldom hits the edge. It is rounded up while there is storage for what that
    /// promises; every ACK may round up again, so a reader that stands still would otherwise be
    /// promised more and more. Then it is rounded down, as RFC 7323, 2.4 foresees: "there are
    /// instances when a retracted window can be offered". What was promised is still taken.
    #[inline]
    pub(crate) fn advertise(&mut self, syn: bool) -> u16 {
        let nxt = self.nxt();
        let candidate = nxt + self.free();
        let offered = self.edge;
        let step = candidate - offered;
        if step > 0 && (step as u32 >= self.worthwhile_step() || syn) {
            self.edge = candidate;
        }
        let window = self.wnd();
        let scale = if syn { 0 } else { self.scale };
        let up = window.div_ceil(1 << scale).min(u32::from(u16::MAX));
        let field = if (up << scale) as usize <= self.assembler.room() { up } else { window >> scale };
        let edge = nxt + (field << scale);
        if syn {
            // Its field is not scaled. A special ACK from SYN-RECEIVED may have offered more before.
            self.edge = offered.max(edge);
        } else if edge.gt(self.edge) {
            self.edge = edge;
        }
        self.largest_window = self.largest_window.max(field << scale);
        field as u16
    }

    /// Whether reading has opened the window so far that the peer should be notified
    /// (RFC 9293, 3.8.6.2.2: half of the buffer or one segment; two segments, as it is commonly
    /// done, so that a fast reader does not double the ACKs; where few ACKs are sent, also twice as far as the peer
    /// knows, as in Linux: the next ACK reports what is read of an open window).
    pub(crate) fn owes_window_update(&self) -> bool {
        let known = if self.acks.is_short() { self.edge - self.nxt() } else { 0 };
        let step = (self.nxt() + self.free()) - self.edge;
        step > 0
            && step >= known
            && step as u32 >= (2 * self.peer_segment.max(536)).min(self.size.limit() / 2).max(1)
    }

    fn worthwhile_step(&self) -> u32 {
        self.peer_segment.max(536).min(self.size.limit() / 2).max(1)
    }

    /// What may be offered: the free buffer, as far as the window field can express it.
    #[inline]
    fn free(&self) -> u32 {
        let tellable = u32::from(u16::MAX) << self.scale;
        self.size.limit().saturating_sub(self.assembler.readable() as u32).min(tellable)
    }

    /// Places the payload of an acceptable segment. One that is longer than `longest`, which the path takes
    /// at most, is several that a carrier has put together.
    pub(crate) fn place(&mut self, seq: SeqNumber, payload: &[u8], fin: bool, longest: u32) -> Placed {
        self.peer_segment = self.peer_segment.max(longest.min(payload.len() as u32));
        if fin && self.fin.is_none() {
            self.fin = Some(seq + payload.len() as u32);
        }
        // What lies beyond a FIN is no data.
        let payload = match self.fin {
            Some(end) => &payload[..payload.len().min((end - seq).max(0) as usize)],
            None => payload,
        };
        let had_holes = self.assembler.has_holes();
        let placed = Placed { had_holes, ..self.assembler.insert(seq, payload, self.edge) };
        if self.fin == Some(self.assembler.nxt()) {
            self.fin_reached = true;
        }
        placed
    }

    /// The first byte of `[seq, seq + len)` that is not held, if any.
    pub(crate) fn first_missing(&self, seq: SeqNumber, len: u32) -> Option<SeqNumber> {
        self.assembler.first_missing(seq, len)
    }

    /// Whether the byte `seq` has arrived.
    #[inline]
    pub(crate) fn holds(&self, seq: SeqNumber) -> bool {
        self.assembler.first_missing(seq, 1).is_none()
    }

    /// Whether the peer's FIN has been reached: all that it sent is here.
    pub(crate) fn fin_reached(&self) -> bool {
        self.fin_reached
    }

    /// A duplicate arrived: report it in the next ACK (RFC 2883).
    pub(crate) fn report_duplicate(&mut self, start: SeqNumber, end: SeqNumber) {
        self.assembler.report_duplicate(start, end);
    }

    /// The SACK blocks for an ACK, at most `room` of them: a D-SACK first, then the block that
    /// holds what arrived last, then the others by age (RFC 2018, section 4; RFC 2883, section 4).
    ///
    /// With [`Profile::sack_fin`] they cover the FIN that follows the data of a block.
    pub(crate) fn sack_blocks(&mut self, room: usize) -> SackBlocks {
        let blocks = self.assembler.sack_blocks(room);
        let Some(fin) = self.fin.filter(|_| self.sack_fin) else { return blocks };
        let mut reported = SackBlocks::default();
        for &(start, end) in &blocks {
            reported.push((start, if end == fin { end + 1 } else { end }));
        }
        reported
    }

    /// Whether an ACK would carry SACK blocks.
    pub(crate) fn has_sack_news(&self) -> bool {
        self.assembler.has_holes() || self.assembler.owes_duplicate_report()
    }

    // --- timestamps ---------------------------------------------------------------------------------

    /// TS.Recent: the TSval to be echoed.
    pub(crate) fn ts_recent(&self) -> u32 {
        self.ts_recent.value()
    }

    /// TS.Recent, and when it was set.
    pub(crate) fn ts_recent_since(&self) -> (u32, Instant) {
        (self.ts_recent.value(), self.ts_recent.at())
    }

    /// The TSval of the peer's SYN.
    pub(crate) fn start_timestamps(&mut self, tsval: u32, now: Instant) {
        self.ts_recent.start(tsval, now);
    }

    /// RFC 7323, 4.3: "If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent, then SEG.TSval is
    /// copied to TS.Recent".
    pub(crate) fn update_ts_recent(&mut self, seq: SeqNumber, tsval: u32, now: Instant) {
        if !self.ts_recent.is_after(tsval) && seq.le(self.last_ack_sent) {
            self.ts_recent.update(tsval, now);
        }
    }

    /// RFC 7323, 5.3, R1: "If SEG.TSval < TS.Recent, and if TS.Recent is valid". `lenient`: packets are
    /// expected to overtake each other by much.
    #[inline]
    pub(crate) fn is_timestamp_old(&self, tsval: u32, now: Instant, lenient: bool) -> bool {
        self.ts_recent.is_older(tsval, now, lenient)
    }

    /// Whether a TSval is one that the peer may have sent by now, up to two seconds ago.
    pub(crate) fn is_timestamp_possible(&self, tsval: u32, now: Instant) -> bool {
        !self.ts_recent.is_older(tsval, now, true) && !self.ts_recent.is_ahead(tsval, now)
    }

    // --- acknowledgements ---------------------------------------------------------------------------

    /// An ACK must leave at once.
    pub(crate) fn ack_at_once(&mut self) {
        self.acks.at_once();
    }

    /// Data arrived: an ACK is owed. `times`: the receiver's view of the retransmission timeout, and of the round-trip time.
    ///
    /// RFC 5681, 4.2: "Out-of-order data segments SHOULD be acknowledged immediately", so does one that
    /// fills a gap, and every second full-sized segment. Where the delay is a part of the round-trip time, what follows the
    /// last segment beyond a gap says nothing new of the gap, and waits (as in QUIC: RFC 9000, 13.2.1).
    pub(crate) fn schedule_ack(
        &mut self,
        now: Instant,
        placed: &Placed,
        fin: bool,
        times: (Duration, Duration),
    ) {
        let may_wait = placed.follows && self.acks.is_short();
        let at_once = ((placed.out_of_order || placed.had_holes) && !may_wait)
            || placed.dropped
            || placed.duplicate.is_some()
            || fin
            || self.owes_second_segment();
        self.acks.on_data(now, at_once, times);
    }

    pub(crate) fn is_ack_due(&self) -> bool {
        self.acks.is_due()
    }

    /// When a delayed ACK must leave.
    pub(crate) fn ack_deadline(&self) -> Option<Instant> {
        self.acks.deadline()
    }

    /// Says whether a delayed ACK has become due.
    pub(crate) fn expire_delayed_ack(&mut self, now: Instant) -> bool {
        let due = self.acks.deadline().is_some_and(|at| at <= now);
        if due {
            self.acks.expire();
        }
        due
    }

    /// No ACK is owed any more.
    pub(crate) fn cancel_ack(&mut self) {
        self.acks.on_ack_sent();
    }

    /// An ACK for all that has arrived leaves.
    pub(crate) fn on_ack_sent(&mut self) {
        self.last_ack_sent = self.nxt();
        self.acks.on_ack_sent();
    }

    /// Two full segments or more are unacknowledged.
    fn owes_second_segment(&self) -> bool {
        let pending = (self.nxt() - self.last_ack_sent).max(0) as u32;
        self.peer_segment > 0 && pending >= 2 * self.peer_segment
    }

    pub(crate) fn readable(&self) -> usize {
        self.assembler.readable()
    }

    pub(crate) fn peek(&self) -> (&[u8], &[u8]) {
        self.assembler.peek()
    }

    pub(crate) fn beyond(&self) -> impl Iterator<Item = (usize, (&[u8], &[u8]))> {
        self.assembler.beyond()
    }

    pub(crate) fn consume(&mut self, n: usize) {
        self.assembler.consume(n);
        self.consumed = self.consumed.wrapping_add(n as u32);
        self.size.on_progress(self.progress());
    }

    /// The largest window that there is reason to offer.
    pub(crate) fn target(&self) -> u32 {
        self.size.limit()
    }

    /// Whether less has arrived than the window that is offered at first.
    pub(crate) fn has_just_begun(&self) -> bool {
        ((self.assembler.nxt() - self.irs) as u32) < right_sizing::INITIAL
    }

    /// Another connection over the path had reason to offer `window` bytes.
    pub(crate) fn resume(&mut self, window: u32) {
        self.size.resume(window);
    }

    /// The path is said to deliver that many bytes in a round trip.
    pub(crate) fn expect(&mut self, bytes: u32) {
        self.size.expect(bytes);
    }

    /// Data arrived: the window that is offered may have to grow.
    pub(crate) fn tune(&mut self, clocks: &Clocks) {
        let progress = self.progress();
        self.size.on_arrival(progress, clocks);
        self.size.on_progress(progress);
    }

    fn progress(&self) -> Progress {
        Progress { consumed: self.consumed, held: self.assembler.held(), span: self.assembler.span() }
    }

    /// Gives back memory that nothing is stored in.
    pub(crate) fn release(&mut self) {
        self.assembler.release();
    }

    /// Bytes of heap in the receive buffer.
    pub(crate) fn buffer(&self) -> usize {
        self.assembler.buffer()
    }

    /// Bytes of heap beside it.
    pub(crate) fn bookkeeping(&self) -> usize {
        self.assembler.bookkeeping()
    }
}

/// The window field of a SYN-ACK: as [`ReceiveSide::advertise`] has it.
pub(crate) fn first_window(profile: &Profile) -> u16 {
    ReceiveSide::new(profile).advertise(true)
}

/// The window scale that a buffer of that size needs.
pub(crate) fn offered_scale(buffer: usize) -> u8 {
    (0..MAX_SCALE).find(|&scale| buffer >> scale <= usize::from(u16::MAX)).unwrap_or(MAX_SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender that fills every window it is offered, and a reader that stands still.
    #[test]
    fn all_that_is_offered_can_be_stored() {
        let segment = alloc::vec![0; 1448];
        for (buffer, len) in [(60_000, 1448), (300_000, 1), (300_000, 1001), (64 << 20, 1448)] {
            let profile = Profile { receive_buffer: buffer, ..Profile::standard() };
            let mut rcv = ReceiveSide::new(&profile);
            rcv.start(SeqNumber(u32::MAX - 5000));
            rcv.scale = offered_scale(buffer);
            let unit = 1 << rcv.scale;
            let mut edge = rcv.nxt();
            loop {
                let window = u32::from(rcv.advertise(false)) << rcv.scale;
                let offered = rcv.nxt() + window;
                assert!(edge - offered < unit, "the right edge moves left by {}", edge - offered);
                edge = edge.max(offered);
                if window == 0 {
                    break;
                }
                let n = window.min(len);
                let placed = rcv.place(rcv.nxt(), &segment[..n as usize], false, len);
                assert_eq!((placed.advanced, placed.dropped), (n, false), "after {}", rcv.readable());
            }
            assert!(rcv.readable() > buffer - unit as usize && rcv.readable() <= buffer + unit as usize);
        }
    }

    /// With a short delay, what follows a gap that was reported waits for a second segment, and what is read of an open window
    /// is reported by the next ACK.
    #[test]
    fn few_acks_are_sent_where_their_delay_is_short() {
        for part in [None, Some(32)] {
            let mut profile = Profile { receive_buffer: 60_000, ..Profile::standard() };
            profile.delayed_ack.part = part;
            let mut rcv = ReceiveSide::new(&profile);
            rcv.start(SeqNumber(0));
            rcv.advertise(false);
            let times = (Duration::from_millis(400), Duration::from_millis(320));
            let mut now = Instant::from_nanos(1_000_000_000);
            let arrivals = [0, 2000, 3000, 4000].map(|offset| {
                let placed = rcv.place(rcv.irs() + 1 + offset, &[0; 1000], false, 1000);
                now += Duration::from_millis(1);
                rcv.schedule_ack(now, &placed, false, times);
                let is_due = rcv.is_ack_due();
                if is_due {
                    rcv.on_ack_sent();
                }
                is_due
            });
            assert_eq!(
                arrivals,
                if part.is_some() { [true, true, false, true] } else { [false, true, true, true] }
            );
            let placed = rcv.place(rcv.nxt(), &[0; 1000], false, 1000);
            assert_eq!(placed.advanced, 4000);
            rcv.advertise(false);
            rcv.consume(5000);
            assert_eq!(rcv.owes_window_update(), part.is_none(), "most of the window is open");
        }
    }

    /// A peer that had no answer to its SYN sends it again, with a later timestamp.
    #[test]
    fn a_timestamp_is_taken_before_anything_is_acknowledged() {
        let mut rcv = ReceiveSide::new(&Profile::standard());
        rcv.start(SeqNumber(100));
        rcv.start_timestamps(7, Instant::ZERO);
        rcv.update_ts_recent(SeqNumber(102), 8, Instant::ZERO);
        assert_eq!(rcv.ts_recent.value(), 7, "beyond what will be acknowledged");
        for (seq, tsval) in [(100, 9), (101, 10)] {
            rcv.update_ts_recent(SeqNumber(seq), tsval, Instant::ZERO);
            assert_eq!(rcv.ts_recent.value(), tsval);
        }
        rcv.update_ts_recent(SeqNumber(100), 9, Instant::ZERO);
        assert_eq!(rcv.ts_recent.value(), 10, "it is older");
    }
}
