//! What is to be sent whether or not there is data to send: requested when a segment arrives, a timer
//! expires or the application calls; taken when the connection is polled.

use headway_units::{Duration, Instant};
use headway_wire::SeqNumber;

use crate::event::RetransmitReason;
use crate::hack::classic::receiver::{PendingSpecialAck, SpecialAckQueue};

/// A segment without data that goes before all data.
pub(super) enum Control {
    Reset,
    /// A SYN or SYN-ACK.
    Syn,
    SpecialAck(PendingSpecialAck),
}

/// See the module's documentation.
pub(super) struct PendingOutput {
    reset: bool,
    syn: bool,
    special_acks: SpecialAckQueue,
    tail_probe: bool,
    head: Option<RetransmitReason>,
    keep_alive: bool,
    count: bool,
}

impl PendingOutput {
    /// A connection begins with its SYN or SYN-ACK. `s_buffer`: numbers that special ACKs repeat.
    pub(super) fn new(s_buffer: usize) -> Self {
        Self {
            reset: false,
            syn: true,
            special_acks: SpecialAckQueue::new(s_buffer),
            tail_probe: false,
            head: None,
            keep_alive: false,
            count: false,
        }
    }

    /// Whether nothing is requested.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        let Self { reset, syn, special_acks, tail_probe, head, keep_alive, count } = self;
        let is_requested = *reset || *syn || *tail_probe || head.is_some() || *keep_alive || *count;
        !is_requested && !special_acks.any_owed()
    }

    /// Takes the segment that goes before all data: RST, SYN, special ACKs, in this order.
    #[inline]
    pub(super) fn take_control(&mut self) -> Option<Control> {
        if core::mem::take(&mut self.reset) {
            return Some(Control::Reset);
        }
        if core::mem::take(&mut self.syn) {
            return Some(Control::Syn);
        }
        self.special_acks.pop().map(Control::SpecialAck)
    }

    /// The connection is over: nothing is sent but a RST that was requested.
    pub(super) fn close(&mut self) {
        self.syn = false;
        self.special_acks.clear();
    }

    // --- SYN and RST --------------------------------------------------------------------------------

    /// Whether a RST is to be sent before the connection is forgotten.
    pub(super) fn set_reset(&mut self, reset: bool) {
        self.reset = reset;
    }

    pub(super) fn has_reset(&self) -> bool {
        self.reset
    }

    /// Whether our SYN or SYN-ACK is to be sent (again).
    pub(super) fn set_syn(&mut self, syn: bool) {
        self.syn = syn;
    }

    // --- special ACKs -------------------------------------------------------------------------------

    /// A damaged segment is to be asked for; special ACKs repeat its number for `life`.
    pub(super) fn push_special_ack(&mut self, special_ack: PendingSpecialAck, now: Instant, life: Duration) {
        self.special_acks.push(special_ack, now, life);
    }

    /// The numbers that special ACKs repeat.
    pub(super) fn special_acks(&mut self) -> &mut SpecialAckQueue {
        &mut self.special_acks
    }

    /// Data arrived; `holds` says what has.
    #[inline]
    pub(super) fn on_data(&mut self, now: Instant, holds: impl Fn(SeqNumber) -> bool) {
        self.special_acks.on_data(now, holds);
    }

    // --- data, whatever the window says ---------------------------------------------------------------

    /// A tail loss probe is to be sent.
    pub(super) fn request_tail_probe(&mut self) {
        self.tail_probe = true;
    }

    pub(super) fn has_tail_probe(&self) -> bool {
        self.tail_probe
    }

    /// The tail loss probe was sent, or there is nothing to send as one.
    pub(super) fn clear_tail_probe(&mut self) {
        self.tail_probe = false;
    }

    /// The first segment of the queue is to be retransmitted.
    pub(super) fn request_head(&mut self, reason: RetransmitReason) {
        self.head = Some(reason);
    }

    pub(super) fn take_head(&mut self) -> Option<RetransmitReason> {
        self.head.take()
    }

    /// The first segment of the queue is acknowledged.
    pub(super) fn clear_head(&mut self) {
        self.head = None;
    }

    // --- keep-alive ---------------------------------------------------------------------------------

    pub(super) fn request_keep_alive(&mut self) {
        self.keep_alive = true;
    }

    pub(super) fn take_keep_alive(&mut self) -> bool {
        core::mem::take(&mut self.keep_alive)
    }

    // --- the count of damaged packets ---------------------------------------------------------------

    /// The peer is to be notified of the count at once. Segments with data have no room for it.
    pub(super) fn request_count(&mut self) {
        self.count = true;
    }

    /// Takes the request; an ACK without data brings the count in any case.
    pub(super) fn take_count(&mut self) -> bool {
        core::mem::take(&mut self.count)
    }

    /// Bytes of heap in use.
    pub(super) fn allocated(&self) -> usize {
        self.special_acks.allocated()
    }
}
