//! Numbers that stand for connections and listeners.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Values under numbers that no other value of this process has or had: a number that is another host's, or too old,
/// finds nothing. No packet depends on them.
#[derive(Debug)]
pub(crate) struct Numbers<T> {
    values: BTreeMap<u64, T>,
    numbers: BTreeMap<T, u64>,
}

/// A number that nothing has had; 0 is never one.
pub(crate) fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<T: Copy + Ord> Numbers<T> {
    pub(crate) fn new() -> Self {
        Self { values: BTreeMap::new(), numbers: BTreeMap::new() }
    }

    /// The number of `value`, which gets one if it has none.
    pub(crate) fn number(&mut self, value: T) -> u64 {
        *self.numbers.entry(value).or_insert_with(|| {
            let number = next();
            self.values.insert(number, value);
            number
        })
    }

    /// The number of `value`, if it has one.
    pub(crate) fn known(&self, value: T) -> Option<u64> {
        self.numbers.get(&value).copied()
    }

    pub(crate) fn value(&self, number: u64) -> Option<T> {
        self.values.get(&number).copied()
    }

    pub(crate) fn forget(&mut self, number: u64) {
        if let Some(value) = self.values.remove(&number) {
            self.numbers.remove(&value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_once() {
        let (mut a, mut b) = (Numbers::new(), Numbers::new());
        let (first, other) = (a.number('x'), b.number('x'));
        assert_eq!((a.number('x'), a.value(first), a.value(other)), (first, Some('x'), None));
        a.forget(first);
        assert_eq!((a.value(first), a.known('x')), (None, None));
        assert_ne!(a.number('x'), first);
    }
}
