//! The host at the other end of the link: what it serves, by the kernel's TCP and by headway's.

use std::io;
use std::net::SocketAddr;

use headway_command::BadOption;
use headway_net::{Stack, StackConfig, UdpCarrier, UdpConfig};
use headway_sim::race::{ProfileName, TcpSender};
use headway_testbed::ShellNetwork;
use headway_transport::{Listener, Stream, TransportError, profile_of};
use socket2::SockRef;
use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;

use super::{ShellError, web};

/// The port of datagrams that contain headway's segments.
pub(super) const UDP_PORT: u16 = 4433;

/// The backlog of listeners.
const BACKLOG: u32 = 1024;

#[derive(Clone, Copy)]
enum Service {
    Web,
    Perf,
    /// RFC 862.
    Echo,
    /// RFC 863.
    Discard,
}

const SERVICES: [(u16, Service); 4] =
    [(80, Service::Web), (headway_perf::PORT, Service::Perf), (7, Service::Echo), (9, Service::Discard)];

/// The services, which are listening.
pub(super) struct Server(Vec<(Service, Listener)>);

impl Server {
    /// Opens all. To be called in a runtime.
    pub(super) fn open(
        network: &ShellNetwork,
        variant: TcpSender,
        kernel_cc: Option<&str>,
    ) -> Result<Self, ShellError> {
        let at = |port| SocketAddr::new(ShellNetwork::SERVER.into(), port);
        let runtime = tokio::runtime::Handle::current();
        let opened = network.at_server(|| {
            let _entered = runtime.enter();
            let config = UdpConfig { peer: None, ..UdpConfig::new(at(UDP_PORT), at(UDP_PORT)) };
            let carrier = UdpCarrier::open(&config)?;
            let config = StackConfig {
                addresses: vec![carrier.inner_address()],
                profile: Some(profile_of(variant, ProfileName::Standard, None)),
                ..StackConfig::default()
            };
            let stack = Stack::start(carrier, config)?;
            let mut listeners = Vec::new();
            for (port, service) in SERVICES {
                let local = at(port);
                let fail = |source| TransportError::Listen { local, source };
                let ours = stack.listen(local, BACKLOG as usize).map_err(fail)?;
                listeners.push((service, Listener::Stack(ours)));
                listeners.push((service, Listener::Kernel(listen(local, kernel_cc)?)));
            }
            Ok::<_, TransportError>(listeners)
        })?;
        Ok(Self(opened?))
    }

    /// Serves until it is dropped.
    pub(super) async fn run(self) {
        let mut services: JoinSet<()> =
            self.0.into_iter().map(|(kind, listener)| serve(kind, listener)).collect();
        while services.join_next().await.is_some() {}
    }
}

fn listen(local: SocketAddr, congestion: Option<&str>) -> Result<tokio::net::TcpListener, TransportError> {
    let fail = |source| TransportError::Listen { local, source };
    let socket = tokio::net::TcpSocket::new_v4().map_err(fail)?;
    if let Some(name) = congestion {
        SockRef::from(&socket).set_tcp_congestion(name.as_bytes()).map_err(|error| {
            let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
            let known = known.unwrap_or_default().trim().replace(' ', ", ");
            BadOption::new("--kernel-cc", name, format!("{error}; expected one of this kernel's: {known}"))
        })?;
    }
    socket.bind(local).map_err(fail)?;
    socket.listen(BACKLOG).map_err(fail)
}

async fn serve(service: Service, listener: Listener) {
    let outcome = match service {
        Service::Perf => headway_perf::serve(listener).await,
        _ => accept(service, listener).await,
    };
    if let Err(error) = outcome {
        tracing::warn!(%error, "a service of the server ended");
    }
}

async fn accept(service: Service, listener: Listener) -> Result<(), TransportError> {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.map_err(TransportError::Connection)?;
        // Removes ended connections.
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            let outcome = match service {
                Service::Web => {
                    web::serve(stream).await;
                    Ok(())
                }
                Service::Echo => echo(stream).await,
                Service::Discard | Service::Perf => discard(stream).await,
            };
            if let Err(error) = outcome {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
}

async fn echo(stream: Stream) -> io::Result<()> {
    stream.set_nodelay()?;
    let (mut from, mut to) = tokio::io::split(stream);
    tokio::io::copy(&mut from, &mut to).await?;
    to.shutdown().await
}

async fn discard(mut stream: Stream) -> io::Result<()> {
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    stream.shutdown().await
}
