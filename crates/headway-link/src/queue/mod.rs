//! The queue in front of a transmitter.

mod aqm;
mod codel;
mod control_law;
mod drop_tail;
mod fifo;
mod fq_codel;
mod limit;
mod managed;
mod mark;
mod pie;
mod red;
#[cfg(test)]
mod test_packets;

use headway_units::Instant;

use crate::{Frame, LinkCounters};
pub use aqm::Aqm;
pub use codel::Codel;
pub use drop_tail::DropTail;
pub use fq_codel::FqCodel;
pub use limit::QueueLimit;
pub use managed::ManagedQueue;
pub use pie::Pie;
pub use red::Red;

/// Which packets wait for the transmitter, in which order they leave, and which are dropped or marked.
///
/// A discipline counts in the [`LinkCounters`] that it is given what only it knows of: `marked`, and for a
/// packet that it drops after it had entered, `queue_drops` and `queue_left`. The link counts the rest.
pub trait QueueDiscipline<P> {
    /// A packet finds the transmitter busy: it is kept, or it comes back.
    fn enqueue(&mut self, now: Instant, frame: Frame<P>, counters: &mut LinkCounters) -> EnqueueResult<P>;

    /// The next packet to transmit; `None` only if none waits any more.
    fn dequeue(&mut self, now: Instant, counters: &mut LinkCounters) -> Option<Frame<P>>;

    /// A packet finds the queue empty and the transmitter idle since `idle_since`, so it does not wait. Says
    /// whether it may pass.
    #[inline]
    fn passes_idle(
        &mut self,
        now: Instant,
        idle_since: Instant,
        frame: &mut Frame<P>,
        counters: &mut LinkCounters,
    ) -> bool {
        let _ = (now, idle_since, frame, counters);
        true
    }

    /// Packets that wait.
    fn len(&self) -> usize;

    /// Whether none waits.
    #[inline]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the packets that wait.
    fn bytes(&self) -> u64;

    /// The lengths of the packets that wait.
    fn lengths(&self) -> impl Iterator<Item = usize>;
}

/// What became of a packet that was given to a link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum EnqueueResult<P> {
    /// The link has it.
    Queued,
    /// It was dropped, as a rule because the queue is full; here it is back.
    Dropped(P),
}
