//! Copies of the tail: when, and whether the budget permits them. Which: [`crate::send`].

use super::{Connection, Context};
use crate::event::{Event, Observer, RetransmitReason, Timer};

impl Connection {
    /// Data was sent: if nothing follows, it is copied after a while.
    #[inline]
    pub(super) fn arm_tail_copies<O>(&mut self, cx: &Context<'_, O>) {
        let delay = if self.copies_tail(cx) { self.snd.tail_copy_delay() } else { None };
        match delay {
            Some(delay) => self.timers.set_exactly(Timer::TailCopies, cx.now + delay),
            None => self.timers.stop(Timer::TailCopies),
        }
    }

    /// Where the path damages packets, or connections share a window: a gateway's, whose first messages go before any
    /// damage is known. Timestamps must tell what an ACK answers.
    fn copies_tail<O>(&self, cx: &Context<'_, O>) -> bool {
        let features = &self.profile.features;
        features.tail_copies
            && features.ledger
            && self.negotiated.timestamps
            && (cx.domain.is_shared() || cx.path.ledger.damages())
    }

    /// Nothing was sent for a while. A part of the tail is not copied: the rest would be lost as often, and what the budget
    /// has is better spent on what is repeated then.
    pub(super) fn tail_copies_expired<O>(&mut self, cx: &mut Context<'_, O>) {
        let bytes = self.snd.uncopied();
        if bytes > 0
            && self.copies_tail(cx)
            && self.snd.window().size() > 0
            && bytes <= cx.domain.room(self.snd.pipe())
            && cx.domain.takes_copies(bytes)
        {
            self.snd.begin_tail_copies();
        }
    }

    /// The next copy, if there is one, and no connection that shares the window waits to send.
    #[inline]
    pub(super) fn send_tail_copy<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
    ) -> Option<usize> {
        if self.snd.has_tail_copies() { self.send_next_tail_copy(cx, buffer) } else { None }
    }

    #[inline(never)]
    fn send_next_tail_copy<O: Observer>(
        &mut self,
        cx: &mut Context<'_, O>,
        buffer: &mut [u8],
    ) -> Option<usize> {
        if self.is_paced_out(cx) {
            return None;
        }
        if cx.domain.is_waited_for() {
            self.snd.end_tail_copies();
            return None;
        }
        let segment = self.snd.next_tail_copy()?;
        let (seq, len, reason) = (segment.seq, segment.len, RetransmitReason::TailCopy);
        self.statistics.retransmissions += 1;
        self.statistics.bytes_retransmitted += u64::from(len);
        cx.emit(|| Event::Retransmitted { seq, len, reason });
        // To the controller it is not sent: it is not in the pipe.
        if let Some(rate) = self.pacing_rate(cx) {
            cx.domain.pace(cx.now, len, rate);
        }
        self.build_data(cx, buffer, &segment, false)
    }
}
