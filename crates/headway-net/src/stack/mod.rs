//! A TCP host on a carrier, and what programs see of it.
//!
//! [`driver`] is the thread between carrier and host, [`shared`] what it shares with the programs'
//! tasks, [`listener`] and [`stream`] are the programs' side, [`reporter`] gives events away.

mod driver;
mod listener;
mod reporter;
mod shared;
mod stream;

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration as StdDuration;

use headway_tcp::{HackMode, Host, HostConfig, HostCounters, Profile};
use headway_units::Duration;

use crate::{CaptureFile, Carrier, Clock, LogFile, NetError};
pub use listener::{Accepted, TcpListener};
use reporter::Reporter;
use shared::{Handle, Shared};
pub use stream::TcpStream;

/// What a stack is told when it starts.
#[derive(Default)]
pub struct StackConfig {
    /// The addresses that it answers to.
    pub addresses: Vec<IpAddr>,
    /// What connections are told, unless they are told otherwise; `None`: [`Profile::modern`]. The
    /// MTU is never more than the carrier's, and of what is written at most 1 MiB waits to be sent for the
    /// first time: while it waits it leaves the processor's cache.
    pub profile: Option<Profile>,
    /// Connections at most; 0 stands for 1,048,576.
    pub max_connections: usize,
    /// Gets every packet, in and out, as the one interface 0.
    pub capture: Option<CaptureFile>,
    /// Gets every event.
    pub log: Option<LogFile>,
}

/// Octets that wait to be sent at most: what 10 Gbit/s carry in almost a millisecond.
const NOT_SENT: usize = 1 << 20;

/// A TCP host on a carrier, driven by a thread of its own. Packets wait in the carrier until the first
/// call of [`Stack::listen`] or [`Stack::connect`]. Clones are the same stack; when the last
/// of them and of its listeners and streams is gone, connections that are left are aborted and the
/// thread ends.
#[derive(Clone)]
pub struct Stack {
    handle: Arc<Handle>,
}

impl Stack {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// There is no address, the profile cannot work or not on this carrier, or the system has no thread or no randomness.
    pub fn start(carrier: impl Carrier + 'static, config: StackConfig) -> Result<Self, NetError> {
        if config.addresses.is_empty() {
            return Err(NetError::BadAddress { got: "no address".into(), expected: "at least one" });
        }
        let mut profile = config.profile.unwrap_or_else(Profile::modern);
        profile.mtu = profile.mtu.min(carrier.mtu());
        profile.not_sent = profile.not_sent.min(NOT_SENT);
        profile.check().map_err(NetError::Profile)?;
        let carries_hack = carrier.keeps_segments();
        if profile.hack != HackMode::Off && !carries_hack {
            return Err(NetError::NoHack(carrier.name()));
        }
        // RFC 6528, 3: the secret must be out of an attacker's reach.
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(|error| NetError::Start(io::Error::other(error.to_string())))?;
        let mut host_config = HostConfig::new(config.addresses[0], secret);
        host_config.addresses.clone_from(&config.addresses);
        if config.max_connections > 0 {
            host_config.max_connections = config.max_connections;
        }
        let host = Host::with_observer(host_config, Reporter::new(config.log));
        let clock = Clock::new();
        let (shared, kicks) = Shared::new(host, clock).map_err(NetError::Start)?;
        let driver = driver::Driver::new(carrier, shared.clone(), kicks, config.capture);
        thread::Builder::new()
            .name("headway-stack".into())
            .spawn(move || driver.run())
            .map_err(NetError::Start)?;
        let handle = Handle { shared, addresses: config.addresses, profile: Arc::new(profile), carries_hack };
        Ok(Self { handle: Arc::new(handle) })
    }

    /// What connections are told unless they are told otherwise.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.handle.profile
    }

    /// Listens at `local`; port and address as [`Host::listen`] says. At most `backlog` connections
    /// wait to be accepted.
    ///
    /// # Errors
    ///
    /// Something listens there already, the address is not ours, or the stack has ended.
    pub fn listen(&self, local: SocketAddr, backlog: usize) -> io::Result<TcpListener> {
        let profile = self.handle.profile.clone();
        let id = self.handle.shared.enter(|core| {
            core.check_running()?;
            core.started = true;
            core.host.listen(local, backlog, profile).map_err(shared::io_error)
        })?;
        Ok(TcpListener::new(self.handle.clone(), id, local))
    }

    /// Connects to `remote` from our first address of its family.
    ///
    /// # Errors
    ///
    /// We have no such address, the peer refuses or does not answer, or the stack has ended.
    pub async fn connect(&self, remote: SocketAddr) -> io::Result<TcpStream> {
        self.connect_with(remote, self.handle.profile.clone()).await
    }

    /// As [`Stack::connect`], with a profile of its own, whose MTU must not exceed the stack's, and which
    /// must not have HACK where the carrier cannot carry it ([`Carrier::keeps_segments`]).
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn connect_with(&self, remote: SocketAddr, profile: Arc<Profile>) -> io::Result<TcpStream> {
        if profile.mtu > self.handle.profile.mtu {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "an MTU of {}: expected at most the stack's, {}",
                    profile.mtu, self.handle.profile.mtu
                ),
            ));
        }
        if profile.hack != HackMode::Off && !self.handle.carries_hack {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a profile with HACK: expected one without, as the carrier puts segments together",
            ));
        }
        let ours = self.handle.addresses.iter().find(|address| address.is_ipv4() == remote.is_ipv4());
        let ours = *ours.ok_or_else(|| {
            let message = format!("{remote}: this stack has no address of that family");
            io::Error::new(io::ErrorKind::AddrNotAvailable, message)
        })?;
        let shared = &self.handle.shared;
        let id = shared.enter(|core| {
            core.check_running()?;
            core.started = true;
            let id = core
                .host
                .connect(shared.clock.now(), SocketAddr::new(ours, 0), remote, profile)
                .map_err(shared::io_error)?;
            core.adopt(id);
            io::Result::Ok(id)
        })?;
        // Dropped before it is connected, it gives the attempt up.
        let stream = TcpStream::new(self.handle.clone(), id);
        stream.connected().await?;
        Ok(stream)
    }

    /// What the host counted apart from its connections.
    pub fn counters(&self) -> HostCounters {
        self.handle.shared.look(|core| core.host.counters())
    }

    /// Connections in any state.
    pub fn connections(&self) -> usize {
        self.handle.shared.look(|core| core.host.connections())
    }

    /// Ends the stack: waits until every connection has been closed by its owner and the peer has all
    /// that was written, for `grace` at most, then aborts what is left and finishes the capture.
    /// Connections in TIME-WAIT are not waited for.
    ///
    /// # Errors
    ///
    /// The carrier failed while the stack ran, or the capture or the log could not be written.
    pub async fn close(self, grace: StdDuration) -> io::Result<()> {
        let grace = Duration::from_nanos(u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX));
        let shared = &self.handle.shared;
        shared.enter(|core| {
            let until = shared.clock.now() + grace;
            core.closing = Some(core.closing.map_or(until, |earlier| earlier.min(until)));
        });
        poll_fn(|cx| {
            shared.look(|core| match core.outcome.take() {
                Some(outcome) => Poll::Ready(outcome),
                None if core.ended => Poll::Ready(Ok(())),
                None => {
                    core.closers.push(cx.waker().clone());
                    Poll::Pending
                }
            })
        })
        .await
    }
}
