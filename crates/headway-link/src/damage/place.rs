//! Where the flipped bits of a packet fall.

use crate::random::{Chance, Stream};

/// The bits of a packet that are open to damage: headers from `start`, data from `data` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) start: u64,
    pub(crate) data: u64,
    pub(crate) end: u64,
}

/// Chooses distinct bits. Holds the memory that this takes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placer {
    /// One bit for each bit that may be chosen: whether it has been.
    taken: Vec<u64>,
}

impl Placer {
    /// Chooses at most `flips` distinct bits of `zone` and hands each to `flip`. `header_hit` is the
    /// probability of a hit in the header, `None` leaves it to the place of the bits.
    pub(crate) fn place(
        &mut self,
        flips: u64,
        zone: Zone,
        header_hit: Option<Chance>,
        stream: &mut Stream,
        mut flip: impl FnMut(u64),
    ) {
        let Zone { start, data, end } = zone;
        let Some(header_hit) = header_hit else {
            return self.subset(flips, end - start, stream, |bit| flip(start + bit));
        };
        if data == end {
            // "A packet without payload that is hit is hit in its header."
            return self.subset(flips, data - start, stream, |bit| flip(start + bit));
        }
        let in_header = header_hit.happens(stream) && start < data;
        if !in_header {
            return self.subset(flips, end - data, stream, |bit| flip(data + bit));
        }
        // "With one flip a packet the flip is in the header with probability h, else in the data. With
        // several the data is hit, and with probability h the header too."
        let header_bit = start + stream.below(data - start);
        flip(header_bit);
        if flips < 2 {
            return;
        }
        let data_bit = data + stream.below(end - data);
        flip(data_bit);
        // The others fall anywhere else: count around the two that are taken.
        self.subset(flips - 2, end - start - 2, stream, |bit| {
            let bit = start + bit;
            let bit = bit + u64::from(bit >= header_bit);
            flip(bit + u64::from(bit >= data_bit));
        });
    }

    /// Chooses `count` distinct numbers below `end` (all, if there are no more), every set of them with
    /// the same probability: R. Floyd's algorithm, Communications of the ACM 30 (1987) 754.
    fn subset(&mut self, count: u64, end: u64, stream: &mut Stream, mut chosen: impl FnMut(u64)) {
        let count = count.min(end);
        if count == 1 {
            return chosen(stream.below(end));
        }
        self.taken.clear();
        self.taken.resize(end.div_ceil(64) as usize, 0);
        for last in end - count..end {
            let candidate = stream.below(last + 1);
            let bit = if self.take(candidate) {
                candidate
            } else {
                self.take(last);
                last
            };
            chosen(bit);
        }
    }

    /// Takes `number`; false if it has been taken before.
    fn take(&mut self, number: u64) -> bool {
        let (word, bit) = (&mut self.taken[(number / 64) as usize], 1 << (number % 64));
        let free = *word & bit == 0;
        *word |= bit;
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;
    use headway_units::Share;
    use proptest::prelude::*;

    #[test]
    fn every_subset_is_as_likely() {
        let (mut placer, mut stream) = (Placer::default(), Streams::new(5).place);
        let mut seen = [0u32; 32];
        for _ in 0..100_000 {
            let mut set = 0;
            placer.subset(2, 5, &mut stream, |bit| set |= 1 << bit);
            seen[set] += 1;
        }
        for (set, &n) in seen.iter().enumerate() {
            // 10 sets of two out of five.
            let expected = if set.count_ones() == 2 { 9_500..10_500 } else { 0..1 };
            assert!(expected.contains(&n), "{set:05b}: {n}");
        }
    }

    /// The bits beside the two that must be hit are uniform over all others.
    #[test]
    fn other_bits_fall_anywhere() {
        let (mut placer, mut stream) = (Placer::default(), Streams::new(5).place);
        let zone = Zone { start: 2, data: 4, end: 8 };
        let mut seen = [0u32; 8];
        for _ in 0..60_000 {
            placer.place(3, zone, Some(Chance::new(Share::ONE)), &mut stream, |bit| seen[bit as usize] += 1);
        }
        // Of three flips one is in each part; the third in one of the 4 others: 1 header, 3 data.
        for (bit, &n) in seen.iter().enumerate() {
            let expected = match bit {
                0..2 => 0.0,
                2..4 => 60_000.0 * (1.0 / 2.0 + 1.0 / 4.0 / 2.0),
                _ => 60_000.0 * (1.0 / 4.0 + 3.0 / 4.0 / 4.0),
            };
            assert!((f64::from(n) - expected).abs() <= expected * 0.02, "{bit}: {n}, not {expected}");
        }
    }

    proptest! {
        #[test]
        fn bits_are_distinct_and_within_the_zone(
            flips in 1u64..200, start in 0u64..100, header in 0u64..100, data in 0u64..100,
            header_hit in prop_oneof![Just(None), Just(Some(0.0)), Just(Some(0.5)), Just(Some(1.0))],
            seed: u64,
        ) {
            let zone = Zone { start, data: start + header, end: start + header + data };
            let chance = header_hit.map(|h| Chance::new(Share::new(h).unwrap()));
            let mut bits = Vec::new();
            let mut stream = Streams::new(seed).place;
            Placer::default().place(flips, zone, chance, &mut stream, |bit| bits.push(bit));
            prop_assert!(bits.iter().all(|bit| (zone.start..zone.end).contains(bit)));
            let total = bits.len() as u64;
            bits.sort_unstable();
            bits.dedup();
            prop_assert_eq!(bits.len() as u64, total);
            let in_header = bits.iter().filter(|&&bit| bit < zone.data).count() as u64;
            let expected = match header_hit {
                _ if data == 0 => flips.min(header),
                Some(h) if h == 0.0 || header == 0 => flips.min(data),
                None => flips.min(header + data),
                Some(h) if h < 1.0 && in_header == 0 => flips.min(data),
                Some(_) => flips.min(header + data),
            };
            prop_assert_eq!(total, expected);
            if header_hit == Some(1.0) && header > 0 {
                prop_assert!(in_header >= 1);
                prop_assert!(flips < 2 || data == 0 || in_header < total);
            }
        }
    }
}
