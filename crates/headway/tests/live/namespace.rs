//! A network namespace that is there for one test.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// A namespace whose loopback is up. Dropped, it ends what still runs in it, and is gone.
pub(crate) struct Namespace {
    name: String,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Namespace {
    /// A new namespace; `None`, with a word about it, where the machine or the user may not have one.
    pub(crate) fn new() -> Option<Self> {
        remove_old();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hw-{}-test{number}", std::process::id());
        let added = Command::new("ip").args(["netns", "add", &name]).output();
        match added {
            Ok(output) if output.status.success() => {}
            Ok(output) => return skipped(&String::from_utf8_lossy(&output.stderr)),
            Err(error) => return skipped(&error.to_string()),
        }
        let namespace = Self { name };
        namespace.ip(&["link", "set", "lo", "up"]);
        if !std::fs::exists("/dev/net/tun").unwrap_or(false) {
            return skipped("this machine has no /dev/net/tun");
        }
        Some(namespace)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A command inside.
    pub(crate) fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]).args(words);
        command
    }

    /// `ip` inside, which has to succeed.
    pub(crate) fn ip(&self, words: &[&str]) {
        let output = Command::new("ip").args(["-n", &self.name]).args(words).output().unwrap();
        assert!(output.status.success(), "ip {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs a command inside, which has to succeed; what it printed.
    pub(crate) fn run(&self, program: &str, words: &[&str]) -> Output {
        let output = self.command(program, words).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {words:?}: {complaint}");
        output
    }

    /// Starts a command inside that runs on.
    pub(crate) fn start(&self, program: &str, words: &[&str]) -> Running {
        Running(self.command(program, words).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Starts `headway` inside.
    pub(crate) fn headway(&self, words: &[&str]) -> Running {
        self.start(HEADWAY, words)
    }

    /// Waits until the kernel inside has a listener at the port.
    pub(crate) fn wait_for_listener(&self, port: u16) {
        self.wait("a listener", || {
            let output = self.run("ss", &["-Hltn", &format!("sport = :{port}")]);
            !output.stdout.is_empty()
        });
    }

    /// Waits until something of ours answers at the address.
    pub(crate) fn wait_for_http(&self, address: &str) {
        self.wait("a server", || {
            let url = format!("http://{address}/");
            let output = self.command("curl", &["-s", "--max-time", "1", "-o", "/dev/null", &url]).output();
            output.unwrap().status.success()
        });
    }

    pub(crate) fn wait(&self, what: &str, mut is_there: impl FnMut() -> bool) {
        // Long enough for any machine; a test does not depend on how long it takes.
        for _ in 0..600 {
            if is_there() {
                return;
            }
            sleep(Duration::from_millis(100));
        }
        panic!("{what} did not come in a minute");
    }
}

pub(crate) const HEADWAY: &str = env!("CARGO_BIN_EXE_headway");

fn skipped<T>(why: &str) -> Option<T> {
    say_skipped(&format!("network namespaces need root: {}", why.trim()));
    None
}

/// Says so past the test harness, which keeps to itself what a test that passes prints.
pub(crate) fn say_skipped(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
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

impl Drop for Namespace {
    fn drop(&mut self) {
        let inside = Command::new("ip").args(["netns", "pids", &self.name]).output();
        for pid in inside.iter().flat_map(|output| {
            String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
        }) {
            let _ = Command::new("kill").args(["-KILL", &pid]).output();
        }
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

/// A program that runs on until it is dropped.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Waits for its end; its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where our stack is, and where the kernel, on the TUN of a namespace.
pub(crate) const OURS: &str = "10.77.2.2";
pub(crate) const KERNELS: &str = "10.77.2.1";
pub(crate) const TUN: [&str; 4] = ["--tun", "hw0", "--address", "10.77.2.2/24"];

/// An address that nobody has at the moment, and that no other test gets: its port is none that the
/// system gives away by itself.
pub(crate) fn free_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = std::process::id().wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let address = SocketAddr::from(([127, 0, 0, 1], 10_000 + (number % 20_000) as u16));
        if std::net::UdpSocket::bind(address).is_ok() {
            return address;
        }
    }
}
