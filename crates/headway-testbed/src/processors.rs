//! A processor for each run.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors of this machine that we may use, in turn.
pub(crate) struct Processors {
    all: Vec<usize>,
    next: AtomicUsize,
}

impl Processors {
    pub(crate) fn new() -> io::Result<Self> {
        let allowed = sched_getaffinity(None)?;
        let all = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect();
        Ok(Self { all, next: AtomicUsize::new(0) })
    }

    /// Keeps the calling thread, and what it starts from now on, on one processor. Packets that a veth takes on
    /// several overtake one another when one of those is busy, and a TCP takes that for loss.
    pub(crate) fn take(&self) -> io::Result<()> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let mut one = CpuSet::new();
        one.set(self.all[turn % self.all.len()]);
        Ok(sched_setaffinity(None, &one)?)
    }
}
