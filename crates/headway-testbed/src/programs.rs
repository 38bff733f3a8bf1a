//! Programs of others that send and receive in a run.

mod hysteria;

use std::ffi::OsStr;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headway_lab::{LabError, Shards};
use headway_link::QueueLimit;
use headway_sim::race::Scenario;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::network::{PORT, Side, at};

pub(crate) use hysteria::{HYSTERIA, no_hysteria};

/// QUIC on standard input and output: built from `reference/quinn`.
pub(crate) const QUIC_PIPE: &str = "headway-quic-pipe";
pub(crate) const KCPTUN: [&str; 2] = ["kcptun-client", "kcptun-server"];

/// Where kcptun's client takes connections, and its server packets.
const KCPTUN_PORTS: [u16; 2] = [12_948, 29_900];
/// IPv4 and UDP.
const UDP_HEADERS: u16 = 28;
/// A program that takes longer to start will not.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes the command that starts a program, which has to end with the thread that spawns it.
pub type Launcher = fn(&OsStr) -> io::Result<std::process::Command>;

type Lines = tokio::io::Lines<BufReader<ChildStderr>>;

/// A program in the namespace of the thread that started it. It ends with this value, and with the thread.
pub(crate) struct Program {
    name: &'static str,
    child: Child,
    /// The last line of its standard error.
    said: Arc<Mutex<String>>,
}

impl Program {
    pub(crate) async fn quic_sender(
        congestion: &str,
        scenario: &Scenario,
        launcher: Launcher,
    ) -> Result<Self, LabError> {
        let to = at(Side::Receiver.address(), PORT).to_string();
        let window = scenario.window.bytes().to_string();
        Self::quic(&["send", &to, "--congestion", congestion, "--window", &window], launcher).await
    }

    pub(crate) async fn quic_receiver(scenario: &Scenario, launcher: Launcher) -> Result<Self, LabError> {
        let local = at(Side::Receiver.address(), PORT).to_string();
        let window = scenario.window.bytes().to_string();
        Self::quic(&["receive", &local, "--window", &window], launcher).await
    }

    async fn quic(words: &[&str], launcher: Launcher) -> Result<Self, LabError> {
        let path = find(QUIC_PIPE).ok_or_else(no_quic_pipe)?;
        let (program, mut lines) = Self::start(QUIC_PIPE, launcher(path.as_os_str()), words)?;
        match tokio::time::timeout(PATIENCE, lines.next_line()).await {
            Ok(Ok(Some(line))) if line == "ready" => {
                program.drain(lines);
                Ok(program)
            }
            Ok(Ok(Some(line))) => Err(program.error(&line)),
            _ => Err(program.error("it does not start")),
        }
    }

    /// Also says where to connect to.
    pub(crate) async fn kcptun_client(
        scenario: &Scenario,
        shards: Option<Shards>,
        launcher: Launcher,
    ) -> Result<(Self, SocketAddr), LabError> {
        let local = at(Ipv4Addr::LOCALHOST, KCPTUN_PORTS[0]);
        let remote = at(Side::Receiver.address(), KCPTUN_PORTS[1]);
        let words = ["-l", &local.to_string(), "-r", &remote.to_string(), "--conn", "1"];
        let mut program = Self::kcptun(KCPTUN[0], &words, &tuned(scenario, shards), launcher)?;
        program.wait_for_port("tcp", KCPTUN_PORTS[0]).await?;
        Ok((program, local))
    }

    /// Carries on to a listener on the loopback.
    pub(crate) async fn kcptun_server(
        scenario: &Scenario,
        shards: Option<Shards>,
        launcher: Launcher,
    ) -> Result<Self, LabError> {
        let local = at(Side::Receiver.address(), KCPTUN_PORTS[1]);
        let target = at(Ipv4Addr::LOCALHOST, PORT);
        let words = ["-l", &local.to_string(), "-t", &target.to_string()];
        let mut program = Self::kcptun(KCPTUN[1], &words, &tuned(scenario, shards), launcher)?;
        program.wait_for_port("udp", KCPTUN_PORTS[1]).await?;
        Ok(program)
    }

    fn kcptun(
        name: &'static str,
        words: &[&str],
        tuned: &[String],
        launcher: Launcher,
    ) -> Result<Self, LabError> {
        let path = find(name).ok_or_else(no_kcptun)?;
        let words: Vec<&str> = words.iter().copied().chain(tuned.iter().map(String::as_str)).collect();
        let (program, lines) = Self::start(name, launcher(path.as_os_str()), &words)?;
        program.drain(lines);
        Ok(program)
    }

    /// With the lines of its standard error.
    fn start(
        name: &'static str,
        command: io::Result<std::process::Command>,
        words: &[&str],
    ) -> Result<(Self, Lines), LabError> {
        let complaint = |error: io::Error| LabError::RealTime(format!("{name} cannot be started: {error}"));
        let mut child = Command::from(command.map_err(complaint)?)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(complaint)?;
        let stderr = child.stderr.take().ok_or_else(|| complaint(io::Error::other("no standard error")))?;
        let program = Self { name, child, said: Arc::default() };
        Ok((program, BufReader::new(stderr).lines()))
    }

