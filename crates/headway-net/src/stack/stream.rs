//! A connection as a stream of bytes.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use headway_tcp::{ConnectionId, KeepAlive, Negotiated, Statistics};
use headway_units::Duration;
use headway_wire::Dscp;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::shared::{Handle, Interest, io_error};

/// A connection.
///
/// It implements `tokio`'s read and write traits. [`tokio::io::AsyncWriteExt::shutdown`] sends a FIN
/// after all written data, and the peer may continue to send (half-close); the peer's FIN ends reading.
/// When dropped, the connection is closed in the background, but reset if received data was not read (RFC
/// 9293, 3.6.1), or if that [was asked for](TcpStream::set_abortive).
pub struct TcpStream {
    handle: Arc<Handle>,
    id: ConnectionId,
    is_abortive: AtomicBool,
}

impl TcpStream {
    pub(super) fn new(handle: Arc<Handle>, id: ConnectionId) -> Self {
        Self { handle, id, is_abortive: AtomicBool::new(false) }
    }

    /// Waits for the handshake.
    pub(super) async fn connected(&self) -> io::Result<()> {
        poll_fn(|cx| {
            self.handle.shared.with_core(|core| {
                if !core.is_open(self.id) {
                    core.wait(self.id, Interest::Write, cx.waker());
                    return Poll::Pending;
                }
                Poll::Ready(core.stream_error(self.id).map_or(Ok(()), Err))
            })
        })
        .await
    }

    /// Waits until the connection has failed: the peer has reset it, say. Nothing is read, and the peer's FIN is no failure. Cancel
    /// safe.
    pub async fn failed(&self) -> io::Error {
        poll_fn(|cx| {
            self.handle.shared.with_core(|core| match core.stream_error(self.id) {
                Some(error) => Poll::Ready(error),
                None => {
                    core.wait(self.id, Interest::Read, cx.waker());
                    Poll::Pending
                }
            })
        })
        .await
    }

    /// Whether the connection is established, has not failed, and the peer has not ended it.
    pub fn is_open(&self) -> bool {
        let shared = &self.handle.shared;
        shared.with_core(|core| core.stream_error(self.id).is_none() && !core.host.is_finished(self.id))
    }

