//! Long work beside Python: without its lock, and so that Ctrl-C ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use headway_lab::Progress;
use headway_sim::{Passing, Tap};
use pyo3::prelude::*;

/// How often signals are looked for, and progress is told.
const TURN: Duration = Duration::from_millis(50);

/// The state of work that goes on beside Python.
#[derive(Default)]
pub(crate) struct Work {
    stopped: Stop,
    wanted: AtomicUsize,
    done: AtomicUsize,
    outdated: AtomicUsize,
}

/// Whether the work is to stop. As a tap it ends a run, and sees no packet.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Tap for Stop {
    const ENABLED: bool = false;

    fn pass(&mut self, _passing: &Passing<'_>) {}

    fn is_stopped(&self) -> bool {
        self.is_set()
    }
}

impl Work {
    /// For what takes long and is asked whether it is to end.
    pub(crate) fn stop(&self) -> Stop {
        self.stopped.clone()
    }
}

impl Progress for Work {
    fn begin(&self, runs: usize) {
        self.wanted.store(runs, Ordering::Relaxed);
    }

    fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn outdated(&self, runs: usize) {
        self.outdated.store(runs, Ordering::Relaxed);
    }

    fn is_interrupted(&self) -> bool {
        self.stopped.is_set()
    }
}

/// Does `work` in a thread, without Python's lock. Python's signal handlers run meanwhile; where one raises an exception,
/// such as Ctrl-C, the work is asked to stop, and the exception is returned when it has. `progress` is called with the
/// numbers of runs done, wanted, and outdated.
pub(crate) fn beside_python<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Work) -> T + Send,
) -> PyResult<T> {
    let progress = progress.map(|progress| progress.clone().unbind());
    let state = Work::default();
    let mut raised = None;
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(1);
            let state = &state;
            let thread = scope.spawn(move || {
                let result = work(state);
                // The other end waits until there is a result.
                let _ = send.send(());
                result
            });
            while receive.recv_timeout(TURN) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none() {
                    raised = Python::attach(|py| turn(py, progress.as_ref(), state)).err();
                    if raised.is_some() {
                        state.stopped.set();
                    }
                }
            }
            thread.join()
        })
    });
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Ok(result)) => turn(py, progress.as_ref(), &state).map(|()| result),
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}

fn turn(py: Python<'_>, progress: Option<&Py<PyAny>>, state: &Work) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        let numbers =
            [&state.done, &state.wanted, &state.outdated].map(|count| count.load(Ordering::Relaxed));
        progress.call1(py, (numbers[0], numbers[1], numbers[2]))?;
    }
    Ok(())
}
