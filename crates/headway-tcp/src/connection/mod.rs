//! One connection: its state and what the application asks of it.
//!
//! How a packet passes through: [`input`] checks an arriving segment in the order of RFC 9293,
//! 3.10.7, [`ack`] hands its ACK to the send side, [`text`] its data to the receive side;
//! [`damage`] takes segments whose payload is damaged; [`icmp`] hears what
//! routers say; [`timers`] answers deadlines; [`output`]
//! chooses and builds the next segment to send.

mod ack;
mod build;
mod damage;
mod data;
mod ecn;
mod icmp;
mod input;
mod modern;
mod notifications;
mod open;
mod options;
mod output;
mod partial;
mod pending_output;
mod repair;
mod settings;
mod sharing;
mod statistics;
mod text;
mod timers;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::net::SocketAddr;

use headway_units::{Duration, Instant};
use headway_wire::{Segment, SeqNumber};

use crate::congestion::CongestionDomain;
use crate::event::{Event, Observer, RetransmitReason, Timer};
use crate::hack::classic::sender::Resends;
use crate::hack::partial::{receiver::CorruptedPayloads, sender::PeerHeldRanges};
use crate::hack::repair::HeaderHistory;
use crate::path::Path;
use crate::path::memory::PathSampler;
use crate::profile::{HackRules, Profile};
use crate::receive::ReceiveSide;
use crate::send::SendSide;
use crate::{ConnectionError, ConnectionId, State};

use ecn::EcnState;
pub use notifications::Notification;
use notifications::Notifications;
pub(crate) use open::{Reply, SynShape, agree, syn_options};
use pending_output::PendingOutput;
use statistics::Counters;
pub use statistics::Statistics;
use timers::Timers;

/// The two ends, ours first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoints {
    /// Our address and port.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
}

/// What a host lends to a connection while it works.
pub(crate) struct Context<'a, O> {
    pub(crate) now: Instant,
    pub(crate) id: ConnectionId,
    pub(crate) domain: &'a mut CongestionDomain,
    pub(crate) path: &'a mut Path,
    pub(crate) observer: &'a mut O,
}

impl<O: Observer> Context<'_, O> {
    #[inline]
    pub(crate) fn emit(&mut self, event: impl FnOnce() -> Event) {
        if O::ENABLED {
            let event = event();
            self.observer.event(self.now, self.id, &event);
        }
    }
}

/// What the two ends agreed on in their SYNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Negotiated {
    /// RFC 2018.
    pub sack: bool,
    /// RFC 7323.
    pub timestamps: bool,
    /// RFC 7323.
    pub window_scaling: bool,
    /// Kinds 14 and 15 (paper 000).
    pub hack: bool,
    /// We may send kind 16 to the peer (paper 003).
    pub xhack: bool,
    /// HACK v2 instead of kinds 14 to 16 (`docs/protocol.md`).
    pub v2: bool,
    /// Block sums may be sent to the peer.
    pub partial: bool,
    /// RFC 3168.
    pub ecn: bool,
}

pub(crate) struct Connection {
    pub(crate) profile: Arc<Profile>,
    pub(crate) ends: Endpoints,
    state: State,
    /// Opened by a SYN from the peer (RFC 9293, 3.10.7.4 tells the cases apart).
    passive: bool,
    negotiated: Negotiated,
    snd: SendSide,
    rcv: ReceiveSide,
    pending: PendingOutput,
    resends: Resends,
    timers: Timers,
    ecn: EcnState,
    /// Added to the clock for our timestamps (RFC 7323, 5.4).
    stamp_offset: u32,
    error: Option<ConnectionError>,
    /// The MSS option of the peer's SYN, or the default.
    peer_mss: u16,
    /// Times that the timer had our SYN sent again; answers to repeats of the peer's do not count.
    syn_retries: u32,
    /// A SYN without the offer of HACK was answered: so many more SYNs make it.
    offers_left: Option<u8>,
    challenges: Challenges,
    keep_alive_probes: u32,
    last_received: Instant,
    /// The application will not ask for the connection again.
    orphaned: bool,
    /// The application wrote less than it wanted to.
    write_blocked: bool,
    notifications: Notifications,
    headers: HeaderHistory,
    /// Where partial recovery is in use and there are any.
    corrupted_payloads: Option<Box<CorruptedPayloads>>,
    peer_held: PeerHeldRanges,
    path_sampler: PathSampler,
    /// Octets that this connection has reported to its congestion domain.
    reported_pipe: u32,
    statistics: Counters,
}

