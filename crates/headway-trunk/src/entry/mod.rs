//! Where connections of hosts enter: local forwards, SOCKS5, connections that TPROXY hands over (here), and what is
//! routed into a TUN device (`tun`).

mod entries;
pub(crate) mod redirection;
mod route;
pub(crate) mod tun;

pub(crate) use entries::Entries;
pub(crate) use tun::Tun;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use fast_socks5::server::Socks5ServerProtocol;
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command};
use headway_net::keep_syns;
use headway_wire::Dscp;
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::{TcpListener, TcpStream as Socket};
use tokio::time::{Instant, sleep, timeout};

use crate::request::{Destination, Ends, Outcome};
use crate::stream::{
    Early, HalfOpen, PeerLink, Said, Side,
    relay::{self, HostEnd as _},
};

/// How long a SOCKS client may take for its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait where no connection can be accepted: no descriptor is free.
const PAUSE: Duration = Duration::from_millis(100);
/// How often it is logged that connections cannot be accepted.
const LOG_EVERY: Duration = Duration::from_secs(1);
const BACKLOG: i32 = 1024;

/// What says where connections of an entry go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// All to one destination.
    Forward(Destination),
    /// The client says it (RFC 1928). `fast_open`: it is told that it is connected when it has said it.
    Socks { fast_open: bool },
    /// Where they were going: the local address of the connection.
    Transparent,
}

impl EntryKind {
    /// Whether its listener takes connections to addresses that are not this machine's.
    pub(crate) fn is_transparent(&self) -> bool {
        matches!(self, Self::Transparent)
    }
}

/// Where connections of an entry go, and through which peer.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) kind: EntryKind,
    pub(crate) link: Arc<PeerLink>,
}

impl Target {
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && Arc::ptr_eq(&self.link, &other.link)
    }
}

/// One listener for connections of hosts. Its target may be changed while it listens.
pub(crate) struct OpenEntry {
    listener: TcpListener,
    target: Arc<RwLock<Target>>,
}

