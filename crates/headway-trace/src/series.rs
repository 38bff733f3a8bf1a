//! A bounded series of points in the order of time.

/// A series of points that keeps its first and its latest point and thins the others evenly: when the
/// limit is reached, every second point is removed, and from then on only every second new point is kept.
/// The result depends only on the points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series<T> {
    points: Vec<T>,
    limit: usize,
    /// Every `stride`-th point is kept: a power of two.
    stride: u64,
    total: u64,
    /// The last of `points` is kept only as the latest.
    last_is_extra: bool,
}

impl<T> Series<T> {
    /// An empty series of at most `limit` points (and at least 2: the first and the latest).
    pub(crate) fn new(limit: usize) -> Self {
        Self { points: Vec::new(), limit: limit.max(2), stride: 1, total: 0, last_is_extra: false }
    }

    /// The points that were kept, in order.
    pub fn points(&self) -> &[T] {
        &self.points
    }

    /// The number of points pushed, kept or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Every `stride`-th point is kept; 1 if all are.
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    pub(crate) fn push(&mut self, point: T) {
        if self.last_is_extra {
            self.points.pop();
        }
        if self.points.len() == self.limit {
            let mut place = 0_usize;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
        self.points.push(point);
        self.last_is_extra = !self.total.is_multiple_of(self.stride);
        self.total += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keeps_everything_below_the_limit() {
        let mut series = Series::new(4);
        assert!(series.is_empty());
        (0..4).for_each(|n| series.push(n));
        assert_eq!(series.points(), [0, 1, 2, 3]);
        assert_eq!((series.total(), series.stride()), (4, 1));
    }

    #[test]
    fn doubles_the_stride_at_the_limit_and_keeps_the_latest() {
        let mut series = Series::new(4);
        let mut seen = Vec::new();
        for n in 0..10 {
            series.push(n);
            seen.push(series.points().to_vec());
        }
        assert_eq!(seen[4], [0, 2, 4]);
        assert_eq!(seen[5], [0, 2, 4, 5]);
        assert_eq!(seen[6], [0, 2, 4, 6]);
        assert_eq!(seen[7], [0, 4, 7]);
        assert_eq!(seen[8], [0, 4, 8]);
        assert_eq!(seen[9], [0, 4, 8, 9]);
        assert_eq!((series.total(), series.stride()), (10, 4));
    }

    proptest! {
        #[test]
        fn is_even_and_bounded(limit in 0_usize..40, count in 1_u64..2000) {
            let mut series = Series::new(limit);
            (0..count).for_each(|n| series.push(n));
            let points = series.points();
            prop_assert!(points.len() <= limit.max(2));
            prop_assert_eq!(points.last(), Some(&(count - 1)));
            let (_, kept) = points.split_last().unwrap();
            for (place, point) in kept.iter().enumerate() {
                prop_assert_eq!(*point, place as u64 * series.stride());
            }
            // Not thinner than necessary.
            if series.stride() > 1 {
                prop_assert!(count / series.stride() + 1 >= limit.max(2) as u64 / 2);
            }
        }
    }
}
