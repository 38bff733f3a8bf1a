//! `--dask`: the runs of experiments on a Dask cluster. The Python package makes them; this program requests them, and
//! reads the results that the package stores.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use clap::Args;
use headway_command::parent_death;
use headway_lab::Progress as _;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{self, SignalKind, signal};

use super::progress::Bar;

/// The variable that names the Python to use.
const PYTHON: &str = "HEADWAY_PYTHON";
const MODULE: &str = "headway._dask.command";
const EXPECTED: &str = "expected Python 3.11 or newer with the package of this version of headway (pip install \
                        './python[dask]'); HEADWAY_PYTHON may name another Python";

#[derive(Args)]
pub(super) struct DaskOptions {
    /// Make the runs on a Dask cluster: the address of its scheduler, such as tcp://10.0.0.1:8786 (needs the Python package)
    #[arg(long, value_name = "ADDRESS")]
    pub(super) dask: Option<String>,
}

/// The request: an experiment, as the Python package reads it.
#[derive(Serialize)]
pub(super) struct Asked<'a> {
    /// Its file, or its name among the papers'.
    pub(super) file: &'a Path,
    pub(super) paper: bool,
    pub(super) runs: Option<u32>,
    pub(super) seed: Option<u64>,
    pub(super) settings: &'a [String],
    pub(super) reuse: bool,
    pub(super) folder: &'a Path,
}

/// Why the runs were not made on the cluster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DaskError {
    #[error("{python}: {source}; {EXPECTED}")]
    NoPython { python: String, source: io::Error },
    #[error("{python}: {said}; {EXPECTED}")]
    NoPackage { python: String, said: String },
    #[error("{python}: expected the package headway {expected}, found {found}")]
    OtherPackage { python: String, expected: String, found: String },
    #[error("{0}")]
    Failed(String),
    #[error("interrupted; the runs that were made are stored, and the same sweep goes on from them")]
    Interrupted,
    #[error("{python}: it ended before the runs were made ({status}): {said}")]
    Ended { python: String, status: ExitStatus, said: String },
    #[error("{python}: {problem}")]
    Broken { python: String, problem: String },
}

/// A line of the package's output.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    version: Option<String>,
    fingerprint: Option<String>,
    /// The number of runs made, of `wanted` to be made; `outdated` are stored, but were made by other code.
    done: Option<usize>,
    wanted: usize,
    outdated: usize,
    notice: Option<String>,
    error: Option<String>,
    interrupted: bool,
    finished: bool,
}

/// The Python process that uses the cluster.
pub(super) struct Cluster {
    python: String,
    runtime: Runtime,
    child: Child,
    asked: ChildStdin,
    events: Lines<BufReader<ChildStdout>>,
    errors: Lines<BufReader<ChildStderr>>,
    interrupt: unix::Signal,
    terminate: unix::Signal,
    /// Whether SIGINT was sent to it.
    ends: bool,
    /// The last line of its standard error.
    said: String,
}

impl Cluster {
    /// Starts Python, which connects to the scheduler when it is asked for runs.
    ///
    /// # Errors
    ///
    /// There is no Python, no package, or one of another version.
    pub(super) fn of(address: &str) -> Result<Self, DaskError> {
        let program = std::env::var_os(PYTHON).filter(|name| !name.is_empty());
        let program = program.unwrap_or_else(|| "python3".into());
        let python = program.to_string_lossy().into_owned();
        let unstarted = |source| DaskError::NoPython { python: python.clone(), source };
        let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(unstarted)?;
        let started = runtime.block_on(async {
            let signals = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            Ok((start(&program, address)?, signals))
        });
        let (mut child, (interrupt, terminate)) = started.map_err(unstarted)?;
        let (Some(asked), Some(events), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(unstarted(io::Error::other("no pipes")));
        };
        let (events, errors) = (BufReader::new(events).lines(), BufReader::new(errors).lines());
        let said = String::new();
        let mut cluster =
            Self { python, runtime, child, asked, events, errors, interrupt, terminate, ends: false, said };
        cluster.check_package()?;
        Ok(cluster)
    }

    /// Checks that its package has the version and the code of this program.
    fn check_package(&mut self) -> Result<(), DaskError> {
        let event = self.next(None).map_err(|error| match error {
            DaskError::Ended { python, said, .. } => {
                // If there is no Python, the line is from this program, with this prefix: it is the child that starts Python.
                let said = said.strip_prefix(&format!("headway: {python}: ")).unwrap_or(&said).to_owned();
                DaskError::NoPackage { python, said }
            }
            other => other,
        })?;
        let (Some(version), Some(code)) = (event.version, event.fingerprint) else {
            return Err(self.broken("expected the version of the package first"));
        };
        let named = |version: &str, code: &str| format!("{version} (code {code})");
        let expected = named(env!("CARGO_PKG_VERSION"), &headway_lab::fingerprint());
        let found = named(&version, &code);
        if expected == found {
            return Ok(());
        }
        Err(DaskError::OtherPackage { python: self.python.clone(), expected, found })
    }

