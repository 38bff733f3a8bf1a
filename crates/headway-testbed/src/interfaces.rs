//! Interfaces of namespaces, set up with `ip`.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use headway_lab::LabError;
use headway_net::Namespace;

use crate::error::{no_namespace, real_time_error};

/// Does something in a namespace.
pub(crate) fn inside<T: Send>(
    namespace: &Namespace,
    work: impl FnOnce() -> Result<T, LabError> + Send,
) -> Result<T, LabError> {
    namespace.run("headway-testbed", work).map_err(no_namespace)?
}

/// As `ip` reads it.
pub(crate) fn hardware_text(address: [u8; 6]) -> String {
    address.map(|octet| format!("{octet:02x}")).join(":")
}

/// Runs `ip` with lines of words.
pub(crate) fn ip(lines: &str) -> Result<(), LabError> {
    let complaint = |problem: String| LabError::RealTime(format!("ip: {problem}"));
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| complaint(format!("{error}; expected the package iproute2")))?;
    if let Some(mut stdin) = child.stdin.take() {
        // What it does not read, it complains of.
        let _ = stdin.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| complaint(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(complaint(text))
}

/// Waits until the kernel lets packets out of an interface that came up before the other end of its cable: until
/// then it drops them.
pub(crate) fn wait_for_carrier(name: &str) -> Result<(), LabError> {
    const TIMES: usize = 1000;
    for _ in 0..TIMES {
        let shown = Command::new("ip").args(["-brief", "link", "show", name]).output();
        let shown = shown.map_err(real_time_error("ip"))?.stdout;
        if String::from_utf8_lossy(&shown).split_whitespace().nth(1) == Some("UP") {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(LabError::RealTime(format!("interface {name}: it does not come up")))
}

/// Neighbour discovery and router solicitations would pass the box, and take fates from the packets that
/// are measured.
pub(crate) fn silence_ipv6() -> io::Result<()> {
    for place in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{place}/disable_ipv6");
        // A kernel without IPv6 is silent already.
        if Path::new(&path).exists() {
            fs::write(path, "1")?;
        }
    }
    Ok(())
}
