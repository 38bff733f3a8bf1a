//! Errors as Python's exceptions: `headway.Error`, and `headway.InputError` for what the caller can mend.

use headway_lab::LabError;
use headway_papers::PaperError;
use headway_report::trace::CaptureError;
use headway_scenario::KeyError;
use headway_sim::race::RunError;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An exception for an input that makes no sense.
pub(crate) fn input(text: impl ToString) -> PyErr {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    raise(&TYPE, "InputError", text.to_string())
}

/// An exception for what went wrong although the input made sense.
pub(crate) fn failure(text: impl ToString) -> PyErr {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    raise(&TYPE, "Error", text.to_string())
}

fn raise(known: &'static PyOnceLock<Py<PyType>>, name: &str, text: String) -> PyErr {
    Python::attach(|py| match known.import(py, "headway.errors", name) {
        Ok(exception) => PyErr::from_type(exception.clone(), text),
        Err(error) => error,
    })
}

pub(crate) fn of_lab(error: LabError) -> PyErr {
    match &error {
        LabError::Interrupted => PyKeyboardInterrupt::new_err(error.to_string()),
        LabError::Unreadable { .. }
        | LabError::Malformed { .. }
        | LabError::Invalid { .. }
        | LabError::BadOverride { .. }
        | LabError::NoRealTime { .. } => input(error),
        _ => failure(error),
    }
}

pub(crate) fn of_paper(error: PaperError) -> PyErr {
    match error {
        PaperError::Lab(error) => of_lab(error),
        unknown @ PaperError::Unknown { .. } => input(unknown),
    }
}

pub(crate) fn of_key(error: KeyError) -> PyErr {
    input(error)
}

pub(crate) fn of_capture(error: CaptureError) -> PyErr {
    input(error)
}

pub(crate) fn of_run(error: RunError) -> PyErr {
    match error {
        RunError::Content(_) | RunError::InvalidScenario(_) => input(error),
        _ => failure(error),
    }
}
