//! Where bursts of damage were: the transmissions near those that are known to have arrived damaged.
//!
//! What is lost beside them is known to be lost only later, by a reordering window or more.

use alloc::collections::VecDeque;

/// A loss so near to a segment that arrived damaged is a part of the same burst of damage.
const NEAR: u64 = 8;
/// How many bursts are remembered: as many as in a round trip of 100 Mbit/s and 400 ms with 1 % damaged. Beyond that, losses that
/// are found late count as alone.
const MOST: usize = 256;

/// Ranges of transmission numbers, ascending, the first and the last damaged one of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bursts(VecDeque<(u64, u64)>);

impl Bursts {
    /// Transmission number `order` arrived damaged.
    pub(super) fn add(&mut self, order: u64) {
        let place = self.0.iter().rposition(|&(first, _)| first <= order + NEAR);
        match place.and_then(|place| self.0.get_mut(place)) {
            Some((first, last)) if order <= *last + NEAR => {
                (*first, *last) = (order.min(*first), order.max(*last));
                let place = place.unwrap_or_default();
                self.join(place);
                self.join(place.saturating_sub(1));
            }
            _ => {
                self.0.insert(place.map_or(0, |place| place + 1), (order, order));
                if self.0.len() > MOST {
                    self.0.pop_front();
                }
            }
        }
    }

    /// Joins the burst at `place` and the next one, if they have become neighbours.
    fn join(&mut self, place: usize) {
        let (_, last) = self.0[place];
        if let Some(&(_, end)) = self.0.get(place + 1).filter(|(first, _)| *first <= last + NEAR) {
            self.0[place].1 = end.max(last);
            self.0.remove(place + 1);
        }
    }

    /// Whether transmission number `order` belongs to a burst.
    pub(super) fn contain(&self, order: u64) -> bool {
        self.0.iter().rev().any(|&(first, last)| first <= order + NEAR && order <= last + NEAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_burst_also_if_reported_late() {
        let mut bursts = Bursts::default();
        for order in [100, 113, 105, 200, 99, 150, 92] {
            bursts.add(order);
        }
        assert_eq!(bursts.0, [(92, 113), (150, 150), (200, 200)]);
        let in_burst = [83, 84, 121, 122, 141, 142, 158, 159, 208, 209].map(|order| bursts.contain(order));
        assert_eq!(in_burst, [false, true, true, false, false, true, true, false, true, false]);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut bursts = Bursts::default();
        for order in (0..1000).map(|number| number * 100) {
            bursts.add(order);
        }
        assert_eq!(bursts.0.len(), MOST);
        assert!(bursts.contain(99_900) && !bursts.contain(0));
    }
}
