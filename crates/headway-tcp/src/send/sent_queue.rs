//! What has been sent and is not yet cumulatively acknowledged, segment by segment, and what is
//! thought to have become of each.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;
use headway_wire::patch::Choice;

pub(crate) use super::marks::{Marks, Sent};
use super::transmissions::{Delivery, Totals, Transmission, TransmissionLog};
use crate::congestion::{Deliveries, Load, LostSegment, Others, RateSample};

/// What an advance of `SND.UNA` took from the queue.
#[derive(Clone, Copy, Default)]
pub(crate) struct Acknowledged {
    pub(crate) bytes: u32,
    /// Any of it had been sent more than once.
    pub(crate) retransmitted: bool,
    /// When the oldest segment that was sent once, and is fully covered, was sent.
    pub(crate) sent_at: Option<Instant>,
}

/// The retransmission queue: contiguous segments from `SND.UNA` to `SND.NXT`.
#[derive(Default)]
pub(crate) struct SentQueue {
    segments: VecDeque<Sent>,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Segments with the mark `DAMAGED`.
    damaged: u32,
    /// Segments that are lost and of which no later transmission is in the network.
    missing: u32,
    /// Of those, segments that no damage report explains.
    unexplained: u32,
    /// The number of the latest transmission over the path.
    transmissions: u64,
    /// No segment below this is missing.
    missing_hint: Option<SeqNumber>,
    log: Log,
}

/// The transmissions in the order of sending.
#[derive(Default)]
enum Log {
    /// Recovery does not ask for it.
    #[default]
    Never,
    /// Nothing is outstanding.
    Resting(Totals),
    Kept(Box<TransmissionLog>),
}

impl Log {
    fn kept(&self) -> Option<&TransmissionLog> {
        if let Self::Kept(log) = self { Some(log) } else { None }
    }

    #[inline]
    fn kept_mut(&mut self) -> Option<&mut TransmissionLog> {
        if let Self::Kept(log) = self { Some(log) } else { None }
    }

    fn rest(&mut self) {
        if let Self::Kept(log) = self {
            *self = Self::Resting(log.totals());
        }
    }

    fn wake(&mut self) {
        if let Self::Resting(totals) = self {
            *self = Self::Kept(Box::new(TransmissionLog::resume(*totals)));
        }
    }
}

impl SentQueue {
    /// A queue that keeps the order of transmissions.
    pub(crate) fn with_log() -> Self {
        Self { log: Log::Resting(Totals::default()), ..Self::default() }
    }

    pub(crate) fn log(&self) -> Option<&TransmissionLog> {
        self.log.kept()
    }

    pub(super) fn log_mut(&mut self) -> Option<&mut TransmissionLog> {
        self.log.kept_mut()
    }

    /// Bytes that arrived damaged, in all.
    pub(crate) fn corrupted_bytes(&self) -> u64 {
        match &self.log {
            Log::Never => 0,
            Log::Resting(totals) => totals.corrupted,
            Log::Kept(log) => log.totals().corrupted,
        }
    }

    /// The connection shares its domain: what the other members have done since.
    pub(crate) fn set_others(&mut self, others: &Others) {
        match &mut self.log {
            Log::Never => {}
            Log::Resting(totals) => totals.set_others(others),
            Log::Kept(log) => log.set_others(others),
        }
    }

    /// What was delivered and lost, if that is counted.
    pub(crate) fn deliveries(&self) -> Option<Deliveries> {
        match &self.log {
            Log::Never => None,
            Log::Resting(totals) => Some(totals.deliveries()),
            Log::Kept(log) => Some(log.totals().deliveries()),
        }
    }

