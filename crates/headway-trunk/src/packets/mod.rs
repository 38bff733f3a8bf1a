//! Packets that cross the trunk as they are: those of other protocols, and of TCP where that is asked.
//!
//! They wait in a short queue that drops what waits too long (FQ-CoDel), and leave in a connection of the trunk, so
//! under its rate and with its recovery. Datagrams are delivered as they arrive, whatever is missing ahead of them, but
//! those of QUIC in the order of their flow. Packets of TCP keep their order in a connection of their own.

pub(crate) mod ip_packet;
pub(crate) mod quic;

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use headway_link::{EnqueueResult, FqCodel, Frame, Headers, LinkCounters, QueueDiscipline as _, QueueLimit};
use headway_net::{Clock, TcpStream};
use headway_trunk_proto::flow_order::{self, FlowNumbers, FlowOrder};
use headway_trunk_proto::records::{self, MAX_MESSAGE, RecordReader};
use headway_units::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Notify;
use tokio::time::sleep;

use self::ip_packet::ends;
use crate::stream::{PeerLink, request::Request};

/// RFC 8289, section 4.3: the interval is the longest round trip that is usual, and the target 5 % of it. Hosts behind
/// a gateway are a trunk's round trip away from what answers them.
const INTERVAL: Duration = Duration::from_millis(600);
const TARGET: Duration = Duration::from_millis(30);
/// What a queue holds at most.
const LIMIT: QueueLimit = QueueLimit::Bytes(4 << 20);
/// The time that unsent bytes wait in the connection at most, where the queue cannot drop them.
const AHEAD: Duration = Duration::from_millis(5);
/// They are at least these, two packets, and at most these.
const LEAST_AHEAD: usize = 3000;
const MOST_AHEAD: usize = 256 << 10;
/// How long a connection's window is taken to be the same.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long to wait after a connection has failed.
const PAUSE: std::time::Duration = std::time::Duration::from_secs(1);
/// The bytes ahead of a packet in its record: when it was taken, in milliseconds modulo 2^32.
const STAMP: usize = 4;

/// Packets to one peer that wait for their turn.
pub(crate) struct PacketQueue {
    waiting: Mutex<Waiting>,
    filled: Notify,
    clock: Clock,
    /// Whether they may be delivered in another order.
    pub(crate) unordered: bool,
}

struct Waiting {
    queue: FqCodel<Packet>,
    counters: LinkCounters,
}

/// An IP packet on its way to the peer.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) bytes: Vec<u8>,
    /// Its flow is delivered in order.
    pub(crate) keeps_order: bool,
}

impl AsMut<[u8]> for Packet {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// A packet that is to be sent now: when it was added, and its flow.
struct Taken {
    added: Instant,
    flow: u64,
    packet: Packet,
}

impl PacketQueue {
    pub(crate) fn new(unordered: bool) -> Self {
        let mut seed = [0; 8];
        // Without it, flows that collide are the same at each start.
        let _ = getrandom::fill(&mut seed);
        let queue = FqCodel::new(LIMIT, TARGET, INTERVAL, u64::from_le_bytes(seed));
        let waiting = Mutex::new(Waiting { queue, counters: LinkCounters::default() });
        Self { waiting, filled: Notify::new(), clock: Clock::new(), unordered }
    }

    /// Adds a packet; it may be dropped, now or later.
    pub(crate) fn push(&self, packet: Packet) {
        let now = self.clock.now();
        let (len, flow) = (packet.bytes.len(), flow(&packet.bytes));
        let frame = Frame { packet, len, headers: Headers::default(), exposed: false, flow, enqueued: now };
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let Waiting { queue, counters } = &mut *waiting;
            if let EnqueueResult::Dropped(_) = queue.enqueue(now, frame, counters) {
                counters.queue_drops += 1;
            }
        }
        self.filled.notify_one();
    }

    /// Takes the next packet. Cancel safe.
    async fn next(&self) -> Taken {
        loop {
            if let Some(taken) = self.take() {
                return taken;
            }
            self.filled.notified().await;
        }
    }

