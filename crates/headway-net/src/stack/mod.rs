//! A TCP host on a carrier, and its streams.
//!
//! [`driver`] is the thread between carrier and host, [`shared`] is the state that it shares with the
//! programs' tasks, [`listener`] and [`stream`] are the programs' interface, [`reporter`] forwards
//! events.

mod driver;
mod interceptor;
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

use headway_tcp::congestion::{DomainStatus, StartEstimate};
use headway_tcp::{ConnectionId, DomainId, HackMode, Host, HostConfig, HostCounters, Path, Profile};
use headway_units::{Duration, Instant};

use crate::{CaptureFile, Carrier, Clock, LogFile, NetError, QlogFile};
pub use interceptor::{Incoming, Interceptor};
pub use listener::{Accepted, TcpListener};
use reporter::Reporter;
use shared::{Handle, Shared};
pub use stream::{Runs, TcpStream};

/// The configuration of a stack.
#[derive(Default)]
pub struct StackConfig {
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// The default profile of connections; `None`: [`Profile::modern`]. The MTU is limited to the
    /// carrier's, and the unsent data in a send buffer to 1 MiB, so that it stays in the processor's
    /// cache.
    pub profile: Option<Profile>,
    /// The maximum number of connections; 0 means 1,048,576.
    pub max_connections: usize,
    /// Records every packet, received and sent, as interface 0.
    pub capture: Option<CaptureFile>,
    /// Records every event.
    pub log: Option<LogFile>,
    /// Records every event as qlog.
    pub qlog: Option<QlogFile>,
}

/// The maximum of unsent bytes: what 10 Gbit/s transmit in almost a millisecond.
const NOT_SENT: usize = 1 << 20;

/// A TCP host on a carrier, driven by a thread of its own. Packets wait in the carrier until the first
/// call of [`Stack::listen`] or [`Stack::connect`]. Clones share the stack; when the last of them and of
/// its listeners and streams is dropped, remaining connections are aborted and the thread ends.
#[derive(Clone)]
pub struct Stack {
    handle: Arc<Handle>,
}

impl Stack {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// There is no address, the profile is invalid or not supported by this carrier, or the system
    /// provides no thread or no randomness.
    pub fn start(carrier: impl Carrier + 'static, config: StackConfig) -> Result<Self, NetError> {
        if config.addresses.is_empty() {
            return Err(NetError::BadAddress { got: "no address".into(), expected: "at least one" });
        }
        let mut profile = config.profile.unwrap_or_else(Profile::modern);
        profile.mtu = profile.mtu.min(carrier.mtu());
        let properties = carrier.properties();
        profile.tagged_payloads = properties.tags_payloads;
        profile.compact_headers = properties.compacts_headers;
        profile.not_sent = profile.not_sent.min(NOT_SENT);
        profile.check().map_err(NetError::Profile)?;
        let carries_hack = properties.keeps_segments;
        if profile.hack != HackMode::Off && !carries_hack {
            return Err(NetError::NoHack(carrier.name()));
        }
        // RFC 6528, 3: the secret must be unknown to an attacker.
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(|error| NetError::Start(io::Error::other(error.to_string())))?;
        let mut host_config = HostConfig::new(config.addresses[0], secret);
        host_config.addresses.clone_from(&config.addresses);
        if config.max_connections > 0 {
            host_config.max_connections = config.max_connections;
        }
        let host = Host::with_observer(host_config, Reporter::new(config.log, config.qlog));
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

    /// The default profile of connections.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.handle.profile
    }

    /// The time of its clock, which is its carrier's too. It follows no later change of the machine's real time.
    pub fn now(&self) -> Instant {
        self.handle.shared.clock.now()
    }

