//! One interface for headway's TCP and the kernel's.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use headway_command::notice;
use headway_net::{Interface, KernelTcp, Stack};
use headway_tcp::Negotiated;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::error::TransportError;
use super::names::Listen;

/// The TCP of a command, and who it can reach.
#[derive(Clone)]
pub struct Transport {
    tcp: Tcp,
    reach: Reach,
    /// How long a connection may take to open.
    limit: Duration,
}

/// Which hosts a carrier reaches.
#[derive(Clone, Copy)]
pub(super) enum Reach {
    Any,
    /// The peer of a UDP carrier.
    Only(IpAddr),
    /// None: peers connect to this end.
    None,
}

#[derive(Clone)]
enum Tcp {
    /// headway's TCP.
    Stack(Stack),
    /// The kernel's TCP.
    Kernel,
}

/// What accepts connections of either TCP.
pub enum Listener {
    /// headway's TCP.
    Stack(headway_net::TcpListener),
    /// The kernel's TCP.
    Kernel(tokio::net::TcpListener),
}

/// A connection of either TCP.
pub enum Stream {
    /// headway's TCP.
    Stack(headway_net::TcpStream),
    /// The kernel's TCP.
    Kernel(tokio::net::TcpStream),
}

/// What the TCP of a connection knows of what it sends.
#[derive(Clone, Copy, Debug)]
pub struct SenderState {
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Acknowledged bytes, where they are counted.
    pub acknowledged: Option<u64>,
    /// Bytes that were written and are not acknowledged, otherwise.
    pub outstanding: u64,
}

/// Seconds until a command says what it waits for, and until it says so again.
const FIRST_WORD: u64 = 2;
const NEXT_WORD: u64 = 5;

/// How long to wait where no connection can be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// The backlog of listeners.
const BACKLOG: usize = 1024;

impl Transport {
    pub(super) fn of_stack(stack: Stack, reach: Reach, limit: Duration) -> Self {
        Self { tcp: Tcp::Stack(stack), reach, limit }
    }

    pub(super) fn of_kernel(limit: Duration) -> Self {
        Self { tcp: Tcp::Kernel, reach: Reach::Any, limit }
    }

    /// Whether connections are those of the kernel's TCP.
    pub fn is_kernel(&self) -> bool {
        matches!(self.tcp, Tcp::Kernel)
    }

    /// Listens at an address of this end.
    pub async fn listen(&self, listen: Listen) -> Result<Listener, TransportError> {
        let local = match &self.tcp {
            Tcp::Stack(stack) => listen.address(stack.addresses()),
            Tcp::Kernel => listen.address(&self.addresses()),
        };
        let opened = match &self.tcp {
            Tcp::Stack(stack) => stack.listen(local, BACKLOG).map(Listener::Stack),
            Tcp::Kernel => tokio::net::TcpListener::bind(local).await.map(Listener::Kernel),
        };
        opened.map_err(|source| TransportError::Listen { local, source })
    }

    /// Connects, and says on standard error what it waits for if that takes long.
    pub async fn connect(&self, remote: SocketAddr) -> Result<Stream, TransportError> {
        match self.reach {
            Reach::Only(peer) if peer != remote.ip() => {
                return Err(TransportError::NotThePeer { remote, peer });
            }
            Reach::None => return Err(TransportError::NoPeer { remote }),
            _ => {}
        }
        let hint = || if let Tcp::Stack(stack) = &self.tcp { stack.trouble() } else { None };
        let told = async || -> std::convert::Infallible {
            let mut seconds = FIRST_WORD;
            tokio::time::sleep(Duration::from_secs(FIRST_WORD)).await;
            loop {
                let why = hint().map(|hint| format!(": {hint}")).unwrap_or_default();
                let limit = self.limit.as_secs_f64();
                notice!("headway: {remote}: waiting for an answer, {seconds} s of {limit} s{why}");
                tokio::time::sleep(Duration::from_secs(NEXT_WORD)).await;
                seconds += NEXT_WORD;
            }
        };
        let no_answer =
            || TransportError::NoAnswer { remote, seconds: self.limit.as_secs_f64(), hint: hint() };
        tokio::select! {
            opened = self.open(remote) => opened.map_err(|source| match source.kind() {
                io::ErrorKind::TimedOut => no_answer(),
                _ => TransportError::Connect { remote, source },
            }),
            () = tokio::time::sleep(self.limit) => Err(no_answer()),
            never = told() => match never {},
        }
    }

