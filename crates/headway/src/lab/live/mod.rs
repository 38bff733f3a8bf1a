//! `headway lab live`: the lab's runs in real time, between network namespaces.

mod course;
mod host;
mod programs;
mod run;
mod testbed;
mod the_box;

use std::collections::BTreeSet;

use headway_lab::{Cell, Foreign, LabError, Live, LiveOutcome, Sender};
use headway_net::Namespace;
use socket2::{Domain, Socket, Type};

use programs::{KCPTUN, QUIC_PIPE, find, no_kcptun, no_quic_pipe};

/// Makes runs on this machine.
pub(super) struct ThisMachine {
    jobs: usize,
}

impl ThisMachine {
    /// One that makes so many runs side by side.
    pub(super) fn new(jobs: usize) -> Self {
        Self { jobs }
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
        run::run(cell, seed)
    }

    fn jobs(&self) -> usize {
        self.jobs
    }
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