    /// Its addresses.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.handle.addresses
    }

    /// It answers to `address` too, from now on.
    pub fn add_address(&self, address: IpAddr) {
        self.handle.shared.update(|core| core.host.add_address(address));
    }

    /// Has the carrier do what is due, such as changes that a [`TunnelMonitor`](crate::TunnelMonitor) was given.
    pub fn wake(&self) {
        self.handle.shared.update(|_| ());
    }

    /// Listens at `local`; port and address as for [`Host::listen`]. At most `backlog` connections
    /// wait to be accepted.
    ///
    /// # Errors
    ///
    /// The address is in use or not the stack's, or the stack has ended.
    pub fn listen(&self, local: SocketAddr, backlog: usize) -> io::Result<TcpListener> {
        let profile = self.handle.profile.clone();
        let id = self.handle.shared.update(|core| {
            core.check_running()?;
            core.started = true;
            core.host.listen(local, backlog, profile).map_err(shared::io_error)
        })?;
        Ok(TcpListener::new(self.handle.clone(), id, local))
    }

    /// Takes connections to every address and port ([`Host::intercept`]); at most `backlog` wait for a decision. What
    /// is for other protocols stays the carrier's: [`DivertingCarrier`](crate::DivertingCarrier).
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn intercept(&self, backlog: usize) -> io::Result<Interceptor> {
        let profile = self.handle.profile.clone();
        self.handle.shared.update(|core| {
            core.check_running()?;
            core.started = true;
            core.host.intercept(backlog, profile).map_err(shared::io_error)
        })?;
        Ok(Interceptor::new(self.handle.clone()))
    }

    /// Connects to `remote` from our first address of its family.
    ///
    /// # Errors
    ///
    /// The stack has no address of this family, the peer refuses or does not answer, or the stack has
    /// ended.
    pub async fn connect(&self, remote: SocketAddr) -> io::Result<TcpStream> {
        self.connect_with(remote, self.handle.profile.clone()).await
    }

    /// Makes a congestion domain for connections of the default profile ([`Host::open_domain`]), which starts from `start`.
    ///
    /// # Errors
    ///
    /// The stack has ended.
    pub fn open_domain(&self, start: Option<StartEstimate>) -> io::Result<DomainId> {
        let profile = Profile { start, ..Profile::clone(&self.handle.profile) };
        self.handle.shared.update(|core| {
            core.check_running()?;
            core.host.open_domain(&profile).map_err(shared::io_error)
        })
    }

    /// As [`Stack::listen`]; the connections share `domain`.
    ///
    /// # Errors
    ///
    /// As for [`Stack::listen`], or the domain is unknown.
    pub fn listen_in(&self, domain: DomainId, local: SocketAddr, backlog: usize) -> io::Result<TcpListener> {
        let listener = self.listen(local, backlog)?;
        let update = |core: &mut shared::Core| core.host.set_listener_domain(listener.id(), Some(domain));
        self.handle.shared.update(update).map_err(shared::io_error)?;
        Ok(listener)
    }

    /// As [`Stack::connect`], from the address `local`, in a congestion domain that the connection shares.
    ///
    /// # Errors
    ///
    /// As for [`Stack::connect`], or the domain is unknown.
    pub async fn connect_in(
        &self,
        domain: DomainId,
        local: IpAddr,
        remote: SocketAddr,
    ) -> io::Result<TcpStream> {
        let profile = self.handle.profile.clone();
        let local = SocketAddr::new(local, 0);
        self.open(|host, now| host.connect_in(now, domain, local, remote, profile)).await
    }

    /// As [`Stack::connect`], with its own profile, whose MTU must not exceed the stack's, and which must
    /// not have HACK if the carrier does not support it ([`CarrierProperties::keeps_segments`](crate::CarrierProperties::keeps_segments)).
    ///
    /// # Errors
    /// As for [`Stack::connect`].
    pub async fn connect_with(&self, remote: SocketAddr, mut profile: Arc<Profile>) -> io::Result<TcpStream> {
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
                "a profile with HACK: expected one without, as the carrier coalesces segments",
            ));
        }
        let Profile { tagged_payloads, compact_headers, .. } = *self.handle.profile;
        if (profile.tagged_payloads, profile.compact_headers) != (tagged_payloads, compact_headers) {
            let profile = Arc::make_mut(&mut profile);
            (profile.tagged_payloads, profile.compact_headers) = (tagged_payloads, compact_headers);
        }
        let ours = self.handle.addresses.iter().find(|address| address.is_ipv4() == remote.is_ipv4());
        let ours = *ours.ok_or_else(|| {
            let message = format!("{remote}: this stack has no address of that family");
            io::Error::new(io::ErrorKind::AddrNotAvailable, message)
        })?;
        self.open(|host, now| host.connect(now, SocketAddr::new(ours, 0), remote, profile)).await
    }

    /// Opens a connection and waits for its handshake.
    async fn open(
        &self,
        open: impl FnOnce(&mut Host<Reporter>, Instant) -> Result<ConnectionId, headway_tcp::Error>,
    ) -> io::Result<TcpStream> {
        let shared = &self.handle.shared;
        let id = shared.update(|core| {
            core.check_running()?;
            core.started = true;
            let id = open(&mut core.host, shared.clock.now()).map_err(shared::io_error)?;
            core.adopt(id);
            io::Result::Ok(id)
        })?;
        // If dropped before it is connected, the attempt is aborted.
        let stream = TcpStream::new(self.handle.clone(), id);
        stream.connected().await?;
        Ok(stream)
    }

    /// What is known of a congestion domain ([`Host::domain_status`]).
    ///
    /// # Errors
    ///
    /// The domain is unknown.
    pub fn domain_status(&self, domain: DomainId) -> io::Result<DomainStatus> {
        self.handle.shared.with_core(|core| core.host.domain_status(domain)).map_err(shared::io_error)
    }

    /// What is known of the path from `local` to `remote`, if anything ([`Host::path`]).
    pub fn path(&self, local: IpAddr, remote: IpAddr) -> Option<Path> {
        self.handle.shared.with_core(|core| core.host.path(local, remote).cloned())
    }

    /// What the system has said of the packets sent since the last one arrived, such as an ICMP error over UDP.
    pub fn trouble(&self) -> Option<String> {
        self.handle.shared.with_core(|core| core.trouble.clone())
    }

    /// The counters of the host.
    pub fn counters(&self) -> HostCounters {
        self.handle.shared.with_core(|core| core.host.counters())
    }

    /// Bytes of heap that the connections of streams use, those that are closing among them.
    pub fn memory(&self) -> usize {
        self.handle.shared.with_core(|core| core.memory())
    }

    /// Connections in any state.
    pub fn connections(&self) -> usize {
        self.handle.shared.with_core(|core| core.host.connections())
    }

    /// Ends the stack at once: every connection is aborted.
    pub fn abort(&self) {
        self.handle.shared.update(|core| core.closing = Some(Instant::ZERO));
    }

    /// Ends the stack: waits for at most `grace` until every connection is closed by its owner and all
    /// written data is acknowledged, then aborts the remaining connections and finishes the capture. It
    /// does not wait for connections in TIME-WAIT.
    ///
    /// # Errors
    ///
    /// The carrier failed while the stack ran, or the capture or the log could not be written.
    pub async fn close(self, grace: StdDuration) -> io::Result<()> {
        let grace = Duration::from_nanos(u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX));
        let shared = &self.handle.shared;
        shared.update(|core| {
            let until = shared.clock.now() + grace;
            core.closing = Some(core.closing.map_or(until, |earlier| earlier.min(until)));
        });
        poll_fn(|cx| {
            shared.with_core(|core| match core.outcome.take() {
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
