//! Calls that wait, on a clock that only the script moves.
//!
//! packetdrill calls from two threads: the *driver* runs the script, moves the clock (with
//! `usleep`, `gettimeofday` and `netdev_receive`) and makes the calls that do not wait; a second
//! thread makes those that may. A waiting call sleeps until something happened, looks again, and
//! sleeps on. The driver lets every sleeper look before the clock moves on, and holds the clock
//! when one of them is done until it has read the time: packetdrill checks at what time a call
//! returned.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use headway_units::{Duration, Instant};

use crate::errno::{Errno, Result};
use crate::stack::{Sent, Stack};

/// How long the driver holds the clock at most, in real time, for a sleeper to look and for a
/// returning call to read the clock.
const HOLD: std::time::Duration = std::time::Duration::from_millis(50);

/// What `usleep` takes more than it was asked for, as on a real host; packetdrill wakes up early by
/// that much.
const OVERSLEEP: Duration = Duration::from_micros(20);

/// What reading the clock takes: packetdrill spins on it until an event is due.
const CLOCK_READ: Duration = Duration::from_micros(1);

/// For how long a call may wait, in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    For(Duration),
    Endless,
}

struct Sleeper {
    deadline: Option<Instant>,
    /// The last round of looking that it took part in.
    looked: u64,
}

struct Inner {
    stack: Stack,
    /// Counts the times that sleepers were told to look.
    round: u64,
    sleepers: BTreeMap<u64, Sleeper>,
    next_sleeper: u64,
    /// Threads whose call is done and that have not read the clock yet.
    returning: Vec<ThreadId>,
}

impl Inner {
    /// When the next timer, of the stack or of a sleeper, expires.
    fn next_event(&mut self) -> Option<Instant> {
        let sleepers = self.sleepers.values().filter_map(|sleeper| sleeper.deadline).min();
        self.stack.next_deadline().into_iter().chain(sleepers).min()
    }
}

/// The stack, shared by packetdrill's threads.
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// Tells sleepers to look.
    look: Condvar,
    /// Tells the driver that they have looked.
    looked: Condvar,
    driver: ThreadId,
}

impl Shared {
    /// The calling thread becomes the driver.
    pub(crate) fn new(stack: Stack) -> Self {
        let inner =
            Inner { stack, round: 0, sleepers: BTreeMap::new(), next_sleeper: 0, returning: Vec::new() };
        Self {
            inner: Mutex::new(inner),
            look: Condvar::new(),
            looked: Condvar::new(),
            driver: thread::current().id(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_driver(&self) -> bool {
        thread::current().id() == self.driver
    }

    /// Does something that never waits.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Stack) -> T) -> T {
        let mut inner = self.lock();
        let result = work(&mut inner.stack);
        inner.stack.flush();
        if self.is_driver() {
            drop(self.settle(inner));
        }
        result
    }

    /// Tries until the result is something else than [`Errno::WOULD_BLOCK`], or patience ends.
    pub(crate) fn wait<T>(
        &self,
        patience: Patience,
        mut attempt: impl FnMut(&mut Stack) -> Result<T>,
    ) -> Result<T> {
        let mut inner = self.lock();
        let deadline = match patience {
            Patience::None => Some(inner.stack.now),
            Patience::For(time) => Some(inner.stack.now + time),
            Patience::Endless => None,
        };
        let mut sleeping = None;
        loop {
            let result = attempt(&mut inner.stack);
            inner.stack.flush();
            let is_late = deadline.is_some_and(|deadline| deadline <= inner.stack.now);
            if is_late || !matches!(result, Err(Errno::WOULD_BLOCK)) {
                self.wake(inner, sleeping);
                return result;
            }
            if self.is_driver() {
                let next = inner.next_event().into_iter().chain(deadline).min();
                let Some(next) = next else {
                    eprintln!("headway: the call would wait for ever: no timer runs");
                    return Err(Errno(libc::EDEADLK));
                };
                inner = self.run_until(inner, next);
            } else {
                let id = *sleeping.get_or_insert_with(|| {
                    inner.next_sleeper += 1;
                    inner.next_sleeper
                });
                let looked = inner.round;
                inner.sleepers.insert(id, Sleeper { deadline, looked });
                self.looked.notify_all();
                inner = self.look.wait(inner).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// A call is done.
    fn wake(&self, mut inner: MutexGuard<'_, Inner>, sleeping: Option<u64>) {
        match sleeping {
            Some(id) => {
                inner.sleepers.remove(&id);
                inner.returning.push(thread::current().id());
                self.looked.notify_all();
            }
            None if self.is_driver() => drop(self.settle(inner)),
            None => {}
        }
    }

    /// Lets every sleeper look at what has changed, and waits until those that are done have read
    /// the clock.
    fn settle<'a>(&'a self, mut inner: MutexGuard<'a, Inner>) -> MutexGuard<'a, Inner> {
        if inner.sleepers.is_empty() && inner.returning.is_empty() {
            return inner;
        }
        inner.round += 1;
        let round = inner.round;
        self.look.notify_all();
        let unsettled = |inner: &mut Inner| {
            !inner.returning.is_empty() || inner.sleepers.values().any(|sleeper| sleeper.looked < round)
        };
        let (mut inner, _) =
            self.looked.wait_timeout_while(inner, HOLD, unsettled).unwrap_or_else(PoisonError::into_inner);
        inner.returning.clear();
        inner
    }

    /// Moves the clock to `until`, from timer to timer.
    fn run_until<'a>(&'a self, mut inner: MutexGuard<'a, Inner>, until: Instant) -> MutexGuard<'a, Inner> {
        while let Some(at) = inner.next_event()
            && at <= until
        {
            inner.stack.now = inner.stack.now.max(at);
            inner.stack.expire_timers();
            inner = self.settle(inner);
        }
        inner.stack.now = inner.stack.now.max(until);
        inner
    }

    // --- the clock and the network -----------------------------------------------------------------

    pub(crate) fn sleep(&self, time: Duration) {
        let inner = self.lock();
        let until = inner.stack.now + time + OVERSLEEP;
        drop(self.run_until(inner, until));
    }

    /// Reads the clock, which takes its time.
    pub(crate) fn read_clock(&self) -> Instant {
        let mut inner = self.lock();
        if self.is_driver() {
            let until = inner.stack.now + CLOCK_READ;
            inner = self.run_until(inner, until);
        } else {
            let me = thread::current().id();
            inner.returning.retain(|&id| id != me);
            self.looked.notify_all();
        }
        inner.stack.now
    }

    /// The next packet that leaves, whenever that is; `None` if nothing can come any more.
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
