//! A carrier whose packets are datagrams of a pair of sockets, and who is at the other end.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

use headway_net::{Arrival, Carrier, CarrierProperties, Clock, Housekeeping, Stack, StackConfig};
use headway_tcp::{Profile, Transmit};
use headway_test_fixture::packet;
use headway_units::Instant;
use headway_wire::{ChecksumTrust, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions};
use parking_lot::Mutex;

/// Who the stack is, and who is at the other end.
pub(crate) const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const THEIRS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
/// The port of the stack's listener, and one of the peer's.
pub(crate) const PORT: u16 = 80;
pub(crate) const THEIR_PORT: u16 = 50_000;

/// No step of a test takes longer on any machine.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Packets that wait to be sent.
const ROOM: usize = 8;

/// What a carrier tells its stack, and what the stack has told it.
#[derive(Default)]
pub(crate) struct News {
    pub(crate) is_asking: bool,
    /// How often the host has accepted the packet of this place in a batch.
    pub(crate) accepted: Vec<usize>,
    pub(crate) restarted: Vec<IpAddr>,
    pub(crate) returned: Vec<IpAddr>,
    pub(crate) path_mtus: Vec<(IpAddr, IpAddr, u16)>,
    pub(crate) trouble: Option<String>,
    /// The number of the system's error that the carrier fails with.
    pub(crate) failure: Option<i32>,
    pub(crate) is_closed: bool,
    /// It hands up one packet at a time, and holds the others.
    pub(crate) one_by_one: bool,
    /// How often a batch could not be sent at once.
    pub(crate) refusals: usize,
}

pub(crate) struct Wire {
    socket: UnixDatagram,
    arrived: Vec<(Vec<u8>, Instant)>,
    held: VecDeque<Vec<u8>>,
    waiting: VecDeque<Vec<u8>>,
    slot: Vec<u8>,
    path_mtus: Vec<(IpAddr, IpAddr, u16)>,
    news: Arc<Mutex<News>>,
}

impl Wire {
    /// Two carriers that are connected.
    pub(crate) fn pair() -> [Self; 2] {
        let (first, second) = UnixDatagram::pair().expect("sockets");
        [first, second].map(|socket| Self::on(socket, Arc::default()))
    }

    fn on(socket: UnixDatagram, news: Arc<Mutex<News>>) -> Self {
        socket.set_nonblocking(true).expect("an option");
        let (arrived, held, waiting) = (Vec::new(), VecDeque::new(), VecDeque::new());
        Self { socket, arrived, held, waiting, slot: vec![0; 1500], path_mtus: Vec::new(), news }
    }
}

impl Carrier for Wire {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn mtu(&self) -> u16 {
        1500
    }

    fn name(&self) -> String {
        "a wire".into()
    }

    fn properties(&self) -> CarrierProperties {
        CarrierProperties::default()
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        Some(self)
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.path_mtus.clone_from(&self.news.lock().path_mtus);
        if let Some(number) = self.news.lock().failure {
            return Err(io::Error::from_raw_os_error(number));
        }
        self.arrived.clear();
        let mut message = [0; 2000];
        while self.held.len() < ROOM
            && let Ok(len) = self.socket.recv(&mut message)
        {
            // Of one packet, or of several.
            let mut rest = &message[..len];
            while !rest.is_empty() {
                let (packet, later) = rest.split_at(usize::from(u16::from_be_bytes([rest[2], rest[3]])));
                self.held.push_back(packet.to_vec());
                rest = later;
            }
        }
        let count = if self.news.lock().one_by_one { 1 } else { ROOM };
        let next = self.held.drain(..count.min(self.held.len()));
        self.arrived.extend(next.map(|packet| (packet, clock.now())));
        Ok(self.arrived.len())
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        let is_asking = self.news.lock().is_asking;
        packets.extend(
            self.arrived
                .iter()
                .map(|(packet, at)| Arrival { is_asking, ..Arrival::new(packet, *at, ChecksumTrust::None) }),
        );
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        (self.waiting.len() < ROOM).then_some(&mut self.slot)
    }

    fn queue(&mut self, Transmit { len, .. }: Transmit) {
        self.waiting.push_back(self.slot[..len].to_vec());
    }

