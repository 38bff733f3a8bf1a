//! Experiments in real time: each run between network namespaces of its own, two hosts and the error/delay box
//! between them, on this machine. Senders are ours, the kernel's TCP, QUIC, kcptun and hysteria.
#![forbid(unsafe_code)]

mod error;
mod host;
mod interfaces;
mod network;
mod processors;
mod programs;
mod run;
mod run_box;
mod shell_network;
mod transfer;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use headway_lab::{Cell, Foreign, LabError, Sender, Testbed};
use headway_net::{CaptureFile, Namespace};
use headway_sim::race::RunMetrics;
use headway_trace::Capture;
use socket2::{Domain, Socket, Type};

use error::{no_namespace, real_time_error};
use network::BOXES;
use processors::Processors;
pub use programs::Launcher;
use programs::{HYSTERIA, KCPTUN, QUIC_PIPE, find, no_hysteria, no_kcptun, no_quic_pipe};
pub use shell_network::ShellNetwork;

/// Where captures go.
#[derive(Clone, Debug)]
pub struct Captures {
    /// The folder.
    pub folder: PathBuf,
    /// A file for each end of a run, instead of one for both.
    pub split: bool,
}

/// Makes runs between network namespaces of this machine.
pub struct NamespaceTestbed {
    jobs: usize,
    captures: Option<Captures>,
    processors: Processors,
    launcher: Launcher,
}

impl NamespaceTestbed {
    /// One that makes `jobs` runs side by side, and writes the packets of each as the box saw them. Programs of others are started by `launcher`.
    ///
    /// # Errors
    ///
    /// The system does not report its processors.
    pub fn new(jobs: usize, captures: Option<Captures>, launcher: Launcher) -> Result<Self, LabError> {
        let processors = Processors::new().map_err(real_time_error("the processors"))?;
        Ok(Self { jobs, captures, processors, launcher })
    }
}

impl Testbed for NamespaceTestbed {
    fn prepare(&self, cells: &[&Cell]) -> Result<(), LabError> {
        Namespace::new().map_err(no_namespace)?;
        if find("ip").is_none() {
            return Err(LabError::RealTime(
                "the program ip is not in PATH; expected the package iproute2".into(),
            ));
        }
        let foreign: BTreeSet<&Foreign> = cells
            .iter()
            .filter_map(|cell| match &cell.sender {
                Sender::Foreign(foreign) => Some(foreign),
                Sender::Ours(_) => None,
            })
            .collect();
        for foreign in foreign {
            match foreign {
                Foreign::Linux(congestion) => check_congestion(congestion)?,
                Foreign::Quinn(_) if find(QUIC_PIPE).is_none() => return Err(no_quic_pipe()),
                Foreign::Kcptun(_) if KCPTUN.iter().any(|name| find(name).is_none()) => {
                    return Err(no_kcptun());
                }
                Foreign::Hysteria(_) if find(HYSTERIA).is_none() => return Err(no_hysteria()),
                Foreign::Quinn(_) | Foreign::Kcptun(_) | Foreign::Hysteria(_) => {}
            }
        }
        Ok(())
    }

    fn run(&self, cell: &Cell, seed: u64) -> Result<RunMetrics, LabError> {
        let capture = self.captures.as_ref().map(|captures| capture(captures, cell, seed)).transpose()?;
        self.processors.take().map_err(real_time_error("a processor"))?;
        run::run(cell, seed, capture, self.launcher)
    }

    fn jobs(&self) -> usize {
        self.jobs
    }
}

/// A capture of a run, by its sender and its seed, which the rows of results have.
fn capture(captures: &Captures, cell: &Cell, seed: u64) -> Result<CaptureFile, LabError> {
    let name = format!("{}-{seed}", cell.sender.to_string().replace(':', "-"));
    let fail = |path: &Path, problem: String| LabError::Unwritable { path: path.into(), problem };
    let folder = &captures.folder;
    std::fs::create_dir_all(folder).map_err(|error| fail(folder, error.to_string()))?;
    let create = |end: &str| {
        let path = folder.join(format!("{name}{end}.pcapng"));
        let file = File::create(&path).map_err(|error| fail(&path, error.to_string()))?;
        Ok::<Box<dyn Write + Send>, LabError>(Box::new(BufWriter::new(file)))
    };
    let begun = if captures.split {
        let [sender, receiver] = BOXES.map(|end| create(&format!("-{end}")).map(|file| (file, end)));
        Capture::in_files(sender?, vec![receiver?])
    } else {
        Capture::new(create("")?, &BOXES)
    };
    begun.map_err(|error| fail(&folder.join(name), error.to_string()))
}

/// Whether the kernel has this congestion control. It loads one that is a module, if it is allowed to.
fn check_congestion(name: &str) -> Result<(), LabError> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).map_err(real_time_error("a socket"))?;
    socket.set_tcp_congestion(name.as_bytes()).map_err(|error| {
        let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let known = known.unwrap_or_default().trim().replace(' ', ", ");
        LabError::RealTime(format!("linux:{name}: {error}; this kernel has {known}"))
    })
}