    /// The local address.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.with_core(|core, id| core.endpoints(id).map(|ends| ends.local))
    }

    /// The peer's address.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.with_core(|core, id| core.endpoints(id).map(|ends| ends.remote))
    }

    /// The connection's counters and estimates, as in `TCP_INFO`.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn statistics(&self) -> io::Result<Statistics> {
        self.with_core(headway_tcp::Host::statistics)
    }

    /// The negotiated options.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn negotiated(&self) -> io::Result<Negotiated> {
        self.with_core(headway_tcp::Host::negotiated)
    }

    /// Disables or enables Nagle's algorithm (RFC 9293, 3.7.4).
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.update(|core| core.host.set_nagle(now, self.id, !nodelay)).map_err(io_error)
    }

    /// The DSCP of what is sent from now on (RFC 9293, 3.9.1.9).
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn set_dscp(&self, dscp: Dscp) -> io::Result<()> {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.update(|core| core.host.set_dscp(now, self.id, dscp)).map_err(io_error)
    }

    /// The hop limit (IPv6) or time to live (IPv4) of what is sent from now on, at least 1 (RFC 9293, 3.9.2).
    ///
    /// # Errors
    ///
    /// It is 0, or the stack has ended.
    pub fn set_hop_limit(&self, hops: u8) -> io::Result<()> {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.update(|core| core.host.set_hop_limit(now, self.id, hops)).map_err(io_error)
    }

    /// Sets keep-alive probes (RFC 9293, 3.8.4).
    ///
    /// # Errors
    ///
    /// A time is zero, or the stack has ended.
    pub fn set_keep_alive(&self, config: Option<KeepAlive>) -> io::Result<()> {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.update(|core| core.host.set_keep_alive(now, self.id, config)).map_err(io_error)
    }

    /// How long sent data may remain unacknowledged (RFC 9293, 3.8.3).
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn set_user_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.update(|core| core.host.set_user_timeout(now, self.id, limit)).map_err(io_error)
    }

    /// Whether [`TcpStream::read_unordered`] is told of what arrives beyond a hole ([`Profile::unordered`](headway_tcp::Profile::unordered)).
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn set_unordered(&self, on: bool) -> io::Result<()> {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.update(|core| core.host.set_unordered(now, self.id, on)).map_err(io_error)
    }

    /// Bytes that may wait to be sent for the first time ([`Profile::not_sent`](headway_tcp::Profile::not_sent)).
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn set_not_sent(&self, limit: usize) -> io::Result<()> {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.update(|core| core.host.set_not_sent(now, self.id, limit)).map_err(io_error)
    }

    /// Waits until something arrives, in or out of order, and gives `take` all that has arrived: runs of bytes,
    /// ascending, each with its distance from the first unread byte. It returns how many bytes from the front are
    /// read. It is called under the lock of the stack, at once and after each arrival, until it says that something
    /// was found. `None` at the end of the stream. Cancel safe.
    ///
    /// # Errors
    ///
    /// The connection failed, or the error of `take`.
    pub async fn read_unordered<T>(
        &mut self,
        mut take: impl FnMut(Runs<'_>) -> io::Result<(usize, Option<T>)>,
    ) -> io::Result<Option<T>> {
        poll_fn(|cx| {
            let shared = &self.handle.shared;
            let (result, opens_window) = shared.with_core(|core| {
                let front = core.host.peek(self.id);
                let front = std::iter::once((0, front)).filter(|(_, (first, _))| !first.is_empty());
                let runs = Runs { inner: Box::new(front.chain(core.host.peek_beyond(self.id))) };
                let (read, found) = match take(runs) {
                    Ok(taken) => taken,
                    Err(error) => return (Poll::Ready(Err(error)), false),
                };
                core.host.consume(self.id, read);
                let opens_window = read > 0 && core.sleeping;
                if found.is_some() {
                    return (Poll::Ready(Ok(found)), opens_window);
                }
                if let Some(error) = core.stream_error(self.id) {
                    return (Poll::Ready(Err(error)), false);
                }
                if core.host.has_ended(self.id) {
                    return (Poll::Ready(Ok(None)), opens_window);
                }
                core.wait(self.id, Interest::Read, cx.waker());
                (Poll::Pending, opens_window)
            });
            if opens_window {
                shared.update(|_| ());
            }
            result
        })
        .await
    }

    /// Resets the connection: the peer gets a RST, data not sent or read is dropped.
    pub fn reset(&self) {
        let shared = &self.handle.shared;
        let now = shared.clock.now();
        shared.update(|core| core.abort(now, self.id));
    }

    /// Whether the connection is reset when this is dropped, so that the peer does not take what it has for all.
    pub fn set_abortive(&self, abortive: bool) {
        self.is_abortive.store(abortive, Ordering::Relaxed);
    }

    fn with_core<T>(
        &self,
        what: impl FnOnce(&headway_tcp::Host<super::Reporter>, ConnectionId) -> Option<T>,
    ) -> io::Result<T> {
        self.handle
            .shared
            .with_core(|core| what(&core.host, self.id))
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, "the connection is over"))
    }
}

/// The distance of a run from the first unread byte, and its one or two pieces.
type Run<'a> = (usize, (&'a [u8], &'a [u8]));

/// What has arrived: runs of bytes, ascending, with their distance from the first unread byte. Each lies in one or two
/// pieces.
pub struct Runs<'a> {
    inner: Box<dyn Iterator<Item = Run<'a>> + 'a>,
}

impl<'a> Iterator for Runs<'a> {
    type Item = Run<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.inner.next()
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
        let result = shared.with_core(|core| {
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
            if let Some(error) = core.stream_error(self.id) {
                return Poll::Ready(Err(error));
            }
            if core.host.is_finished(self.id) {
                return Poll::Ready(Ok(()));
            }
            core.wait(self.id, Interest::Read, cx.waker());
            Poll::Pending
        });
        if opens_window {
            shared.update(|_| ());
        }
        result
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.handle.shared.update(|core| {
            if let Some(error) = core.stream_error(self.id) {
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

    /// Written data is sent as soon as the windows permit: there is nothing to wait for.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shared = &self.handle.shared;
        Poll::Ready(shared.update(|core| {
            core.stream_error(self.id).map_or(Ok(()), Err)?;
            core.host.close(shared.clock.now(), self.id).map_err(io_error)
        }))
    }
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        if *self.is_abortive.get_mut() {
            self.reset();
        }
        let shared = &self.handle.shared;
        shared.update(|core| core.release(shared.clock.now(), self.id));
    }
}