    fn flush(&mut self) -> io::Result<bool> {
        while let Some(packet) = self.waiting.pop_front() {
            if self.socket.send(&packet).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                self.waiting.push_front(packet);
                self.news.lock().refusals += 1;
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Housekeeping for Wire {
    fn accepted(&mut self, index: usize) {
        self.news.lock().accepted.push(index);
    }

    fn trouble(&mut self) -> Option<String> {
        self.news.lock().trouble.take()
    }

    fn restarted_peers(&mut self) -> Vec<IpAddr> {
        std::mem::take(&mut self.news.lock().restarted)
    }

    fn returned_peers(&mut self) -> Vec<IpAddr> {
        std::mem::take(&mut self.news.lock().returned)
    }

    fn path_mtus(&self) -> &[(IpAddr, IpAddr, u16)] {
        &self.path_mtus
    }

    fn holds_packets(&self) -> bool {
        !self.held.is_empty()
    }

    fn close(&mut self) {
        self.news.lock().is_closed = true;
    }
}

/// Starts a stack with the address `ours`.
pub(crate) fn start(carrier: impl Carrier + 'static, ours: IpAddr, profile: Profile) -> Stack {
    let config = StackConfig { addresses: vec![ours], profile: Some(profile), ..StackConfig::default() };
    Stack::start(carrier, config).expect("a thread")
}

/// A peer whose packets are made by hand.
pub(crate) struct Peer {
    socket: UnixDatagram,
    pub(crate) news: Arc<Mutex<News>>,
    /// Its next number, and the next of the stack's.
    pub(crate) next: SeqNumber,
    pub(crate) theirs: SeqNumber,
}

/// What a peer has got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) tcp: TcpHeader,
    pub(crate) payload: Vec<u8>,
    /// The length of the packet.
    pub(crate) len: usize,
}

impl Peer {
    /// A carrier with room for a few packets, after which it has to wait, and the peer at its other end.
    pub(crate) fn new() -> (Box<dyn Carrier>, Self) {
        Self::with_room_for(1)
    }

    /// With room for at least `bytes`.
    pub(crate) fn with_room_for(bytes: usize) -> (Box<dyn Carrier>, Self) {
        let (near, socket) = UnixDatagram::pair().expect("sockets");
        socket.set_read_timeout(Some(LONG)).expect("an option");
        socket2::SockRef::from(&near).set_send_buffer_size(bytes).expect("an option");
        let news = Arc::<Mutex<News>>::default();
        let peer = Self { socket, news: news.clone(), next: SeqNumber(1000), theirs: SeqNumber(0) };
        (Box::new(Wire::on(near, news)), peer)
    }

    pub(crate) fn send_packet(&self, packet: &[u8]) {
        self.socket.send(packet).expect("a stack");
    }

    /// A segment from its port to the stack's.
    pub(crate) fn segment(&self, flags: TcpFlags, seq: SeqNumber, payload: &[u8]) -> Vec<u8> {
        let ack = if flags.contains(TcpFlags::ACK) { self.theirs } else { SeqNumber(0) };
        let tcp = TcpHeader { seq, ack, window: 60_000, ..packet::tcp(THEIR_PORT, PORT, flags) };
        packet::segment(&packet::ip(THEIRS, OURS), &tcp, &TcpOptions::default(), payload)
    }

    /// Sends a segment with its next number.
    pub(crate) fn send(&mut self, flags: TcpFlags, payload: &[u8]) {
        self.send_packet(&self.segment(flags, self.next, payload));
        let counted = u32::from(flags.contains(TcpFlags::SYN)) + u32::from(flags.contains(TcpFlags::FIN));
        self.next += payload.len() as u32 + counted;
    }

    /// The next packet.
    #[track_caller]
    pub(crate) fn next_packet(&self) -> Vec<u8> {
        let mut packet = vec![0; 2000];
        let len = self.socket.recv(&mut packet).expect("a packet");
        packet.truncate(len);
        packet
    }

    /// The next segment.
    #[track_caller]
    pub(crate) fn receive(&self) -> Got {
        let packet = self.next_packet();
        let segment = Segment::parse(&packet).expect("a segment");
        Got { tcp: segment.tcp, payload: segment.payload.to_vec(), len: packet.len() }
    }

    /// Waits for a segment that is so; others are passed over.
    #[track_caller]
    pub(crate) fn receive_until(&self, is_so: impl Fn(&Got) -> bool) -> Got {
        loop {
            let got = self.receive();
            if is_so(&got) {
                return got;
            }
        }
    }

    /// Opens a connection to the stack's listener.
    #[track_caller]
    pub(crate) fn open(&mut self) {
        self.send(TcpFlags::SYN, b"");
        let answer = self.receive();
        assert_eq!(answer.tcp.flags, TcpFlags::SYN | TcpFlags::ACK);
        self.theirs = answer.tcp.seq + 1;
        self.send(TcpFlags::ACK, b"");
    }

    /// Where the stack listens.
    pub(crate) fn address() -> SocketAddr {
        SocketAddr::new(OURS, PORT)
    }
}
