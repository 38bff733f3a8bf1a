//! How much memory the streams of all peers may use.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use headway_units::Size;

use super::relay;

/// What streams use, and may use. It is brought up to date from time to time: between that and the next, and by what
/// open streams have yet to fill of their windows, more may be used.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    limit: Option<u64>,
    used: AtomicU64,
    is_exhausted: AtomicBool,
}

impl Budget {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Connections use `connections` bytes, and `streams` are open.
    pub(crate) fn update(&self, connections: usize, streams: usize) {
        let used = (connections + streams * relay::MEMORY) as u64;
        self.used.store(used, Ordering::Relaxed);
        let Some(limit) = self.limit else { return };
        let is_exhausted = used >= limit;
        if self.is_exhausted.swap(is_exhausted, Ordering::Relaxed) != is_exhausted {
            let (used, limit) = (Size::from_bytes(used), Size::from_bytes(limit));
            if is_exhausted {
                tracing::warn!(%used, %limit, "the memory of streams is used up: new ones are refused");
            } else {
                tracing::info!(%used, %limit, "there is memory for new streams again");
            }
        }
    }

    /// Bytes in use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether new streams are to be refused.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_streams_are_refused_while_the_memory_is_used_up() {
        let limit = 1_000_000 + 3 * relay::MEMORY as u64;
        let (limited, free) = (Budget::new(Some(limit)), Budget::new(None));
        for (connections, is_exhausted) in
            [(999_999, false), (1_000_000, true), (1_000_001, true), (0, false)]
        {
            for budget in [&limited, &free] {
                budget.update(connections, 3);
                assert_eq!(budget.used(), (connections + 3 * relay::MEMORY) as u64);
            }
            assert_eq!((limited.is_exhausted(), free.is_exhausted()), (is_exhausted, false), "{connections}");
        }
    }
}
