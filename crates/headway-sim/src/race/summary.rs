//! Several runs of one sender in a few numbers.

use super::metrics::RunMetrics;
use super::outcome::RunOutcome;
use super::sender::Entrant;
use crate::statistics::{mean, quantile};

/// Where the values of several runs lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half lie below.
    pub median: f64,
    /// A tenth lies below.
    pub p10: f64,
    /// Nine tenths lie below.
    pub p90: f64,
}

impl Spread {
    /// Of `values`; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            mean: mean(&sorted)?,
            median: quantile(&sorted, 0.5)?,
            p10: quantile(&sorted, 0.1)?,
            p90: quantile(&sorted, 0.9)?,
        })
    }
}

/// The runs of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The sender.
    pub sender: Entrant,
    /// Runs in all.
    pub runs: usize,
    /// Of those, runs that finished within the time limit.
    pub finished: usize,
    /// Seconds of virtual time; a run that did not finish counts with the time it was given, so
    /// it is never taken for a fast one.
    pub seconds: Option<Spread>,
    /// Payload bits per second.
    pub goodput_bps: Option<Spread>,
    /// Goodput as a share of the bound.
    pub share_of_bound: Option<Spread>,
    /// Goodput as a share of the oracle's in the same run.
    pub share_of_oracle: Option<Spread>,
    /// Bytes that were delivered although damaged, in all runs.
    pub damaged_bytes_delivered: u64,
    /// Means over the runs.
    pub retransmissions: f64,
    /// Means over the runs.
    pub timeouts: f64,
    /// Means over the runs.
    pub slow_starts: f64,
    /// Means over the runs.
    pub special_acks: f64,
}

/// One summary for each sender, in the order in which they come first in `runs`.
pub fn summarize(runs: &[RunOutcome]) -> Vec<Summary> {
    let mut senders: Vec<Entrant> = Vec::new();
    for run in runs {
        if !senders.contains(&run.sender) {
            senders.push(run.sender);
        }
    }
    senders.into_iter().map(|sender| of_sender(sender, runs)).collect()
}

fn of_sender(sender: Entrant, runs: &[RunOutcome]) -> Summary {
    let own: Vec<&RunMetrics> =
        runs.iter().filter(|run| run.sender == sender).map(|run| &run.metrics).collect();
    let mean = |value: fn(&RunMetrics) -> Option<u64>| {
        own.iter().map(|run| value(run).unwrap_or_default() as f64).sum::<f64>() / own.len() as f64
    };
    Summary {
        sender,
        runs: own.len(),
        finished: own.iter().filter(|run| run.finished).count(),
        seconds: Spread::of(own.iter().map(|run| run.seconds)),
        goodput_bps: Spread::of(own.iter().map(|run| run.goodput_bps)),
        share_of_bound: Spread::of(own.iter().filter_map(|run| run.share_of_bound)),
        share_of_oracle: Spread::of(own.iter().filter_map(|run| run.share_of_oracle)),
        damaged_bytes_delivered: own.iter().map(|run| run.damaged_bytes_delivered).sum(),
        retransmissions: mean(|run| run.retransmissions),
        timeouts: mean(|run| run.timeouts),
        slow_starts: mean(|run| run.slow_starts),
        special_acks: mean(|run| run.special_acks),
    }
}
