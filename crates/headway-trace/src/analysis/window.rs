//! Windows that one side advertised.

/// Windows advertised in ACKs (and in the first SYN), in bytes, scaled where both sides use window scaling
/// (RFC 7323, 2.2; a SYN's own window is never scaled).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Windows {
    /// The largest.
    pub max: Option<u64>,
    /// The smallest nonzero window.
    pub min_open: Option<u64>,
    /// Zero windows.
    pub zero: u64,
    /// The number of windows in the mean.
    count: u64,
    sum: u128,
    is_scaled: bool,
    /// The current window.
    pub(super) latest: Option<u64>,
}

impl Windows {
    /// Counts a window. `is_scaled`: both captured SYNs have the option, and this segment is not a SYN.
    pub(super) fn add(&mut self, window: u64, has_ack: bool, is_scaled: bool) {
        if is_scaled && !self.is_scaled && window > 0 {
            // The windows of the SYNs are not scaled.
            *self = Self { zero: self.zero, is_scaled: true, ..Self::default() };
        }
        self.latest = Some(window);
        self.max = self.max.max(Some(window));
        self.zero += u64::from(has_ack && window == 0);
        if window > 0 {
            self.min_open = Some(self.min_open.map_or(window, |least| least.min(window)));
        }
        self.count += 1;
        self.sum += u128::from(window);
    }

    /// The mean, in bytes.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}
