//! Network namespaces that are there for one test.

use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::process::{say_skipped, wait_until};

/// A namespace whose loopback is up. Dropped, it ends what still runs in it, and is gone.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// A new namespace; `None`, after saying so, where the machine or the user may not have one.
    pub fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        remove_old();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hw-{}-test{number}", std::process::id());
        let added = Command::new("ip").args(["netns", "add", &name]).output();
        let complaint = match added {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(complaint) = complaint {
            say_skipped("root", &format!("network namespaces: {complaint}"));
            return None;
        }
        let namespace = Self { name };
        namespace.ip(&["link", "set", "lo", "up"]);
        if !std::fs::exists("/dev/net/tun").unwrap_or(false) {
            say_skipped("tun", "");
            return None;
        }
        Some(namespace)
    }

    /// As `ip netns` knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A command inside.
    pub fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]).args(words);
        command
    }

    /// `ip` inside, which has to succeed.
    #[track_caller]
    pub fn ip(&self, words: &[&str]) {
        succeed(Command::new("ip").args(["-n", &self.name]).args(words));
    }

    /// Runs a command inside, which has to succeed; what it printed.
    #[track_caller]
    pub fn run(&self, program: &str, words: &[&str]) -> Output {
        succeed(&mut self.command(program, words))
    }

    /// Starts a command inside that runs on.
    #[track_caller]
    pub fn start(&self, program: &str, words: &[&str]) -> Running {
        let mut command = self.command(program, words);
        Running(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("ip"))
    }

    /// Waits until the kernel inside has a listener at the port.
    #[track_caller]
    pub fn wait_for_listener(&self, port: u16) {
        let words = ["-Hltn", &format!("sport = :{port}")];
        wait_until("a listener", || !self.run("ss", &words).stdout.is_empty());
    }

    /// Waits until a server answers at the address.
    #[track_caller]
    pub fn wait_for_http(&self, address: &str) {
        let words = ["-s", "--max-time", "1", "-o", "/dev/null", &format!("http://{address}/")];
        wait_until("a server", || self.command("curl", &words).output().is_ok_and(|o| o.status.success()));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let inside = Command::new("ip").args(["netns", "pids", &self.name]).output();
        let inside = inside.map(|output| output.stdout).unwrap_or_default();
        for pid in String::from_utf8_lossy(&inside).lines() {
            let _ = Command::new("kill").args(["-KILL", pid]).output();
        }
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

#[track_caller]
fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Takes away namespaces of test programs that were killed.
fn remove_old() {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return };
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let maker = name
            .strip_prefix("hw-")
            .and_then(|rest| rest.split_once("-test"))
            .and_then(|(pid, _)| pid.parse().ok());
        if maker.is_some_and(|pid: u32| !std::fs::exists(format!("/proc/{pid}")).unwrap_or(true)) {
            // Another test program may have been faster.
            let _ = Command::new("ip").args(["netns", "del", &name]).output();
        }
    }
}

/// A program that runs on until it is dropped.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Sends a signal, such as `-TERM`.
    #[track_caller]
    pub fn signal(&self, signal: &str) {
        succeed(Command::new("kill").args([signal, &self.0.id().to_string()]));
    }

    /// Waits for its end; its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.0.wait().expect("a child").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