    /// Makes the missing runs of an experiment on the cluster, and writes its tables.
    ///
    /// # Errors
    ///
    /// The cluster cannot be reached, refuses, or ends; or a signal ended it. What was made is stored.
    pub(super) fn run(&mut self, asked: &Asked<'_>, bar: &Bar) -> Result<(), DaskError> {
        let mut line = serde_json::to_vec(asked).map_err(|error| self.broken(&error.to_string()))?;
        line.push(b'\n');
        let Self { runtime, asked, .. } = self;
        // If the process has ended, its last event says why.
        let _ = runtime.block_on(async {
            asked.write_all(&line).await?;
            asked.flush().await
        });
        let mut made = None;
        loop {
            let event = self.next(Some(bar))?;
            if let Some(text) = &event.notice {
                bar.notice(text);
            }
            if let Some(done) = event.done {
                if made.is_none() {
                    if event.outdated > 0 {
                        bar.outdated(event.outdated);
                    }
                    bar.begin(event.wanted);
                }
                (made.unwrap_or(0)..done).for_each(|_| bar.advance());
                made = Some(done);
            }
            if event.finished {
                return Ok(());
            }
        }
    }

    /// The next event that is not a failure. Signals are passed on as SIGINT: Python stores what was made, and ends.
    fn next(&mut self, bar: Option<&Bar>) -> Result<Event, DaskError> {
        let line = loop {
            let Self { runtime, events, errors, interrupt, terminate, .. } = self;
            let turn = runtime.block_on(async {
                tokio::select! {
                    biased;
                    _ = interrupt.recv() => Turn::Signal,
                    _ = terminate.recv() => Turn::Signal,
                    Ok(Some(line)) = errors.next_line() => Turn::Said(line),
                    event = events.next_line() => Turn::Event(event),
                }
            });
            match turn {
                Turn::Signal => self.end(),
                Turn::Said(line) => {
                    if let Some(bar) = bar {
                        bar.notice(&line);
                    }
                    if !line.trim().is_empty() {
                        self.said = line;
                    }
                }
                Turn::Event(Ok(Some(line))) => break line,
                Turn::Event(Ok(None)) => return Err(self.ended()),
                Turn::Event(Err(error)) => return Err(self.broken(&error.to_string())),
            }
        };
        let event: Event = serde_json::from_str(&line)
            .map_err(|error| self.broken(&format!("expected an event, found {line:?}: {error}")))?;
        match event {
            Event { interrupted: true, .. } => Err(DaskError::Interrupted),
            Event { error: Some(text), .. } => Err(DaskError::Failed(text)),
            event => Ok(event),
        }
    }

    /// Sends SIGINT to it; the second time SIGKILL.
    fn end(&mut self) {
        let id = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let signal = if self.ends { Signal::KILL } else { Signal::INT };
        self.ends = true;
        // It may have ended by itself.
        let _ = id.map(|id| kill_process(id, signal));
    }

    fn ended(&mut self) -> DaskError {
        let Self { runtime, child, errors, said, .. } = self;
        let status = runtime.block_on(async {
            while let Ok(Some(line)) = errors.next_line().await {
                if !line.trim().is_empty() {
                    *said = line;
                }
            }
            child.wait().await
        });
        match status {
            _ if self.ends => DaskError::Interrupted,
            Ok(status) => {
                DaskError::Ended { python: self.python.clone(), status, said: self.said.trim().to_owned() }
            }
            Err(error) => self.broken(&error.to_string()),
        }
    }

    fn broken(&self, problem: &str) -> DaskError {
        DaskError::Broken { python: self.python.clone(), problem: problem.into() }
    }
}

enum Turn {
    Signal,
    Said(String),
    Event(io::Result<Option<String>>),
}

/// Starts Python in a process group of its own: a terminal's signals reach it through this program, once.
fn start(program: &OsString, address: &str) -> io::Result<Child> {
    let mut command = Command::from(parent_death::command(program)?);
    command.args(["-m", MODULE, address]);
    // Python must not take a folder called `headway` in the current folder for the package.
    command.env("PYTHONSAFEPATH", "1").env("PYTHONUNBUFFERED", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()
}
