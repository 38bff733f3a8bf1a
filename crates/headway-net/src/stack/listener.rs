//! Listeners.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use headway_tcp::ListenerId;

use super::TcpStream;
use super::shared::Handle;

/// An accepted connection and the peer's address.
pub type Accepted = (TcpStream, SocketAddr);

/// A listener. When dropped, it stops listening; accepted connections continue.
pub struct TcpListener {
    handle: Arc<Handle>,
    id: ListenerId,
    local: SocketAddr,
}

impl TcpListener {
    pub(super) fn new(handle: Arc<Handle>, id: ListenerId, local: SocketAddr) -> Self {
        handle.shared.with_core(|core| core.acceptors.push((id, Vec::new())));
        Self { handle, id, local }
    }

    pub(super) fn id(&self) -> ListenerId {
        self.id
    }

    /// The local address.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Waits for a connection and accepts it. Cancel safe.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub async fn accept(&self) -> io::Result<Accepted> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// Accepts a connection if there is one.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        let found = self.handle.shared.update(|core| {
            if let Some(id) = core.host.accept(self.id) {
                core.adopt(id);
                let remote = core.host.endpoints(id).map_or(self.local, |ends| ends.remote);
                return Poll::Ready(Ok((id, remote)));
            }
            if let Err(error) = core.check_running() {
                return Poll::Ready(Err(error));
            }
            if let Some((_, waiting)) = core.acceptors.iter_mut().find(|(id, _)| *id == self.id)
                && !waiting.iter().any(|waker| waker.will_wake(cx.waker()))
            {
                waiting.push(cx.waker().clone());
            }
            Poll::Pending
        });
        found.map_ok(|(id, remote)| (TcpStream::new(self.handle.clone(), id), remote))
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        let shared = &self.handle.shared;
        shared.update(|core| {
            core.acceptors.retain(|(id, _)| *id != self.id);
            // It fails only if the stack has ended.
            let _ = core.host.close_listener(shared.clock.now(), self.id);
        });
    }
}
