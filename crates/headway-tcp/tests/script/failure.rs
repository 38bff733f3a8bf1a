//! How a script failed.

use std::fmt::Write;

/// A line whose expectation was not met, or that cannot be read.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) line: usize,
    /// What was expected and what came.
    pub(crate) message: String,
    /// Every packet so far, as a script would write it.
    pub(crate) transcript: Vec<String>,
}

impl Failure {
    /// The report, beginning with the place.
    pub(crate) fn at(&self, file: &str) -> String {
        let mut report = format!("{file}:{}: {}", self.line, self.message);
        if !self.transcript.is_empty() {
            report.push_str("\npackets so far:");
        }
        for packet in &self.transcript {
            let _ = write!(report, "\n  {packet}");
        }
        report
    }
}
