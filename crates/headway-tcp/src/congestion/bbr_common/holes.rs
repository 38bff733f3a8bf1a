//! The "discontiguous sequence ranges lost" in a round (draft-ietf-ccwg-bbr, section 5.3.1.3).

use super::super::LostSegment;

/// Counts them: consecutive lost transmissions are one.
#[derive(Debug, Default)]
pub(in super::super) struct Holes {
    count: u32,
    last: Option<u64>,
}

impl Holes {
    /// A segment was lost.
    pub(in super::super) fn on_lost(&mut self, lost: &LostSegment) {
        if self.last.is_none_or(|last| lost.order != last + 1) {
            self.count += 1;
        }
        self.last = Some(lost.order);
    }

    /// How many there are in this round.
    pub(in super::super) fn count(&self) -> u32 {
        self.count
    }

    /// Another round begins.
    pub(in super::super) fn start_round(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::lost;
    use super::*;

    #[test]
    fn neighbours_are_one_hole() {
        let mut holes = Holes::default();
        for order in [3, 4, 5, 9, 11, 12] {
            holes.on_lost(&lost(order, 0, 0));
        }
        assert_eq!(holes.count(), 3);
        holes.start_round();
        assert_eq!(holes.count(), 0, "another round");
    }
}
