//! The send side of a connection: what is buffered, what is outstanding, what may go next.

mod bundling;
mod check;
mod marks;
pub(crate) mod recovery;
pub(crate) mod rtt;
pub(crate) mod scoreboard;
pub(crate) mod sent_queue;
mod tail_copies;
pub(crate) mod transmissions;
mod transmit;
mod window;

use alloc::sync::Arc;

use headway_units::{Duration, Instant};
use headway_wire::{SeqNumber, TcpHeader};

use crate::ConnectionId;
use crate::congestion::{CongestionDomain, Deliveries, Others};
use crate::path::ledger::CauseLedger;
use crate::profile::Profile;
use crate::ring::Ring;
use bundling::Bundled;
use marks::Marks;
use recovery::{Recovery, RecoveryContext};
use rtt::RttEstimator;
use scoreboard::Scoreboard;
use sent_queue::{Acknowledged, SentQueue};
use tail_copies::Copied;
pub(crate) use transmit::{DataSegment, NextSegment};
use window::SendWindow;
pub(crate) use window::WindowUpdate;

/// What a send buffer that grows with the window may hold at first.
const INITIAL_BUFFER: usize = 64 << 10;

/// Send sequence variables (RFC 9293, 3.3.1), buffer, retransmission queue and recovery.
pub(crate) struct SendSide {
    iss: SeqNumber,
    una: SeqNumber,
    nxt: SeqNumber,
    window: SendWindow,
    /// Largest payload that fits beside the options of every data segment.
    mss: u32,
    /// What the application wrote, from the first byte that is not acknowledged.
    buffer: Ring,
    /// The application closed its side; FIN follows the buffer.
    fin_queued: bool,
    fin_sent: bool,
    queue: SentQueue,
    sacks: Scoreboard,
    recovery: Recovery,
    rtt: RttEstimator,
    /// When `SND.UNA` last moved, or when the first byte of an empty queue was sent.
    last_advance: Instant,
    /// Unanswered zero-window probes and overrides.
    probes: u32,
    /// Timeouts since `SND.UNA` last moved.
    timeouts_in_a_row: u32,
    /// A small segment may be sent although silly-window avoidance would hold it.
    override_sws: bool,
    /// What was repeated in later segments.
    bundled: Bundled,
    /// What was copied.
    copied: Copied,
}

/// What was outstanding before an ACK.
#[derive(Clone, Copy)]
pub(crate) struct Outstanding {
    pub(crate) una: SeqNumber,
    /// RFC 5681's FlightSize.
    pub(crate) flight: u32,
    pub(crate) pipe: u32,
}

impl SendSide {
    pub(crate) fn new(iss: SeqNumber, profile: &Arc<Profile>, now: Instant) -> Self {
        let buffer = if profile.features.autotune {
            profile.send_buffer.min(INITIAL_BUFFER)
        } else {
            profile.send_buffer
        };
        let measures = profile.recovery.measures_delivery();
        Self {
            iss,
            una: iss,
            nxt: iss,
            window: SendWindow::new(iss),
            mss: 0,
            buffer: Ring::new(buffer),
            fin_queued: false,
            fin_sent: false,
            queue: if measures { SentQueue::with_log() } else { SentQueue::default() },
            sacks: Scoreboard::default(),
            recovery: Recovery::new(profile, false),
            rtt: RttEstimator::new(profile.clone()),
            last_advance: now,
            probes: 0,
            timeouts_in_a_row: 0,
            override_sws: false,
            bundled: Bundled::none(iss),
            copied: Copied::none(iss),
        }
    }

    // --- sequence numbers ---------------------------------------------------------------------------

    /// ISS.
    pub(crate) fn iss(&self) -> SeqNumber {
        self.iss
    }

    /// SND.UNA.
    pub(crate) fn una(&self) -> SeqNumber {
        self.una
    }

    /// SND.NXT.
    pub(crate) fn nxt(&self) -> SeqNumber {
        self.nxt
    }

