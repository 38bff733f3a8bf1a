//! Learning from and for other connections over the path (RFC 9040): see [`crate::path::memory`].

use super::{Connection, Context};
use crate::congestion::RateSample;
use crate::path::memory::PathSample;

impl Connection {
    /// The memory of the path takes what an ACK measured.
    pub(super) fn update_path_memory<O>(&mut self, cx: &mut Context<'_, O>, rate: RateSample) {
        let (Some(smoothed), Some(min_rtt)) = (self.snd.rtt().estimate(), self.snd.rtt().min()) else {
            return;
        };
        let sample = PathSample {
            now: cx.now,
            rate,
            smoothed,
            variation: self.snd.rtt().variation(),
            min_rtt,
            reordering: self.snd.saw_reordering(),
            slow_start: cx.domain.window() < cx.domain.ssthresh(),
        };
        self.path_sampler.update(&mut cx.path.memory, &sample);
    }

    /// Our SYN is about to be sent: its timeout is at least what the path takes.
    ///
    /// RFC 6298 (2.1) wants a second before there is a sample. What was measured earlier may only make
    /// that longer: a path that takes more would see every SYN twice.
    pub(crate) fn recall_round_trip<O>(&mut self, cx: &Context<'_, O>) {
        if let (true, Some(memory)) = (self.profile.features.sharing, &cx.path.memory) {
            self.snd.rtt_mut().recall(memory.smoothed_rtt, memory.rtt_variation);
        }
    }

    /// Sizes are known, nothing has been sent yet: the controller and loss detection start from
    /// what earlier connections learnt.
    pub(super) fn recall<O>(&mut self, cx: &mut Context<'_, O>) {
        cx.path.ledger.set_own(self.profile.features.ledger && self.profile.features.own_path);
        cx.path.ledger.set_rules(self.profile.features.rules_off);
        if !self.profile.features.sharing {
            return;
        }
        let Some(memory) = cx.path.memory else { return };
        if !self.snd.on_path_memory(memory.reordering) {
            return;
        }
        // Those that are open share what the path carries.
        cx.domain.resume(memory.resumable(cx.path.senders() + 1));
    }

    /// A segment is about to offer a window. A sender that remembers jumps in its second round trip, ahead of what the window could
    /// learn, and one whose connection was opened in advance sends at what others have measured since.
    pub(super) fn recall_receive_window<O>(&mut self, cx: &Context<'_, O>) {
        if self.profile.features.sharing && self.rcv.has_just_begun() {
            self.rcv.resume(cx.path.receive_window);
        }
    }

    /// The first sample is there: a path that takes as long as it did varies as it did.
    pub(super) fn recall_variation<O>(&mut self, cx: &Context<'_, O>) {
        if let (true, Some(memory)) = (self.profile.features.sharing, &cx.path.memory) {
            self.snd.rtt_mut().recall_variation(memory.smoothed_rtt, memory.rtt_variation);
        }
    }
}
