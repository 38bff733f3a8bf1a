//! What a capture says of its connections: numbers for people and programs, and a page of graphs.

mod capture;
mod data;
pub mod metrics;
mod page;
pub mod units;

pub use capture::{AnalysedCapture, CaptureError, Numbered};
pub use page::page;

/// The most points of each kind in a graph.
pub const POINTS: usize = 20_000;