    /// RFC 5961, 5.2: "(SND.UNA - MAX.SND.WND) <= SEG.ACK <= SND.NXT".
    pub(crate) fn is_ack_acceptable(&self, ack: SeqNumber) -> bool {
        !(ack.gt(self.nxt) || ack.lt(self.una - self.window.max()))
    }

    /// "SND.UNA < SEG.ACK =< SND.NXT".
    pub(crate) fn acknowledges_new(&self, ack: SeqNumber) -> bool {
        self.una.lt(ack) && ack.le(self.nxt)
    }

    /// Whether a segment that begins with `seq` has been sent and is not acknowledged.
    pub(crate) fn is_in_flight(&self, seq: SeqNumber) -> bool {
        let begins = |index: usize| self.queue.get(index).seq == seq;
        self.una.le(seq) && seq.lt(self.nxt) && self.queue.index_of(seq).is_none_or(begins)
    }

    /// The sequence number of a segment without data: SND.NXT, or the furthest right edge that the
    /// peer has offered if a probe stands beyond it.
    ///
    /// The peer takes no number beyond its window. Where both windows are closed, both ends would
    /// drop each other's ACKs and answer them, a round trip apart, without end.
    pub(crate) fn acceptable_seq(&self) -> SeqNumber {
        self.nxt.min(self.window.edge())
    }

    /// Sequence number of the first byte in the buffer.
    fn buffer_start(&self) -> SeqNumber {
        if self.una == self.iss { self.iss + 1 } else { self.una }
    }

    // --- opening ------------------------------------------------------------------------------------

    /// Our SYN or SYN-ACK leaves, for the first time or again.
    pub(crate) fn on_syn_sent(&mut self, now: Instant) {
        if self.nxt == self.iss {
            self.nxt = self.iss + 1;
            self.queue.push(self.iss, 1, Marks::SYN, now, 0);
            self.last_advance = now;
        } else {
            self.queue.retransmit(0, now, 0);
        }
    }

    /// Our SYN-ACK was a cookie.
    pub(crate) fn on_cookie_sent(&mut self) {
        self.nxt = self.iss + 1;
    }

    /// The peer's SYN arrived; its window scale is `scale`. What was agreed decides on the recovery.
    pub(crate) fn on_peer_syn(&mut self, profile: &Profile, syn: &TcpHeader, scale: u8, sack: bool) {
        self.window.start(syn, scale, self.iss);
        self.recovery = Recovery::new(profile, sack);
    }

    /// Our SYN is acknowledged.
    pub(crate) fn on_syn_acknowledged(&mut self, now: Instant) -> Acknowledged {
        let una = self.iss + 1;
        let acknowledged = self.queue.acknowledge(una);
        // A SYN is no data: it is not delivered, neither now nor by the next ACK.
        self.queue.discard_delivery();
        self.queue.release();
        self.una = una;
        self.last_advance = now;
        acknowledged
    }

    /// The window of the segment that ends SYN-RECEIVED.
    pub(crate) fn set_window(&mut self, window: u16) {
        self.window.set(window);
    }

    pub(crate) fn mss(&self) -> u32 {
        self.mss
    }

    /// The largest payload is another. What is in flight and too long now is cut and retransmitted.
    pub(crate) fn set_mss(&mut self, mss: u32) {
        let before = core::mem::replace(&mut self.mss, mss);
        if mss < before {
            self.recovery.on_mss_reduced(&mut self.queue, mss);
        }
    }

    // --- ACKs ---------------------------------------------------------------------------------------

    /// The send window.
    pub(crate) fn window(&self) -> &SendWindow {
        &self.window
    }

    /// Takes the window that a segment offers.
    #[inline]
    pub(crate) fn update_window(&mut self, tcp: &TcpHeader) -> WindowUpdate {
        let update = self.window.update(tcp, self.una);
        if update == WindowUpdate::Opened {
            self.rtt.clear_backoff();
        }
        update
    }