    /// Reads its standard error: a full pipe would block it.
    fn drain(&self, mut lines: Lines) {
        let said = self.said.clone();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                *said.lock().unwrap_or_else(PoisonError::into_inner) = line;
            }
        });
    }

    /// The last that it said; empty if it has been silent.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it listens.
    async fn wait_for_port(&mut self, protocol: &str, port: u16) -> Result<(), LabError> {
        let file = format!("/proc/thread-self/net/{protocol}");
        for _ in 0..PATIENCE.as_millis() / 10 {
            let sockets = [file.clone(), format!("{file}6")]
                .map(|file| std::fs::read_to_string(file).unwrap_or_default());
            if sockets.iter().any(|sockets| has_port(sockets, port)) {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.error(&format!("{status}: {}", self.said())));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err(self.error("it does not listen"))
    }

    fn error(&self, problem: &str) -> LabError {
        LabError::RealTime(format!("{}: {problem}", self.name))
    }

    pub(crate) fn stdin(&mut self) -> io::Result<ChildStdin> {
        self.child.stdin.take().ok_or_else(|| io::Error::other("its input is in use"))
    }

    pub(crate) fn stdout(&mut self) -> io::Result<ChildStdout> {
        self.child.stdout.take().ok_or_else(|| io::Error::other("its output is in use"))
    }
}

/// Whether one of these sockets (the form of `/proc/net/tcp`) has the port and no peer.
fn has_port(sockets: &str, port: u16) -> bool {
    let local = format!(":{port:04X}");
    sockets.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next().is_some_and(|own| own.ends_with(&local))
            && fields.next().is_some_and(|peer| peer.ends_with(":0000"))
    })
}

/// The options of kcptun at both ends, tuned for a link like this: the fastest timers, no cipher, no compression,
/// windows of what path and queue hold, buffers that never fill.
fn tuned(scenario: &Scenario, shards: Option<Shards>) -> Vec<String> {
    const BUFFER: &str = "16777216";
    let mtu = (scenario.mtu - UDP_HEADERS).to_string();
    let window = kcptun_window(scenario, shards).to_string();
    let [data, parity] =
        shards.map_or([0, 0], |shards| [shards.data(), shards.parity()]).map(|n| n.to_string());
    let with_values = [
        ("--mode", "fast3"),
        ("--crypt", "none"),
        ("--datashard", &data),
        ("--parityshard", &parity),
        ("--mtu", &mtu),
        ("--sndwnd", &window),
        ("--rcvwnd", &window),
        ("--sockbuf", BUFFER),
        ("--smuxver", "2"),
        ("--smuxbuf", BUFFER),
        ("--streambuf", BUFFER),
    ];
    let switches = ["--nocomp", "--quiet"].map(str::to_owned);
    with_values
        .iter()
        .flat_map(|&(option, value)| [option.to_owned(), value.to_owned()])
        .chain(switches)
        .collect()
}

/// In packets: as many as path and queue hold, and no more. KCP does not answer congestion, so what goes
/// beyond that is lost. The window counts packets with data only: those with parity need room beside them.
fn kcptun_window(scenario: &Scenario, shards: Option<Shards>) -> u64 {
    const LEAST: u64 = 32;
    const MOST: u64 = 1 << 16;
    let Some(rate) = scenario.forward.rate else { return MOST };
    let packet = 8 * u128::from(scenario.mtu);
    let nanos = (scenario.forward.nominal_delay() + scenario.reverse.nominal_delay()).as_nanos();
    let path = u128::from(rate.bits_per_second()) * u128::from(nanos) / 1_000_000_000 / packet;
    let queue = match scenario.forward.queue {
        QueueLimit::Packets(packets) => u128::from(packets),
        QueueLimit::Bytes(bytes) => u128::from(bytes) * 8 / packet,
        QueueLimit::Unlimited => path,
    };
    let packets = match shards {
        Some(shards) => {
            let data = u128::from(shards.data());
            (path + queue) * data / (data + u128::from(shards.parity()))
        }
        None => path + queue,
    };
    u64::try_from(packets).unwrap_or(MOST).clamp(LEAST, MOST)
}

pub(crate) fn no_quic_pipe() -> LabError {
    LabError::RealTime(format!(
        "the program {QUIC_PIPE} is neither beside this one nor in PATH; expected what `cargo build --release \
         --manifest-path reference/quinn/Cargo.toml --target-dir target` builds"
    ))
}

pub(crate) fn no_kcptun() -> LabError {
    LabError::RealTime(format!(
        "the programs {} are not in PATH; expected the package kcptun",
        KCPTUN.join(" and ")
    ))
}

/// A program beside this one, or in PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|own| own.parent().map(PathBuf::from));
    let path = std::env::var_os("PATH").unwrap_or_default();
    beside
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_told_from_connections() {
        let sockets = "  sl  local_address rem_address   st\n\
                       0: 0100007F:1389 00000000:0000 0A\n\
                       1: 0100007F:138A 0100007F:1389 01\n";
        assert!(has_port(sockets, 5001));
        assert!(!has_port(sockets, 5002), "it is connected");
        assert!(!has_port(sockets, 389));
    }

    #[test]
    fn the_window_of_kcptun_fills_path_and_queue() {
        let mut scenario = Scenario::default();
        assert_eq!(kcptun_window(&scenario, None), 600, "10 Mbit/s, RTT 600 ms, 100 packets");
        let Ok(headway_lab::Sender::Foreign(headway_lab::Foreign::Kcptun(shards))) = "kcptun:10+2".parse()
        else {
            panic!("it is kcptun");
        };
        assert_eq!(kcptun_window(&scenario, shards), 500, "one in six packets is parity");
        let options = tuned(&scenario, shards).join(" ");
        assert!(options.contains("--datashard 10 --parityshard 2 --mtu 1472 --sndwnd 500"), "{options}");
        scenario.forward.queue = QueueLimit::Bytes(15_000);
        assert_eq!(kcptun_window(&scenario, None), 510);
        scenario.forward.queue = QueueLimit::Unlimited;
        assert_eq!(kcptun_window(&scenario, None), 1000);
        scenario.forward.rate = None;
        assert_eq!(kcptun_window(&scenario, None), 1 << 16);
    }
}
