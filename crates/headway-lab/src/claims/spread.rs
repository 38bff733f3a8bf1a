//! Where the values of an aim lie on links that are drawn.

use serde::Serialize;

use crate::experiment::Statistic;
use crate::statistics::Summary;

/// How many of the worst cells are named.
const NAMED: usize = 5;

/// How many cells are a share of this many, rounded up.
pub(super) fn share_of(share: f64, cells: usize) -> usize {
    // Less than a rounding error is no cell more.
    ((share * cells as f64 - 1e-9).ceil() as usize).max(1)
}

/// The value that a share of the cells reaches, which are in the order from the worst to the best. It is the value of one of
/// them: some values are infinite.
pub(super) fn reached_by(share: f64, cells: &[WorstCell]) -> Option<f64> {
    let place = cells.len().checked_sub(share_of(share, cells.len()))?;
    cells.get(place).map(|cell| cell.ours)
}

/// The distribution of the values of cells, from the worst on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// How many cells.
    pub cells: usize,
    /// The worst value.
    pub worst: f64,
    /// The value that one in twenty does not reach.
    pub percentile_5: f64,
    /// The value that one in four does not reach.
    pub quartile: f64,
    /// The median.
    pub median: f64,
    /// The geometric mean; `None` where a value has no logarithm.
    pub mean: Option<Mean>,
    /// The worst cells, the worst first.
    pub worst_cells: Vec<WorstCell>,
}

/// A geometric mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// Its value.
    pub value: f64,
    /// Its 95 % interval, by bootstrap over the cells.
    pub interval: (f64, f64),
}

/// One of the worst cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstCell {
    /// Which cell of [`crate::Manifest::cells`].
    pub place: usize,
    /// The cell that it is compared with, if the claim is about a ratio.
    pub beside: Option<usize>,
    /// Its value, in the unit of the claim.
    pub ours: f64,
}

impl Spread {
    /// Of cells in the order from the worst to the best; `None` without any.
    pub(super) fn of(cells: &[WorstCell]) -> Option<Self> {
        let at = |share| reached_by(share, cells);
        let logs: Vec<f64> = cells.iter().map(|cell| cell.ours.ln()).collect();
        let mean = Summary::of(&logs, Statistic::Mean).filter(|mean| mean.mean.is_finite());
        let mean = mean.map(|Summary { mean, interval: (least, most), .. }| Mean {
            value: mean.exp(),
            interval: (least.exp(), most.exp()),
        });
        Some(Self {
            cells: cells.len(),
            worst: at(1.0)?,
            percentile_5: at(0.95)?,
            quartile: at(0.75)?,
            median: at(0.5)?,
            mean,
            worst_cells: cells.iter().take(NAMED).cloned().collect(),
        })
    }
}