    /// Takes SACK blocks; says how many bytes they newly cover.
    pub(crate) fn take_sack_blocks(&mut self, blocks: &[(SeqNumber, SeqNumber)], ack: SeqNumber) -> u32 {
        let newly = self.sacks.update(&mut self.queue, blocks, ack, self.nxt);
        self.sacks.ignore_duplicate(|end| self.bundled.covers(end) || self.copied.explain(end));
        newly
    }

    /// Moves SND.UNA to `ack` and releases what it covers; `None` if it covers nothing new.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: SeqNumber, now: Instant) -> Option<Acknowledged> {
        if !ack.gt(self.una) {
            return None;
        }
        let start = self.buffer_start();
        let acknowledged = self.queue.acknowledge(ack);
        let covered = (ack - start).max(0) as usize;
        self.buffer.consume(covered.min(self.buffer.len()));
        self.una = ack;
        self.sacks.advance(ack);
        self.bundled.advance(ack);
        self.copied.advance(ack);
        self.last_advance = now;
        self.timeouts_in_a_row = 0;
        Some(acknowledged)
    }

    /// Whether an ACK that acknowledges nothing says something all the same: one that was overtaken, or
    /// one that arrives when nothing is outstanding.
    pub(crate) fn reads_stale_ack(&self, overtaken: bool) -> bool {
        self.recovery.reads_stale_ack(overtaken, &self.sacks)
    }

    /// What is outstanding.
    #[inline]
    pub(crate) fn outstanding(&self) -> Outstanding {
        Outstanding { una: self.una, flight: self.queue.outstanding(), pipe: self.queue.pipe() }
    }

    /// Whether anything is.
    pub(crate) fn has_outstanding(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Bytes thought to be in the network (RFC 6675's pipe).
    #[inline]
    pub(crate) fn pipe(&self) -> u32 {
        self.queue.pipe()
    }

    /// Whether the application limits what is sent, where deliveries are measured.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.queue.is_app_limited()
    }

    /// When the oldest segment that is outstanding was sent last.
    pub(crate) fn oldest_sent_at(&self) -> Option<Instant> {
        self.queue.head().map(|head| head.sent_at)
    }

    /// When `SND.UNA` last moved, or when the first byte of an empty queue was sent.
    pub(crate) fn last_advance(&self) -> Instant {
        self.last_advance
    }

    /// The number of the latest transmission over the path.
    #[inline]
    pub(crate) fn transmissions(&self) -> u64 {
        self.queue.transmissions()
    }

    /// Other connections have sent over the path.
    #[inline]
    pub(crate) fn set_transmissions(&mut self, latest: u64) {
        self.queue.set_transmissions(latest);
    }

    /// See [`Others`].
    pub(crate) fn set_others(&mut self, others: &Others) {
        self.queue.set_others(others);
    }

    /// What was delivered and lost.
    pub(crate) fn deliveries(&self) -> Option<Deliveries> {
        self.queue.deliveries()
    }

    /// Nothing is outstanding: gives back the memory that only that needs.
    pub(crate) fn release_queue(&mut self) {
        self.queue.release();
        self.recovery.clear_reported();
    }

    // --- timers -------------------------------------------------------------------------------------

    /// The round-trip estimate and the retransmission timeout.
    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(crate) fn rtt_mut(&mut self) -> &mut RttEstimator {
        &mut self.rtt
    }

    /// The retransmission timer expired: says how often it has since `SND.UNA` last moved.
    pub(crate) fn count_timeout(&mut self, now: Instant) -> u32 {
        self.timeouts_in_a_row += u32::from(self.rtt.counts_timeout(now));
        self.timeouts_in_a_row
    }

    /// The peer showed that data arrives.
    pub(crate) fn clear_timeouts(&mut self) {
        self.timeouts_in_a_row = 0;
    }

    /// A probe of a closed window goes; says how many have gone without an answer.
    pub(crate) fn count_probe(&mut self) -> u32 {
        self.probes += 1;
        self.probes
    }

    /// The peer answered.
    pub(crate) fn clear_probes(&mut self) {
        self.probes = 0;
    }

    // --- recovery -----------------------------------------------------------------------------------

    /// The recovery, and what it works on.
    pub(crate) fn lend_recovery<'a>(
        &'a mut self,
        now: Instant,
        (domain, member): (&'a mut CongestionDomain, ConnectionId),
        ledger: Option<&'a mut CauseLedger>,
        answered: bool,
    ) -> (&'a mut Recovery, RecoveryContext<'a>) {
        let buffer_start = self.buffer_start();
        let work = RecoveryContext {
            now,
            queue: &mut self.queue,
            sacks: &mut self.sacks,
            rtt: &mut self.rtt,
            domain,
            member,
            ledger,
            buffer: &self.buffer,
            buffer_start,
            una: self.una,
            nxt: self.nxt,
            mss: self.mss,
            answered,
        };
        (&mut self.recovery, work)
    }

    /// When to probe for a tail loss, after data was sent or acknowledged; `None`: not at all.
    #[inline]
    pub(crate) fn probe_timeout(&self, ledger: Option<&CauseLedger>) -> Option<Duration> {
        self.recovery.probe_timeout(&self.queue, &self.rtt, self.mss, ledger)
    }

    /// An earlier connection over the path saw packets overtake each other, or did not. Says whether the
    /// window may begin with what that one had.
    pub(crate) fn on_path_memory(&mut self, reordering: bool) -> bool {
        self.recovery.on_path_memory(reordering)
    }

    /// Whether packets of this connection were seen to overtake each other.
    pub(crate) fn saw_reordering(&self) -> bool {
        self.recovery.saw_reordering()
    }

    /// D-SACK reports (RFC 2883) in all.
    pub(crate) fn duplicate_reports(&self) -> u64 {
        self.sacks.duplicates()
    }

    // --- what the application writes ------------------------------------------------------------------

    /// Takes as much of `data` as the buffer holds.
    pub(crate) fn write(&mut self, data: &[u8]) -> usize {
        self.buffer.push(data)
    }

    /// Bytes that the buffer would take.
    pub(crate) fn buffer_room(&self) -> usize {
        self.buffer.limit() - self.buffer.len()
    }

    /// Whether a third of the buffer or more is free.
    pub(crate) fn has_room_to_write(&self) -> bool {
        self.buffer.len() <= self.buffer.limit() / 3 * 2
    }

    /// The application closes its side: FIN follows what was written.
    pub(crate) fn queue_fin(&mut self) {
        self.fin_queued = true;
    }

    pub(crate) fn is_fin_queued(&self) -> bool {
        self.fin_queued
    }

    pub(crate) fn is_fin_acknowledged(&self) -> bool {
        self.fin_sent && self.una == self.nxt
    }

    /// Lets the buffer grow with the window, up to `most`: it holds what is outstanding, and as much again
    /// to send when the window has doubled. While a hole is repaired, much more is outstanding than
    /// the window.
    pub(crate) fn tune_buffer(&mut self, cwnd: u32, most: usize) {
        let wanted = cwnd.max(self.queue.outstanding()) as usize * 2;
        let limit = self.buffer.limit();
        self.buffer.set_limit(limit.max(wanted.min(most)));
    }

    /// Nothing will be sent any more: drops what is outstanding and what is buffered.
    pub(crate) fn discard(&mut self) {
        self.recovery.clear_reported();
        self.queue.acknowledge(self.nxt);
        self.buffer.consume(self.buffer.len());
        self.release();
    }

    /// Nothing is left to send: gives back queue and buffer.
    pub(crate) fn release(&mut self) {
        self.queue.release();
        self.buffer.release();
    }

    /// Bytes of heap in the buffer.
    pub(crate) fn buffer_allocated(&self) -> usize {
        self.buffer.allocated()
    }

    /// Bytes of heap beyond the buffer.
    pub(crate) fn allocated(&self) -> usize {
        self.queue.allocated() + self.recovery.allocated()
    }
}
