//! Whether damaged packets are to be announced.
//!
//! What the link damaged does not arrive intact as well. Where most damaged packets do, someone on the path sends damaged
//! copies ahead of the packets, or the link hands up damaged frames and repeats them itself: then whatever is announced is
//! retransmitted for nothing.

/// Damaged packets are remembered by number, modulo this.
const REMEMBERED: u64 = 1024;
/// The counts are halved when so many packets were damaged.
const WINDOW: u16 = 256;
/// So many must have arrived intact too before damage is not believed.
const FEWEST: u16 = 16;
/// Bits of 128 in which a damaged header differs at most from that of the intact packet: what differs more is not a copy of it, but
/// made up. (Of random bits as few differ once in 10^12.)
const LIKE: u32 = 24;

/// The first bytes of a sealed header, as they arrived.
pub(crate) type Head = u128;

/// What became of damaged packets lately.
#[derive(Default)]
pub(crate) struct DamageTrust {
    /// Number and head of damaged packets; empty before the first.
    remembered: Vec<Option<(u64, Head)>>,
    damaged: u16,
    /// How many of them arrived intact too.
    disproved: u16,
}

impl DamageTrust {
    /// The packet `number` arrived damaged. Says whether that is believed.
    pub(crate) fn on_damaged(&mut self, number: u64, head: Head) -> bool {
        if self.remembered.is_empty() {
            self.remembered.resize(REMEMBERED as usize, None);
        }
        self.remembered[(number % REMEMBERED) as usize] = Some((number, head));
        self.damaged += 1;
        if self.damaged == WINDOW {
            self.damaged /= 2;
            self.disproved /= 2;
        }
        self.disproved < FEWEST || self.disproved * 2 <= self.damaged
    }

    /// The packet `number` arrived intact.
    pub(crate) fn on_intact(&mut self, number: u64, head: Head) {
        let Some(slot) = self.remembered.get_mut((number % REMEMBERED) as usize) else { return };
        if slot.is_some_and(|(then, damaged)| then == number && (damaged ^ head).count_ones() <= LIKE) {
            *slot = None;
            self.disproved += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `packets` damaged ones are believed, if every `n`th arrives intact too, 50 packets later.
    fn believed(trust: &mut DamageTrust, packets: std::ops::Range<u64>, n: u64, differing: u32) -> u64 {
        let head = |number: u64| Head::from(number) << 64;
        let flips = (1 << differing) - 1;
        let mut believed = 0;
        for number in packets {
            believed += u64::from(trust.on_damaged(number, head(number) ^ flips));
            let earlier = number.saturating_sub(50);
            if earlier % n == 0 {
                trust.on_intact(earlier, head(earlier));
            }
        }
        believed
    }

    #[test]
    fn damage_is_believed_unless_most_of_it_arrives_intact_too() {
        for n in [2, 3, 10] {
            assert_eq!(believed(&mut DamageTrust::default(), 0..5000, n, 2), 5000, "one in {n}");
        }
        let few = believed(&mut DamageTrust::default(), 0..5000, 1, 2);
        assert!((60..200).contains(&few), "{few}");
    }

    #[test]
    fn it_is_believed_again() {
        let mut trust = DamageTrust::default();
        believed(&mut trust, 0..5000, 1, 2);
        let lost = 1000 - believed(&mut trust, 5000..6000, u64::MAX, 2);
        assert!((1..300).contains(&lost), "{lost}");
        assert_eq!(believed(&mut trust, 6000..7000, u64::MAX, 2), 1000);
    }

    #[test]
    fn what_is_made_up_disproves_nothing() {
        assert_eq!(believed(&mut DamageTrust::default(), 0..5000, 1, LIKE + 1), 5000);
        let mut trust = DamageTrust::default();
        // Of another number, or never damaged.
        for number in 0..5000 {
            trust.on_intact(number, 7);
            assert!(trust.on_damaged(number, 7));
            trust.on_intact(number + REMEMBERED, 7);
        }
    }
}
