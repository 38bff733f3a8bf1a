//! Connections to any address, each admitted or refused by the program.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;

use headway_tcp::{Endpoints, Refusal};
use headway_units::Duration;
use headway_wire::Dscp;

use super::TcpStream;
use super::shared::{Handle, io_error};

/// Takes connections to any address ([`Stack::intercept`](super::Stack::intercept)).
pub struct Interceptor {
    handle: Arc<Handle>,
}

impl Interceptor {
    pub(super) fn new(handle: Arc<Handle>) -> Self {
        Self { handle }
    }

    /// Waits for a connection that waits for a decision. Cancel safe.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub async fn next(&self) -> io::Result<Incoming> {
        poll_fn(|cx| {
            self.handle.shared.with_core(|core| {
                if let Some(ends) = core.host.incoming() {
                    return Poll::Ready(Ok(Incoming { handle: self.handle.clone(), ends, decided: false }));
                }
                if let Err(error) = core.check_running() {
                    return Poll::Ready(Err(error));
                }
                core.interceptor = Some(cx.waker().clone());
                Poll::Pending
            })
        })
        .await
    }
}

/// A connection that its peer has asked for, and that is not answered yet. Dropped without a decision, it is not
/// answered; the peer may try again.
pub struct Incoming {
    handle: Arc<Handle>,
    ends: Endpoints,
    decided: bool,
}

impl Incoming {
    /// Where the peer wants to go.
    pub fn destination(&self) -> SocketAddr {
        self.ends.local
    }

    /// The peer's address.
    pub fn source(&self) -> SocketAddr {
        self.ends.remote
    }

    /// How long the peer is taken to wait, from now on, if nothing more arrives from it ([`Host::incoming_until`](headway_tcp::Host::incoming_until)).
    /// `None`: it has given up.
    pub fn patience(&self) -> Option<Duration> {
        let shared = &self.handle.shared;
        let until = shared.with_core(|core| core.host.incoming_until(&self.ends))?;
        Some(until.saturating_since(shared.clock.now())).filter(|left| !left.is_zero())
    }

    /// The DSCP of its SYN.
    pub fn dscp(&self) -> Dscp {
        let dscp = self.handle.shared.with_core(|core| core.host.incoming_dscp(&self.ends));
        // The peer has given up.
        dscp.unwrap_or_default()
    }

    /// Answers the peer, and sends it packets with this DSCP. The stream can be written to and read from at once.
    ///
    /// # Errors
    ///
    /// The peer has given up, or the stack is full or has ended.
    pub fn admit(mut self, dscp: Dscp) -> io::Result<TcpStream> {
        self.decided = true;
        let shared = &self.handle.shared;
        let id = shared.update(|core| {
            core.check_running()?;
            let now = shared.clock.now();
            let id = core.host.admit(now, &self.ends).map_err(io_error)?;
            core.adopt(id);
            core.host.set_dscp(now, id, dscp).map_err(io_error)?;
            io::Result::Ok(id)
        })?;
        Ok(TcpStream::new(self.handle.clone(), id))
    }

    /// Tells the peer that there is no connection.
    pub fn refuse(mut self, refusal: Refusal) {
        self.decided = true;
        self.handle.shared.update(|core| core.host.refuse(&self.ends, refusal));
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.decided {
            self.handle.shared.with_core(|core| core.host.refuse(&self.ends, Refusal::Silence));
        }
    }
}