    /// The addresses of this end: the kernel's without the loopback, if it has others.
    pub fn addresses(&self) -> Vec<IpAddr> {
        if let Tcp::Stack(stack) = &self.tcp
            && stack.addresses().iter().any(|address| !address.is_unspecified())
        {
            return stack.addresses().to_vec();
        }
        let up = Interface::all().unwrap_or_default().into_iter().filter(|interface| interface.up);
        let (near, others): (Vec<_>, Vec<_>) = up.partition(|interface| interface.loopback);
        // Those of a link alone need a zone, which a URL cannot have.
        let is_global = |address: &IpAddr| match address {
            IpAddr::V4(v4) => !v4.is_link_local(),
            IpAddr::V6(v6) => !v6.is_unicast_link_local(),
        };
        let of = |interfaces: Vec<Interface>| -> Vec<IpAddr> {
            interfaces.into_iter().flat_map(|interface| interface.addresses).filter(is_global).collect()
        };
        let others = of(others);
        if others.is_empty() { of(near) } else { others }
    }

    async fn open(&self, remote: SocketAddr) -> io::Result<Stream> {
        match &self.tcp {
            Tcp::Stack(stack) => stack.connect(remote).await.map(Stream::Stack),
            Tcp::Kernel => tokio::net::TcpStream::connect(remote).await.map(Stream::Kernel),
        }
    }

    /// Waits for at most `grace` until all data is acknowledged.
    pub async fn close(self, grace: Duration) -> Result<(), TransportError> {
        match self.tcp {
            Tcp::Stack(stack) => stack.close(grace).await.map_err(TransportError::Stack),
            Tcp::Kernel => Ok(()),
        }
    }
}

impl Listener {
    /// The next connection. An error is the end of headway's stack.
    pub async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        let listener = match self {
            Self::Stack(listener) => {
                return listener.accept().await.map(|(stream, from)| (Stream::Stack(stream), from));
            }
            Self::Kernel(listener) => listener,
        };
        let mut has_said = false;
        loop {
            match listener.accept().await {
                Ok((stream, from)) => return Ok((Stream::Kernel(stream), from)),
                // accept(2): the connection was aborted, no descriptor or memory is free, an error of the network is
                // pending on the new socket. None of them ends the listener; without descriptors each try fails.
                Err(error) => {
                    if !std::mem::replace(&mut has_said, true) {
                        tracing::warn!(%error, "a connection cannot be accepted now");
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// The address of this end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Stack(listener) => Ok(listener.local_addr()),
            Self::Kernel(listener) => listener.local_addr(),
        }
    }
}

impl Stream {
    /// The address of this end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Stack(stream) => stream.local_addr(),
            Self::Kernel(stream) => stream.local_addr(),
        }
    }

    /// The address of the other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Stack(stream) => stream.peer_addr(),
            Self::Kernel(stream) => stream.peer_addr(),
        }
    }

    /// What the TCP knows of what it sends; `None` if the connection is gone.
    pub fn sender_state(&self) -> Option<SenderState> {
        match self {
            Self::Stack(stream) => {
                let statistics = stream.statistics().ok()?;
                Some(SenderState {
                    retransmissions: statistics.retransmissions,
                    cwnd: statistics.cwnd.into(),
                    rtt: Duration::from_nanos(
                        statistics.smoothed_rtt.map_or(0, headway_units::Duration::as_nanos),
                    ),
                    acknowledged: None,
                    outstanding: u64::from(statistics.unacknowledged) + u64::from(statistics.unsent),
                })
            }
            Self::Kernel(stream) => {
                let state = KernelTcp::of(stream).ok()?;
                Some(SenderState {
                    retransmissions: state.retransmissions(),
                    cwnd: state.cwnd(),
                    rtt: state.smoothed_rtt(),
                    acknowledged: Some(state.acknowledged()),
                    outstanding: 0,
                })
            }
        }
    }

    /// The negotiated options; none for the kernel's TCP.
    pub fn negotiated(&self) -> Option<Negotiated> {
        match self {
            Self::Stack(stream) => stream.negotiated().ok(),
            Self::Kernel(_) => None,
        }
    }

    /// Resets the connection.
    pub fn reset(self) {
        match self {
            Self::Stack(stream) => stream.reset(),
            // SO_LINGER with a time of zero: closing it sends a RST.
            Self::Kernel(stream) => drop(SockRef::from(&stream).set_linger(Some(Duration::ZERO))),
        }
    }

    /// Ends the connection where data stays unacknowledged for this long, because the peer does not read it or is gone:
    /// also after the connection was closed here (RFC 9293, 3.8.3; RFC 5482).
    pub fn set_user_timeout(&self, limit: Duration) {
        let outcome = match self {
            Self::Stack(stream) => {
                let nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
                stream.set_user_timeout(Some(headway_units::Duration::from_nanos(nanos)))
            }
            Self::Kernel(stream) => SockRef::from(stream).set_tcp_user_timeout(Some(limit)),
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "the user timeout was not set");
        }
    }

    /// Sends what is written at once.
    pub fn set_nodelay(&self) -> io::Result<()> {
        match self {
            Self::Stack(stream) => stream.set_nodelay(true),
            Self::Kernel(stream) => stream.set_nodelay(true),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Stack(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Kernel(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Stack(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Kernel(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Stack(stream) => Pin::new(stream).poll_flush(cx),
            Self::Kernel(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Stack(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Kernel(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