    /// The number of the latest transmission over the path.
    #[inline]
    pub(crate) fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// Other connections have sent over the path: the number of the latest transmission.
    #[inline]
    pub(crate) fn set_transmissions(&mut self, latest: u64) {
        self.transmissions = self.transmissions.max(latest);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn get(&self, index: usize) -> &Sent {
        &self.segments[index]
    }

    pub(crate) fn head(&self) -> Option<&Sent> {
        self.segments.front()
    }

    pub(crate) fn last(&self) -> Option<&Sent> {
        self.segments.back()
    }

    /// The place of the last segment that the peer is not known to have.
    pub(crate) fn last_unsacked(&self) -> Option<usize> {
        self.segments.iter().rposition(|sent| !sent.has(Marks::SACKED))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Sent> {
        self.segments.iter()
    }

    /// Sequence numbers outstanding (RFC 5681's FlightSize).
    pub(crate) fn outstanding(&self) -> u32 {
        match (self.segments.front(), self.segments.back()) {
            (Some(first), Some(last)) => (last.end() - first.seq) as u32,
            _ => 0,
        }
    }

    /// Bytes thought to be in the network (RFC 6675's pipe).
    #[inline]
    pub(crate) fn pipe(&self) -> u32 {
        self.outstanding() - self.sacked - self.lost + self.retransmitted
    }

    /// Bytes of retransmissions in the network.
    pub(crate) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Bytes that are SACKed, lost and retransmitted; segments that are damaged, missing and unexplained.
    pub(super) fn counts(&self) -> [u32; 6] {
        [self.sacked, self.lost, self.retransmitted, self.damaged, self.missing, self.unexplained]
    }

    /// Whether any segment is to be retransmitted.
    pub(crate) fn any_missing(&self) -> bool {
        self.missing > 0
    }

    /// Whether any segment is known to be damaged and held from the loss detectors.
    pub(crate) fn any_damaged(&self) -> bool {
        self.damaged > 0
    }

    /// The segment that contains `seq`.
    pub(crate) fn index_of(&self, seq: SeqNumber) -> Option<usize> {
        let index = self.first_from(seq + 1).checked_sub(1)?;
        seq.lt(self.segments[index].end()).then_some(index)
    }

    /// The first segment that starts at `seq` or later.
    pub(crate) fn first_from(&self, seq: SeqNumber) -> usize {
        // Segments are of one length as a rule: so the place can be reckoned, and need not be searched.
        let Some(first) = self.segments.front() else { return 0 };
        if seq.le(first.seq) {
            return 0;
        }
        let guess = ((seq - first.seq) as u32).div_ceil(first.len.max(1)) as usize;
        let starts_before = |index: usize| self.segments.get(index).map(|sent| sent.seq.lt(seq));
        if starts_before(guess - 1) == Some(true) && starts_before(guess) != Some(true) {
            return guess;
        }
        self.segments.partition_point(|sent| sent.seq.lt(seq))
    }

    /// Adds a new segment at the end, which may have SYN or FIN.
    pub(crate) fn push(&mut self, seq: SeqNumber, len: u32, marks: Marks, now: Instant, tsval: u32) {
        debug_assert!(self.segments.back().is_none_or(|last| last.end() == seq));
        self.transmissions += 1;
        let order = self.transmissions;
        self.log.wake();
        let pipe = self.pipe();
        if let Some(log) = self.log.kept_mut() {
            log.sent(seq, len, order, now, pipe);
        }
        self.segments.push_back(Sent {
            seq,
            len,
            marks,
            transmissions: 1,
            reported: 0,
            tsval,
            order,
            sent_at: now,
            patch: Choice::NONE,
        });
    }

    /// The segment added last has PSH, and so will its transmissions.
    pub(crate) fn push_last(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.marks = last.marks.with(Marks::PUSH);
        }
    }

    /// Records that segment `index` is retransmitted.
    pub(crate) fn retransmit(&mut self, index: usize, now: Instant, tsval: u32) {
        self.transmissions += 1;
        let mut marks = self.segments[index].marks.with(Marks::RETRANSMITTED).with(Marks::EVER_RETRANSMITTED);
        if self.log.kept().is_some() {
            // The order of sending says what a later ACK means: no mark needs to.
            marks = marks.without(Marks::DAMAGED);
            let pipe = self.pipe();
            let sent = &self.segments[index];
            if let Some(log) = self.log.kept_mut() {
                log.supersede(sent.order);
                log.sent(sent.seq, sent.bytes(), self.transmissions, now, pipe);
            }
        }
        self.set(index, marks);
        let sent = &mut self.segments[index];
        sent.order = self.transmissions;
        sent.sent_at = now;
        if sent.tsval == tsval {
            sent.transmissions = sent.transmissions.saturating_add(1);
        } else {
            sent.tsval = tsval;
            sent.transmissions = 1;
            sent.reported = 0;
        }
    }

    /// Records that a special ACK reports the transmission of segment `index` that bore `tsval`, and says
    /// whether that is its latest: transmissions with equal TSvals are reported in the order of sending.
    pub(crate) fn report_transmission(&mut self, index: usize, tsval: u32) -> bool {
        let sent = &mut self.segments[index];
        // A TSval from before the latest transmission's reports a transmission that was superseded already.
        if sent.tsval != tsval {
            return false;
        }
        sent.reported = sent.reported.saturating_add(1);
        sent.reported >= sent.transmissions
    }

    /// Gives segment `index` other marks, and counts it accordingly.
    fn set(&mut self, index: usize, marks: Marks) {
        let sent = &mut self.segments[index];
        let before = core::mem::replace(&mut sent.marks, marks);
        let (len, bytes) = (sent.len, sent.bytes());
        let gained = |mark: Marks| i32::from(marks.has(mark)) - i32::from(before.has(mark));
        self.sacked = self.sacked.wrapping_add_signed(gained(Marks::SACKED) * len as i32);
        self.lost = self.lost.wrapping_add_signed(gained(Marks::LOST) * len as i32);
        self.retransmitted =
            self.retransmitted.wrapping_add_signed(gained(Marks::RETRANSMITTED) * bytes as i32);
        self.damaged = self.damaged.wrapping_add_signed(gained(Marks::DAMAGED));
        let missing = i32::from(marks.is_missing()) - i32::from(before.is_missing());
        self.missing = self.missing.wrapping_add_signed(missing);
        let unexplained = i32::from(marks.is_unexplained()) - i32::from(before.is_unexplained());
        self.unexplained = self.unexplained.wrapping_add_signed(unexplained);
    }

    /// Records that segment `index` is sent once more as it was, which does not count as a transmission.
    pub(crate) fn mark_copied(&mut self, index: usize) {
        let marks = self.segments[index].marks;
        self.set(index, marks.with(Marks::EVER_RETRANSMITTED).with(Marks::COPIED));
    }

    /// Marks segment `index` lost: it, and any retransmission of it, leaves the pipe.
    pub(crate) fn mark_lost(&mut self, index: usize) {
        let sent = &self.segments[index];
        if sent.has(Marks::SACKED) {
            return;
        }
        if let Some(log) = self.log.kept_mut() {
            log.resolve(sent.order);
        }
        let (seq, marks) = (sent.seq, sent.marks);
        self.set(index, marks.without(Marks::RETRANSMITTED).with(Marks::LOST));
        if self.missing_hint.is_none_or(|hint| seq.lt(hint)) {
            self.missing_hint = Some(seq);
        }
    }

    /// Marks the first transmission of segment `index` lost; one that was retransmitted since stays in the pipe.
    pub(crate) fn mark_first_lost(&mut self, index: usize) {
        let retransmitted = self.segments[index].has(Marks::RETRANSMITTED);
        self.mark_lost(index);
        if retransmitted {
            self.set(index, self.segments[index].marks.with(Marks::RETRANSMITTED));
        }
    }

    /// Marks segment `index` as known to be damaged (and lost).
    pub(crate) fn mark_damaged(&mut self, index: usize) {
        self.mark_lost(index);
        let marks = self.segments[index].marks;
        if marks.has(Marks::LOST) {
            self.set(index, marks.with(Marks::DAMAGED));
        }
    }

    /// Makes the retransmission of segment `index` an ordinary segment again.
    pub(crate) fn forget_damage(&mut self, index: usize) {
        let marks = self.segments[index].marks;
        if !marks.has(Marks::DAMAGED) {
            return;
        }
        let mut after = marks.without(Marks::DAMAGED);
        if marks.has(Marks::RETRANSMITTED) {
            after = after.without(Marks::RETRANSMITTED).without(Marks::LOST);
        }
        self.set(index, after);
    }

    /// Marks segment `index` selectively acknowledged; says whether it was not marked before.
    pub(crate) fn mark_sacked(&mut self, index: usize) -> bool {
        let marks = self.segments[index].marks;
        if marks.has(Marks::SACKED) {
            return false;
        }
        if let Some(log) = self.log.kept_mut() {
            let sent = &self.segments[index];
            log.on_acknowledged(sent.payload_len());
            log.delivered(
                sent.order,
                sent.end(),
                sent.bytes(),
                sent.tsval,
                marks.has(Marks::EVER_RETRANSMITTED),
            );
        }
        self.set(index, marks.resolved().with(Marks::SACKED));
        true
    }

    /// The segment whose latest transmission is `transmission`. `None` if no report of it can arrive any more.
    pub(crate) fn segment_of(&mut self, sent: &Transmission) -> Option<usize> {
        let index = self.index_of(sent.last()).filter(|&index| self.get(index).order == sent.order);
        if let (None, Some(log)) = (index, self.log.kept_mut()) {
            log.resolve(sent.order);
        }
        index
    }

    /// The latest transmission of segment `index` arrived damaged.
    pub(crate) fn mark_corrupted(&mut self, index: usize, now: Instant) {
        self.mark_damaged(index);
        let sent = &self.segments[index];
        if let Some(log) = self.log.kept_mut() {
            log.on_arrived(sent.payload_len());
            log.corrupted(sent.order, now, sent.bytes());
        }
    }

    /// The latest transmission of segment `index` was lost behind the bottleneck. Intact it would have been acknowledged at
    /// `due`.
    pub(crate) fn count_passed(&mut self, index: usize, due: Instant, now: Instant) {
        let sent = &self.segments[index];
        if let Some(log) = self.log.kept_mut() {
            log.lost_behind(sent.order, due, now, sent.bytes());
        }
    }

    /// The latest transmission of segment `index`, as long as it is known.
    pub(crate) fn transmission_of(&self, index: usize) -> Option<Transmission> {
        self.log.kept()?.transmission(self.segments[index].order).copied()
    }

    /// What is sent from now on is sent under this load.
    pub(crate) fn set_load(&mut self, load: Load) {
        if let Some(log) = self.log.kept_mut() {
            log.set_load(load);
        }
    }

    /// The latest transmission of segment `index`, which is `sent`, was lost, and not to damage.
    ///
    /// Queues drop packets, whatever their length. So some blocks of a segment count as `least` bytes, an MSS: routers that mark other
    /// packets drop retransmissions, which are not ECN-capable (RFC 3168, 6.1.5), and of blocks so few bytes would be lost that
    /// the controller sees no congestion.
    pub(crate) fn mark_dropped(
        &mut self,
        index: usize,
        sent: &Transmission,
        least: u32,
        now: Instant,
    ) -> Option<LostSegment> {
        let is_patch = !self.get(index).patch.is_none();
        self.mark_lost(index);
        let bytes = if is_patch { sent.len.max(least) } else { sent.len };
        Some(self.log.kept_mut()?.lose(sent, bytes, now))
    }

    /// The longest payload that has arrived, intact or not, since this was last asked for, if deliveries are measured.
    #[inline]
    pub(crate) fn take_longest_arrived(&mut self) -> u32 {
        self.log.kept_mut().map_or(0, TransmissionLog::take_longest_arrived)
    }

    /// What the ACK at hand has delivered, and what that says of the network's rate.
    pub(crate) fn take_delivery(
        &mut self,
        now: Instant,
        min_rtt: Option<Duration>,
    ) -> (Delivery, Option<RateSample>) {
        let Some(log) = self.log.kept_mut() else { return Default::default() };
        let delivery = log.take_delivery(now);
        let rate = log.rate(&delivery, now, min_rtt);
        (delivery, rate)
    }

    /// What the ACK at hand has delivered counts for nothing.
    pub(crate) fn discard_delivery(&mut self) {
        if let Some(log) = self.log.kept_mut() {
            log.discard_delivery();
        }
    }

    /// The application has nothing to send, although the window would allow it.
    pub(crate) fn app_limited(&mut self) {
        let pipe = self.pipe();
        if let Some(log) = self.log.kept_mut() {
            log.app_limited(pipe);
        }
    }

    /// Whether the application limits what is sent, where deliveries are measured.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.log().is_some_and(TransmissionLog::is_app_limited)
    }

