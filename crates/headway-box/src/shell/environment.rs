//! What the program inside finds: its environment and its terminal.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use crate::error_delay_box::describe_link;
use headway_link::LinkConfig;
use headway_testbed::ShellNetwork;
use headway_transport::UDP_VARIABLE;
use nix::sys::signal::{SigSet, Signal};
use rustix::process::Pid;
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use tokio::process::Command;

use super::server::UDP_PORT;

/// Sets the variables by which programs find the server, and the prompt of a shell that says where one is.
pub(super) fn set(command: &mut Command, is_shell: bool, program: &OsStr, links: &[LinkConfig; 2]) {
    let server = ShellNetwork::SERVER;
    command.env("HEADWAY_SERVER", server.to_string());
    command.env(UDP_VARIABLE, format!("0.0.0.0:0 {server}:{UDP_PORT}"));
    command.env("HEADWAY_SHELL", describe_link(&links[0]));
    if !is_shell {
        return;
    }
    let prompt = prompt(&links[0]);
    if Path::new(program).file_name() == Some(OsStr::new("bash")) {
        // The files that it reads set PS1. This is run after them, once.
        let before = std::env::var("PROMPT_COMMAND").unwrap_or_default();
        let script = format!("PS1='{prompt} '\"$PS1\"; unset PROMPT_COMMAND; {before}");
        command.env("PROMPT_COMMAND", script);
    } else {
        command.env("PS1", format!("{prompt} $ "));
    }
}

/// Such as `[headway 10mbit 150ms]`. Units have no characters that a shell expands.
fn prompt(link: &LinkConfig) -> String {
    let rate = link.rate.map_or(String::new(), |rate| format!(" {rate}"));
    format!("[headway{rate} {}]", link.nominal_delay())
}

/// The terminal, if there is one, and who had it before the program ran.
pub(super) struct Terminal(Option<(File, Pid)>);

impl Terminal {
    pub(super) fn new() -> Self {
        let terminal = File::open("/dev/tty").ok();
        Self(terminal.and_then(|terminal| tcgetpgrp(&terminal).ok().map(|group| (terminal, group))))
    }

    /// A shell that was killed has not given it back.
    pub(super) fn take_back(self) {
        let Self(Some((terminal, group))) = self else { return };
        if tcgetpgrp(&terminal).is_ok_and(|now| now == group) {
            return;
        }
        // A process in the background is stopped when it does this, unless the signal is blocked.
        let stopped = SigSet::from(Signal::SIGTTOU);
        if stopped.thread_block().is_ok() {
            // The group may have ended.
            let _ = tcsetpgrp(&terminal, group);
            let _ = stopped.thread_unblock();
        }
    }
}