    fn take(&self) -> Option<Taken> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Waiting { queue, counters } = &mut *waiting;
        let frame = queue.dequeue(self.clock.now(), counters)?;
        Some(Taken { added: frame.enqueued, flow: frame.flow, packet: frame.packet })
    }

    /// The bytes of the next packet, if one waits.
    #[cfg(test)]
    pub(crate) fn take_bytes(&self) -> Option<Vec<u8>> {
        self.take().map(|taken| taken.packet.bytes)
    }

    /// Packets that were dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).counters.queue_drops
    }
}

/// Addresses, protocol and ports, so that each flow has its turn.
pub(crate) fn flow(packet: &[u8]) -> u64 {
    let part = match packet.first().map_or(0, |first| first >> 4) {
        4 => {
            let header = usize::from(packet[0] & 15) * 4;
            (packet.get(12..20), packet.get(9), packet.get(header..header + 4))
        }
        6 => (packet.get(8..40), packet.get(6), packet.get(40..44)),
        _ => return 0,
    };
    BuildHasherDefault::<DefaultHasher>::default().hash_one(part)
}

/// Sends what waits to the peer, as long as the stack runs.
pub(crate) async fn send(link: &PeerLink, queue: &PacketQueue) {
    loop {
        // A connection is opened when it is needed first.
        let first = queue.next().await;
        if let Err(error) = send_over(link, queue, first).await {
            tracing::debug!(peer = link.name, %error, "packets wait for another connection");
            sleep(PAUSE).await;
        }
    }
}

async fn send_over(link: &PeerLink, queue: &PacketQueue, first: Taken) -> io::Result<()> {
    let mut stream = link.request(&Request::Packets { unordered: queue.unordered }).await?;
    let (mut next, mut record) = (first, Vec::new());
    let (mut numbers, mut message) = (FlowNumbers::default(), Vec::new());
    let mut looked = queue.clock.now();
    stream.set_not_sent(LEAST_AHEAD)?;
    loop {
        // One that is too long for a record has no number: what is behind it does not wait for it.
        if fits_record(next.packet.bytes.len()) {
            write_message(&mut message, &next, queue.unordered.then_some(&mut numbers));
            record.clear();
            records::append(&mut record, &message);
            stream.write_all(&record).await?;
            link.counters.packets_to_peer.fetch_add(1, Ordering::Relaxed);
        }
        let now = queue.clock.now();
        if is_old(looked, now) {
            looked = now;
            stream.set_not_sent(ahead(&stream)?)?;
        }
        next = queue.next().await;
    }
}

/// What is sent of a packet: its stamp, its number if it has one of `numbers`, and itself.
fn write_message(message: &mut Vec<u8>, taken: &Taken, numbers: Option<&mut FlowNumbers>) {
    message.clear();
    message.extend_from_slice(&millis(taken.added).to_be_bytes());
    if let Some(numbers) = numbers.filter(|_| taken.packet.keeps_order) {
        message.extend_from_slice(&numbers.header(taken.flow));
    }
    message.extend_from_slice(&taken.packet.bytes);
}

/// A time on a gateway's clock, in milliseconds modulo 2^32.
fn millis(at: Instant) -> u32 {
    (at.as_nanos() / 1_000_000) as u32
}

/// Whether a packet of `len` bytes fits into a record, with what stands ahead of it.
fn fits_record(len: usize) -> bool {
    STAMP + flow_order::HEADER + len <= MAX_MESSAGE
}

/// Whether the window that was looked at then may be another one by now.
fn is_old(looked: Instant, now: Instant) -> bool {
    now.saturating_since(looked) > LOOK_EVERY
}

fn ahead(stream: &TcpStream) -> io::Result<usize> {
    let statistics = stream.statistics()?;
    Ok(sent_in_time(statistics.cwnd, statistics.smoothed_rtt))
}

/// What a connection with this window sends in [`AHEAD`].
fn sent_in_time(window: u32, rtt: Option<Duration>) -> usize {
    let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()) else { return LEAST_AHEAD };
    let bytes = u64::from(window) * AHEAD.as_nanos() / rtt.as_nanos();
    (bytes as usize).clamp(LEAST_AHEAD, MOST_AHEAD)
}

/// What is done with packets of a peer.
pub(crate) struct Delivery {
    pub(crate) write: Write,
    /// Datagrams that are later than the fastest by more than this are not delivered.
    pub(crate) deadline: Duration,
}

