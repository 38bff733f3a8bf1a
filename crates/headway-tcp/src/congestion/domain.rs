//! Congestion domains: a window and its pacing, and the connections that use them.
//!
//! A connection of its own has a domain of its own. Several may share one: then the window bounds what all of
//! them together have in the network, pacing spaces their segments in one row, they take turns where
//! either holds them back, and what one member loses reduces the window of all, once.
//!
//! The pipe of a member follows from the marks in its retransmission queue and is asked for. What all
//! the others have in the network is their sum: the host takes a member's share out when it lends the
//! domain to it, and adds it again afterwards ([`CongestionDomain::lend`], [`CongestionDomain::give_back`]).

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use headway_units::{Duration, Instant, Rate};

use super::careful_resume::window_of;
use super::copy_budget::CopyBudget;
use super::deliveries::{Deliveries, Others};
use super::pacer::Pacer;
use super::{CongestionControl, Loss, SavedPath, StartEstimate};
use crate::ConnectionId;

/// What is known of a congestion domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DomainStatus {
    /// Connections that share it.
    pub members: u32,
    /// The congestion window, bytes.
    pub window: u32,
    /// Bytes that all members have in the network.
    pub pipe: u32,
    /// What the controller takes the path to carry; `None`: it has measured nothing, or has no model of that.
    pub bandwidth: Option<Rate>,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct CongestionDomain {
    control: Box<dyn CongestionControl>,
    pacer: Pacer,
    /// When data was last sent.
    last_sent: Option<Instant>,
    copies: CopyBudget,
    /// What the path is said to carry, if anything.
    start: Option<Box<Start>>,
    /// What only a domain of several members needs.
    shared: Option<Box<Shared>>,
}

#[derive(Debug)]
struct Start {
    estimate: StartEstimate,
    /// The controller knows it, or is not to.
    is_used: bool,
}

#[derive(Debug)]
struct Shared {
    /// Connections may still be opened in it.
    open: bool,
    members: u32,
    /// Bytes in the network of all members but the one that it is lent to.
    others: u32,
    /// Members that the window or pacing holds back: the first is the next to send.
    turns: VecDeque<Turn>,
    /// How many bytes a turn is: as many as the longest packet that a member sent in its turn has.
    quantum: u32,
    /// A member has set the controller's segment size.
    started: bool,
    /// When the window was last reduced because of a loss, and whose.
    reduced: Option<(Instant, ConnectionId)>,
    /// What all members have delivered and lost, and when one last had something delivered.
    deliveries: Deliveries,
    delivered_at: Option<Instant>,
}

/// A member that waits, and what it may still send when it is the first: deficit round robin (Shreedhar and Varghese,
/// 1996), where a packet may go beyond what is left, which the next turn is shorter by.
#[derive(Clone, Copy, Debug)]
struct Turn {
    member: ConnectionId,
    left: i64,
}

impl CongestionDomain {
    /// The domain of one connection.
    pub(crate) fn new(control: Box<dyn CongestionControl>) -> Self {
        let (pacer, copies) = (Pacer::default(), CopyBudget::new());
        Self { control, pacer, last_sent: None, copies, start: None, shared: None }
    }

    /// It starts from an estimate, if there is one.
    #[must_use]
    pub(crate) fn starting_from(mut self, estimate: Option<StartEstimate>) -> Self {
        self.start = estimate.map(|estimate| Box::new(Start { estimate, is_used: false }));
        self
    }

    /// A domain for any number of connections.
    pub(crate) fn shared(control: Box<dyn CongestionControl>) -> Self {
        let shared = Shared {
            open: true,
            members: 0,
            others: 0,
            turns: VecDeque::new(),
            quantum: 0,
            started: false,
            reduced: None,
            deliveries: Deliveries::default(),
            delivered_at: None,
        };
        Self { shared: Some(Box::new(shared)), ..Self::new(control) }
    }

    // --- members ------------------------------------------------------------------------------------

    /// A connection is opened in it.
    pub(crate) fn join(&mut self) {
        if let Some(shared) = &mut self.shared {
            shared.members += 1;
        }
    }

    /// A member is gone, with `pipe` bytes in the network. Says whether nothing needs the domain any more.
    pub(crate) fn leave(&mut self, member: ConnectionId, pipe: u32) -> bool {
        let Some(shared) = &mut self.shared else { return true };
        shared.members -= 1;
        shared.others -= pipe;
        shared.turns.retain(|turn| turn.member != member);
        shared.members == 0 && !shared.open
    }

