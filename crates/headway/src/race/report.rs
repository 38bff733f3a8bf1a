//! The results as a page.

use headway_sim::race::Summary;

use super::Results;
use crate::failure::Failure;

pub(super) fn page(_results: &Results, _summaries: &[Summary]) -> Result<String, Failure> {
    Err(Failure::Drawing(String::new()))
}
