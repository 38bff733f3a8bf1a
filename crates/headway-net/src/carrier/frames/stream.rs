//! Frames in a stream of bytes: a serial device, or TCP to the program of a TNC. A stream that ends is opened again.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration as StdDuration;

use headway_units::{Duration, Instant};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use socket2::{Domain, Socket, Type};

use super::framing::Framing;
use super::link::FrameLink;
use super::serial;
use crate::NetError;

/// How long the first attempt to connect to a TNC may take.
const CONNECT_LIMIT: StdDuration = StdDuration::from_secs(5);
/// A stream that has ended is opened again after this time, and again so if that failed.
const REOPEN_EVERY: Duration = Duration::from_secs(1);
/// How long a further attempt may take.
const REOPEN_LIMIT: Duration = Duration::from_secs(10);
/// What is read at once. It has fewer frames than a batch, so nothing is left for which the stream would not be readable.
const CHUNK: usize = 1024;
/// Bytes without a readable frame after which a message says so.
const MANY_UNREADABLE: usize = 5000;

/// The place of a stream: `HOST:PORT` of TCP, or `DEVICE:SPEED` of a serial device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamPlace {
    /// TCP.
    Tcp(String),
    /// A serial device.
    Serial {
        /// Its path.
        device: PathBuf,
        /// Bits per second.
        speed: u32,
    },
}

impl FromStr for StreamPlace {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str =
            "expected HOST:PORT, such as 127.0.0.1:8001, or DEVICE:SPEED, such as /dev/ttyUSB0:57600";
        let (place, number) = text.rsplit_once(':').filter(|(place, _)| !place.is_empty()).ok_or(EXPECTED)?;
        if place.contains('/') {
            let speed = number.parse().ok().filter(|speed| *speed > 0).ok_or(EXPECTED)?;
            return Ok(Self::Serial { device: place.into(), speed });
        }
        number.parse::<u16>().ok().filter(|port| *port > 0).ok_or(EXPECTED)?;
        Ok(Self::Tcp(text.into()))
    }
}

impl fmt::Display for StreamPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => f.write_str(address),
            Self::Serial { device, speed } => write!(f, "{}:{speed}", device.display()),
        }
    }
}

/// An open stream.
enum Stream {
    Tcp(TcpStream),
    Serial(std::fs::File),
}

impl Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Serial(file) => file.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Serial(file) => file.write(bytes),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Serial(file) => file.as_fd(),
        }
    }
}

/// Frames in a stream of bytes.
pub(super) struct StreamLink<F> {
    place: StreamPlace,
    /// Those of a TNC over TCP; the next attempt is at the first.
    addresses: Vec<SocketAddr>,
    framing: F,
    /// Readable where the stream is, or where it is writable and something waits. It stays the same when the stream is opened again, and is never
    /// writable.
    epoll: OwnedFd,
    stream: Option<Stream>,
    /// A connection that is being opened.
    connecting: Option<Socket>,
    received: Vec<u8>,
    /// How many of them were taken.
    taken: usize,
    /// A chunk was read since [`FrameLink::read`] said last that there is nothing.
    has_chunk: bool,
    /// What is to be written.
    pending: Vec<u8>,
    turnaround: Duration,
    /// Something was received since the time was told last.
    has_received: bool,
    now: Instant,
    /// Nothing is sent before.
    quiet_until: Instant,
    /// When a stream that has ended is opened again.
    reopen_at: Option<Instant>,
    /// Bytes that were received since a frame was readable.
    unreadable: usize,
    trouble: Option<String>,
}

