//! Which node acts next.

use headway_units::Instant;

/// The next time of each of a fixed number of actors, and the earliest of them: a tournament tree,
/// so that moving one costs a walk to the root. Equal times go to the lower number.
pub(crate) struct Agenda {
    /// `tree[1]` is the root; the leaves follow after the inner nodes.
    tree: Vec<u32>,
    times: Vec<Instant>,
    leaves: usize,
}

impl Agenda {
    pub(crate) fn new(actors: usize) -> Self {
        let leaves = actors.next_power_of_two().max(2);
        let mut agenda = Self { tree: vec![0; 2 * leaves], times: vec![Instant::MAX; leaves], leaves };
        for i in 0..leaves {
            agenda.tree[leaves + i] = i as u32;
        }
        for node in (1..leaves).rev() {
            agenda.tree[node] = agenda.tree[2 * node];
        }
        agenda
    }

    /// When `actor` acts next; [`Instant::MAX`] for never.
    pub(crate) fn set(&mut self, actor: usize, at: Instant) {
        if self.times[actor] == at {
            return;
        }
        self.times[actor] = at;
        let mut node = (self.leaves + actor) / 2;
        while node > 0 {
            let (left, right) = (self.tree[2 * node], self.tree[2 * node + 1]);
            let earlier = if self.times[right as usize] < self.times[left as usize] { right } else { left };
            self.tree[node] = earlier;
            node /= 2;
        }
    }

    /// The actor that acts next, and when.
    pub(crate) fn next(&self) -> (usize, Instant) {
        let actor = self.tree[1] as usize;
        (actor, self.times[actor])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_the_first_of_the_earliest(
            actors in 1..20usize,
            moves in prop::collection::vec((0..20usize, 0..50u64), 1..100),
        ) {
            let mut agenda = Agenda::new(actors);
            let mut model = vec![Instant::MAX; actors];
            for (actor, at) in moves {
                let actor = actor % actors;
                let at = if at == 49 { Instant::MAX } else { Instant::from_nanos(at) };
                agenda.set(actor, at);
                model[actor] = at;
                let earliest = model.iter().min().copied().unwrap_or(Instant::MAX);
                let (found, when) = agenda.next();
                prop_assert_eq!(when, earliest);
                if earliest < Instant::MAX {
                    prop_assert_eq!(found, model.iter().position(|&t| t == earliest).unwrap_or(0));
                }
            }
        }
    }
}