    /// What programs may know of it.
    pub(crate) fn status(&self) -> DomainStatus {
        DomainStatus {
            members: self.members(),
            window: self.window(),
            pipe: self.total(0),
            bandwidth: self.control.bandwidth(),
        }
    }

    /// No more connections are opened in it. Says whether nothing needs the domain any more.
    pub(crate) fn close(&mut self) -> bool {
        let Some(shared) = &mut self.shared else { return false };
        shared.open = false;
        shared.members == 0
    }

    /// Whether connections may be opened in it.
    pub(crate) fn is_open(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.open)
    }

    /// How many connections use it.
    pub(crate) fn members(&self) -> u32 {
        self.shared.as_ref().map_or(1, |shared| shared.members)
    }

    /// The domain is lent to `member`, which has `pipe` bytes in the network.
    pub(crate) fn lend(&mut self, member: ConnectionId, pipe: u32) -> Others {
        let Some(shared) = &mut self.shared else { return Others::default() };
        shared.others -= pipe;
        Others {
            deliveries: shared.deliveries,
            pipe: shared.others,
            wait: shared.turns.iter().any(|turn| turn.member != member),
            load: self.control.load(),
        }
    }

    /// The member that it is lent to has counted what was delivered and lost.
    pub(crate) fn set_deliveries(&mut self, now: Instant, deliveries: Deliveries) {
        if let Some(shared) = &mut self.shared {
            if deliveries.has_grown_since(&shared.deliveries) {
                shared.delivered_at = Some(now);
            }
            shared.deliveries = deliveries;
        }
    }

    /// The member of a shared domain is done, and has `pipe` bytes in the network now. `waits`: it still has data to send. Names
    /// the member whose turn it is, if that is another.
    #[inline]
    pub(crate) fn give_back(&mut self, member: ConnectionId, pipe: u32, waits: bool) -> Option<ConnectionId> {
        let shared = self.shared.as_mut()?;
        shared.others += pipe;
        if !waits {
            self.end_turn(member);
        }
        self.shared.as_ref()?.turns.front().map(|turn| turn.member).filter(|&next| next != member)
    }

    /// What all members have in the network, of which `own` is the one's that it is lent to.
    #[inline]
    pub(crate) fn total(&self, own: u32) -> u32 {
        match &self.shared {
            Some(shared) => own.saturating_add(shared.others),
            None => own,
        }
    }

    /// When a member of a shared domain last had something delivered.
    pub(crate) fn delivered_at(&self) -> Option<Instant> {
        self.shared.as_ref()?.delivered_at
    }

    /// What the window leaves, bytes, with `own` in the network of the member that it is lent to.
    pub(crate) fn room(&self, own: u32) -> u32 {
        self.window().saturating_sub(self.total(own))
    }

    // --- turns --------------------------------------------------------------------------------------

    /// Whether members take turns.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether `member` may send data; if not, it waits for its turn.
    pub(crate) fn takes_turn(&mut self, member: ConnectionId) -> bool {
        let Some(shared) = &self.shared else { return true };
        let is_next = shared.turns.front().is_none_or(|next| next.member == member);
        if !is_next {
            self.wait(member);
        }
        is_next
    }

    /// The window or pacing holds `member` back.
    pub(crate) fn wait(&mut self, member: ConnectionId) {
        if let Some(shared) = &mut self.shared
            && !shared.is_waiting(member)
        {
            shared.turns.push_back(Turn { member, left: i64::from(shared.quantum) });
        }
    }

    /// Whether `member` waits for its turn, the window or pacing.
    pub(crate) fn is_waiting(&self, member: ConnectionId) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.is_waiting(member))
    }

    /// `member` has sent a packet of that many bytes. If its turn is over, it waits for the next one.
    pub(crate) fn spend_turn(&mut self, member: ConnectionId, bytes: u32) {
        let Some(shared) = &mut self.shared else { return };
        let Some(turn) = shared.turns.front_mut().filter(|turn| turn.member == member) else { return };
        shared.quantum = shared.quantum.max(bytes);
        turn.left -= i64::from(bytes);
        if turn.left <= 0 {
            let next = Turn { member, left: turn.left + i64::from(shared.quantum) };
            shared.turns.pop_front();
            shared.turns.push_back(next);
        }
    }

    /// `member` has nothing to send. One that waits in the middle is asked again when it is the first.
    pub(crate) fn end_turn(&mut self, member: ConnectionId) {
        let Some(shared) = &mut self.shared else { return };
        if shared.turns.front().is_some_and(|turn| turn.member == member) {
            shared.turns.pop_front();
        } else if shared.turns.back().is_some_and(|turn| turn.member == member) {
            shared.turns.pop_back();
        }
    }

    // --- the window ---------------------------------------------------------------------------------

    /// The congestion window.
    #[inline]
    pub(crate) fn window(&self) -> u32 {
        self.control.window()
    }

    /// The slow-start threshold.
    pub(crate) fn ssthresh(&self) -> u32 {
        self.control.ssthresh()
    }

    /// The controller, for the signals of a member's ACKs and timers.
    #[inline]
    pub(crate) fn control(&mut self) -> &mut dyn CongestionControl {
        &mut *self.control
    }

    /// A member's maximum segment size is known, `initial` at first.
    pub(crate) fn set_mss(&mut self, mss: u32, initial: bool) {
        let is_first = match &mut self.shared {
            Some(shared) => !core::mem::replace(&mut shared.started, true),
            None => true,
        };
        self.control.set_mss(mss, initial && is_first);
    }

    /// What an earlier connection over the path learnt of it. A domain of several knows what its members
    /// learnt.
    pub(crate) fn resume(&mut self, saved: SavedPath) {
        if self.shared.is_none() && saved.window > self.window() {
            self.control.resume(saved);
        }
    }

    /// A member's handshake is over, and measured this round-trip time.
    pub(crate) fn on_established(&mut self, now: Instant, smoothed: Option<Duration>) {
        self.control.on_established(now, smoothed);
    }

    /// A member's handshake took `rtt`, or less. The controller starts from what the domain was told, if that is anything; and
    /// that is what the path is said to carry in `rtt`, bytes.
    pub(crate) fn start(&mut self, now: Instant, rtt: Duration) -> Option<u32> {
        let start = self.start.as_mut()?;
        let is_first = !core::mem::replace(&mut start.is_used, true);
        let rate = start.estimate.rate_of(now, rtt)?;
        let expected = window_of(rate, rtt);
        // The first member's: what is sent later has a model. What the initial window fills needs no start.
        if is_first && expected > self.control.window() {
            self.control.start(rate);
        }
        Some(expected)
    }

    /// A member's handshake is over, and a SYN of its was lost.
    pub(crate) fn on_syn_loss(&mut self) {
        if self.members() <= 1 {
            self.control.on_syn_loss();
            if let Some(start) = &mut self.start {
                start.is_used = true;
            }
        }
    }

    /// A member with `own` bytes in the network lost something, which it had sent at `sent_at`, and not to
    /// damage. What was sent before another member's loss reduced the window is the same congestion event.
    pub(crate) fn on_loss(&mut self, member: ConnectionId, now: Instant, own: u32, sent_at: Instant) {
        if let Some(shared) = &mut self.shared {
            if shared.reduced.is_some_and(|(at, by)| by != member && sent_at <= at) {
                return;
            }
            shared.reduced = Some((now, member));
        }
        let flight = self.total(own);
        self.control.on_loss(&Loss { now, flight });
    }

    /// A router marked a packet of a member.
    pub(crate) fn on_ecn(&mut self, member: ConnectionId, now: Instant, own: u32) {
        if let Some(shared) = &mut self.shared {
            shared.reduced = Some((now, member));
        }
        let flight = self.total(own);
        self.control.on_ecn(&Loss { now, flight });
    }

    /// The recovery of a member is over.
    pub(crate) fn on_recovery_end(&mut self, member: ConnectionId, now: Instant, own: u32) {
        if self.reduced_by(member) {
            let flight = self.total(own);
            self.control.on_recovery_end(&Loss { now, flight });
        }
    }

    /// The reduction that a member's loss called for was not.
    pub(crate) fn on_spurious(&mut self, member: ConnectionId) {
        if self.reduced_by(member) {
            self.control.on_spurious();
        }
    }

    /// Whether the last reduction was `member`'s.
    fn reduced_by(&self, member: ConnectionId) -> bool {
        self.shared.as_ref().is_none_or(|shared| shared.reduced.is_some_and(|(_, by)| by == member))
    }

    /// The retransmission timer of a member expired, for what it had sent at `sent_at`; `first` unless it
    /// already had for the same data. Where the network has delivered to other members since, it is not silent,
    /// and what this one lost is a loss like others: a timeout reduces the window because nothing is known of
    /// what is in the network.
    pub(crate) fn on_timeout(
        &mut self,
        member: ConnectionId,
        now: Instant,
        own: u32,
        (sent_at, first): (Instant, bool),
    ) {
        if let Some(shared) = &mut self.shared {
            if shared.delivered_at.is_some_and(|at| at > sent_at) {
                // One message that is lost again and again is one loss to all.
                if first {
                    self.on_loss(member, now, own, sent_at);
                }
                return;
            }
            shared.reduced = Some((now, member));
        }
        let flight = self.total(own);
        self.control.on_timeout(&Loss { now, flight }, first);
    }

    /// RFC 5681, 4.1: "a TCP SHOULD set cwnd to no more than RW segments before beginning
    /// transmission if the TCP has not sent data in an interval exceeding the retransmission
    /// timeout".
    pub(crate) fn restart_after_idle(&mut self, now: Instant, timeout: Duration) {
        let is_idle = self.total(0) == 0;
        if is_idle && self.last_sent.is_some_and(|last| now.saturating_since(last) > timeout) {
            self.control.on_idle();
            self.last_sent = None;
        }
    }

    /// A segment with data, or FIN, is built.
    pub(crate) fn on_data_sent(&mut self, now: Instant, bytes: u32) {
        self.last_sent = Some(now);
        self.copies.earn(bytes);
    }

    /// Takes that many bytes for copies of what was sent, if the budget has them and no member waits to send.
    pub(crate) fn takes_copies(&mut self, bytes: u32) -> bool {
        !self.is_waited_for() && self.copies.spend(bytes)
    }

    /// Whether a member waits to send.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| !shared.turns.is_empty())
    }

    // --- pacing -------------------------------------------------------------------------------------

    /// A segment is to leave: when it may, if not now.
    pub(crate) fn wait_for_pacing(&mut self, now: Instant) -> Option<Instant> {
        self.pacer.wait(now)
    }

    /// A segment with that many bytes leaves, at this rate.
    pub(crate) fn pace(&mut self, now: Instant, bytes: u32, rate: Rate) {
        self.pacer.on_sent(now, bytes, rate);
    }
}

