//! Which damaged packets count, and whether they are to be announced.
//!
//! What the link damaged does not arrive intact as well. Where most damaged packets do, someone on the path sends damaged
//! copies ahead of the packets, or the link hands up damaged frames and repeats them itself: then whatever is announced is
//! retransmitted for nothing.
//!
//! Who sees the packets and sends what they like must not be able to make this forget or to outvote it:
//!
//! * Numbers are remembered exactly, in a window that authenticated numbers alone move. Nothing displaces anything.
//! * A number that arrives intact disproves its damage, whatever the damaged packet looked like.
//! * Damage is confirmed only when enough packets behind it have arrived intact that it would have too. What has a number
//!   that is still to come confirms nothing, however much there is of it.

/// How many numbers are remembered: those of the window, each in a place of its own.
const SPAN: u64 = 8192;
/// A number that is not authenticated is believed if it is less than this ahead of the authenticated ones. So it is a bound for
/// what is announced without anything authenticated between.
pub(crate) const AHEAD: u64 = 1024;
/// Older numbers are not remembered any more.
pub(crate) const BEHIND: u64 = SPAN - AHEAD;
/// Damage is confirmed if the packet has not arrived intact when one has with a number higher by this.
const CONFIRMED_AFTER: u64 = 1024;
/// The counts are halved when together they are this.
const WINDOW: u16 = 256;
/// The number that must have been disproved before damage is not believed.
const FEWEST: u16 = 32;
const WORD: u64 = u64::BITS as u64;

/// What is thought of a damaged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// It is to be announced.
    Believed,
    /// It is not: more of those before it arrived intact too than did not.
    Disbelieved,
    /// It counts for nothing: its number was damaged before, or is none that it can have.
    Ignored,
}

/// What became of packets that arrived damaged, of one kind.
pub(crate) struct DamageTrust {
    /// Those of the numbers in `next - BEHIND..next + AHEAD`, by number modulo `SPAN`.
    damaged: Box<[u64; (SPAN / WORD) as usize]>,
    /// One more than the highest authenticated number.
    next: u64,
    /// The damage of lower numbers is confirmed, or disproved.
    settled: u64,
    confirmed: u16,
    disproved: u16,
}

impl DamageTrust {
    pub(crate) fn new() -> Self {
        let damaged = Box::new([0; (SPAN / WORD) as usize]);
        Self { damaged, next: 0, settled: 0, confirmed: 0, disproved: 0 }
    }

    /// Whether the packet `number` has arrived damaged.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.remembers(number) && self.damaged[word(number)] & bit(number) != 0
    }

    /// The packet `number` has arrived damaged.
    pub(crate) fn on_damaged(&mut self, number: u64) -> Damage {
        if !self.remembers(number) || self.has(number) {
            return Damage::Ignored;
        }
        self.damaged[word(number)] |= bit(number);
        // It is late: the packet would have arrived.
        if number < self.settled {
            self.confirm();
        }
        if self.disproved < FEWEST || self.disproved <= self.confirmed {
            Damage::Believed
        } else {
            Damage::Disbelieved
        }
    }

    /// The number of a packet was authenticated.
    pub(crate) fn on_authentic(&mut self, number: u64) {
        let next = self.next.max(number + 1);
        self.settle(next.saturating_sub(BEHIND));
        // The places of the numbers that the window leaves are those of the ones that it comes to.
        for number in (self.next + AHEAD).max((next + AHEAD).saturating_sub(SPAN))..next + AHEAD {
            self.damaged[word(number)] &= !bit(number);
        }
        self.next = next;
    }

    /// The packet `number`, authenticated, has arrived intact.
    pub(crate) fn on_intact(&mut self, number: u64) {
        if self.has(number) {
            self.damaged[word(number)] &= !bit(number);
            if number < self.settled {
                self.confirmed = self.confirmed.saturating_sub(1);
            }
            self.disproved += 1;
            self.fade();
        }
        self.settle(number.saturating_sub(CONFIRMED_AFTER));
    }

    fn remembers(&self, number: u64) -> bool {
        number < self.next + AHEAD && number + BEHIND >= self.next
    }

    /// Confirms the damage of all numbers below `end`.
    fn settle(&mut self, end: u64) {
        for number in self.settled..end.min(self.next + AHEAD) {
            if self.has(number) {
                self.confirm();
            }
        }
        self.settled = self.settled.max(end);
    }

    fn confirm(&mut self) {
        self.confirmed += 1;
        self.fade();
    }

    /// What is long ago counts less.
    fn fade(&mut self) {
        if self.confirmed + self.disproved >= WINDOW {
            self.confirmed /= 2;
            self.disproved /= 2;
        }
    }
}