    /// What was taken for lost, and was not retransmitted, is under way after all.
    pub(crate) fn revive_losses(&mut self) {
        for index in 0..self.segments.len() {
            let marks = self.segments[index].marks;
            if marks.is_missing() && !marks.has(Marks::DAMAGED) {
                self.set(index, marks.without(Marks::LOST));
            }
        }
        self.missing_hint = None;
        if let Some(log) = self.log.kept_mut() {
            let under_way =
                self.segments.iter().filter(|sent| !sent.has(Marks::SACKED) && !sent.is_missing());
            let mut under_way: Vec<_> =
                under_way.map(|sent| (sent.order, sent.seq, sent.bytes(), sent.sent_at)).collect();
            under_way.sort_unstable_by_key(|&(order, ..)| order);
            log.rebuild(under_way.into_iter());
        }
    }

    /// Forgets all that SACK blocks said (RFC 2018, section 8: the receiver may renege).
    pub(crate) fn clear_sacked(&mut self) {
        for index in 0..self.segments.len() {
            let marks = self.segments[index].marks;
            self.set(index, marks.without(Marks::SACKED));
        }
    }

    /// The receiver has dropped what its SACK blocks said (RFC 2018, section 8): all of it is lost.
    pub(crate) fn lose_sacked(&mut self) {
        for index in 0..self.segments.len() {
            let marks = self.segments[index].marks;
            if marks.has(Marks::SACKED) {
                self.set(index, marks.without(Marks::SACKED));
                self.mark_lost(index);
            }
        }
    }