impl Shared {
    fn is_waiting(&self, member: ConnectionId) -> bool {
        self.turns.iter().any(|turn| turn.member == member)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reno::Reno;
    use super::super::testing::setup;
    use super::*;

    #[test]
    fn one_message_that_is_lost_again_and_again_reduces_the_window_once() {
        let mut domain = CongestionDomain::shared(Box::new(Reno::new(&setup(10))));
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let member = ConnectionId::of_test();
        let mut arrived = Deliveries::default();
        for (millis, own) in [(100, 20_000), (300, 12_000), (500, 8000)] {
            // Something of another member arrives in between.
            arrived.on_delivered(at(millis), 1000);
            domain.set_deliveries(at(millis), arrived);
            domain.on_timeout(member, at(millis + 100), own, (at(millis - 50), millis == 100));
            assert_eq!(domain.ssthresh(), 10_000, "half of what was in the network at first");
        }
    }

    /// Where nothing has arrived since, the network is silent: the timeout is one of all members.
    #[test]
    fn what_arrived_is_news_once() {
        let mut domain = CongestionDomain::shared(Box::new(Reno::new(&setup(10))));
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let mut arrived = Deliveries::default();
        domain.set_deliveries(at(50), arrived);
        assert_eq!(domain.delivered_at(), None);
        arrived.on_delivered(at(100), 1000);
        domain.set_deliveries(at(100), arrived);
        domain.set_deliveries(at(200), arrived);
        assert_eq!(domain.delivered_at(), Some(at(100)));
    }

    #[test]
    fn members_share_the_budget_of_copies_and_none_goes_before_what_waits() {
        let mut domain = CongestionDomain::shared(Box::new(Reno::new(&setup(10))));
        assert!(domain.takes_copies(1000));
        let waiting = ConnectionId::of_test();
        domain.wait(waiting);
        assert!(domain.is_waited_for() && !domain.takes_copies(1000));
        domain.end_turn(waiting);
        assert!(domain.takes_copies(10_000) && !domain.takes_copies(1000), "the budget was of 11,680 bytes");
        domain.on_data_sent(Instant::ZERO, 16_000);
        assert!(domain.takes_copies(1000), "a sixteenth was earned");
    }
}
