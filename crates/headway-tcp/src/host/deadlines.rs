//! The deadlines of all connections.

use alloc::collections::BTreeSet;

use headway_units::Instant;

use crate::ConnectionId;

/// Connections in the order of their deadlines, put right lazily: a connection whose deadline moved
/// later stays where it was, and is moved when its old place comes to the front. So an ACK that
/// restarts a timer costs nothing here.
///
/// Each connection has one place at most, which it knows, so this grows with the connections alone.
#[derive(Default)]
pub(super) struct Deadlines {
    places: BTreeSet<(Instant, ConnectionId)>,
}

impl Deadlines {
    /// Moves `id` from its `old` place, if it has one, to `at`.
    pub(super) fn place(&mut self, id: ConnectionId, old: Option<Instant>, at: Instant) {
        self.forget(id, old);
        self.places.insert((at, id));
    }

    /// Gives up the place of `id`, if it has one.
    pub(super) fn forget(&mut self, id: ConnectionId, old: Option<Instant>) {
        if let Some(old) = old {
            self.places.remove(&(old, id));
        }
    }

    /// The earliest place. `deadline` gives the real deadline of a connection.
    pub(super) fn next(&self, deadline: impl FnOnce(ConnectionId) -> Option<Instant>) -> Option<Instant> {
        let &(at, id) = self.places.first()?;
        // Early at worst: the connection moves, or loses its place, when its time comes; that costs
        // one idle wake. The only one need not wake for that.
        match deadline(id) {
            Some(real) if self.places.len() == 1 => Some(at.max(real)),
            _ => Some(at),
        }
    }

    /// Takes a connection whose place is due.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<ConnectionId> {
        let &(at, _) = self.places.first()?;
        if at > now {
            return None;
        }
        self.places.pop_first().map(|(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Slab;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn each_connection_has_one_place() {
        let mut slab = Slab::default();
        let [a, b] = [(); 2].map(|()| ConnectionId(slab.insert(())));
        let mut deadlines = Deadlines::default();
        deadlines.place(a, None, at(7_200_000));
        deadlines.place(b, None, at(50));
        let mut place = Some(at(7_200_000));
        // A short timer beside a long one, again and again.
        for round in 0..1000 {
            deadlines.place(a, place, at(round));
            assert_eq!(deadlines.next(|_| None), Some(at(round.min(50))));
            place = Some(at(round));
        }
        assert_eq!(deadlines.places.len(), 2);
        assert_eq!(deadlines.pop_due(at(50)), Some(b));
        assert_eq!(deadlines.pop_due(at(998)), None);
        assert_eq!(deadlines.next(|_| Some(at(2000))), Some(at(2000)), "the only one");
        deadlines.forget(a, place);
        assert_eq!(deadlines.next(|_| None), None);
    }
}
