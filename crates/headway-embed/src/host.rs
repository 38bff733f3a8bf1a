//! A host, step by step.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use headway_sim::derive_seed;
use headway_tcp::congestion::Custom;
use headway_tcp::{
    ConnectionError, ConnectionId, Endpoints, Host, HostConfig, HostCounters, ListenerId, Notification,
    OnlyPeer, Profile, State, Statistics,
};
use headway_units::Instant;
use headway_wire::{ChecksumTrust, Received};

use crate::numbers::{self, Numbers};
use crate::{Error, Keys, NEVER, settings};

/// A TCP host: IP packets and times go in, IP packets and times come out.
///
/// The turn of a network's loop is that of [`headway_tcp::Host`]: [`receive`](Self::receive) what has arrived,
/// [`handle_timeout`](Self::handle_timeout) when its time has come, let programs read and write,
/// [`poll_transmit`](Self::poll_transmit) until there is nothing to send, and wait until
/// [`next_deadline`](Self::next_deadline) or the next packet.
pub struct EmbeddedHost {
    host: Host,
    profile: Arc<Profile>,
    only_peer: Option<OnlyPeer>,
    connections: Numbers<ConnectionId>,
    listeners: Vec<(u64, ListenerId)>,
    clock: Clock,
}

/// What a packet that arrived was, by its checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketIntegrity {
    /// A TCP segment as it was sent, or with damage that no checksum detects.
    Intact,
    /// A TCP segment whose header is valid and whose payload is corrupted.
    Corrupted,
    /// A packet whose header is corrupted.
    Unreadable,
    /// ICMP or ICMPv6.
    Icmp,
    /// A packet of another protocol.
    OtherProtocol,
    /// TCP that was sent like this and cannot be parsed.
    Malformed,
}

/// What is counted on the path between two addresses, for all connections on it: the causes of losses of what was
/// sent, as the cause ledger gives them (for senders that have it), and the damage of what arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Segments that special ACKs reported damaged.
    pub reported: u64,
    /// Damaged packets that the peer counted, reported ones among them.
    pub counted: u64,
    /// Losses that were not reported and were taken for damage.
    pub damage: u64,
    /// Losses that were taken for congestion.
    pub congestion: u64,
    /// Losses for which there was no evidence; they were answered like congestion.
    pub unknown: u64,
    /// ECN marks that the peer echoed.
    pub marks: u64,
    /// Arrived intact.
    pub arrived_intact: u64,
    /// Arrived with a valid header and a corrupted payload.
    pub arrived_corrupted: u64,
    /// Arrived with a header that could not be read.
    pub arrived_unreadable: u64,
    /// Arrived with a damaged header that was repaired.
    pub arrived_repaired: u64,
}

/// The latest time that was given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock(u64);

impl Clock {
    pub(crate) fn advance(&mut self, now: u64) -> Result<Instant, Error> {
        if now < self.0 || now == NEVER {
            return Err(Error::Time { given: now, latest: self.0 });
        }
        self.0 = now;
        Ok(Instant::from_nanos(now))
    }
}

impl EmbeddedHost {
    /// A host of one IP address, whose connections have what `keys` say: `variant` (`headway` unless given),
    /// `profile`, `cc`, `rules`, features such as `partial=off`, `window`, `mtu`, `retries`. Its secrets (sequence
    /// numbers, ports) come from `seed` and `name`: hosts of one network have different names.
    ///
    /// # Errors
    ///
    /// The address is none, or a key is unknown or has a value that makes no sense.
    pub fn new(address: &str, keys: &Keys, name: &str, seed: u64) -> Result<Self, Error> {
        Self::with_controllers(address, keys, name, seed, None)
    }