    /// Forgets which segments were retransmitted or known to be lost or damaged.
    pub(crate) fn clear_losses(&mut self) {
        for index in 0..self.segments.len() {
            let marks = self.segments[index].marks;
            let sacked = marks.has(Marks::SACKED);
            let after = marks.resolved();
            self.set(index, if sacked { after.with(Marks::SACKED) } else { after });
        }
        self.missing_hint = None;
    }

    /// Whether a segment is lost, and not by damage that is known, and waits to be retransmitted.
    pub(crate) fn has_unexplained_loss(&self) -> bool {
        self.unexplained > 0
    }

    /// The lowest segment that is lost and has no later transmission in the network.
    pub(crate) fn first_missing(&mut self) -> Option<usize> {
        if self.missing == 0 {
            return None;
        }
        let from = self.missing_hint.map_or(0, |hint| self.first_from(hint));
        let found = (from..self.segments.len()).find(|&index| self.segments[index].is_missing());
        self.missing_hint = found.map(|index| self.segments[index].seq);
        found
    }

    /// Removes what `ack` covers.
    pub(crate) fn acknowledge(&mut self, ack: SeqNumber) -> Acknowledged {
        let mut acknowledged = Acknowledged::default();
        while let Some(head) = self.segments.front() {
            if !head.seq.lt(ack) {
                break;
            }
            acknowledged.retransmitted |= head.has(Marks::EVER_RETRANSMITTED);
            if head.end().gt(ack) {
                acknowledged.bytes += self.trim_head(ack);
                break;
            }
            acknowledged.bytes += head.len;
            if let Some(log) = self.log.kept_mut() {
                let retransmitted = head.has(Marks::EVER_RETRANSMITTED);
                if !head.has(Marks::SACKED) {
                    log.on_acknowledged(head.payload_len());
                    log.delivered(head.order, head.end(), head.bytes(), head.tsval, retransmitted);
                }
            }
            if !head.has(Marks::EVER_RETRANSMITTED) {
                acknowledged.sent_at.get_or_insert(head.sent_at);
            }
            let resolved = head.marks.resolved();
            self.set(0, resolved);
            self.segments.pop_front();
        }
        acknowledged
    }

