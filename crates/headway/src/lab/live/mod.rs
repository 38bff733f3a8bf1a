//! `headway lab live`: the lab's runs in real time, between network namespaces.

mod course;
mod host;
mod processors;
mod programs;
mod run;
mod testbed;
mod the_box;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use headway_lab::{Cell, Foreign, LabError, Live, LiveOutcome, Sender};
use headway_net::{CaptureFile, Namespace};
use headway_trace::Capture;
use socket2::{Domain, Socket, Type};

use processors::Processors;
use programs::{KCPTUN, QUIC_PIPE, find, no_kcptun, no_quic_pipe};
use testbed::BOXES;

/// Makes runs on this machine.
pub(super) struct ThisMachine {
    jobs: usize,
    pcap: Option<PathBuf>,
    processors: Processors,
}

impl ThisMachine {
    /// One that makes `jobs` runs side by side, and writes the packets of each into the folder `pcap`, as the
    /// box saw them.
    ///
    /// # Errors
    ///
    /// The system does not tell its processors.
    pub(super) fn new(jobs: usize, pcap: Option<PathBuf>) -> Result<Self, LabError> {
        let processors = Processors::new().map_err(trouble("the processors"))?;
        Ok(Self { jobs, pcap, processors })
    }
}

impl Live for ThisMachine {
    fn prepare(&self, cells: &[&Cell]) -> Result<(), LabError> {
        Namespace::new().map_err(testbed::no_namespace)?;
        if find("ip").is_none() {
            return Err(LabError::Live(
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
                Foreign::Kcptun if KCPTUN.iter().any(|name| find(name).is_none()) => {
                    return Err(no_kcptun());
                }
                Foreign::Quinn(_) | Foreign::Kcptun => {}
            }
        }
        Ok(())
    }

    fn run(&self, cell: &Cell, seed: u64) -> Result<LiveOutcome, LabError> {
        let capture = self.pcap.as_deref().map(|folder| capture(folder, cell, seed)).transpose()?;
        self.processors.take().map_err(trouble("a processor"))?;
        run::run(cell, seed, capture)
    }

    fn jobs(&self) -> usize {
        self.jobs
    }
}

/// A capture of a run, by its sender and its seed, which the rows of results have.
fn capture(folder: &Path, cell: &Cell, seed: u64) -> Result<CaptureFile, LabError> {
    let path = folder.join(format!("{}-{seed}.pcapng", cell.sender.to_string().replace(':', "-")));
    let fail = |problem: String| LabError::Unwritable { path: path.clone(), problem };
    std::fs::create_dir_all(folder).map_err(|error| fail(error.to_string()))?;
    let file = File::create(&path).map_err(|error| fail(error.to_string()))?;
    let file: Box<dyn Write + Send> = Box::new(BufWriter::new(file));
    Capture::new(file, &BOXES).map_err(|error| fail(error.to_string()))
}

/// Whether the kernel has this congestion control. It loads one that is a module, if it is allowed to.
fn check_congestion(name: &str) -> Result<(), LabError> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).map_err(trouble("a socket"))?;
    socket.set_tcp_congestion(name.as_bytes()).map_err(|error| {
        let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let known = known.unwrap_or_default().trim().replace(' ', ", ");
        LabError::Live(format!("linux:{name}: {error}; this kernel has {known}"))
    })
}

/// What a system call was for, before what the system said.
fn trouble(what: &'static str) -> impl Fn(std::io::Error) -> LabError {
    move |error| LabError::Live(format!("{what}: {error}"))
}
