//! Short lists that live where they are, of what an option can hold.

use core::{fmt, ops::Deref};

/// Up to `N` values, in order. Reads like a slice.
#[derive(Clone, Copy)]
pub struct List<T, const N: usize> {
    items: [T; N],
    // As wide as the items: padding would make copies of lists that were just built slow.
    len: u32,
}

impl<T: Copy + Default, const N: usize> List<T, N> {
    /// How many values there is room for.
    pub const CAPACITY: usize = N;

    /// Appends `item`. Returns false, and changes nothing, if the list is full.
    #[inline]
    pub fn push(&mut self, item: T) -> bool {
        match self.items.get_mut(self.len as usize) {
            Some(place) => {
                *place = item;
                self.len += 1;
                true
            }
            None => false,
        }
    }

    /// Removes everything.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Whether there is no room left.
    #[inline]
    pub const fn is_full(&self) -> bool {
        self.len as usize == N
    }

    /// The values.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // `len` never exceeds `N`; the check costs less than a panic path.
        self.items.get(..self.len as usize).unwrap_or(&self.items)
    }
}

impl<T: Copy + Default, const N: usize> Default for List<T, N> {
    #[inline]
    fn default() -> Self {
        Self { items: [T::default(); N], len: 0 }
    }
}

impl<T: Copy + Default, const N: usize> Deref for List<T, N> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<'a, T: Copy + Default, const N: usize> IntoIterator for &'a List<T, N> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl<T: Copy + Default + PartialEq, const N: usize> PartialEq for List<T, N> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: Copy + Default + Eq, const N: usize> Eq for List<T, N> {}

impl<T: Copy + Default + fmt::Debug, const N: usize> fmt::Debug for List<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_it_has_room_for() {
        let mut list = List::<u32, 2>::default();
        assert!(list.is_empty() && !list.is_full());
        assert!(list.push(1) && list.push(2) && list.is_full());
        assert!(!list.push(3));
        assert_eq!(list.as_slice(), [1, 2]);
        let mut other = List::default();
        assert!(other.push(1) && list != other);
        assert!(other.push(3) && list != other);
        list.clear();
        assert_eq!(list, List::default());
    }
}