/// Gives a packet to the kernel.
type Write = Box<dyn Fn(&[u8]) -> io::Result<()> + Send + Sync>;

/// Gives the packets of a peer's connection to the kernel, until it ends.
pub(crate) async fn receive(
    link: &PeerLink,
    mut stream: TcpStream,
    delivery: &Delivery,
    unordered: bool,
) -> io::Result<()> {
    stream.set_unordered(unordered)?;
    let (mut reader, clock) = (RecordReader::new(), Clock::new());
    let (mut ages, mut ready) = (Ages::default(), Vec::new());
    let mut order = FlowOrder::new(link.window());
    loop {
        let arrived = stream.read_unordered(|runs| {
            let mut messages = Vec::new();
            // In order, what stands behind a hole waits.
            let runs = runs.take_while(|(distance, _)| unordered || *distance == 0);
            let read = reader.read(runs, |message| messages.push(message.to_vec()));
            let read = read.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            Ok((read, (!messages.is_empty()).then_some(messages)))
        });
        let Some(messages) = arrived.await? else { return Ok(()) };
        let now = millis(clock.now());
        for mut message in messages {
            let Some((stamp, rest)) = message.split_first_chunk::<STAMP>() else { continue };
            let stamp = u32::from_be_bytes(*stamp);
            let (place, packet) = flow_order::parse(rest);
            let len = packet.len();
            let packet = message.split_off(message.len() - len);
            match place.filter(|_| unordered) {
                Some(place) => order.take(place, len, (stamp, packet), |packet| ready.push(packet)),
                None => ready.push((stamp, packet)),
            }
        }
        for (stamp, packet) in ready.drain(..) {
            if unordered && ages.is_late(now, stamp, delivery.deadline) {
                link.counters.packets_late.fetch_add(1, Ordering::Relaxed);
            } else {
                deliver(link, delivery, &packet);
            }
        }
    }
}

