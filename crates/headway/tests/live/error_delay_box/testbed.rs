//! A chain of three namespaces: a host, the box, a host.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::namespace::{HEADWAY, Namespace};

/// The hosts' addresses: the stack and the kernel on the left, the kernel on the right.
pub(super) const OURS: &str = "10.78.0.1";
pub(super) const KERNEL_LEFT: &str = "10.78.0.3";
pub(super) const KERNEL_RIGHT: &str = "10.78.0.2";
/// The stack on the left.
pub(super) const PACKET: [&str; 4] = ["--packet", "eth0", "--address", "10.78.0.1/24"];

pub(super) struct Testbed {
    pub(super) left: Namespace,
    pub(super) middle: Namespace,
    pub(super) right: Namespace,
}

impl Testbed {
    /// `None`, with a message, if namespaces cannot be created.
    pub(super) fn new() -> Option<Self> {
        let [left, middle, right] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
        for (end, host, address) in [("hwa", &left, KERNEL_LEFT), ("hwb", &right, KERNEL_RIGHT)] {
            middle.ip(&["link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", host.name()]);
            // Only packets of the tests: no IPv6. And the congestion control that every namespace may
            // use.
            for name in ["eth0", "all"] {
                let key = format!("net.ipv6.conf.{name}.disable_ipv6=1");
                // A kernel without IPv6 does not have this key.
                let _ = host.command("sysctl", &["-qw", &key]).output();
            }
            host.run("sysctl", &["-qw", "net.ipv4.tcp_congestion_control=reno"]);
            let _ =
                middle.command("sysctl", &["-qw", &format!("net.ipv6.conf.{end}.disable_ipv6=1")]).output();
            middle.ip(&["link", "set", end, "up"]);
            host.ip(&["addr", "add", &format!("{address}/24"), "dev", "eth0"]);
            host.ip(&["link", "set", "eth0", "up"]);
        }
        Some(Self { left, middle, right })
    }

    /// Starts the box, and waits until it is ready.
    pub(super) fn start(&self, words: &[&str]) -> RunningBox {
        RunningBox::start(&self.middle, &[&["hwa", "hwb"], words].concat())
    }
}

/// A running `headway box --json`, killed on drop.
pub(crate) struct RunningBox {
    child: Child,
    lines: Receiver<Value>,
}

impl RunningBox {
    pub(crate) fn start(namespace: &Namespace, words: &[&str]) -> Self {
        let mut child = namespace
            .command(HEADWAY, &[&["box", "--json"], words].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = child.stdout.take().unwrap();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                // The receiver may have been dropped.
                let _ = sender.send(serde_json::from_str(&line.unwrap()).unwrap());
            }
        });
        let mut running = Self { child, lines };
        let ready = running.line_with("ready");
        assert_eq!(ready["ready"], true);
        running
    }

    /// The next line that has this key.
    pub(super) fn line_with(&mut self, key: &str) -> Value {
        loop {
            // Long enough for any machine; the result does not depend on it.
            match self.lines.recv_timeout(Duration::from_secs(60)) {
                Ok(line) if line.get(key).is_some() => return line,
                Ok(_) => {}
                Err(error) => panic!("no line with {key:?}: {error}; {}", self.complaints()),
            }
        }
    }

    pub(super) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Stops it; returns the summary.
    pub(crate) fn stop(self) -> Value {
        self.signal("-TERM");
        let (code, end, complaints) = self.end();
        assert_eq!(code, Some(0), "{complaints}");
        end
    }

    /// Waits for its end; returns exit code, summary and messages.
    pub(super) fn end(mut self) -> (Option<i32>, Value, String) {
        let last = self.lines.iter().last().unwrap_or_default();
        let code = self.child.wait().unwrap().code();
        (code, last, self.complaints())
    }

    /// Its standard error until it ends.
    fn complaints(&mut self) -> String {
        // It may have ended already.
        let _ = self.child.kill();
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for RunningBox {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
