//! Warnings of what may happen a thousand times a second.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How often it is said.
const INTERVAL: Duration = Duration::from_secs(60);

/// Something that is worth a warning, and that is said once a minute at most.
#[derive(Debug, Default)]
pub(crate) struct Repeated {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    said: Option<Instant>,
    /// How often it has happened since.
    times: u64,
}

impl Repeated {
    /// It happened. If it is to be said: how often it has happened since it was said last.
    pub(crate) fn happened(&self) -> Option<u64> {
        self.happened_times(1)
    }

    /// It happened as often as that.
    pub(crate) fn happened_times(&self, times: u64) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.times += times;
        let now = Instant::now();
        if state.said.is_some_and(|said| now.duration_since(said) < INTERVAL) {
            return None;
        }
        state.said = Some(now);
        Some(std::mem::take(&mut state.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_said_once_a_minute_with_how_often_it_happened() {
        let repeated = Repeated::default();
        assert_eq!([(); 3].map(|()| repeated.happened()), [Some(1), None, None]);
        tokio::time::advance(INTERVAL).await;
        assert_eq!([(); 2].map(|()| repeated.happened()), [Some(3), None]);
        tokio::time::advance(INTERVAL).await;
        assert_eq!(repeated.happened_times(5), Some(6));
    }
}
