//! A trace, packet after packet and over again.

use super::{Fate, Trace};

/// Where a link stands in a trace.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    trace: Trace,
    /// The run that the last packet was of.
    run: usize,
    /// Packets left of it.
    left: u64,
}

impl Replay {
    pub(crate) fn new(trace: &Trace) -> Self {
        let left = trace.0.runs.first().map_or(0, |run| run.packets);
        Self { trace: trace.clone(), run: 0, left }
    }

    /// The fate of the next packet.
    #[inline]
    pub(crate) fn next(&mut self) -> &Fate {
        let runs = &self.trace.0.runs;
        if self.left == 0 {
            self.run = (self.run + 1) % runs.len();
            self.left = runs[self.run].packets;
        }
        self.left -= 1;
        &runs[self.run].fate
    }
}
