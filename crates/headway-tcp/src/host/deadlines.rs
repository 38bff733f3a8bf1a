//! The deadlines of all connections.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use headway_units::Instant;

use super::ConnectionId;

/// A heap that is put right lazily: a connection whose deadline moved later stays where it was,
/// and is moved when its old place comes to the top. So an ACK that restarts a timer costs
/// nothing here.
#[derive(Default)]
pub(super) struct Deadlines {
    heap: BinaryHeap<Reverse<(Instant, ConnectionId)>>,
}

impl Deadlines {
    pub(super) fn push(&mut self, at: Instant, id: ConnectionId) {
        self.heap.push(Reverse((at, id)));
    }

    /// The earliest place in the heap that is not out of date. `look_up` tells for a connection
    /// the place that it has registered and its real deadline.
    pub(super) fn next(
        &mut self,
        look_up: impl Fn(ConnectionId) -> Option<(Option<Instant>, Option<Instant>)>,
    ) -> Option<Instant> {
        while let Some(&Reverse((at, id))) = self.heap.peek() {
            match look_up(id) {
                Some((Some(registered), Some(deadline))) if registered == at => {
                    // Early at worst: the connection moves when its time comes.
                    return Some(if self.heap.len() == 1 { at.max(deadline) } else { at });
                }
                // Stopped timers keep their place until it is due; it costs one idle wake.
                Some((Some(registered), None)) if registered == at => return Some(at),
                _ => {
                    self.heap.pop();
                }
            }
        }
        None
    }

    /// Takes a connection whose place is due.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<ConnectionId> {
        let &Reverse((at, id)) = self.heap.peek()?;
        if at > now {
            return None;
        }
        self.heap.pop();
        Some(id)
    }
}
