//! Black holes: packets that are longer than the path carries are lost, and no router says so (RFC 2923). Found here, as
//! RFC 4821 has it; which lengths to try, [`crate::path::mtu_search`] says.

use super::{Connection, Context};
use crate::event::{Observer, RetransmitReason};
use crate::path::mtu_search::{Lengths, base};
use crate::send::NextSegment;
use crate::send::recovery::Retransmission;

/// RFC 4821, 7.7 suspects a black hole after the R1 of RFC 1122, 4.2.3.5: "at least 3 retransmissions".
const R1: u8 = 3;
/// The transmissions that are lost then where long segments arrived before: more than two bursts of damage hit, of five each as in the
/// papers (000, section 5.2).
const LOST: usize = 2 * 5 + 1;

/// What says that long segments are lost and short ones are not.
#[derive(Default)]
pub(super) struct BlackHoles {
    /// How often the first segment was not answered, since any of its length arrived.
    unanswered: u8,
    /// Its payload.
    payload: u16,
    /// A packet that is longer than what every path carries has arrived.
    proved: bool,
}

impl BlackHoles {
    /// Segments with up to `payload` bytes have arrived. Those that are shorter than what is unanswered say nothing of it.
    fn on_arrived(&mut self, payload: u32) {
        if payload >= self.payload.into() {
            self.unanswered = 0;
        }
    }

    /// The first segment, with that payload, is not answered. Says whether it was retransmitted often enough.
    fn on_unanswered(&mut self, payload: u32) -> bool {
        (self.unanswered, self.payload) = (self.unanswered.saturating_add(1), payload as u16);
        self.unanswered > R1
    }
}

impl Connection {
    /// Other connections may have found what the path carries.
    #[inline]
    pub(super) fn follow_path_mtu<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        if self.snd.mss() != self.fitting_mss(cx) {
            self.path_mtu_changed(cx);
        }
    }

    /// The first segment is to be retransmitted once more: because nothing is answered (`timeout`), or because something arrived
    /// that was sent after it.
    ///
    /// Damage and outages lose other segments of its length too, but one of them arrives before long; in a black hole none ever
    /// does.
    pub(super) fn count_unanswered<O: Observer>(&mut self, cx: &mut Context<'_, O>, timeout: bool) {
        let base = base(self.ends.local.is_ipv4());
        let payload = self.snd.payload_len(0);
        if !self.profile.mtu_search || self.packet_len(payload) <= base {
            return;
        }
        if self.black_holes.on_unanswered(payload) && !(timeout && self.may_be_burst(payload)) {
            let used = self.packet_len(self.snd.mss());
            cx.path.search_mtu(Lengths { used, top: self.longest_allowed(cx), base }, cx.now);
            self.black_holes.unanswered = 0;
            self.follow_path_mtu(cx);
        }
    }

    /// Whether longer packets are probed. Without SACK a probe that is lost would be taken for congestion: then packets stay short
    /// until what was found is old.
    fn probes_mtu(&self) -> bool {
        self.profile.mtu_search && self.snd.spares_probes()
    }

    /// Whether so few transmissions are unanswered that a burst of damage may have hit them all.
    fn may_be_burst(&self, payload: u32) -> bool {
        let retransmissions = usize::from(self.black_holes.unanswered - 1);
        self.black_holes.proved && self.snd.unanswered(payload) + retransmissions < LOST
    }

    /// An ACK of `acknowledged` bytes is processed: what it says of the lengths that pass.
    #[inline]
    pub(super) fn on_lengths_arrived<O: Observer>(&mut self, cx: &mut Context<'_, O>, acknowledged: u32) {
        let payload = match self.snd.spares_probes() {
            true => self.snd.take_longest_arrived(),
            // Without SACK no one keeps what arrived.
            false => acknowledged.min(self.snd.mss()),
        };
        self.black_holes.on_arrived(payload);
        self.black_holes.proved |= payload > 0 && self.packet_len(payload) > base(self.ends.local.is_ipv4());
        if payload > self.snd.mss() {
            cx.path.on_passed(self.packet_len(payload), cx.now);
            self.follow_path_mtu(cx);
        }
    }

    // --- probes -------------------------------------------------------------------------------------

    /// `next`, if it is to be a probe: longer than other segments, of the data that is to be sent in any case.
    #[inline]
    pub(super) fn mtu_probe<O>(
        &mut self,
        cx: &mut Context<'_, O>,
        next: &NextSegment,
    ) -> Option<NextSegment> {
        cx.path.mtu_search()?;
        self.next_mtu_probe(cx, next)
    }

    #[inline(never)]
    fn next_mtu_probe<O>(&mut self, cx: &mut Context<'_, O>, next: &NextSegment) -> Option<NextSegment> {
        if !self.probes_mtu() {
            cx.path.forget_expired_search(cx.now);
            return None;
        }
        if self.pending.has_tail_probe() {
            return None;
        }
        let longest = self.longest_allowed(cx);
        let size = cx.path.mtu_search()?.probe(longest, cx.now)?;
        let len = self.payload_of(size);
        // A segment follows, by whose arrival the loss of the probe is found.
        let room = next.unsent.min(next.usable).min(cx.domain.window());
        (len > self.snd.mss() && room >= len + self.snd.mss()).then_some(NextSegment {
            len,
            fin: false,
            ..*next
        })
    }

    pub(super) fn on_mtu_probe_sent<O>(&self, cx: &mut Context<'_, O>) {
        let round_trip = self.snd.rtt().smoothed();
        if let Some(search) = cx.path.mtu_search() {
            search.on_sent(cx.now, round_trip);
        }
    }

    /// What is retransmitted is no longer than other segments: a probe that was lost is cut.
    pub(super) fn fit_to_path<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        (index, reason): Retransmission,
    ) -> Retransmission {
        if index == 0 && reason == RetransmitReason::FastRetransmit {
            self.count_unanswered(cx, false);
        }
        let payload = self.snd.payload_len(index);
        if payload <= self.snd.mss() {
            return (index, reason);
        }
        // What is lost with all that was sent after it says nothing of its length.
        if matches!(reason, RetransmitReason::FastRetransmit | RetransmitReason::Damage)
            && let Some(search) = cx.path.mtu_search()
        {
            let size = self.packet_len(payload);
            search.on_lost(size, cx.now);
        }
        self.snd.cut_probe(index);
        (index, RetransmitReason::PathMtu)
    }
}
