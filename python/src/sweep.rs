//! Sweeps whose runs other processes make: the side that stores rows, and the side that makes them.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use headway_lab::{LabError, PlaceInSweep, RemoteMaker, Sweep, describe};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::{Arrow, Table};
use crate::error::{failure, input, of_lab};
use crate::experiment::NativeExperiment;

/// A place is two numbers of 32 bits, cell and run, little-endian: a list of them is cut without being parsed.
const PLACE: usize = 8;

fn places_of(bytes: &[u8]) -> PyResult<Vec<PlaceInSweep>> {
    if !bytes.len().is_multiple_of(PLACE) {
        return Err(input(format!("places: expected {PLACE} bytes each, found {} bytes", bytes.len())));
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
    let place = |bytes: &[u8]| PlaceInSweep { cell: number(&bytes[..4]) as usize, run: number(&bytes[4..]) };
    Ok(bytes.chunks_exact(PLACE).map(place).collect())
}

fn bytes_of(places: &[PlaceInSweep]) -> Vec<u8> {
    // There are at most 20,000 cells.
    let bytes = |place: &PlaceInSweep| [(place.cell as u32).to_le_bytes(), place.run.to_le_bytes()].concat();
    places.iter().flat_map(bytes).collect()
}

/// A sweep under way, with its journal open.
#[pyclass(frozen, module = "headway._native", name = "Sweep")]
pub(crate) struct NativeSweep {
    /// `None` when it is finished.
    sweep: Mutex<Option<Sweep>>,
    description: Vec<u8>,
}

impl NativeSweep {
    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&mut Sweep) -> PyResult<T> + Send) -> PyResult<T>
    where
        T: Send,
    {
        py.detach(|| {
            let mut sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
            work(sweep.as_mut().ok_or_else(|| failure("the sweep is finished"))?)
        })
    }
}

#[pymethods]
impl NativeSweep {
    /// Opens the folder of the results.
    #[new]
    #[pyo3(signature = (experiment, folder, reuse=false))]
    fn new(py: Python<'_>, experiment: &NativeExperiment, folder: PathBuf, reuse: bool) -> PyResult<Self> {
        py.detach(|| {
            let experiment = experiment.experiment();
            let description = describe(experiment)?;
            let sweep = Sweep::begin(experiment, &folder, reuse)?;
            Ok(Self { sweep: Mutex::new(Some(sweep)), description })
        })
        .map_err(of_lab)
    }

    /// What `RunMaker` needs.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.description)
    }

    /// The stored rows that were made by other code, and count as missing.
    #[getter]
    fn outdated(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |sweep| Ok(sweep.outdated()))
    }

    /// The places of the runs that are missing; those with the same seed follow each other.
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let places = self.with(py, |sweep| Ok(bytes_of(&sweep.missing_by_seed())))?;
        Ok(PyBytes::new(py, &places))
    }

    /// Stores lines of `RunMaker.make`, of the first of these places; returns how many.
    fn accept(&self, py: Python<'_>, places: &[u8], lines: &[u8]) -> PyResult<usize> {
        let places = places_of(places)?;
        self.with(py, |sweep| sweep.accept(&places, lines).map_err(of_lab))
    }

    /// Ends it, whether it is finished or not: another may use the folder. What is stored stays.
    fn close(&self) {
        drop(self.sweep.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Writes the tables.
    fn finish(&self, py: Python<'_>) -> PyResult<Arrow> {
        let sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner).take();
        let sweep = sweep.ok_or_else(|| failure("the sweep is finished"))?;
        Table::of_records(py.detach(|| sweep.finish()).map_err(of_lab)?.records())
    }
}

/// Makes runs of a sweep that was described elsewhere. Threads may share it.
#[pyclass(frozen, module = "headway._native", name = "RunMaker")]
pub(crate) struct NativeRunMaker(RemoteMaker);

#[pymethods]
impl NativeRunMaker {
    #[new]
    fn new(py: Python<'_>, description: &[u8]) -> PyResult<Self> {
        py.detach(|| RemoteMaker::read(description)).map(Self).map_err(of_lab)
    }

    /// Makes the runs of these places in their order, one at least, and no more once `seconds` have passed. Returns
    /// their lines, how many, the seconds that they took, and what was wrong with the next.
    fn make<'py>(&self, py: Python<'py>, places: &[u8], seconds: f64) -> PyResult<Answer<'py>> {
        let places = places_of(places)?;
        let limit = Duration::try_from_secs_f64(seconds)
            .map_err(|error| input(format!("seconds: {seconds}: {error}")))?;
        let (lines, made, took, problem) = py.detach(|| self.make_for(&places, limit));
        Ok((
            PyBytes::new(py, lines.as_bytes()),
            made,
            took.as_secs_f64(),
            problem.map(|error| error.to_string()),
        ))
    }
}

type Answer<'py> = (Bound<'py, PyBytes>, usize, f64, Option<String>);

impl NativeRunMaker {
    #[expect(clippy::disallowed_methods, reason = "how many runs are made, but no row, depends on the clock")]
    fn make_for(
        &self,
        places: &[PlaceInSweep],
        limit: Duration,
    ) -> (String, usize, Duration, Option<LabError>) {
        let begin = Instant::now();
        let mut lines = String::new();
        for (made, &place) in places.iter().enumerate() {
            if made > 0 && begin.elapsed() >= limit {
                return (lines, made, begin.elapsed(), None);
            }
            match self.0.make(place) {
                Ok(line) => lines.push_str(&line),
                Err(error) => return (lines, made, begin.elapsed(), Some(error)),
            }
        }
        (lines, places.len(), begin.elapsed(), None)
    }
}