/// RFC 5961, section 7: at most so many challenge ACKs in such a time.
const CHALLENGE_LIMIT: u32 = 10;
const CHALLENGE_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Challenges {
    since: Instant,
    sent: u32,
}

impl Connection {
    fn new(
        profile: Arc<Profile>,
        ends: Endpoints,
        iss: SeqNumber,
        stamp_offset: u32,
        state: State,
        now: Instant,
    ) -> Self {
        Self {
            ends,
            state,
            passive: state == State::SynReceived,
            negotiated: Negotiated::default(),
            snd: SendSide::new(iss, &profile, now),
            rcv: ReceiveSide::new(&profile),
            pending: PendingOutput::new(profile.s_buffer),
            resends: Resends::default(),
            timers: Timers::new(profile.clock),
            ecn: EcnState::default(),
            stamp_offset,
            error: None,
            peer_mss: 0,
            syn_retries: 0,
            offers_left: None,
            challenges: Challenges::default(),
            keep_alive_probes: 0,
            last_received: now,
            orphaned: false,
            write_blocked: false,
            notifications: Notifications::default(),
            headers: HeaderHistory::default(),
            corrupted_payloads: None,
            peer_held: PeerHeldRanges::default(),
            path_sampler: PathSampler::default(),
            reported_pipe: 0,
            statistics: Counters::default(),
            profile,
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn error(&self) -> Option<ConnectionError> {
        self.error
    }

    pub(crate) fn negotiated(&self) -> Negotiated {
        self.negotiated
    }

    fn literal(&self) -> bool {
        self.profile.hack_rules == HackRules::Literal
    }

    // --- what the application asks -------------------------------------------------------------

    /// SEND (RFC 9293, 3.10.2): takes as much as the buffer holds.
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<usize, ConnectionError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if !self.state.may_send() || self.snd.fin_queued {
            return Err(ConnectionError::Closing);
        }
        let taken = self.snd.buffer.push(&data[..data.len().min(self.not_sent_room())]);
        if !data.is_empty() {
            self.write_blocked = taken < data.len();
        }
        Ok(taken)
    }

    /// Octets that [`Self::write`] would take.
    pub(crate) fn writable(&self) -> usize {
        if self.state.may_send() && !self.snd.fin_queued {
            (self.snd.buffer.limit() - self.snd.buffer.len()).min(self.not_sent_room())
        } else {
            0
        }
    }

    fn not_sent_room(&self) -> usize {
        self.profile.not_sent.saturating_sub(self.snd.unsent() as usize)
    }

    pub(crate) fn peek(&self) -> (&[u8], &[u8]) {
        self.rcv.peek()
    }

    pub(crate) fn readable(&self) -> usize {
        self.rcv.readable()
    }

    /// Whether the peer closed its side and all it sent has been read.
    pub(crate) fn is_finished(&self) -> bool {
        self.rcv.readable() == 0 && (self.rcv.fin_reached || self.state == State::Closed)
    }

    /// RECEIVE (RFC 9293, 3.10.3): drops `n` octets that were read.
    pub(crate) fn consume(&mut self, n: usize) {
        self.rcv.consume(n);
        if self.state.is_synchronized() && !self.rcv.fin_reached && self.rcv.owes_window_update() {
            self.rcv.acks.at_once();
        }
    }

    /// CLOSE (RFC 9293, 3.10.4): FIN follows what was written.
    pub(crate) fn close<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        if self.snd.fin_queued {
            return;
        }
        match self.state {
            State::SynSent => {
                self.error.get_or_insert(ConnectionError::Closing);
                self.finish(cx);
            }
            State::SynReceived | State::Established | State::CloseWait => self.snd.fin_queued = true,
            _ => {}
        }
    }

