//! The hosts of a run: who connects and sends, who accepts and receives.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use headway_lab::{Foreign, LabError};
use headway_net::{EthernetCarrier, Stack, StackConfig, UdpCarrier};
use headway_sim::race::Scenario;
use headway_tcp::{Profile, Statistics};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::process::{ChildStdin, ChildStdout};

use crate::error::real_time_error;
use crate::network::{PORT, RunNetwork, Side, at};
use crate::programs::{Launcher, Program};

/// What is written to.
pub(crate) trait Outlet: AsyncWrite + Unpin {
    /// What the connection counted, where it is ours.
    fn statistics(&self) -> Option<Statistics> {
        None
    }
}

/// What is read from.
pub(crate) trait Inlet: AsyncRead + Unpin {
    /// What the connection counted, where it is ours.
    fn statistics(&self) -> Option<Statistics> {
        None
    }
}

impl Outlet for headway_net::TcpStream {
    fn statistics(&self) -> Option<Statistics> {
        self.statistics().ok()
    }
}

impl Inlet for headway_net::TcpStream {
    fn statistics(&self) -> Option<Statistics> {
        self.statistics().ok()
    }
}

impl Outlet for TcpStream {}
impl Inlet for TcpStream {}
impl Outlet for ChildStdin {}
impl Inlet for ChildStdout {}

/// Starts our stack on the interface of a host; called inside of its namespace.
fn stack(network: &RunNetwork, side: Side, profile: &Arc<Profile>) -> Result<Stack, LabError> {
    let net = |error: headway_net::NetError| LabError::RealTime(error.to_string());
    let config = StackConfig {
        addresses: vec![side.address().into()],
        profile: Some(Profile::clone(profile)),
        ..StackConfig::default()
    };
    match network.udp(side) {
        Some(udp) => Stack::start(UdpCarrier::open(&udp).map_err(net)?, config).map_err(net),
        None => {
            let carrier = EthernetCarrier::open(&network.ethernet(side)?).map_err(net)?;
            Stack::start(carrier, config).map_err(net)
        }
    }
}

/// The sending host.
pub(crate) enum Sending {
    Ours(Stack),
    /// The kernel, with this congestion control, and where it connects to.
    Kernel(String, SocketAddr),
    /// The kernel's TCP to a program in the same namespace that carries it on.
    Tunnel {
        program: Program,
        to: SocketAddr,
    },
    /// A program that sends what is written to it.
    Pipe(Program),
}

impl Sending {
    pub(crate) fn ours(network: &RunNetwork, profile: &Arc<Profile>) -> Result<Self, LabError> {
        Ok(Self::Ours(stack(network, Side::Sender, profile)?))
    }

    pub(crate) async fn foreign(
        foreign: &Foreign,
        scenario: &Scenario,
        launcher: Launcher,
    ) -> Result<Self, LabError> {
        Ok(match foreign {
            Foreign::Linux(congestion) => {
                Self::Kernel(congestion.clone(), at(Side::Receiver.address(), PORT))
            }
            Foreign::Quinn(congestion) => {
                Self::Pipe(Program::quic_sender(congestion, scenario, launcher).await?)
            }
            Foreign::Kcptun(shards) => {
                let (program, to) = Program::kcptun_client(scenario, *shards, launcher).await?;
                Self::Tunnel { program, to }
            }
            Foreign::Hysteria(congestion) => {
                let (program, to) = Program::hysteria_client(congestion, scenario, launcher).await?;
                Self::Tunnel { program, to }
            }
        })
    }

    pub(crate) async fn connect(&mut self) -> io::Result<Box<dyn Outlet>> {
        Ok(match self {
            Self::Ours(stack) => Box::new(stack.connect(at(Side::Receiver.address(), PORT)).await?),
            Self::Kernel(congestion, to) => {
                let socket = TcpSocket::new_v4()?;
                socket2::SockRef::from(&socket).set_tcp_congestion(congestion.as_bytes())?;
                Box::new(socket.connect(*to).await?)
            }
            Self::Tunnel { to, .. } => Box::new(TcpStream::connect(*to).await?),
            Self::Pipe(program) => Box::new(program.stdin()?),
        })
    }

    /// The last output of its program; empty without any.
    pub(crate) fn said(&self) -> String {
        match self {
            Self::Ours(_) | Self::Kernel(..) => String::new(),
            Self::Tunnel { program, .. } | Self::Pipe(program) => program.said(),
        }
    }
}

/// The receiving host.
pub(crate) enum Receiving {
    Ours(headway_net::TcpListener),
    Kernel(TcpListener),
    /// The kernel's TCP behind a program in the same namespace.
    Tunnel {
        program: Program,
        listener: TcpListener,
    },
    /// A program that writes what it receives.
    Pipe(Program),
}

impl Receiving {
    pub(crate) fn ours(network: &RunNetwork, profile: &Arc<Profile>) -> Result<Self, LabError> {
        let stack = stack(network, Side::Receiver, profile)?;
        let local = at(Side::Receiver.address(), PORT);
        Ok(Self::Ours(stack.listen(local, 1).map_err(real_time_error("our stack"))?))
    }

    pub(crate) async fn foreign(
        foreign: &Foreign,
        scenario: &Scenario,
        launcher: Launcher,
    ) -> Result<Self, LabError> {
        let listen = async |address: Ipv4Addr| {
            TcpListener::bind(at(address, PORT)).await.map_err(real_time_error("the kernel's TCP"))
        };
        Ok(match foreign {
            Foreign::Linux(_) => Self::Kernel(listen(Side::Receiver.address()).await?),
            Foreign::Quinn(_) => Self::Pipe(Program::quic_receiver(scenario, launcher).await?),
            Foreign::Kcptun(shards) => {
                let listener = listen(Ipv4Addr::LOCALHOST).await?;
                let program = Program::kcptun_server(scenario, *shards, launcher).await?;
                Self::Tunnel { program, listener }
            }
            Foreign::Hysteria(_) => {
                let listener = listen(Ipv4Addr::LOCALHOST).await?;
                Self::Tunnel { program: Program::hysteria_server(launcher).await?, listener }
            }
        })
    }

    pub(crate) async fn accept(&mut self) -> io::Result<Box<dyn Inlet>> {
        Ok(match self {
            Self::Ours(listener) => Box::new(listener.accept().await?.0),
            Self::Kernel(listener) | Self::Tunnel { listener, .. } => Box::new(listener.accept().await?.0),
            Self::Pipe(program) => Box::new(program.stdout()?),
        })
    }

    /// As [`Sending::said`].
    pub(crate) fn said(&self) -> String {
        match self {
            Self::Ours(_) | Self::Kernel(_) => String::new(),
            Self::Tunnel { program, .. } | Self::Pipe(program) => program.said(),
        }
    }
}