impl OpenEntry {
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
        if let Err(error) = keep_syns(&socket) {
            tracing::debug!(%error, "the DSCP of hosts is not available");
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
    pub(crate) async fn serve(self) {
        let mut logged: Option<Instant> = None;
        loop {
            let (socket, client) = match self.listener.accept().await {
                Ok(accepted) => accepted,
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
            let Target { kind, link } = self.target.read().unwrap_or_else(PoisonError::into_inner).clone();
            // Over the limit one waits here, and the others in the kernel's backlog.
            link.places.room().await;
            let half_open = link.places.half_open(Side::Near, Some(client));
            let ours = self.listener.local_addr().ok();
            tokio::spawn(async move {
                if let Err(error) = take(&link, kind, (socket, ours), half_open).await {
                    tracing::debug!(peer = link.name, %error, "a connection ended");
                }
            });
        }
    }
}

async fn take(
    link: &PeerLink,
    kind: EntryKind,
    (socket, ours): (Socket, Option<SocketAddr>),
    half_open: HalfOpen,
) -> io::Result<()> {
    let dscp = relay::answer_with_dscp(&socket);
    let destination = match kind {
        EntryKind::Socks { fast_open } => return socks(link, socket, fast_open, dscp, half_open).await,
        EntryKind::Forward(destination) => destination,
        EntryKind::Transparent => {
            // It is reset, as what is dropped before it is joined.
            let Some(destination) = handed_over(socket.local_addr()?, ours) else { return Ok(()) };
            Destination::Address(destination)
        }
    };
    let ends = Ends { client: socket.peer_addr().ok(), destination, dscp };
    carry(link, socket, ends, half_open).await
}

/// Carries the connection of a client that is connected already. A destination that is not reached resets it.
async fn carry(link: &PeerLink, socket: Socket, ends: Ends, half_open: HalfOpen) -> io::Result<()> {
    let mut early = Early::of(&socket);
    let opened = link.open(&ends, half_open, reset(&socket), &mut early).await;
    let said = early.said();
    match opened {
        Ok(stream) => link.join(socket, said, stream, ends).await,
        Err(outcome) => {
            tracing::debug!(peer = link.name, destination = %ends.destination, ?outcome, "refused");
            Ok(())
        }
    }
}

/// Where a connection goes that TPROXY handed over. One to the listener's own address is none of these: it would come back to
/// this very listener.
fn handed_over(to: SocketAddr, ours: Option<SocketAddr>) -> Option<SocketAddr> {
    (Some(to) != ours).then_some(to)
}

async fn socks(
    link: &PeerLink,
    mut socket: Socket,
    fast_open: bool,
    dscp: Dscp,
    mut half_open: HalfOpen,
) -> io::Result<()> {
    let client = socket.peer_addr().ok();
    // A reply is to arrive that says what failed.
    socket.set_abortive(false);
    let request = async {
        let protocol = Socks5ServerProtocol::accept_no_auth(&mut socket).await?;
        let (_, command, target) = protocol.read_command().await?;
        Ok((command, target))
    };
    let request = tokio::select! {
        request = timeout(REQUEST_TIMEOUT, request) => request?,
        () = half_open.displaced() => {
            link.counters.displaced.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
    };
    let failed = |error: fast_socks5::server::SocksServerError| io::Error::other(error.to_string());
    let (command, target) = request.map_err(failed)?;
    if command != Socks5Command::TCPConnect {
        return answer(&mut socket, &ReplyError::CommandNotSupported).await;
    }
    let destination = match target {
        TargetAddr::Ip(address) => Some(Destination::Address(address)),
        TargetAddr::Domain(name, port) => Destination::of_name(&name, port),
    };
    let Some(destination) = destination else {
        return answer(&mut socket, &ReplyError::AddressTypeNotSupported).await;
    };
    let ends = Ends { client, destination, dscp };
    if fast_open {
        answer(&mut socket, &ReplyError::Succeeded).await?;
        socket.set_abortive(true);
        return carry(link, socket, ends, half_open).await;
    }
    match link.open(&ends, half_open, closed(&socket), &mut Early::none()).await {
        Ok(stream) => {
            answer(&mut socket, &ReplyError::Succeeded).await?;
            link.join(socket, Said::default(), stream, ends).await
        }
        Err(outcome) => {
            tracing::debug!(peer = link.name, destination = %ends.destination, ?outcome, "refused");
            answer(&mut socket, &reply(outcome)).await
        }
    }
}

/// RFC 1928, 6. The address in it would be the one that the server connects from: the far gateway's, and not known here.
async fn answer(socket: &mut Socket, reply: &ReplyError) -> io::Result<()> {
    socket.write_all(&[5, reply.as_u8(), 0, 1, 0, 0, 0, 0, 0, 0]).await
}

/// Waits until the client has reset its connection. Its FIN says only that it sends no more.
async fn reset(socket: &Socket) {
    // An error of the readiness itself is the end of the runtime.
    let _ = socket.ready(Interest::ERROR).await;
}

/// Waits until a client that waits for an answer has gone: before that it has no reason to send a FIN.
async fn closed(socket: &Socket) {
    // What it sends ahead hides its FIN.
    if let Ok(1..) = socket.peek(&mut [0]).await {
        reset(socket).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_tproxy_hands_over_goes_to_addresses_of_others() {
        let forward = EntryKind::Forward(Destination::Address(([10, 0, 0, 1], 80).into()));
        assert_eq!(
            [EntryKind::Transparent, EntryKind::Socks { fast_open: false }, forward]
                .map(|kind| kind.is_transparent()),
            [true, false, false]
        );
    }

    #[test]
    fn a_connection_to_the_listener_itself_goes_nowhere() {
        let [ours, other] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        assert_eq!(handed_over(ours, Some(ours)), None);
        assert_eq!((handed_over(other, Some(ours)), handed_over(ours, None)), (Some(other), Some(ours)));
    }
}
