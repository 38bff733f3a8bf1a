//! What a measurement between two ends gave, over time, as a page.

mod graphs;
mod page;

pub use page::page;

/// Everything that the page of a measurement shows.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// What was measured, with what and between whom, in a sentence.
    pub summary: String,
    /// What came out: names and values.
    pub values: Vec<(String, String)>,
    /// What arrived at the server.
    pub up: Vec<Interval>,
    /// What arrived at the client.
    pub down: Vec<Interval>,
    /// Requests: when each was sent, in seconds since the start, and the seconds until it was answered.
    pub latencies: Vec<(f64, f64)>,
    /// When the load began and ended, in seconds since the start, where latency was measured without it and with it.
    pub load: Option<(f64, f64)>,
}

/// The rate over an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Seconds since the start of the measurement.
    pub start: f64,
    /// The same.
    pub end: f64,
    /// Bits per second.
    pub rate: f64,
}
