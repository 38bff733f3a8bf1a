//! A line for each request, with the bytes of the answer that TCP has accepted.
//!
//! A body is taken in pieces by the HTTP library, which buffers them. They count as sent when the library has
//! written all of them to the connection and flushes it.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use headway_command::{OutputError, notice, output};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// Where the lines go.
#[derive(Clone)]
pub(super) enum Lines {
    /// Text, to standard error.
    Text,
    /// JSON, to standard output. It is told here that this is closed.
    Json(mpsc::Sender<OutputError>),
}

/// The requests of one connection whose answers are not yet sent.
pub(super) struct Log {
    from: SocketAddr,
    lines: Lines,
    open: Mutex<Vec<LoggedRequest>>,
}

/// A request, and what has become of its answer.
struct LoggedRequest {
    method: String,
    path: String,
    status: u16,
    /// The length of the body.
    length: u64,
    /// Bytes of the request's body, if it can have one.
    received: Option<u64>,
    /// Bytes that the HTTP library has taken from the body.
    taken: u64,
    /// Those of them that TCP has accepted.
    sent: u64,
    /// No more is taken.
    ended: bool,
}

impl Log {
    pub(super) fn new(from: SocketAddr, lines: Lines) -> Self {
        Self { from, lines, open: Mutex::default() }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<LoggedRequest>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An answer is about to be sent, after all others of the connection.
    pub(super) fn begin(
        &self,
        method: String,
        path: String,
        status: u16,
        length: u64,
        received: Option<u64>,
    ) {
        let entry = LoggedRequest { method, path, status, length, received, taken: 0, sent: 0, ended: false };
        self.entries().push(entry);
    }

    fn take(&self, bytes: u64) {
        if let Some(entry) = self.entries().last_mut() {
            entry.taken += bytes;
        }
    }

    fn end(&self) {
        if let Some(entry) = self.entries().last_mut() {
            entry.ended = true;
        }
    }

    /// All that was taken has been sent.
    fn flushed(&self) {
        let mut entries = self.entries();
        entries.iter_mut().for_each(|entry| entry.sent = entry.taken);
        for entry in entries.extract_if(.., |entry| entry.ended) {
            self.print(&entry);
        }
    }

    /// The connection has ended.
    fn close(&self) {
        for entry in self.entries().drain(..) {
            self.print(&entry);
        }
    }

    fn print(&self, entry: &LoggedRequest) {
        let LoggedRequest { method, path, status, length, received, sent, .. } = entry;
        let from = self.from;
        if let Lines::Json(closed) = &self.lines {
            let mut line = serde_json::json!({
                "from": from.to_string(), "method": method, "path": path, "status": status,
                "bytes": sent, "complete": sent == length,
            });
            if let Some(received) = received {
                line["received"] = (*received).into();
            }
            match output::print(&format!("{line}\n")) {
                // One that is told already is enough.
                Err(error @ OutputError::Closed(_)) => drop(closed.try_send(error)),
                Err(error) => notice!("headway: {error}"),
                Ok(()) => {}
            }
            return;
        }
        let of = if sent == length { String::new() } else { format!(" of {length}") };
        let received = received.map(|bytes| format!(", {bytes} received")).unwrap_or_default();
        notice!("headway: {from} {method} {path} {status} {sent}{of}{received}");
    }
}

/// A body whose bytes are counted.
pub(super) struct Counted {
    body: UnsyncBoxBody<Bytes, io::Error>,
    log: Arc<Log>,
}

impl Counted {
    pub(super) fn new(body: UnsyncBoxBody<Bytes, io::Error>, log: Arc<Log>) -> Self {
        Self { body, log }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.log.end();
    }
}

impl Body for Counted {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            self.log.take(frame.data_ref().map_or(0, |data| data.len() as u64));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection that tells the log what was sent.
pub(super) struct Logged<S> {
    stream: S,
    log: Arc<Log>,
}

impl<S> Logged<S> {
    pub(super) fn new(stream: S, log: Arc<Log>) -> Self {
        Self { stream, log }
    }
}

impl<S> Drop for Logged<S> {
    fn drop(&mut self) {
        self.log.close();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Logged<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Logged<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.log.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
