//! The statistics of the connections in a capture, and a page of graphs.

mod capture;
mod capture_error;
mod data;
mod json;
pub mod metrics;
mod packets;
mod page;
pub mod units;

pub use capture::{AnalysedCapture, Numbered};
pub use capture_error::CaptureError;
pub use json::json;
pub use page::page;

/// The maximum number of points of each kind in a graph.
pub const POINTS: usize = 20_000;
