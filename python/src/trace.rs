//! `headway.trace`: what `headway trace` says.

use std::path::PathBuf;

use headway_report::trace::{AnalysedCapture, json};
use pyo3::prelude::*;

use crate::error::of_capture;
use crate::interrupt::beside_python;

/// The statistics of the connections in a capture, as `headway trace --json` prints them.
#[pyfunction]
#[pyo3(signature = (files, interface=None))]
pub(crate) fn trace(py: Python<'_>, files: Vec<PathBuf>, interface: Option<String>) -> PyResult<String> {
    beside_python(py, None, |_| {
        let capture = AnalysedCapture::read_all(&files, interface.as_deref(), None).map_err(of_capture)?;
        let connections: Vec<_> = capture.connections().collect();
        Ok(json(&capture, &connections))
    })?
}
