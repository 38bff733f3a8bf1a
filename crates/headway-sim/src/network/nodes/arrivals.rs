//! How long the packets that reach a host took.

use headway_link::Histogram;
use headway_units::Duration;

/// The one-way delays of the packets that reached a host, damaged ones included, from the host that sent them.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    delays: Histogram,
    last: Option<Duration>,
    /// The sum of the differences between the delays of packets that arrived one after the other.
    variation: Duration,
    /// How many differences.
    variations: u64,
}

impl Arrivals {
    #[inline]
    pub(in crate::network) fn add(&mut self, delay: Duration) {
        self.delays.add(delay);
        if let Some(last) = self.last.replace(delay) {
            self.variation = self.variation + delay.max(last) - delay.min(last);
            self.variations += 1;
        }
    }

    /// The delays.
    pub fn delays(&self) -> &Histogram {
        &self.delays
    }

    /// The mean absolute difference between the one-way delays of packets that arrived one after the other: the IPDV of
    /// RFC 3393 with the selection function "consecutive packets". `None` with less than two packets.
    pub fn mean_variation(&self) -> Option<Duration> {
        self.variation.as_nanos().checked_div(self.variations).map(Duration::from_nanos)
    }

    /// What was added since these were `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            delays: self.delays.since(&earlier.delays),
            last: self.last,
            variation: self.variation - earlier.variation,
            variations: self.variations - earlier.variations,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variation_is_between_neighbours() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.mean_variation(), None);
        let mut earlier = arrivals.clone();
        for (number, millis) in [20, 30, 10, 10].into_iter().enumerate() {
            arrivals.add(Duration::from_millis(millis));
            if number == 1 {
                earlier = arrivals.clone();
            }
        }
        assert_eq!(arrivals.mean_variation(), Some(Duration::from_millis(30) / 3));
        assert_eq!(arrivals.delays().quantiles().count, 4);
        let later = arrivals.since(&earlier);
        assert_eq!(later.mean_variation(), Some(Duration::from_millis(10)));
        assert_eq!(later.delays().quantiles().count, 2);
    }
}
