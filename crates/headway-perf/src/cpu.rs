//! CPU time of this process.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

/// The share of one processor that a process used, in per cent; more than 100 with several threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Usage {
    pub(super) user: f64,
    pub(super) system: f64,
}

impl Usage {
    pub(super) fn total(self) -> f64 {
        self.user + self.system
    }
}

/// The CPU time since its start, of all threads of the process.
pub(super) struct Clock {
    started: Instant,
    user: Duration,
    system: Duration,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "a live measurement")]
    pub(super) fn start() -> Self {
        let (user, system) = times();
        Self { started: Instant::now(), user, system }
    }

    pub(super) fn usage(&self) -> Usage {
        let (user, system) = times();
        let elapsed = self.started.elapsed().as_secs_f64();
        let share = |now: Duration, before: Duration| {
            if elapsed > 0.0 { 100.0 * now.saturating_sub(before).as_secs_f64() / elapsed } else { 0.0 }
        };
        Usage { user: share(user, self.user), system: share(system, self.system) }
    }
}

fn times() -> (Duration, Duration) {
    // It cannot fail for the process itself.
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Default::default() };
    let of = |time: nix::sys::time::TimeVal| {
        Duration::new(
            time.tv_sec().try_into().unwrap_or(0),
            1000 * u32::try_from(time.tv_usec()).unwrap_or(0),
        )
    };
    (of(usage.user_time()), of(usage.system_time()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time() {
        let clock = Clock::start();
        // Until the process has been billed for some of it, however long that takes.
        let mut n = 0_u64;
        while clock.usage().total() <= 0.0 {
            n = std::hint::black_box(n.wrapping_mul(3).wrapping_add(1));
        }
        assert!(clock.usage().total().is_finite());
    }
}
