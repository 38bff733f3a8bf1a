//! Times in tables of choices.

use headway_units::Duration;

/// Shorter to write than the constructors in a table of choices.
pub(crate) trait Spans {
    fn into_millis(self) -> Duration;
    fn into_secs(self) -> Duration;
}

impl Spans for u64 {
    fn into_millis(self) -> Duration {
        Duration::from_millis(self)
    }
    fn into_secs(self) -> Duration {
        Duration::from_secs(self)
    }
}
