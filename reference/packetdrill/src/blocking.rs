//! Calls that wait, on a clock that only the script advances.
//!
//! packetdrill calls from two threads: the *driver* runs the script, advances the clock (with `usleep`,
//! `gettimeofday` and `netdev_receive`) and makes the calls that do not wait; a second thread makes those
//! that may. A waiting call sleeps until an event, tries again, and continues to sleep. The driver waits
//! until every sleeper has tried again before it advances the clock, and until a returning call has read
//! the clock: packetdrill checks the time at which a call returned.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use headway_units::{Duration, Instant};

use crate::errno::{Errno, Result};
use crate::socket::WaitLimit;
use crate::stack::{Sent, Stack};

/// The maximum real time that the driver waits for sleepers to try again and for returning calls to read
/// the clock.
const MAX_HOLD: std::time::Duration = std::time::Duration::from_millis(50);

/// How much longer `usleep` takes than requested, as on a real host; packetdrill wakes up early by this
/// time.
const OVERSLEEP: Duration = Duration::from_micros(20);

/// The time of reading the clock: packetdrill polls it until an event is due.
const CLOCK_READ: Duration = Duration::from_micros(1);

struct Sleeper {
    deadline: Option<Instant>,
    /// The last round in which it tried again.
    tried_round: u64,
}

struct Inner {
    stack: Stack,
    /// Counts the wakeups of sleepers.
    round: u64,
    sleepers: BTreeMap<u64, Sleeper>,
    next_sleeper: u64,
    /// Threads that return from a call and have not read the clock yet.
    returning: Vec<ThreadId>,
}

impl Inner {
    /// The next deadline of the stack or of a sleeper.
    fn next_event(&mut self) -> Option<Instant> {
        let sleepers = self.sleepers.values().filter_map(|sleeper| sleeper.deadline).min();
        self.stack.next_deadline().into_iter().chain(sleepers).min()
    }
}

/// The stack, shared by packetdrill's threads.
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// Wakes sleepers to try again.
    wakeup: Condvar,
    /// Wakes the driver after sleepers have tried again.
    tried: Condvar,
    driver: ThreadId,
}

impl Shared {
    /// The calling thread becomes the driver.
    pub(crate) fn new(stack: Stack) -> Self {
        let inner =
            Inner { stack, round: 0, sleepers: BTreeMap::new(), next_sleeper: 0, returning: Vec::new() };
        Self {
            inner: Mutex::new(inner),
            wakeup: Condvar::new(),
            tried: Condvar::new(),
            driver: thread::current().id(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_driver(&self) -> bool {
        thread::current().id() == self.driver
    }

    /// Executes a call that never waits.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Stack) -> T) -> T {
        let mut inner = self.lock();
        let result = work(&mut inner.stack);
        inner.stack.flush();
        if self.is_driver() {
            drop(self.wait_for_sleepers(inner));
        }
        result
    }

    /// Tries until the result is not [`Errno::WOULD_BLOCK`], or the limit is reached.
    pub(crate) fn wait<T>(
        &self,
        wait_limit: WaitLimit,
        mut attempt: impl FnMut(&mut Stack) -> Result<T>,
    ) -> Result<T> {
        let mut inner = self.lock();
        let deadline = match wait_limit {
            WaitLimit::NoWait => Some(inner.stack.now),
            WaitLimit::For(time) => Some(inner.stack.now + time),
            WaitLimit::Unlimited => None,
        };
        let mut sleeping = None;
        loop {
            let result = attempt(&mut inner.stack);
            inner.stack.flush();
            let is_late = deadline.is_some_and(|deadline| deadline <= inner.stack.now);
            if is_late || !matches!(result, Err(Errno::WOULD_BLOCK)) {
                self.finish_call(inner, sleeping);
                return result;
            }
            if self.is_driver() {
                let next = inner.next_event().into_iter().chain(deadline).min();
                let Some(next) = next else {
                    eprintln!("headway: the call would wait forever: no timer is running");
                    return Err(Errno(libc::EDEADLK));
                };
                inner = self.run_until(inner, next);
            } else {
                let id = *sleeping.get_or_insert_with(|| {
                    inner.next_sleeper += 1;
                    inner.next_sleeper
                });
                let tried_round = inner.round;
                inner.sleepers.insert(id, Sleeper { deadline, tried_round });
                self.tried.notify_all();
                inner = self.wakeup.wait(inner).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Returns from a call.
    fn finish_call(&self, mut inner: MutexGuard<'_, Inner>, sleeping: Option<u64>) {
        match sleeping {
            Some(id) => {
                inner.sleepers.remove(&id);
                inner.returning.push(thread::current().id());
                self.tried.notify_all();
            }
            None if self.is_driver() => drop(self.wait_for_sleepers(inner)),
            None => {}
        }
    }

    /// Waits until every sleeper has tried again, and until returning calls have read the clock.
    fn wait_for_sleepers<'a>(&'a self, mut inner: MutexGuard<'a, Inner>) -> MutexGuard<'a, Inner> {
        if inner.sleepers.is_empty() && inner.returning.is_empty() {
            return inner;
        }
        inner.round += 1;
        let round = inner.round;
        self.wakeup.notify_all();
        let is_pending = |inner: &mut Inner| {
            !inner.returning.is_empty() || inner.sleepers.values().any(|sleeper| sleeper.tried_round < round)
        };
        let (mut inner, _) = self
            .tried
            .wait_timeout_while(inner, MAX_HOLD, is_pending)
            .unwrap_or_else(PoisonError::into_inner);
        inner.returning.clear();
        inner
    }

    /// Advances the clock to `until`, from timer to timer.
    fn run_until<'a>(&'a self, mut inner: MutexGuard<'a, Inner>, until: Instant) -> MutexGuard<'a, Inner> {
        while let Some(at) = inner.next_event()
            && at <= until
        {
            inner.stack.now = inner.stack.now.max(at);
            inner.stack.expire_timers();
            inner = self.wait_for_sleepers(inner);
        }
        inner.stack.now = inner.stack.now.max(until);
        inner
    }

    // --- clock and network -----------------------------------------------------------------

    pub(crate) fn sleep(&self, time: Duration) {
        let inner = self.lock();
        let until = inner.stack.now + time + OVERSLEEP;
        drop(self.run_until(inner, until));
    }

    /// Reads the clock, which takes [`CLOCK_READ`].
    pub(crate) fn read_clock(&self) -> Instant {
        let mut inner = self.lock();
        if self.is_driver() {
            let until = inner.stack.now + CLOCK_READ;
            inner = self.run_until(inner, until);
        } else {
            let me = thread::current().id();
            inner.returning.retain(|&id| id != me);
            self.tried.notify_all();
        }
        inner.stack.now
    }

    /// The next packet that is sent, at any time; `None` if none can follow.
    pub(crate) fn next_sent(&self) -> Option<Sent> {
        let mut inner = self.lock();
        loop {
            if let Some(sent) = inner.stack.take_sent() {
                return Some(sent);
            }
            let next = inner.next_event()?;
            inner = self.run_until(inner, next);
        }
    }
}
