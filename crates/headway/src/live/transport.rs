//! One interface for headway's TCP and the kernel's.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use headway_net::Stack;
use headway_tcp::{Negotiated, Statistics};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::error::LiveError;

/// The TCP of a command.
#[derive(Clone)]
pub(super) enum Transport {
    /// headway's TCP.
    Stack(Stack),
    /// The kernel's TCP.
    Kernel,
}

pub(super) enum Listener {
    Stack(headway_net::TcpListener),
    Kernel(tokio::net::TcpListener),
}

/// A connection of either TCP.
pub(super) enum Stream {
    Stack(headway_net::TcpStream),
    Kernel(tokio::net::TcpStream),
}

/// The backlog of listeners.
const BACKLOG: usize = 1024;

impl Transport {
    pub(super) async fn listen(&self, local: SocketAddr) -> Result<Listener, LiveError> {
        let opened = match self {
            Self::Stack(stack) => stack.listen(local, BACKLOG).map(Listener::Stack),
            Self::Kernel => tokio::net::TcpListener::bind(local).await.map(Listener::Kernel),
        };
        opened.map_err(|source| LiveError::Listen { local, source })
    }

    pub(super) async fn connect(&self, remote: SocketAddr) -> Result<Stream, LiveError> {
        let opened = match self {
            Self::Stack(stack) => stack.connect(remote).await.map(Stream::Stack),
            Self::Kernel => tokio::net::TcpStream::connect(remote).await.map(Stream::Kernel),
        };
        opened.map_err(|source| LiveError::Connect { remote, source })
    }

    /// Waits for at most `grace` until all data is acknowledged.
    pub(super) async fn close(self, grace: Duration) -> Result<(), LiveError> {
        match self {
            Self::Stack(stack) => stack.close(grace).await.map_err(LiveError::Stack),
            Self::Kernel => Ok(()),
        }
    }
}

impl Listener {
    pub(super) async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        match self {
            Self::Stack(listener) => {
                listener.accept().await.map(|(stream, from)| (Stream::Stack(stream), from))
            }
            Self::Kernel(listener) => {
                listener.accept().await.map(|(stream, from)| (Stream::Kernel(stream), from))
            }
        }
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Stack(listener) => Ok(listener.local_addr()),
            Self::Kernel(listener) => listener.local_addr(),
        }
    }
}

impl Stream {
    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Stack(stream) => stream.local_addr(),
            Self::Kernel(stream) => stream.local_addr(),
        }
    }

    pub(super) fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Stack(stream) => stream.peer_addr(),
            Self::Kernel(stream) => stream.peer_addr(),
        }
    }

    /// The connection's statistics; none for the kernel's TCP.
    pub(super) fn statistics(&self) -> Option<Statistics> {
        match self {
            Self::Stack(stream) => stream.statistics().ok(),
            Self::Kernel(_) => None,
        }
    }

    /// The negotiated options; none for the kernel's TCP.
    pub(super) fn negotiated(&self) -> Option<Negotiated> {
        match self {
            Self::Stack(stream) => stream.negotiated().ok(),
            Self::Kernel(_) => None,
        }
    }

    pub(super) fn set_nodelay(&self) -> io::Result<()> {
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
