//! How much may be sent once more without need, as far as is known: copies of a transfer's tail.

/// Bytes at first: eight segments of an Ethernet path.
const INITIAL: u32 = 8 * 1460;
/// Bytes at most.
const MOST: u32 = 4 * INITIAL;
/// The bytes that are sent for each that is earned.
const SHARE: u32 = 16;

/// A sixteenth of what is sent, and a few segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyBudget(u32);

impl CopyBudget {
    pub(super) fn new() -> Self {
        Self(INITIAL)
    }

    /// That many bytes are sent.
    pub(super) fn earn(&mut self, bytes: u32) {
        self.0 = self.0.saturating_add(bytes / SHARE).min(MOST);
    }

    /// Takes `bytes` if there are enough, and says whether there were.
    pub(super) fn spend(&mut self, bytes: u32) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sixteenth_of_what_is_sent_may_be_copied() {
        let mut budget = CopyBudget::new();
        let mut copied = 0;
        for _ in 0..1000 {
            budget.earn(1460);
            while budget.spend(1000) {
                copied += 1000;
            }
        }
        assert!((INITIAL + 1000 * 91 - copied) < 1000, "{copied}");
        for _ in 0..100_000 {
            budget.earn(1460);
        }
        assert!(!budget.spend(MOST + 1) && budget.spend(MOST) && !budget.spend(1));
    }
}