    /// Cuts off the part of the first segment that `ack` covers.
    fn trim_head(&mut self, ack: SeqNumber) -> u32 {
        self.set_patch(0, Choice::NONE);
        let head = &mut self.segments[0];
        let cut = (ack - head.seq) as u32;
        if head.has(Marks::SACKED) {
            self.sacked -= cut;
        }
        if head.has(Marks::LOST) {
            self.lost -= cut;
        }
        if head.has(Marks::RETRANSMITTED) {
            self.retransmitted -= cut;
        }
        head.marks = head.marks.without(Marks::SYN);
        head.seq = ack;
        head.len -= cut;
        cut
    }

    /// Splits segment `index` so that its first part occupies `len` sequence numbers.
    pub(crate) fn split(&mut self, index: usize, len: u32) {
        self.set_patch(index, Choice::NONE);
        let sent = &mut self.segments[index];
        debug_assert!(len > 0 && len < sent.len);
        let mut rest = sent.clone();
        rest.seq = sent.seq + len;
        rest.len = sent.len - len;
        rest.marks = rest.marks.without(Marks::SYN);
        sent.len = len;
        sent.marks = sent.marks.without(Marks::FIN).without(Marks::PUSH);
        // The parts together occupy what the whole did; only segments are counted anew.
        self.damaged += u32::from(rest.has(Marks::DAMAGED));
        self.missing += u32::from(rest.is_missing());
        self.unexplained += u32::from(rest.marks.is_unexplained());
        self.segments.insert(index + 1, rest);
    }

    /// Of segment `index` this is retransmitted from now on; none: all of it.
    pub(crate) fn set_patch(&mut self, index: usize, patch: Choice) {
        let marks = self.segments[index].marks;
        if self.segments[index].patch == patch {
            return;
        }
        // What is in the network is counted anew.
        self.set(index, marks.without(Marks::RETRANSMITTED));
        self.segments[index].patch = patch;
        self.set(index, marks);
    }

    /// Gives back the memory that a connection does not need while nothing is outstanding.
    pub(crate) fn release(&mut self) {
        if self.segments.is_empty() {
            self.segments = VecDeque::new();
            self.log.rest();
        }
    }

    /// Heap bytes in use.
    pub(crate) fn allocated(&self) -> usize {
        self.segments.capacity() * size_of::<Sent>()
            + self.log.kept().map_or(0, |log| size_of::<TransmissionLog>() + log.allocated())
    }
}

#[cfg(test)]
mod tests;
