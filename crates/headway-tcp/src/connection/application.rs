//! What the application asks of a connection.

use headway_units::Instant;

use super::{Connection, Context, State};
use crate::ConnectionError;
use crate::event::{Observer, Timer};

impl Connection {
    /// SEND (RFC 9293, 3.10.2): takes as much as the buffer holds.
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<usize, ConnectionError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if !self.state.may_send() || self.snd.is_fin_queued() {
            return Err(ConnectionError::Closing);
        }
        let taken = self.snd.write(&data[..data.len().min(self.not_sent_room())]);
        if taken < data.len() {
            // Until the notification: a later write that finds room does not take back the promise.
            self.notifications.set_write_blocked();
        }
        Ok(taken)
    }

    /// Bytes that [`Self::write`] would take.
    pub(crate) fn writable(&self) -> usize {
        if self.state.may_send() && !self.snd.is_fin_queued() {
            self.snd.buffer_room().min(self.not_sent_room())
        } else {
            0
        }
    }

    pub(super) fn not_sent_room(&self) -> usize {
        self.profile.not_sent.saturating_sub(self.snd.unsent() as usize)
    }

    pub(crate) fn peek(&self) -> (&[u8], &[u8]) {
        self.rcv.peek()
    }

    pub(crate) fn beyond(&self) -> impl Iterator<Item = (usize, (&[u8], &[u8]))> {
        self.rcv.beyond()
    }

    pub(crate) fn readable(&self) -> usize {
        self.rcv.readable()
    }

    /// Whether the peer closed its side and all it sent has been read.
    pub(crate) fn is_finished(&self) -> bool {
        self.rcv.readable() == 0 && self.has_ended()
    }

    /// Whether no more will arrive.
    pub(crate) fn has_ended(&self) -> bool {
        self.rcv.fin_reached() || self.state == State::Closed
    }

    /// RECEIVE (RFC 9293, 3.10.3): drops `n` bytes that were read.
    pub(crate) fn consume(&mut self, n: usize) {
        self.rcv.consume(n);
        if self.state.is_synchronized() && !self.rcv.fin_reached() && self.rcv.owes_window_update() {
            self.rcv.ack_at_once();
        }
    }

    /// CLOSE (RFC 9293, 3.10.4): FIN follows what was written.
    pub(crate) fn close<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        if self.snd.is_fin_queued() {
            return;
        }
        match self.state {
            State::SynSent => {
                self.error.get_or_insert(ConnectionError::Closing);
                self.finish(cx);
            }
            State::SynReceived | State::Established | State::CloseWait => self.snd.queue_fin(),
            _ => {}
        }
    }

    /// No one waits for the peer's data any more. RFC 9293, 3.6.1 lets FIN-WAIT-2 last for ever; a
    /// peer that is gone must not keep the connection, so it ends as TIME-WAIT does.
    pub(crate) fn orphan<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        self.orphaned = true;
        self.limit_fin_wait_2(cx.now);
    }

    pub(super) fn limit_fin_wait_2(&mut self, now: Instant) {
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

    /// The application is notified after a short write when there is room again.
    #[inline]
    pub(super) fn notify_writable(&mut self) {
        if self.notifications.is_write_blocked()
            && self.snd.has_room_to_write()
            && self.not_sent_room() >= self.profile.not_sent / 2
        {
            self.notifications.add_writable();
        }
    }
}