    /// As [`new`](Self::new), with the congestion controllers of connections whose sender is called `custom`
    /// (`variant=modern:custom`).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_controllers(
        address: &str,
        keys: &Keys,
        name: &str,
        seed: u64,
        custom: Option<Custom>,
    ) -> Result<Self, Error> {
        let address = ip_address(address)?;
        let mut secret = [0; 16];
        for (half, bytes) in secret.chunks_exact_mut(8).enumerate() {
            bytes.copy_from_slice(&derive_seed(seed, name, half as u64).to_le_bytes());
        }
        Ok(Self {
            host: Host::new(HostConfig::new(address, secret)),
            profile: settings::profile(keys, custom)?,
            only_peer: None,
            connections: Numbers::new(),
            listeners: Vec::new(),
            clock: Clock::default(),
        })
    }

    /// The largest IP packet that the host sends, in bytes.
    pub fn mtu(&self) -> usize {
        usize::from(self.profile.mtu)
    }

    /// The host answers to this address too.
    ///
    /// # Errors
    ///
    /// The text is no address.
    pub fn add_address(&mut self, address: &str) -> Result<(), Error> {
        self.host.add_address(ip_address(address)?);
        Ok(())
    }

    /// Whatever arrives was sent by the host at `remote`: a packet whose IP header is corrupted is then counted as one
    /// of its packets, and is not dropped unseen. For links with exactly two ends.
    ///
    /// # Errors
    ///
    /// A text is no address.
    pub fn set_only_peer(&mut self, local: &str, remote: &str) -> Result<(), Error> {
        self.only_peer = Some(OnlyPeer::new(ip_address(local)?, ip_address(remote)?));
        Ok(())
    }

    // --- connections --------------------------------------------------------------------------------

    /// Listens at `local`, as `192.0.2.1:80` or `[2001:db8::1]:80`, for at most `backlog` connections that open or
    /// wait to be accepted. Gives the number of the listener.
    ///
    /// # Errors
    ///
    /// The text is no address with a port, or the host refuses ([`Host::listen`]).
    pub fn listen(&mut self, local: &str, backlog: usize) -> Result<u64, Error> {
        let id = self.host.listen(end(local)?, backlog, self.profile.clone()).map_err(Error::Tcp)?;
        let number = numbers::next();
        self.listeners.push((number, id));
        Ok(number)
    }

    /// The connection that has been waiting longest at a listener, if any.
    ///
    /// # Errors
    ///
    /// The listener is unknown.
    pub fn accept(&mut self, listener: u64) -> Result<Option<u64>, Error> {
        let id = self.listener(listener)?;
        Ok(self.host.accept(id).map(|id| self.connections.number(id)))
    }

    /// Stops listening; connections that were not accepted are aborted.
    ///
    /// # Errors
    ///
    /// The listener is unknown, or time runs backwards.
    pub fn close_listener(&mut self, now: u64, listener: u64) -> Result<(), Error> {
        let id = self.listener(listener)?;
        let now = self.clock.advance(now)?;
        self.listeners.retain(|(number, _)| *number != listener);
        self.host.close_listener(now, id).map_err(Error::Tcp)
    }

    /// Opens a connection from `local`, whose port may be 0 for a free one, to `remote`. Gives its number.
    ///
    /// # Errors
    ///
    /// A text is no address with a port, time runs backwards, or the host refuses ([`Host::connect`]).
    pub fn connect(&mut self, now: u64, local: &str, remote: &str) -> Result<u64, Error> {
        let (local, remote) = (end(local)?, end(remote)?);
        let now = self.clock.advance(now)?;
        let id = self.host.connect(now, local, remote, self.profile.clone()).map_err(Error::Tcp)?;
        Ok(self.connections.number(id))
    }

    /// Takes as much of `data` as the send buffer has room for; gives how much that was. After a short write
    /// [`Notification::Writable`] follows.
    ///
    /// # Errors
    ///
    /// The connection is unknown, failed, or closed for sending.
    pub fn write(&mut self, connection: u64, data: &[u8]) -> Result<usize, Error> {
        let id = self.connection(connection)?;
        self.host.write(id, data).map_err(Error::Tcp)
    }

    /// Bytes that [`EmbeddedHost::write`] would take now.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn writable(&self, connection: u64) -> Result<usize, Error> {
        Ok(self.host.writable(self.connection(connection)?))
    }

    /// Bytes that [`EmbeddedHost::read`] would give now.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn readable(&self, connection: u64) -> Result<usize, Error> {
        Ok(self.host.readable(self.connection(connection)?))
    }

    /// Gives at most `room` received bytes to `take`, in one piece or two, and drops them. Gives how many.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn read(
        &mut self,
        connection: u64,
        room: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<usize, Error> {
        let id = self.connection(connection)?;
        let (first, second) = self.host.peek(id);
        let first = &first[..first.len().min(room)];
        let second = &second[..second.len().min(room - first.len())];
        let len = first.len() + second.len();
        for piece in [first, second] {
            if !piece.is_empty() {
                take(piece);
            }
        }
        self.host.consume(id, len);
        Ok(len)
    }

    /// Whether the peer has closed its side, or the connection is over, and all is read.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn is_finished(&self, connection: u64) -> Result<bool, Error> {
        Ok(self.host.is_finished(self.connection(connection)?))
    }

    /// Ends our side after what was written (FIN); the peer may go on sending.
    ///
    /// # Errors
    ///
    /// The connection is unknown, or time runs backwards.
    pub fn shutdown(&mut self, now: u64, connection: u64) -> Result<(), Error> {
        let id = self.connection(connection)?;
        let now = self.clock.advance(now)?;
        self.host.close(now, id).map_err(Error::Tcp)
    }

    /// Ends the connection at once (RST); what was not sent or read is dropped.
    ///
    /// # Errors
    ///
    /// The connection is unknown, or time runs backwards.
    pub fn abort(&mut self, now: u64, connection: u64) -> Result<(), Error> {
        let id = self.connection(connection)?;
        let now = self.clock.advance(now)?;
        self.host.abort(now, id).map_err(Error::Tcp)
    }

    /// The program needs the connection no more: its number is forgotten, and what is open is closed.
    ///
    /// # Errors
    ///
    /// The connection is unknown, or time runs backwards.
    pub fn release(&mut self, now: u64, connection: u64) -> Result<(), Error> {
        let id = self.connection(connection)?;
        let now = self.clock.advance(now)?;
        self.host.release(now, id);
        self.connections.forget(connection);
        Ok(())
    }

    /// The state of a connection.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn state(&self, connection: u64) -> Result<State, Error> {
        Ok(self.host.state(self.connection(connection)?))
    }

    /// Why a connection failed, if it did.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn failure(&self, connection: u64) -> Result<Option<ConnectionError>, Error> {
        Ok(self.host.error(self.connection(connection)?))
    }

    /// The two ends of a connection.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn endpoints(&self, connection: u64) -> Result<Endpoints, Error> {
        self.host.endpoints(self.connection(connection)?).ok_or(Error::UnknownConnection(connection))
    }

    /// Counters and estimates of a connection.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn statistics(&self, connection: u64) -> Result<Statistics, Error> {
        self.host.statistics(self.connection(connection)?).ok_or(Error::UnknownConnection(connection))
    }

    /// What is counted on the path of a connection.
    ///
    /// # Errors
    ///
    /// The connection is unknown.
    pub fn path_counts(&self, connection: u64) -> Result<PathCounts, Error> {
        let Endpoints { local, remote } = self.endpoints(connection)?;
        let Some(path) = self.host.path(local.ip(), remote.ip()) else { return Ok(PathCounts::default()) };
        let causes = path.ledger.attributed();
        Ok(PathCounts {
            reported: causes.reported,
            counted: causes.counted,
            damage: causes.damage,
            congestion: causes.congestion,
            unknown: causes.unknown,
            marks: causes.marks,
            arrived_intact: path.intact,
            arrived_corrupted: path.corrupted,
            arrived_unreadable: path.unreadable,
            arrived_repaired: path.repaired,
        })
    }

    /// The next thing that a program should know, if any. To be asked until `None`.
    pub fn poll_notification(&mut self) -> Option<(u64, Notification)> {
        loop {
            let (id, notification) = self.host.poll_notification()?;
            // One that was released has no one to notify.
            if let Some(number) = self.connections.known(id) {
                return Some((number, notification));
            }
        }
    }

    // --- the network --------------------------------------------------------------------------------

    /// An IP packet arrived. Gives what its checksums said of it.
    ///
    /// # Errors
    ///
    /// Time runs backwards. No packet is an error, whatever its bytes.
    pub fn receive(&mut self, now: u64, packet: &[u8]) -> Result<PacketIntegrity, Error> {
        let now = self.clock.advance(now)?;
        let received = Received::parse(packet, ChecksumTrust::None);
        match &mut self.only_peer {
            Some(peer) => self.host.receive_from_only_peer(now, peer, packet, &received),
            None => self.host.receive(now, &received),
        }
        Ok(match received {
            Received::Intact(_) => PacketIntegrity::Intact,
            Received::Corrupted(_) => PacketIntegrity::Corrupted,
            Received::Unreadable(_) => PacketIntegrity::Unreadable,
            Received::Icmp { .. } => PacketIntegrity::Icmp,
            Received::OtherProtocol(_) => PacketIntegrity::OtherProtocol,
            Received::Malformed(_) => PacketIntegrity::Malformed,
        })
    }

    /// Writes the next IP packet to send into `buffer`; gives its length. `None` if there is nothing to send now.
    ///
    /// # Errors
    ///
    /// Time runs backwards, or the buffer is shorter than [`EmbeddedHost::mtu`].
    pub fn poll_transmit(&mut self, now: u64, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        if buffer.len() < self.mtu() {
            return Err(Error::ShortBuffer { given: buffer.len(), needed: self.mtu() });
        }
        let now = self.clock.advance(now)?;
        Ok(self.host.poll_transmit(now, buffer).map(|sent| sent.len))
    }

    /// When to call [`EmbeddedHost::handle_timeout`] at the latest, in nanoseconds; `None`: nothing waits for time.
    /// Valid after [`EmbeddedHost::poll_transmit`] gave `None`.
    pub fn next_deadline(&mut self) -> Option<u64> {
        self.host.next_deadline().filter(|at| *at != Instant::MAX).map(Instant::as_nanos)
    }

    /// Lets every timer expire whose time has come.
    ///
    /// # Errors
    ///
    /// Time runs backwards.
    pub fn handle_timeout(&mut self, now: u64) -> Result<(), Error> {
        let now = self.clock.advance(now)?;
        self.host.handle_timeout(now);
        Ok(())
    }

    /// What the host counted apart from its connections.
    pub fn counters(&self) -> HostCounters {
        self.host.counters()
    }

    fn connection(&self, number: u64) -> Result<ConnectionId, Error> {
        self.connections.value(number).ok_or(Error::UnknownConnection(number))
    }

    fn listener(&self, number: u64) -> Result<ListenerId, Error> {
        let known = self.listeners.iter().find(|(known, _)| *known == number);
        known.map(|(_, id)| *id).ok_or(Error::UnknownListener(number))
    }
}

fn ip_address(text: &str) -> Result<IpAddr, Error> {
    let expected = "an IP address, such as 192.0.2.1 or 2001:db8::1";
    text.parse().map_err(|_| Error::Address { input: text.to_owned(), expected })
}

fn end(text: &str) -> Result<SocketAddr, Error> {
    let expected = "an IP address with a port, such as 192.0.2.1:80 or [2001:db8::1]:80";
    text.parse().map_err(|_| Error::Address { input: text.to_owned(), expected })
}