fn deliver(link: &PeerLink, delivery: &Delivery, packet: &[u8]) {
    let is_allowed =
        may_pass(packet, |source| link.is_behind(source), |destination| link.allows(destination));
    let counter = match is_allowed.then(|| (delivery.write)(packet)) {
        Some(Ok(())) => &link.counters.packets_from_peer,
        Some(Err(error)) => {
            tracing::debug!(peer = link.name, %error, "a packet was not taken");
            &link.counters.packets_refused
        }
        None => &link.counters.packets_refused,
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Whether a packet's source may be behind the peer, and its destination is one that the peer may reach.
fn may_pass(
    packet: &[u8],
    is_behind: impl FnOnce(IpAddr) -> bool,
    allows: impl FnOnce(IpAddr) -> bool,
) -> bool {
    ends(packet).is_some_and(|(source, destination)| is_behind(source) && allows(destination))
}

/// How much later packets are than the fastest: the clocks of two gateways need not agree.
#[derive(Debug, Default)]
struct Ages {
    /// The smallest difference of the clocks that was seen, and when: it is forgotten when clocks drift.
    fastest: Option<(u32, u32)>,
}

impl Ages {
    /// How long the fastest packet counts, in milliseconds.
    const MEMORY: u32 = 60_000;

    fn is_late(&mut self, now: u32, stamp: u32, deadline: Duration) -> bool {
        self.of(now, stamp) > deadline
    }

    fn of(&mut self, now: u32, stamp: u32) -> Duration {
        let difference = now.wrapping_sub(stamp);
        let (fastest, seen) = *self.fastest.get_or_insert((difference, now));
        let behind = difference.wrapping_sub(fastest) as i32;
        if behind < 0 || now.wrapping_sub(seen) > Self::MEMORY {
            self.fastest = Some((difference, now));
            return Duration::ZERO;
        }
        Duration::from_millis(behind as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use tokio::sync::mpsc;

    use super::*;
    use crate::stream::linked::{Linked, soon};

    #[test]
    fn ages_are_counted_from_the_fastest() {
        let mut ages = Ages::default();
        let of = |ages: &mut Ages, now: u32, stamp: u32| ages.of(now, stamp).as_nanos() / 1_000_000;
        // The other clock is 5 s ahead, and both wrap around.
        assert_eq!(of(&mut ages, u32::MAX - 10, 4990), 0);
        assert_eq!(of(&mut ages, 20, 5021), 0, "as fast");
        assert_eq!(of(&mut ages, 120, 5021), 100);
        assert_eq!(of(&mut ages, 120, 5221), 0, "faster");
        assert_eq!(of(&mut ages, 120, 5021), 200);
        assert_eq!(of(&mut ages, 70_000, 5221), 0, "a long time later");
    }

    #[test]
    fn what_is_later_than_the_deadline_is_late() {
        let mut ages = Ages::default();
        let deadline = Duration::from_millis(100);
        for (now, is_late) in [(0, false), (99, false), (100, false), (101, true), (500, true)] {
            assert_eq!(ages.is_late(now, 0, deadline), is_late, "{now}");
        }
    }

    #[test]
    fn a_packet_passes_if_both_ends_may() {
        let packet: Vec<u8> = (0..20).map(|byte| if byte == 0 { 0x45 } else { byte }).collect();
        for (is_behind, allows) in [(true, true), (true, false), (false, true), (false, false)] {
            let passes = may_pass(
                &packet,
                |source| is_behind && source == IpAddr::from([12, 13, 14, 15]),
                |destination| allows && destination == IpAddr::from([16, 17, 18, 19]),
            );
            assert_eq!(passes, is_behind && allows);
        }
        assert!(!may_pass(&packet[..19], |_| true, |_| true));
    }

    #[test]
    fn packets_have_numbers_where_they_may_overtake_each_other_and_should_not() {
        for (keeps_order, unordered) in [(true, true), (true, false), (false, true), (false, false)] {
            let packet = Packet { bytes: numbered(1, true), keeps_order };
            let taken = Taken { added: Instant::ZERO + Duration::from_millis(258), flow: 5, packet };
            let (mut message, mut numbers) = (vec![9], FlowNumbers::default());
            write_message(&mut message, &taken, unordered.then_some(&mut numbers));
            let (stamp, rest) = message.split_first_chunk::<STAMP>().expect("a stamp");
            assert_eq!(*stamp, [0, 0, 1, 2]);
            let (place, packet) = flow_order::parse(rest);
            assert_eq!(place.is_some(), keeps_order && unordered);
            assert_eq!(packet, taken.packet.bytes);
        }
    }

    #[test]
    fn stamps_count_milliseconds_and_begin_again() {
        let day = 24 * 3600 * 1000;
        for (at, stamp) in [(0, 0), (1, 1), (day, day as u32), (60 * day, (60 * day - (1 << 32)) as u32)] {
            let at = Instant::ZERO + Duration::from_millis(at) + Duration::from_nanos(999_999);
            assert_eq!(millis(at), stamp);
        }
    }

    #[test]
    fn a_record_holds_a_packet_with_its_stamp_and_its_number() {
        let most = MAX_MESSAGE - STAMP - flow_order::HEADER;
        assert!(fits_record(0) && fits_record(most) && !fits_record(most + 1));
    }

    #[test]
    fn the_connection_takes_ahead_what_it_sends_in_five_milliseconds() {
        let of = |window, millis| sent_in_time(window, Some(Duration::from_millis(millis)));
        assert_eq!((of(1_000_000, 50), of(1_000_000, 600)), (100_000, 8_333));
        assert_eq!((of(14_600, 600), of(u32::MAX, 1), of(9, 0)), (LEAST_AHEAD, MOST_AHEAD, LEAST_AHEAD));
        assert_eq!(sent_in_time(1_000_000, None), LEAST_AHEAD);
    }

    #[test]
    fn the_window_is_looked_at_after_a_tenth_of_a_second() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        assert_eq!([5, 105, 106].map(|now| is_old(at(5), at(now))), [false, false, true]);
    }

    #[tokio::test]
    async fn a_connection_takes_ahead_what_its_window_says() {
        let linked = Linked::new();
        // The handshake has measured the round trip, and nothing follows.
        let (near, _far) = linked.connect().await;
        let statistics = near.statistics().expect("open");
        let expected = sent_in_time(statistics.cwnd, statistics.smoothed_rtt);
        assert!(expected >= LEAST_AHEAD);
        assert_eq!(ahead(&near).expect("open"), expected);
    }

    /// From a host behind the near gateway, or of nowhere, to one that the far gateway may reach.
    fn numbered(number: u8, is_behind: bool) -> Vec<u8> {
        let mut packet = vec![0; 100];
        packet[0] = 0x45;
        packet[12..20].copy_from_slice(&[10, if is_behind { 1 } else { 9 }, 0, 1, 10, 2, 0, 1]);
        packet[99] = number;
        packet
    }

    #[tokio::test]
    async fn packets_cross_with_and_without_order() {
        for unordered in [false, true] {
            let linked = Linked::new();
            let queue = Arc::new(PacketQueue::new(unordered));
            for number in 0..10 {
                queue.push(Packet { bytes: numbered(number, number != 3), keeps_order: number % 2 == 0 });
            }
            let (near, waiting) = (linked.near.clone(), queue.clone());
            let sending = tokio::spawn(async move { send(&near, &waiting).await });
            let mut stream = soon(linked.listener.accept()).await.expect("a connection").0;
            let request = soon(Request::read(&mut stream)).await.expect("a request");
            assert_eq!(request, Some(Request::Packets { unordered }));
            let (taken, mut packets) = mpsc::unbounded_channel();
            let write = Box::new(move |packet: &[u8]| taken.send(packet.to_vec()).map_err(io::Error::other));
            let (far, delivery) =
                (linked.far.clone(), Delivery { write, deadline: Duration::from_secs(3600) });
            let receiving = tokio::spawn(async move { receive(&far, stream, &delivery, unordered).await });
            let mut got = Vec::new();
            for _ in 0..9 {
                got.push(soon(packets.recv()).await.expect("a packet"));
            }
            if unordered {
                got.sort();
            }
            let sent = (0..10).filter(|&number| number != 3).map(|number| numbered(number, true));
            assert_eq!(got, sent.collect::<Vec<_>>());
            let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            let counters = &linked.far.counters;
            soon(async {
                while count(&counters.packets_from_peer) + count(&counters.packets_refused) < 10 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            assert_eq!((count(&counters.packets_from_peer), count(&counters.packets_refused)), (9, 1));
            assert_eq!(count(&linked.near.counters.packets_to_peer), 10);
            assert_eq!(count(&counters.packets_late), 0);
            sending.abort();
            receiving.abort();
        }
    }

    #[test]
    fn a_flow_is_told_by_addresses_protocol_and_ports_alone() {
        for (mut packet, protocol, ports) in
            [(vec![0x45; 60], 9, 20), (vec![0x46; 60], 9, 24), (vec![0x60; 60], 6, 40)]
        {
            let first = flow(&packet);
            for place in 1..60 {
                packet[place] ^= 1;
                let is_part = match packet[0] {
                    0x60 => (8..40).contains(&place),
                    _ => (12..20).contains(&place),
                };
                let is_part = is_part || place == protocol || (ports..ports + 4).contains(&place);
                assert_eq!(flow(&packet) != first, is_part, "byte {place} of {:x}", packet[0]);
                packet[place] ^= 1;
            }
        }
    }

    #[test]
    fn flows_have_their_turns_and_packets_of_no_protocol_do_no_harm() {
        let packet = |port: u8, len: usize| {
            let mut packet = vec![0x45; len];
            packet[9] = 17;
            packet[20..24].copy_from_slice(&[0, port, 0, 53]);
            packet
        };
        let queue = PacketQueue::new(true);
        for _ in 0..10 {
            queue.push(Packet { bytes: packet(1, 1400), keeps_order: false });
        }
        queue.push(Packet { bytes: packet(2, 100), keeps_order: false });
        let taken: Vec<_> =
            (0..3).filter_map(|_| queue.take()).map(|taken| taken.packet.bytes.len()).collect();
        assert!(taken.contains(&100), "{taken:?}");
        for packet in [vec![], vec![0x45], vec![0x4f; 20], vec![0x60; 39], vec![0xff; 60]] {
            flow(&packet);
            assert!(packet.len() >= 20 || ends(&packet).is_none());
        }
    }
}
