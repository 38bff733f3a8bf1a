//! A connection as a stream of bytes.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use headway_tcp::{ConnectionId, KeepAlive, Negotiated, Statistics};
use headway_units::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::shared::{Handle, Interest, io_error};

/// A connection.
///
/// It reads and writes as `tokio`'s traits say. [`tokio::io::AsyncWriteExt::shutdown`] ends our side
/// after all that was written, and the peer may go on sending (half-close); a peer's end is the end
/// of what can be read. Dropped, the connection is closed gracefully in the background, but reset if
/// something that arrived was not read (RFC 9293, 3.6.1).
pub struct TcpStream {
    handle: Arc<Handle>,
    id: ConnectionId,
}

impl TcpStream {
    pub(super) fn new(handle: Arc<Handle>, id: ConnectionId) -> Self {
        Self { handle, id }
    }

    /// Waits for the handshake.
    pub(super) async fn connected(&self) -> io::Result<()> {
        poll_fn(|cx| {
            self.handle.shared.look(|core| {
                if !core.is_open(self.id) {
                    core.wait(self.id, Interest::Write, cx.waker());
                    return Poll::Pending;
                }
                Poll::Ready(core.trouble(self.id).map_or(Ok(()), Err))
            })
        })
        .await
    }

    /// Our end.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.look(|core, id| core.endpoints(id).map(|ends| ends.local))
    }

    /// The peer's end.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.look(|core, id| core.endpoints(id).map(|ends| ends.remote))
    }

    /// What the connection counted and estimated, as `TCP_INFO` does.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn statistics(&self) -> io::Result<Statistics> {
        self.look(headway_tcp::Host::statistics)
    }

    /// What the two ends agreed on.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn negotiated(&self) -> io::Result<Negotiated> {
        self.look(headway_tcp::Host::negotiated)
    }

    /// Sends small writes at once, or gathers them (Nagle's algorithm, RFC 9293, 3.7.4).
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.enter(|core| core.host.set_nagle(now, self.id, !nodelay)).map_err(io_error)
    }

    /// Probes the peer while nothing is said (RFC 9293, 3.8.4).
    ///
    /// # Errors
    ///
    /// A time is zero, or the stack has ended.
    pub fn set_keep_alive(&self, config: Option<KeepAlive>) -> io::Result<()> {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.enter(|core| core.host.set_keep_alive(now, self.id, config)).map_err(io_error)
    }

    /// How long what was sent may stay unacknowledged (RFC 9293, 3.8.3).
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn set_user_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.enter(|core| core.host.set_user_timeout(now, self.id, limit)).map_err(io_error)
    }

    /// Ends the connection at once: the peer gets a RST, what was not sent or read is dropped.
    pub fn reset(&self) {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        // It is over already at worst.
        let _ = shared.enter(|core| core.host.abort(now, self.id));
    }

    fn look<T>(
        &self,
        what: impl FnOnce(&headway_tcp::Host<super::Reporter>, ConnectionId) -> Option<T>,
    ) -> io::Result<T> {
        self.handle
            .shared
            .look(|core| what(&core.host, self.id))
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, "the connection is over"))
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let shared = &self.handle.shared;
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let mut opens_window = false;
        let result = shared.look(|core| {
            let (first, second) = core.host.peek(self.id);
            if !first.is_empty() {
                let first = &first[..first.len().min(buffer.remaining())];
                buffer.put_slice(first);
                let second = &second[..second.len().min(buffer.remaining())];
                buffer.put_slice(second);
                let n = first.len() + second.len();
                core.host.consume(self.id, n);
                opens_window = core.sleeping;
                return Poll::Ready(Ok(()));
            }
            if let Some(error) = core.trouble(self.id) {
                return Poll::Ready(Err(error));
            }
            if core.host.is_finished(self.id) {
                return Poll::Ready(Ok(()));
            }
            core.wait(self.id, Interest::Read, cx.waker());
            Poll::Pending
        });
        if opens_window {
            shared.enter(|_| ());
        }
        result
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.handle.shared.enter(|core| {
            if let Some(error) = core.trouble(self.id) {
                return Poll::Ready(Err(error));
            }
            match core.host.write(self.id, data) {
                Ok(0) if !data.is_empty() => {
                    core.wait(self.id, Interest::Write, cx.waker());
                    Poll::Pending
                }
                result => Poll::Ready(result.map_err(io_error)),
            }
        })
    }

    /// What was written is on its way as soon as the windows permit: there is nothing to wait for.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shared = &self.handle.shared;
        Poll::Ready(shared.enter(|core| {
            core.trouble(self.id).map_or(Ok(()), Err)?;
            core.host.close(shared.clock.now(), self.id).map_err(io_error)
        }))
    }
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        let shared = &self.handle.shared;
        shared.enter(|core| core.release(shared.clock.now(), self.id));
    }
}