    /// Nobody waits for the peer's data any more. RFC 9293, 3.6.1 lets FIN-WAIT-2 last for ever; a
    /// peer that vanished there must not keep the connection, so it ends as TIME-WAIT does.
    pub(crate) fn orphan<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        self.orphaned = true;
        self.limit_fin_wait_2(cx.now);
    }

    fn limit_fin_wait_2(&mut self, now: Instant) {
        if self.orphaned && self.state == State::FinWait2 {
            self.timers.set(Timer::TimeWait, now + self.profile.time_wait);
        }
    }

    /// ABORT (RFC 9293, 3.10.5).
    pub(crate) fn abort<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        let tells_peer = !matches!(self.state, State::SynSent | State::TimeWait | State::Closed);
        self.error.get_or_insert(ConnectionError::Aborted);
        self.finish(cx);
        self.pending.set_reset(tells_peer);
    }

    // --- what the host asks --------------------------------------------------------------------

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timers.next(self.rcv.acks.deadline())
    }

    /// Takes one notification that the application has not been told yet.
    pub(crate) fn take_notification(&mut self) -> Option<Notification> {
        self.notifications.take()
    }

    pub(crate) fn has_notification(&self) -> bool {
        self.notifications.any()
    }

    /// Whether `syn`, which begins a new connection between our ends, surely is no old duplicate
    /// (RFC 9293, 3.6.1; RFC 6191): its timestamp or its sequence number is beyond all we saw.
    pub(crate) fn may_be_replaced_by(&self, syn: &Segment<'_>) -> bool {
        if self.state != State::TimeWait {
            return false;
        }
        match syn.options.timestamps {
            Some(stamps) if self.negotiated.timestamps => {
                (stamps.value.wrapping_sub(self.rcv.ts_recent.value) as i32) > 0
            }
            _ => syn.tcp.seq.gt(self.rcv.nxt()),
        }
    }

    /// The largest sequence number that was used, and one: SND.NXT.
    pub(crate) fn last_sent(&self) -> SeqNumber {
        self.snd.nxt
    }

    /// Nothing is left to do: the host may forget the connection once the application has.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Closed && !self.pending.has_reset()
    }

    pub(crate) fn statistics(&self, domain: &CongestionDomain) -> Statistics {
        let counted = self.statistics;
        Statistics {
            state: self.state,
            segments_sent: counted.segments_sent,
            octets_sent: counted.octets_sent,
            segments_received: counted.segments_received,
            octets_received: counted.octets_received,
            retransmissions: counted.retransmissions,
            octets_retransmitted: counted.octets_retransmitted,
            damage_resends: counted.damage_resends,
            timeouts: counted.timeouts.into(),
            slow_starts: counted.slow_starts.into(),
            fast_recoveries: counted.fast_recoveries.into(),
            special_acks_sent: counted.special_acks_sent,
            special_acks_received: counted.special_acks_received,
            damaged_received: counted.damaged_received,
            repaired: counted.repaired,
            completed: counted.completed.into(),
            cut: self.peer_held.cut(),
            octets_spared: self.peer_held.spared(),
            damaged_implausible: counted.damaged_implausible.into(),
            congestion_marks: counted.congestion_marks.into(),
            congestion_echoes: counted.congestion_echoes.into(),
            duplicate_reports: self.snd.sacks.duplicates,
            smoothed_rtt: self.snd.rtt.estimate(),
            rtt_variation: self.snd.rtt.variation(),
            least_rtt: self.snd.rtt.least(),
            rto: self.snd.rtt.timeout(),
            cwnd: domain.control.window(),
            ssthresh: domain.control.ssthresh(),
            pipe: self.snd.queue.pipe(),
            mss: self.snd.mss,
            send_window: self.snd.wnd,
            receive_window: self.rcv.wnd(),
            unacknowledged: self.snd.queue.outstanding(),
            unsent: self.snd.unsent(),
            memory: self.allocated(),
        }
    }

    /// Octets of heap in the send and the receive buffer.
    pub(crate) fn buffers(&self) -> usize {
        self.snd.buffer.allocated() + self.rcv.buffer()
    }

    /// Octets of heap that the connection holds.
    pub(crate) fn allocated(&self) -> usize {
        self.buffers()
            + self.snd.queue.allocated()
            + self.rcv.bookkeeping()
            + self.pending.allocated()
            + self.resends.allocated()
            + self.corrupted_payloads.as_ref().map_or(0, |payloads| payloads.allocated())
            + self.peer_held.allocated()
            + self.snd.recovery.allocated()
            + self.headers.allocated()
    }

    // --- shared by the parts -------------------------------------------------------------------

    fn notify(&mut self, notification: Notification) {
        self.notifications.add(notification);
    }

    fn enter<O: Observer>(&mut self, cx: &mut Context<'_, O>, state: State) {
        if state == self.state {
            return;
        }
        let from = core::mem::replace(&mut self.state, state);
        // Each state is left but once, so the count comes back to zero.
        cx.path.senders -= u32::from(from.is_sending());
        cx.path.senders += u32::from(state.is_sending());
        cx.emit(|| Event::StateChanged { from, to: state });
    }

    /// The connection is over: every timer stops, buffers that only sending needs are given back.
    fn finish<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        self.enter(cx, State::Closed);
        self.timers.stop_all();
        self.rcv.acks.on_ack_sent();
        self.resends.clear();
        self.pending.close();
        self.corrupted_payloads = None;
        let outstanding_end = self.snd.nxt;
        self.snd.queue.acknowledge(outstanding_end);
        self.snd.queue.release();
        self.snd.buffer.consume(self.snd.buffer.len());
        self.snd.buffer.release();
        self.report_pipe(cx);
        self.notify(Notification::Closed);
        self.notify(Notification::Readable);
    }

    fn fail<O: Observer>(&mut self, cx: &mut Context<'_, O>, error: ConnectionError) {
        self.error.get_or_insert(error);
        self.finish(cx);
    }

    fn resend_head(&mut self, reason: RetransmitReason) {
        self.pending.request_head(reason);
    }

    fn report_pipe<O>(&mut self, cx: &mut Context<'_, O>) {
        let pipe = self.snd.queue.pipe();
        if pipe != self.reported_pipe {
            cx.domain.adjust(self.reported_pipe, pipe);
            self.reported_pipe = pipe;
        }
    }

    /// Our timestamp clock: ticks of the profile's clock.
    fn stamp(&self, now: Instant) -> u32 {
        stamp_at(&self.profile, self.stamp_offset, now)
    }

    /// RFC 5961, section 7: challenge ACKs are limited.
    fn challenge(&mut self, now: Instant) {
        if now.saturating_since(self.challenges.since) >= CHALLENGE_INTERVAL {
            self.challenges = Challenges { since: now, sent: 0 };
        }
        if self.challenges.sent < CHALLENGE_LIMIT {
            self.challenges.sent += 1;
            self.rcv.acks.at_once();
        }
    }
}

/// The timestamp clock of a connection with this offset: ticks of the profile's clock.
pub(crate) fn stamp_at(profile: &Profile, offset: u32, now: Instant) -> u32 {
    let ticks = now.as_nanos() / profile.clock.as_nanos().max(1);
    offset.wrapping_add(ticks as u32)
}