fn word(number: u64) -> usize {
    (number / WORD % (SPAN / WORD)) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % WORD)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// By how many packets damaged copies are ahead of what is intact, on the path of these tests.
    const LEAD: u64 = 85;

    fn arrives(trust: &mut DamageTrust, number: u64) {
        trust.on_authentic(number);
        trust.on_intact(number);
    }

    /// How many of the packets with these numbers are believed to be damaged, if of each a damaged copy arrives `lead` packets
    /// ahead, and those arrive intact that `is_intact` says.
    fn believed(
        trust: &mut DamageTrust,
        numbers: std::ops::Range<u64>,
        lead: u64,
        is_intact: impl Fn(u64) -> bool,
    ) -> u64 {
        let mut believed = 0;
        for number in numbers.start..numbers.end + lead {
            if number < numbers.end {
                believed += u64::from(trust.on_damaged(number) == Damage::Believed);
            }
            if let Some(number) = number.checked_sub(lead).filter(|&n| n >= numbers.start && is_intact(n)) {
                arrives(trust, number);
            }
        }
        believed
    }

    #[test]
    fn damage_is_believed_unless_most_of_it_arrives_intact_too() {
        for n in [3, 5, 10] {
            let mut trust = DamageTrust::new();
            // Nothing is confirmed before the first packets would have arrived.
            believed(&mut trust, 0..5000, LEAD, |number| number % n == 0);
            let all = believed(&mut trust, 5000..10_000, LEAD, |number| number % n == 0);
            assert_eq!(all, 5000, "one in {n}");
        }
        let few = believed(&mut DamageTrust::new(), 0..5000, LEAD, |_| true);
        assert_eq!(few, LEAD + u64::from(FEWEST));
    }

    #[test]
    fn it_is_believed_again() {
        let mut trust = DamageTrust::new();
        believed(&mut trust, 0..5000, LEAD, |_| true);
        // Of ten packets one is damaged.
        let mut announced = |numbers: std::ops::Range<u64>| {
            let mut announced = 0;
            for number in numbers {
                trust.on_authentic(number);
                match number % 10 {
                    0 => announced += u64::from(trust.on_damaged(number) == Damage::Believed),
                    _ => trust.on_intact(number),
                }
            }
            announced
        };
        let few = announced(6000..10_000);
        assert!((100..300).contains(&few), "{few}");
        assert_eq!(announced(10_000..11_000), 100);
    }

    /// Packets that an attacker makes up have no number that is not to come.
    #[test]
    fn noise_outvotes_no_proof() {
        for ahead in [1, 7, 63, 64, 500, AHEAD - 1] {
            let mut trust = DamageTrust::new();
            let mut announced = 0;
            for number in 0..5000 {
                announced += u32::from(trust.on_damaged(number + LEAD) == Damage::Believed);
                for noise in [number + LEAD + ahead, number + SPAN, number + 1024, number + 4096] {
                    trust.on_damaged(noise);
                }
                arrives(&mut trust, number);
            }
            assert!(announced <= LEAD as u32 + u32::from(FEWEST), "{ahead}: {announced}");
        }
    }

    /// Copies in groups, each of which is announced before one of it has arrived intact.
    #[test]
    fn copies_far_ahead_confirm_nothing() {
        for lead in [200, 500, 1000] {
            let mut trust = DamageTrust::new();
            let mut announced = 0;
            for group in 0..20 {
                let first = group * 2 * lead;
                announced += believed(&mut trust, first..first + lead, lead, |_| true);
                (first + lead..first + 2 * lead).for_each(|number| arrives(&mut trust, number));
            }
            assert!(announced <= lead, "{lead}: {announced}");
        }
    }

    #[test]
    fn without_anything_authentic_only_so_many_are_announced() {
        let mut trust = DamageTrust::new();
        let announced = (0..1 << 20).filter(|&number| trust.on_damaged(number) == Damage::Believed).count();
        assert_eq!(announced as u64, AHEAD);
    }

    #[test]
    fn late_damage_is_confirmed_at_once_and_an_intact_packet_takes_that_back() {
        let mut trust = DamageTrust::new();
        arrives(&mut trust, 5000);
        assert_eq!(trust.settled, 5000 - CONFIRMED_AFTER);
        let first = trust.settled;
        trust.on_damaged(first);
        assert_eq!((trust.confirmed, trust.disproved), (0, 0));
        trust.on_damaged(first - 1);
        assert_eq!((trust.confirmed, trust.disproved), (1, 0));
        trust.on_intact(first);
        assert_eq!((trust.confirmed, trust.disproved), (1, 1));
        trust.on_intact(first - 1);
        assert_eq!((trust.confirmed, trust.disproved), (0, 2));
    }

    #[test]
    fn the_counts_are_halved_when_together_they_are_as_many_as_the_window() {
        let mut trust = DamageTrust::new();
        arrives(&mut trust, 5000);
        for number in 0..u64::from(WINDOW) - 1 {
            trust.on_damaged(number);
        }
        assert_eq!(trust.confirmed, WINDOW - 1);
        trust.on_damaged(1000);
        assert_eq!((trust.confirmed, trust.disproved), (WINDOW / 2, 0));
    }

    proptest! {
        /// The numbers of the window are remembered, each for itself, whatever the order and however far a step is.
        #[test]
        fn it_remembers_what_a_map_does(
            steps in prop::collection::vec((0_u8..4, prop_oneof![0_u64..4, 0..2 * AHEAD, 0..2 * SPAN]), 1..300),
        ) {
            let mut trust = DamageTrust::new();
            let (mut model, mut next) = (BTreeMap::new(), 0_u64);
            for (kind, step) in steps {
                let number = if kind % 2 == 0 { next + step } else { next.saturating_sub(step) };
                if kind < 2 {
                    let fits = number < next + AHEAD && number + BEHIND >= next;
                    let is_new = fits && model.insert(number, ()).is_none();
                    prop_assert_eq!(trust.on_damaged(number) != Damage::Ignored, is_new, "{}", number);
                } else {
                    arrives(&mut trust, number);
                    model.remove(&number);
                    next = next.max(number + 1);
                    model.retain(|&number, _| number + BEHIND >= next);
                }
                for number in model.keys() {
                    prop_assert!(trust.has(*number));
                }
                prop_assert!(!trust.has(number) || model.contains_key(&number));
                prop_assert!(trust.confirmed + trust.disproved < WINDOW);
            }
        }
    }
}
