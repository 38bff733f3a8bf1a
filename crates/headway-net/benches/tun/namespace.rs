//! Network namespaces, and programs in them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::Error;
use crate::sample::Sample;

/// A network namespace, deleted on drop.
pub(crate) struct Namespace {
    name: String,
}

fn ip(words: &[&str]) -> Result<(), Error> {
    run("ip", words)
}

fn run(program: &str, words: &[&str]) -> Result<(), Error> {
    let output = Command::new(program).args(words).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program} {}: {}", words.join(" "), complaint.trim()).into())
}

impl Namespace {
    pub(crate) fn new(suffix: &str) -> Result<Self, Error> {
        let name = format!("hw-{}-{suffix}", std::process::id());
        ip(&["netns", "add", &name])?;
        let namespace = Self { name };
        ip(&["-n", &namespace.name, "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// A veth pair to `there`, without any offload.
    pub(crate) fn join_by_veth(&self, there: &Self, ours: &str, theirs: &str) -> Result<(), Error> {
        let [a, b] = [&self.name, &there.name].map(String::as_str);
        ip(&["-n", a, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", b])?;
        for (name, address) in [(a, ours), (b, theirs)] {
            ip(&["-n", name, "address", "add", address, "dev", "veth0"])?;
            ip(&["-n", name, "link", "set", "veth0", "up"])?;
            let off = ["ethtool", "-K", "veth0", "tx", "off", "tso", "off", "gso", "off", "gro", "off"];
            run("ip", &[&["netns", "exec", name], &off[..]].concat())?;
        }
        Ok(())
    }

    /// Writes a kernel setting in the namespace.
    pub(crate) fn write(&self, path: &str, value: &str) -> Result<(), Error> {
        ip(&["netns", "exec", &self.name, "sh", "-c", &format!("echo {value} > {path}")])
    }

    /// Starts this program in another role in the namespace; waits for its first line.
    pub(crate) fn start_self(&self, words: &[&str]) -> Result<Running, Error> {
        let me = std::env::current_exe()?;
        self.start(&me.to_string_lossy(), words)
    }

    /// Starts a program in the namespace; waits for its first line.
    pub(crate) fn start(&self, program: &str, words: &[&str]) -> Result<Running, Error> {
        let mut child = Command::new("ip")
            .args(["netns", "exec", &self.name, program])
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut running = Running { child, output: BufReader::new(output), first: String::new() };
        running.output.read_line(&mut running.first)?;
        if running.first.is_empty() {
            return Err(format!("{program} {}: ended at once", words.join(" ")).into());
        }
        Ok(running)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // It may be deleted already.
        let _ = ip(&["netns", "del", &self.name]);
    }
}

/// A running program, killed on drop.
pub(crate) struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
    /// Its first line.
    first: String,
}

impl Running {
    /// The thread of the stack, from the subject's first line.
    pub(crate) fn thread(&self) -> Result<u32, Error> {
        Ok(self.first.trim().parse().map_err(|_| format!("{:?}: expected a thread", self.first))?)
    }

    /// Its measurements.
    pub(crate) fn sample(mut self) -> Result<Sample, Error> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let status = self.child.wait()?;
        if !status.success() {
            return Err(format!("a subject ended with {status}").into());
        }
        line.parse()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
