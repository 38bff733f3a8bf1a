//! One connection.
//!
//! How a packet passes through: [`input`] checks an arriving segment in the order of RFC 9293,
//! 3.10.7, [`ack`] hands its ACK to the send side, [`text`] its data to the receive side;
//! [`damage`] takes segments whose payload is damaged; [`icmp`] takes what
//! routers say; [`timers`] handles deadlines; [`output`]
//! chooses the next segment to send, [`options`] and [`build`] make it. [`application`] is what programs
//! ask. The other files hold what one feature asks of a connection.

mod ack;
mod application;
mod black_hole;
mod build;
mod challenge;
mod check;
mod damage;
mod damage_reports;
mod data;
mod ecn;
mod icmp;
mod input;
mod keep_alive;
mod notifications;
mod offer;
mod open;
mod opening;
mod options;
mod output;
mod pacing;
mod partial;
mod pending_output;
mod repair;
mod settings;
mod sharing;
mod statistics;
mod tail_copies;
mod text;
mod timers;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::net::SocketAddr;

use headway_units::Instant;
use headway_wire::{Segment, SeqNumber};

use crate::congestion::{CongestionDomain, Deliveries, Others};
use crate::event::{Event, Observer, RetransmitReason};
use crate::hack::partial::receiver::CorruptedPayloads;
use crate::hack::repair::HeaderHistory;
use crate::path::Path;
use crate::path::memory::PathSampler;
use crate::profile::{HackRules, Profile};
use crate::receive::ReceiveSide;
use crate::send::SendSide;
use crate::{ConnectionError, ConnectionId, State};

use black_hole::BlackHoles;
use challenge::ChallengeAcks;
use ecn::EcnState;
use keep_alive::KeepAliveState;
pub use notifications::Notification;
use notifications::Notifications;
pub use offer::Negotiated;
pub(crate) use offer::{SynShape, agree, syn_options};
pub(crate) use open::Reply;
use opening::Opening;
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

pub(crate) struct Connection {
    profile: Arc<Profile>,
    ends: Endpoints,
    state: State,
    negotiated: Negotiated,
    snd: SendSide,
    rcv: ReceiveSide,
    pending: PendingOutput,
    timers: Timers,
    ecn: EcnState,
    /// Added to the clock for our timestamps (RFC 7323, 5.4).
    tsval_offset: u32,
    error: Option<ConnectionError>,
    /// The MSS option of the peer's SYN, or the default.
    peer_mss: u16,
    opening: Opening,
    challenges: ChallengeAcks,
    black_holes: BlackHoles,
    keep_alive: KeepAliveState,
    /// The application will not ask for the connection again.
    orphaned: bool,
    notifications: Notifications,
    headers: HeaderHistory,
    /// Where partial recovery is in use and there are any.
    corrupted_payloads: Option<Box<CorruptedPayloads>>,
    path_sampler: PathSampler,
    statistics: Counters,
}

impl Connection {
    fn new(
        profile: Arc<Profile>,
        ends: Endpoints,
        iss: SeqNumber,
        tsval_offset: u32,
        state: State,
        now: Instant,
    ) -> Self {
        Self {
            ends,
            state,
            negotiated: Negotiated::default(),
            snd: SendSide::new(iss, &profile, now),
            rcv: ReceiveSide::new(&profile),
            pending: PendingOutput::new(profile.s_buffer),
            timers: Timers::new(profile.clock),
            ecn: EcnState::default(),
            tsval_offset,
            error: None,
            peer_mss: 0,
            opening: Opening::new(state == State::SynReceived),
            challenges: ChallengeAcks::default(),
            black_holes: BlackHoles::default(),
            keep_alive: KeepAliveState::new(now),
            orphaned: false,
            notifications: Notifications::default(),
            headers: HeaderHistory::default(),
            corrupted_payloads: None,
            path_sampler: PathSampler::default(),
            statistics: Counters::default(),
            profile,
        }
    }

    pub(crate) fn ends(&self) -> Endpoints {
        self.ends
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

    // --- what the host asks --------------------------------------------------------------------

    #[inline]
    pub(crate) fn deadline(&mut self) -> Option<Instant> {
        self.timers.next(self.rcv.ack_deadline())
    }

    /// Takes one notification that the application has not been given yet.
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
            Some(timestamps) if self.negotiated.timestamps => {
                (timestamps.tsval.wrapping_sub(self.rcv.ts_recent()) as i32) > 0
            }
            _ => syn.tcp.seq.gt(self.rcv.nxt()),
        }
    }

    /// The largest sequence number that was used, and one: SND.NXT.
    pub(crate) fn last_sent(&self) -> SeqNumber {
        self.snd.nxt()
    }

    /// Nothing is left to do: the host may forget the connection once the application has.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Closed && !self.pending.has_reset()
    }

    /// Bytes of data thought to be in the network (RFC 6675's pipe). A SYN is none.
    pub(crate) fn pipe(&self) -> u32 {
        if self.state.is_synchronized() { self.snd.pipe() } else { 0 }
    }

    /// What the other members of its domain have done since it was lent the last time.
    pub(crate) fn set_others(&mut self, others: &Others) {
        self.snd.set_others(others);
    }

    /// What was delivered and lost, of a shared domain by all members; `None` if the recovery does not count it.
    pub(crate) fn deliveries(&self) -> Option<Deliveries> {
        self.snd.deliveries()
    }

    /// The number of the latest transmission over the path.
    #[inline]
    pub(crate) fn transmissions(&self) -> u64 {
        self.snd.transmissions()
    }

    /// Other connections have sent over the path.
    #[inline]
    pub(crate) fn set_transmissions(&mut self, latest: u64) {
        self.snd.set_transmissions(latest);
    }

    /// Whether data waits to be sent, for the first time or again.
    pub(crate) fn has_data_to_send(&self) -> bool {
        self.state.is_sending() && self.snd.has_data_to_send()
    }

    // --- shared by the parts -------------------------------------------------------------------

    fn notify(&mut self, notification: Notification) {
        self.notifications.add(notification);
    }

    #[inline(never)]
    fn set_state<O: Observer>(&mut self, cx: &mut Context<'_, O>, state: State) {
        if state == self.state {
            return;
        }
        let from = core::mem::replace(&mut self.state, state);
        cx.path.update_senders(from.is_sending(), state.is_sending());
        cx.emit(|| Event::StateChanged { from, to: state });
    }

    /// The connection is over: every timer stops, buffers that only sending needs are given back.
    #[inline(never)]
    fn finish<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        self.set_state(cx, State::Closed);
        self.timers.stop_all();
        self.rcv.cancel_ack();
        self.pending.close();
        self.corrupted_payloads = None;
        self.snd.discard();
        self.notify(Notification::Closed);
        self.notify(Notification::Readable);
    }

    fn fail<O: Observer>(&mut self, cx: &mut Context<'_, O>, error: ConnectionError) {
        self.error.get_or_insert(error);
        self.finish(cx);
    }

    fn request_head(&mut self, reason: RetransmitReason) {
        self.pending.request_head(reason);
    }

    /// Our timestamp clock: ticks of the profile's clock.
    #[inline]
    fn tsval(&self, now: Instant) -> u32 {
        tsval_at(&self.profile, self.tsval_offset, now)
    }
}

/// The timestamp clock of a connection with this offset: ticks of the profile's clock.
#[inline]
pub(crate) fn tsval_at(profile: &Profile, offset: u32, now: Instant) -> u32 {
    let ticks = now.as_nanos() / profile.clock.as_nanos().max(1);
    offset.wrapping_add(ticks as u32)
}
