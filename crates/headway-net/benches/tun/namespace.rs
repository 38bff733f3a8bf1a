//! Programs in network namespaces, and a link between two of them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use headway_test_fixture::namespace::Namespace;

use crate::Error;
use crate::sample::Sample;

/// A new namespace.
pub(crate) fn new() -> Result<Namespace, Error> {
    Ok(Namespace::new().ok_or("expected the right to make network namespaces")?)
}

/// A veth pair between two namespaces, without any offload.
pub(crate) fn join_by_veth(ends: [(&Namespace, &str); 2]) {
    let [(here, _), (there, _)] = ends;
    here.ip(&["link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", there.name()]);
    for (namespace, address) in ends {
        namespace.ip(&["address", "add", address, "dev", "veth0"]);
        namespace.ip(&["link", "set", "veth0", "up"]);
        namespace.run("ethtool", &["-K", "veth0", "tx", "off", "tso", "off", "gso", "off", "gro", "off"]);
    }
}

/// Starts this program in another role in the namespace; waits for its first line.
pub(crate) fn start_self(namespace: &Namespace, words: &[&str]) -> Result<Running, Error> {
    let me = std::env::current_exe()?;
    start(namespace, &me.to_string_lossy(), words)
}

/// Starts a program in the namespace; waits for its first line.
pub(crate) fn start(namespace: &Namespace, program: &str, words: &[&str]) -> Result<Running, Error> {
    let mut command = namespace.command(program, words);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().ok_or("no output")?;
    let mut running = Running { child, output: BufReader::new(output), first: String::new() };
    running.output.read_line(&mut running.first)?;
    if running.first.is_empty() {
        return Err(format!("{program} {}: ended at once", words.join(" ")).into());
    }
    Ok(running)
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
