//! The statistics of the connections in a capture, and a page of graphs.

mod capture;
mod data;
mod json;
mod merged;
pub mod metrics;
mod page;
pub mod units;

pub use capture::{AnalysedCapture, CaptureError, Numbered};
pub use json::json;
pub use page::page;

/// The maximum number of points of each kind in a graph.
pub const POINTS: usize = 20_000;
