//! Which packet numbers were received.

/// Numbers below the highest of which it is known whether they arrived. Older ones count as received: a packet that
/// is overtaken by this many is as good as lost.
const SPAN: u64 = 8192;
const WORD: u64 = u64::BITS as u64;

/// A window of received packet numbers, as in RFC 4303, 3.4.3 (and RFC 6479, without shifting).
pub(crate) struct ReplayWindow {
    /// One more than the highest number received.
    next: u64,
    words: Box<[u64; (SPAN / WORD) as usize]>,
}

impl ReplayWindow {
    pub(crate) fn new() -> Self {
        Self { next: 0, words: Box::new([0; (SPAN / WORD) as usize]) }
    }

    /// Whether `number` was not received and is not too old to tell.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return true;
        }
        self.next - number <= SPAN - WORD && self.words[word(number)] & bit(number) == 0
    }

    /// `number` is received. Says whether it was new.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        if !self.is_new(number) {
            return false;
        }
        if number >= self.next {
            // What comes into the window was not received.
            let (first, last) = (self.next.div_ceil(WORD), number / WORD);
            let stale = (last + 1).saturating_sub(first).min(SPAN / WORD);
            for word in last + 1 - stale..=last {
                self.words[(word % (SPAN / WORD)) as usize] = 0;
            }
            self.next = number + 1;
        }
        self.words[word(number)] |= bit(number);
        true
    }
}

/// The number nearest to `near` whose low bits are `low`.
pub(crate) fn number(near: u64, low: u32) -> u64 {
    let distance = low.wrapping_sub(near as u32) as i32;
    near.checked_add_signed(i64::from(distance)).unwrap_or(u64::from(low))
}

fn word(number: u64) -> usize {
    (number / WORD % (SPAN / WORD)) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % WORD)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each number once, in any order, with steps of any size.
        #[test]
        fn every_number_is_new_once(steps in prop::collection::vec((0_u64..4, 0_u64..9000), 1..400)) {
            let (mut window, mut model) = (ReplayWindow::new(), BTreeSet::new());
            let mut highest = 0_u64;
            for (kind, step) in steps {
                let number = match kind {
                    0 => highest + step,
                    1 => highest + 1,
                    2 => highest.saturating_sub(step % 200),
                    _ => highest.saturating_sub(step),
                };
                highest = highest.max(number);
                let known = highest - number < SPAN - WORD;
                prop_assert_eq!(window.insert(number), known && model.insert(number), "{}", number);
                prop_assert!(!window.is_new(number));
            }
        }
    }

    /// Those that are known are the newest 8128: at the edge of the window, wherever it is in a word, and after any jump.
    #[test]
    fn the_window_has_an_edge() {
        for highest in
            (SPAN - 70..SPAN + 70).chain([3 * SPAN - 1, 3 * SPAN, 3 * SPAN + 1, (1 << 32) - 1, u64::MAX - 1])
        {
            let mut window = ReplayWindow::new();
            assert!(window.insert(highest));
            let last = highest.saturating_sub(SPAN - WORD - 1);
            assert!(window.is_new(last) && window.is_new(highest - 1), "{highest}");
            if let Some(older) = last.checked_sub(1) {
                assert!(!window.is_new(older) && !window.insert(older) && !window.insert(0), "{highest}");
            }
            assert!((last..highest).all(|number| window.insert(number)), "{highest}");
            assert!((last..=highest).all(|number| !window.is_new(number)), "{highest}");
        }
        for jump in [1, 63, 64, 65, 128, SPAN - WORD, SPAN - 1, SPAN, SPAN + 1, SPAN + WORD, 2 * SPAN] {
            // Every word was in use before from the second time around on.
            for start in (0..2 * WORD).chain(SPAN + WORD - 2..SPAN + WORD + 2) {
                let mut window = ReplayWindow::new();
                assert!((0..=start).all(|number| window.insert(number)));
                let highest = start + jump;
                assert!(window.insert(highest));
                let first = highest.saturating_sub(SPAN - WORD - 1);
                for number in first..highest {
                    assert_eq!(window.is_new(number), number > start, "{number} of {start} and {jump}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_expanded_from_their_low_bits() {
        assert_eq!(number(0, 5), 5);
        assert_eq!(number((1 << 32) - 1, 3), (1 << 32) + 3);
        assert_eq!(number((1 << 32) + 4, u32::MAX), (1 << 32) - 1);
        assert_eq!(number(5, u32::MAX), u64::from(u32::MAX), "there is none before 0");
        assert_eq!(number(1 << 31, 0), 0);
        assert_eq!(number((1 << 31) + 1, 0), 1 << 32);
    }
}
