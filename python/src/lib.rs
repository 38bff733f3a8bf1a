//! The native part of the Python package `headway`; what its users call is in `python/headway`.

#![forbid(unsafe_code)]

mod arrow;
mod capture_file;
mod controller;
mod error;
mod experiment;
mod interrupt;
mod keys;
mod network;
mod race;
mod recording;
mod sweep;
mod trace;

use pyo3::prelude::*;

/// The module `headway._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::arrow::Arrow;
    #[pymodule_export]
    use super::experiment::{NativeExperiment, NativeResults, papers};
    #[pymodule_export]
    use super::keys::{check, columns, features, hops, keys, variants};
    #[pymodule_export]
    use super::network::{NativeHost, NativeLink, nanoseconds, network_names};
    #[pymodule_export]
    use super::race::race;
    #[pymodule_export]
    use super::recording::{Recorded, run};
    #[pymodule_export]
    use super::sweep::{NativeRunMaker, NativeSweep};
    #[pymodule_export]
    use super::trace::trace;
    #[pymodule_export]
    use super::{fingerprint, version};
}

/// What the rows of this build are known by: builds with the same fingerprint give the same rows.
#[pyfunction]
fn fingerprint() -> String {
    headway_lab::fingerprint()
}

/// The version of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
