//! A program and whatever it starts, which all end with it, and with the process that had it started.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use headway_command::{Failure, parent_death};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, wait,
};
use rustix::termios::tcgetpgrp;
use tokio::process::Child;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

/// The name of the subcommand.
const NAME: &str = "supervise";

/// Runs a program, and ends all processes that it leaves behind.
#[derive(Args)]
pub struct Arguments {
    /// The process that starts it
    parent: i32,
    /// The program
    program: OsString,
    /// Its words
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// A supervisor of `program`, as a command. All is killed when the thread that spawns it ends.
///
/// # Errors
///
/// The running executable cannot be found.
pub(crate) fn command(program: &OsString, words: &[OsString]) -> io::Result<tokio::process::Command> {
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command.args([NAME, &std::process::id().to_string()]).arg(program).arg("--").args(words);
    Ok(command)
}

/// The supervisor cannot do its work.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub(crate) struct SupervisorError {
    what: String,
    source: io::Error,
}

impl Failure for SupervisorError {}

/// How long processes have between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
/// The interval of looking whether they have ended.
const LOOK: Duration = Duration::from_millis(10);

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, SupervisorError> {
    let fail = |what: &str| {
        let what = what.to_owned();
        move |source: io::Error| SupervisorError { what, source }
    };
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(fail("the runtime"))?;
    runtime.block_on(async {
        let mut signals = Signals::new().map_err(fail("signals"))?;
        // Not SIGKILL: what the program started ends only if this process ends it.
        set_parent_process_death_signal(Some(Signal::TERM))
            .map_err(|error| fail("a signal")(error.into()))?;
        adopt_orphans().map_err(fail("orphans"))?;
        let role = Role::Supervisor(arguments.parent);
        let name = arguments.program.to_string_lossy();
        let mut command =
            tokio::process::Command::from(parent_death::command(&arguments.program).map_err(fail(&name))?);
        let mut child = command.args(&arguments.words).spawn().map_err(fail(&name))?;
        let status = attend(&mut child, &mut signals, role).await.map_err(fail(&name))?;
        end_children(if role.is_orphaned() { Duration::ZERO } else { GRACE }).await;
        Ok(exit_code(status))
    })
}

/// The exit code of a shell for a program: its own, or 128 and the number of the signal that ended it.
pub(crate) fn exit_code(status: std::process::ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Processes whose parents have ended become children of this one.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // Any ID turns it on.
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Who waits for a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The command, whose child is the supervisor.
    Starter,
    /// The supervisor, started by this process.
    Supervisor(i32),
}

impl Role {
    /// How long the child has after a signal that asks for its end. The supervisor needs some time itself.
    const fn patience(self) -> Duration {
        match self {
            Self::Starter => Duration::from_secs(5),
            Self::Supervisor(_) => Duration::from_secs(2),
        }
    }

    /// Whether the command has been killed.
    fn is_orphaned(self) -> bool {
        match self {
            Self::Starter => false,
            Self::Supervisor(starter) => getppid() != Pid::from_raw(starter),
        }
    }
}

/// Waits for the child, and passes signals on to it.
pub(crate) async fn attend(
    child: &mut Child,
    signals: &mut Signals,
    role: Role,
) -> io::Result<std::process::ExitStatus> {
    let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let mut asked_to_end = false;
    loop {
        let patience = async {
            match asked_to_end {
                true => sleep(role.patience()).await,
                false => std::future::pending().await,
            }
        };
        tokio::select! {
            status = child.wait() => return status,
            signal = signals.next() => {
                asked_to_end = true;
                if role.is_orphaned() {
                    child.start_kill()?;
                } else if role != Role::Starter && (signal == Signal::INT || signal == Signal::QUIT) {
                    // As a terminal does: a shell waits for the end of what it runs.
                    signal_all(&descendants(), signal);
                } else {
                    signal_all(id.as_slice(), signal);
                }
            }
            () = patience => child.start_kill()?,
        }
    }
}

/// Those that have ended get none.
fn signal_all(processes: &[Pid], signal: Signal) {
    for process in processes {
        let _ = kill_process(*process, signal);
    }
}

/// The signals that are passed on.
pub(crate) struct Signals([(tokio::signal::unix::Signal, Signal); 4]);

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        let of = |kind, number| io::Result::Ok((signal(kind)?, number));
        Ok(Self([
            of(SignalKind::terminate(), Signal::TERM)?,
            of(SignalKind::hangup(), Signal::HUP)?,
            of(SignalKind::interrupt(), Signal::INT)?,
            of(SignalKind::quit(), Signal::QUIT)?,
        ]))
    }

    /// The next one that the program has not received itself.
    async fn next(&mut self) -> Signal {
        loop {
            let [terminate, hangup, interrupt, quit] = &mut self.0;
            let arrived = tokio::select! {
                _ = terminate.0.recv() => terminate.1,
                _ = hangup.0.recv() => hangup.1,
                _ = interrupt.0.recv() => interrupt.1,
                _ = quit.0.recv() => quit.1,
            };
            let by_key = arrived == Signal::INT || arrived == Signal::QUIT;
            if !(by_key && is_in_foreground()) {
                return arrived;
            }
        }
    }
}

/// Whether the terminal sends what its keys mean to this process, and then to the program too.
fn is_in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    terminal.is_ok_and(|terminal| tcgetpgrp(&terminal).is_ok_and(|group| group == rustix::process::getpgrp()))
}

/// Ends the children of this process, and theirs, which become its children.
pub(crate) async fn end_children(grace: Duration) {
    let mut left = grace;
    if !grace.is_zero() {
        signal_all(&children(), Signal::TERM);
    }
    loop {
        // No child, or none that has ended.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let remaining = children();
        if remaining.is_empty() {
            return;
        }
        if left.is_zero() {
            signal_all(&remaining, Signal::KILL);
        }
        sleep(LOOK).await;
        left = left.saturating_sub(LOOK);
    }
}

/// The children of this process that have not been waited for.
fn children() -> Vec<Pid> {
    let own = getpid();
    parents().into_iter().filter(|(_, parent)| *parent == own).map(|(id, _)| id).collect()
}

/// They and theirs.
fn descendants() -> Vec<Pid> {
    let parents = parents();
    let mut found = vec![getpid()];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(id, _)| *id));
        next += 1;
    }
    found.split_off(1)
}

/// Every process with its parent.
fn parents() -> Vec<(Pid, Pid)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let of = |name: &str| {
        let id = name.parse().ok().and_then(Pid::from_raw)?;
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
        // The name, in parentheses, may contain anything; the state and the parent follow.
        let (_, rest) = stat.rsplit_once(')')?;
        Some((id, rest.split_whitespace().nth(1)?.parse().ok().and_then(Pid::from_raw)?))
    };
    entries.flatten().filter_map(|entry| of(entry.file_name().to_str()?)).collect()
}