impl<F: Framing> StreamLink<F> {
    /// Opens the stream. After a received frame nothing is sent for the time of `turnaround`.
    pub(super) fn open(place: StreamPlace, framing: F, turnaround: Duration) -> Result<Self, NetError> {
        let failed = |source, expected| NetError::Frames { what: place.to_string(), source, expected };
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|error| NetError::Start(error.into()))?;
        let mut addresses = Vec::new();
        let stream = match &place {
            StreamPlace::Tcp(address) => {
                const EXPECTED: &str = "the address of a TNC's KISS port";
                addresses = address.to_socket_addrs().map_err(|error| failed(error, EXPECTED))?.collect();
                connect_to_one(&mut addresses).map(Stream::Tcp).map_err(|error| failed(error, EXPECTED))?
            }
            StreamPlace::Serial { device, speed } => {
                serial::open(device, *speed).map(Stream::Serial).map_err(|error| {
                    failed(error, "a serial device that this user may open, and a speed that it has")
                })?
            }
        };
        let mut link = Self {
            place,
            addresses,
            framing,
            epoll,
            stream: None,
            connecting: None,
            received: Vec::new(),
            taken: 0,
            has_chunk: false,
            pending: Vec::new(),
            turnaround,
            has_received: false,
            now: Instant::ZERO,
            quiet_until: Instant::ZERO,
            reopen_at: None,
            unreadable: 0,
            trouble: None,
        };
        link.use_stream(stream).map_err(NetError::Start)?;
        Ok(link)
    }

    fn use_stream(&mut self, stream: Stream) -> io::Result<()> {
        epoll::add(&self.epoll, stream.fd(), EventData::new_u64(0), EventFlags::IN)?;
        self.stream = Some(stream);
        self.reopen_at = None;
        self.framing.reset();
        Ok(())
    }

    /// Has the stream wake the driver when something can be written, or not.
    fn wait_to_write(&self, waits: bool) {
        let Some(stream) = &self.stream else { return };
        let wanted = if waits { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        if let Err(error) = epoll::modify(&self.epoll, stream.fd(), EventData::new_u64(0), wanted) {
            tracing::debug!(%error, place = %self.place, "epoll");
        }
    }

    /// The stream has ended.
    fn close(&mut self, why: &str) {
        self.stream = None;
        (self.received, self.taken) = (Vec::new(), 0);
        self.pending.clear();
        tracing::warn!(place = %self.place, why, "the modem is gone: it is opened again when it is back");
        self.reopen_later(why);
    }

    fn reopen_later(&mut self, why: &str) {
        self.reopen_at = Some(self.now + REOPEN_EVERY);
        self.trouble = Some(format!("{}: {why}: it is opened again when it is back", self.place));
    }

    fn reopen(&mut self) {
        self.connecting = None;
        let opened = match &self.place {
            StreamPlace::Serial { device, speed } => serial::open(device, *speed).map(Stream::Serial),
            StreamPlace::Tcp(_) => match self.begin_to_connect() {
                Ok(()) => return self.reopen_at = Some(self.now + REOPEN_LIMIT),
                Err(error) => Err(error),
            },
        };
        match opened.and_then(|stream| self.use_stream(stream)) {
            Ok(()) => tracing::info!(place = %self.place, "the modem is back"),
            Err(error) => self.reopen_later(&error.to_string()),
        }
    }

    /// Without waiting: the driver's thread has other things to do.
    fn begin_to_connect(&mut self) -> io::Result<()> {
        self.addresses.rotate_left(1);
        let address = *self.addresses.first().ok_or(io::ErrorKind::NotFound)?;
        let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking().cloexec(), None)?;
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        epoll::add(&self.epoll, &socket, EventData::new_u64(0), EventFlags::OUT)?;
        self.connecting = Some(socket);
        Ok(())
    }

    /// Whether a connection that was being opened is open now, or failed.
    fn finish_to_connect(&mut self) {
        let Some(socket) = self.connecting.take() else { return };
        let failed = match socket.take_error() {
            Ok(None) if socket.peer_addr().is_err() => return self.connecting = Some(socket),
            Ok(None) => {
                let _ = epoll::delete(&self.epoll, &socket);
                let stream = TcpStream::from(socket);
                let _ = stream.set_nodelay(true);
                match self.use_stream(Stream::Tcp(stream)) {
                    Ok(()) => return tracing::info!(place = %self.place, "the modem is back"),
                    Err(error) => error,
                }
            }
            Ok(Some(error)) | Err(error) => error,
        };
        self.reopen_later(&failed.to_string());
    }

    /// The next frame of what was received.
    fn next_frame(&mut self, buffer: &mut [u8]) -> Option<usize> {
        while let Some(byte) = self.received.get(self.taken) {
            self.taken += 1;
            if let Some(frame) = self.framing.push(*byte) {
                let len = frame.len().min(buffer.len());
                buffer[..len].copy_from_slice(&frame[..len]);
                return Some(len);
            }
        }
        None
    }
}

/// The first of the addresses that can be connected to; it comes to the front.
fn connect_to_one(addresses: &mut [SocketAddr]) -> io::Result<TcpStream> {
    let mut outcome = Err(io::ErrorKind::NotFound.into());
    for index in 0..addresses.len() {
        outcome = TcpStream::connect_timeout(&addresses[index], CONNECT_LIMIT);
        if let Ok(stream) = &outcome {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            addresses.rotate_left(index);
            break;
        }
    }
    outcome
}

impl<F: Framing> FrameLink for StreamLink<F> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    fn name(&self) -> String {
        self.place.to_string()
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.finish_to_connect();
        loop {
            if let Some(len) = self.next_frame(buffer) {
                return Ok(len);
            }
            if std::mem::replace(&mut self.has_chunk, true) {
                self.has_chunk = false;
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let Some(stream) = &mut self.stream else {
                self.has_chunk = false;
                return Err(io::ErrorKind::WouldBlock.into());
            };
            self.received.resize(CHUNK, 0);
            self.taken = 0;
            let read = stream.read(&mut self.received);
            self.received.truncate(*read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.close("it was closed or unplugged"),
                Ok(len) => {
                    self.has_received = true;
                    self.unreadable = self.unreadable.saturating_add(len);
                    if self.unreadable > MANY_UNREADABLE {
                        self.trouble = Some(format!(
                            "{}: {} bytes arrived without a readable frame: expected the same speed and the same kind \
                             of frames at both ends",
                            self.place, self.unreadable
                        ));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.close(&error.to_string()),
            }
        }
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<usize> {
        if self.now < self.quiet_until || !self.flush()? {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        }
        // Without a modem it is as if lost on the way.
        if self.stream.is_some() {
            self.framing.encode(frame, &mut self.pending);
        }
        Ok(frame.len())
    }

    fn flush(&mut self) -> io::Result<bool> {
        let had_pending = !self.pending.is_empty();
        while let Some(stream) = self.stream.as_mut().filter(|_| !self.pending.is_empty()) {
            match stream.write(&self.pending) {
                Ok(len) => drop(self.pending.drain(..len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait_to_write(true);
                    return Ok(false);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.close(&error.to_string()),
            }
        }
        if had_pending {
            self.wait_to_write(false);
        }
        Ok(true)
    }

    fn explain(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.place)
    }

    fn judged(&mut self, is_readable: bool) {
        if is_readable {
            self.unreadable = 0;
        }
    }

    fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    fn next_deadline(&self) -> Option<Instant> {
        let quiet = Some(self.quiet_until).filter(|until| *until > self.now);
        quiet.into_iter().chain(self.reopen_at).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        if std::mem::take(&mut self.has_received) {
            self.quiet_until = now + self.turnaround;
        }
        if self.reopen_at.is_some_and(|at| at <= now) {
            self.reopen();
        }
    }
}
