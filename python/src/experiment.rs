//! `headway.Experiment`: experiment files.

use std::path::PathBuf;

use headway_lab::{
    Experiment, Judgement, Manifest, ManifestCell, Overrides, Request, Results, Row, Summary, in_unit, judge,
    run,
};
use pyo3::prelude::*;

use crate::arrow::{Arrow, Table};
use crate::error::{of_lab, of_paper};
use crate::interrupt::beside_python;

/// An experiment that has been read and checked.
#[pyclass(frozen, module = "headway._native", name = "Experiment")]
pub(crate) struct NativeExperiment {
    experiment: Experiment,
}

impl NativeExperiment {
    pub(crate) fn experiment(&self) -> &Experiment {
        &self.experiment
    }
}

#[pymethods]
impl NativeExperiment {
    /// Reads the file, or the experiment of a paper of this name.
    #[new]
    #[pyo3(signature = (file, *, paper=false, runs=None, seed=None, settings=Vec::new()))]
    fn new(
        file: PathBuf,
        paper: bool,
        runs: Option<u32>,
        seed: Option<u64>,
        settings: Vec<String>,
    ) -> PyResult<Self> {
        let overrides = Overrides { runs, seed, settings, real: false };
        let experiment = if paper {
            let name = file.to_string_lossy().into_owned();
            headway_papers::experiments(&[name], &overrides).map_err(of_paper)?.remove(0)
        } else {
            headway_papers::load(&file, &overrides).map_err(of_lab)?
        };
        Ok(Self { experiment })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.experiment.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.experiment.title
    }

    #[getter]
    fn runs(&self) -> u32 {
        self.experiment.runs
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.experiment.seed
    }

    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.experiment.axes.iter().map(|(axis, values)| (axis.clone(), values.clone())).collect()
    }

    /// The number of combinations of the axes.
    #[getter]
    fn cells(&self) -> usize {
        self.experiment.cells.len()
    }

    /// Makes the runs that are missing in the folder, and writes the tables.
    #[pyo3(signature = (folder, reuse=false, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        reuse: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Arrow> {
        let experiment = &self.experiment;
        let made = beside_python(py, progress.as_ref(), |work| {
            run(&Request { experiment, folder: &folder, reuse, testbed: None, progress: work })
        })?;
        Table::of_records(made.map_err(of_lab)?.records())
    }
}

/// The stored results of an experiment.
#[pyclass(frozen, module = "headway._native", name = "Results")]
pub(crate) struct NativeResults(Results);

#[pymethods]
impl NativeResults {
    /// Reads them from the folder of the experiment.
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        Ok(Self(Results::load(&folder).map_err(of_lab)?))
    }

    /// A row for each run that there is.
    fn table(&self) -> PyResult<Arrow> {
        Table::of_records(self.0.records())
    }

    /// Runs that are missing.
    #[getter]
    fn missing(&self) -> usize {
        self.0.missing()
    }

    /// The measure that the figure shows, and its unit.
    #[getter]
    fn measure(&self) -> (String, String) {
        let figure = &self.0.manifest.figure;
        (figure.measure.name().to_owned(), figure.unit_name().to_owned())
    }

    /// What the figure shows: for each cell the values of its axes, and what was drawn for its link; the statistic of the measure and its 95 % interval;
    /// how many runs there are, and how many finished.
    fn figure(&self) -> Vec<Point> {
        let Results { manifest, rows, .. } = &self.0;
        let values = |cell: &ManifestCell| cell.values.iter().chain(&cell.drawn).map(owned).collect();
        manifest.cells.iter().zip(rows).map(|(cell, rows)| point(manifest, values(cell), rows)).collect()
    }

    /// For each claim: what it says, its verdict, the number of the source and ours.
    fn claims(&self) -> Vec<(String, &'static str, Option<f64>, Option<f64>)> {
        let row =
            |Judgement { says, verdict, paper, ours, .. }: Judgement| (says, verdict.name(), paper, ours);
        judge(&self.0).into_iter().map(row).collect()
    }
}

fn owned((name, value): (&String, &String)) -> (String, String) {
    (name.clone(), value.clone())
}

type Point = (Vec<(String, String)>, Option<(f64, f64, f64)>, usize, usize);

fn point(manifest: &Manifest, values: Vec<(String, String)>, rows: &[Row]) -> Point {
    let figure = &manifest.figure;
    let measured: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.measure(figure.measure))
        .map(|value| in_unit(value, figure.measure, figure.unit.as_deref()))
        .collect();
    let summary = Summary::of(&measured, figure.statistic)
        .map(|summary| (summary.value(figure.statistic), summary.interval.0, summary.interval.1));
    let finished = rows.iter().filter(|row| row.metrics.finished).count();
    (values, summary, rows.len(), finished)
}

/// The papers' experiments: name and title.
#[pyfunction]
pub(crate) fn papers() -> PyResult<Vec<(String, String)>> {
    let papers = headway_papers::list().map_err(of_paper)?;
    Ok(papers.into_iter().map(|experiment| (experiment.name, experiment.title)).collect())
}
