//! Where connections of hosts enter: local forwards, SOCKS5, connections that TPROXY hands over.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use fast_socks5::server::Socks5ServerProtocol;
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use tokio::net::{TcpListener, TcpStream as Socket};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use crate::link::Link;
use crate::relay::{self, HostEnd as _};
use crate::request::{Destination, Ends, Outcome};

/// How long a SOCKS client may take for its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait where no connection can be accepted: no descriptor is free.
const PAUSE: Duration = Duration::from_millis(100);
/// How often it is logged that connections cannot be accepted.
const LOG_EVERY: Duration = Duration::from_secs(1);
const BACKLOG: i32 = 1024;

/// What says where connections of an entry go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All to one destination.
    Forward(Destination),
    /// The client says it (RFC 1928).
    Socks,
    /// Where they were going: the local address of the connection.
    Transparent,
}

impl Kind {
    /// Whether its listener takes connections to addresses that are not this machine's.
    pub(crate) fn is_transparent(&self) -> bool {
        matches!(self, Self::Transparent)
    }
}

/// Where connections of an entry go, and through which peer.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) link: Arc<Link>,
}

impl Target {
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && Arc::ptr_eq(&self.link, &other.link)
    }
}

/// One listener for connections of hosts. Its target may be changed while it listens.
pub(crate) struct Entry {
    listener: TcpListener,
    target: Arc<RwLock<Target>>,
}

impl Entry {
    /// Listens at `address`.
    pub(crate) fn listen(address: SocketAddr, target: Arc<RwLock<Target>>) -> io::Result<Self> {
        let is_transparent = target.read().unwrap_or_else(PoisonError::into_inner).kind.is_transparent();
        let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        if is_transparent {
            if address.is_ipv4() {
                socket.set_ip_transparent_v4(true)?;
            } else {
                socket.set_ip_transparent_v6(true)?;
            }
        }
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(Self { listener: TcpListener::from_std(socket.into())?, target })
    }

    /// The address that it listens at.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts connections for ever.
    pub(crate) async fn serve(self, streams: Arc<Semaphore>) {
        let mut logged: Option<Instant> = None;
        loop {
            let socket = match self.listener.accept().await {
                Ok((socket, _)) => socket,
                Err(error) => {
                    // It waits in the kernel's backlog. Without descriptors each try fails: one line a second says so.
                    if logged.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
                        logged = Some(Instant::now());
                        tracing::warn!(%error, "connections cannot be accepted");
                    }
                    sleep(PAUSE).await;
                    continue;
                }
            };
            relay::set_up(&socket);
            // Over the limit one waits here, and the others in the kernel's backlog.
            let Ok(permit) = streams.clone().acquire_owned().await else { return };
            let Target { kind, link } = self.target.read().unwrap_or_else(PoisonError::into_inner).clone();
            let ours = self.listener.local_addr().ok();
            tokio::spawn(async move {
                let _permit = permit;
                if let Err(error) = take(&link, kind, socket, ours).await {
                    tracing::debug!(peer = link.name, %error, "a connection ended");
                }
            });
        }
    }
}

async fn take(link: &Link, kind: Kind, socket: Socket, ours: Option<SocketAddr>) -> io::Result<()> {
    let destination = match kind {
        Kind::Socks => return socks(link, socket).await,
        Kind::Forward(destination) => destination,
        Kind::Transparent => {
            let destination = socket.local_addr()?;
            if Some(destination) == ours {
                // Not one that TPROXY handed over: it would come back to this very listener.
                socket.reset();
                return Ok(());
            }
            Destination::Address(destination)
        }
    };
    let ends = Ends { client: socket.peer_addr().ok(), destination };
    match link.open(&ends).await {
        Ok(stream) => link.join(socket, stream, ends).await,
        Err(outcome) => {
            tracing::debug!(peer = link.name, destination = %ends.destination, ?outcome, "refused");
            socket.reset();
            Ok(())
        }
    }
}

async fn socks(link: &Link, socket: Socket) -> io::Result<()> {
    let client = socket.peer_addr().ok();
    // A reply is to arrive that says what failed.
    socket.set_abortive(false);
    let request = async {
        let protocol = Socks5ServerProtocol::accept_no_auth(socket).await?;
        protocol.read_command().await
    };
    let (protocol, command, target) =
        timeout(REQUEST_TIMEOUT, request).await?.map_err(|error| io::Error::other(error.to_string()))?;
    let failed = |error: fast_socks5::server::SocksServerError| io::Error::other(error.to_string());
    if command != Socks5Command::TCPConnect {
        return protocol.reply_error(&ReplyError::CommandNotSupported).await.map_err(failed);
    }
    let destination = match target {
        TargetAddr::Ip(address) => Some(Destination::Address(address)),
        TargetAddr::Domain(name, port) => Destination::of_name(&name, port),
    };
    let Some(destination) = destination else {
        return protocol.reply_error(&ReplyError::AddressTypeNotSupported).await.map_err(failed);
    };
    let ends = Ends { client, destination };
    match link.open(&ends).await {
        Ok(stream) => {
            // RFC 1928, 6: the address that the server connects from. It is the far gateway's, and not known here.
            let socket = protocol.reply_success(([0, 0, 0, 0], 0).into()).await.map_err(failed)?;
            link.join(socket, stream, ends).await
        }
        Err(outcome) => {
            tracing::debug!(peer = link.name, destination = %ends.destination, ?outcome, "refused");
            protocol.reply_error(&reply(outcome)).await.map_err(failed)
        }
    }
}

/// RFC 1928, 6.
fn reply(outcome: Outcome) -> ReplyError {
    match outcome {
        Outcome::Connected => ReplyError::Succeeded,
        Outcome::Refused => ReplyError::ConnectionRefused,
        Outcome::HostUnreachable | Outcome::UnknownName => ReplyError::HostUnreachable,
        Outcome::NetworkUnreachable => ReplyError::NetworkUnreachable,
        Outcome::TimedOut => ReplyError::ConnectionTimeout,
        Outcome::NotAllowed => ReplyError::ConnectionNotAllowed,
        Outcome::Failed => ReplyError::GeneralFailure,
    }
}
