//! Buffers for batches of packets.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use headway_units::Instant;

use super::train::Train;
use crate::Clock;
use crate::clock::real_time;
use crate::sys::{self, BATCH, Control, Name, Outgoing};

/// A batch of received packets. Before each is room for a header that the carrier adds.
pub(crate) struct Inbox {
    bytes: Box<[u8]>,
    stride: usize,
    headroom: usize,
    lens: [usize; BATCH],
    at: [Instant; BATCH],
    names: Box<[Name; BATCH]>,
    controls: Box<[Control; BATCH]>,
    count: usize,
}

impl Inbox {
    /// For packets of at most `longest` bytes.
    pub(crate) fn new(headroom: usize, longest: usize) -> Self {
        Self::of(BATCH, headroom, longest)
    }

    /// For at most `packets` packets; no more than [`BATCH`].
    pub(crate) fn of(packets: usize, headroom: usize, longest: usize) -> Self {
        let stride = headroom + longest;
        Self {
            bytes: vec![0; stride * packets.min(BATCH)].into(),
            stride,
            headroom,
            lens: [0; BATCH],
            at: [Instant::ZERO; BATCH],
            names: Box::new([Name::NONE; BATCH]),
            controls: Box::new([Control::NONE; BATCH]),
            count: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Receives from a socket. Packets have the kernel's timestamp if the socket provides one.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>, clock: &Clock) -> io::Result<usize> {
        self.count = 0;
        let headroom = self.headroom;
        let slots = self.bytes.chunks_exact_mut(self.stride).map(|slot| &mut slot[headroom..]);
        self.count = sys::receive_batch(socket, slots, &mut self.lens, &mut self.names, &mut self.controls)?;
        let (now, real_time) = (clock.now(), real_time());
        for (at, control) in self.at.iter_mut().zip(self.controls.iter()).take(self.count) {
            *at = control.timestamp().map_or(now, |timestamp| Clock::at_timestamp(now, real_time, timestamp));
        }
        Ok(self.count)
    }

    /// Reads with one call for each packet, until one fails (`WouldBlock` is not an error).
    pub(crate) fn read(
        &mut self,
        clock: &Clock,
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.count = 0;
        let mut result = Ok(());
        for (index, slot) in self.bytes.chunks_exact_mut(self.stride).enumerate() {
            match read(&mut slot[self.headroom..]) {
                Ok(len) => self.lens[index] = len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            self.count = index + 1;
        }
        self.at[..self.count].fill(clock.now());
        result.map(|()| self.count)
    }

    /// A packet, when it arrived, and where it came from.
    pub(crate) fn packet(&self, index: usize) -> (&[u8], Instant, &Name) {
        let start = index * self.stride + self.headroom;
        (&self.bytes[start..start + self.lens[index]], self.at[index], &self.names[index])
    }

    /// No packet is here.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a packet of another inbox, without its end if it is too long. Returns whether there was room.
    pub(crate) fn add(&mut self, packet: &[u8], (at, name, control): (Instant, &Name, &Control)) -> bool {
        let index = self.count;
        let Some(slot) = self.bytes.chunks_exact_mut(self.stride).nth(index) else { return false };
        let slot = &mut slot[self.headroom..];
        let len = packet.len().min(slot.len());
        slot[..len].copy_from_slice(&packet[..len]);
        (self.lens[index], self.at[index]) = (len, at);
        (self.names[index], self.controls[index]) = (*name, *control);
        self.count += 1;
        true
    }

    /// The control messages of a packet.
    pub(crate) fn control(&self, index: usize) -> &Control {
        &self.controls[index]
    }

    /// The buffer of a packet with the room before it, and the length of the packet.
    pub(crate) fn place(&mut self, index: usize) -> (&mut [u8], usize) {
        let start = index * self.stride;
        let len = self.lens[index];
        (&mut self.bytes[start..start + self.headroom + len], len)
    }

    /// Replaces the buffer of a packet and the room before it, as far as there is room.
    pub(crate) fn write(&mut self, index: usize, bytes: &[u8]) {
        let len = bytes.len().min(self.stride);
        let start = index * self.stride;
        self.bytes[start..start + len].copy_from_slice(&bytes[..len]);
        self.lens[index] = len.saturating_sub(self.headroom);
    }

    /// Leaves out the end of a packet, after `len` bytes.
    pub(crate) fn shorten(&mut self, index: usize, len: usize) {
        self.lens[index] = self.lens[index].min(len);
    }

    /// A packet and the last `n` bytes of the room before it.
    pub(crate) fn with_header(&self, index: usize, n: usize) -> (&[u8], Instant) {
        let start = index * self.stride + self.headroom;
        (&self.bytes[start - n..start + self.lens[index]], self.at[index])
    }
}

/// A batch of packets to send. Before each is room for a header that the carrier adds.
pub(crate) struct Outbox {
    bytes: Box<[u8]>,
    stride: usize,
    headroom: usize,
    /// Where the packet begins and ends in its buffer.
    spans: [(usize, usize); BATCH],
    names: Box<[Name; BATCH]>,
    controls: Box<[Control; BATCH]>,
    count: usize,
    sent: usize,
    refusal: Option<io::Error>,
    /// The last that this host's interface does not carry, and its length.
    too_long: Option<(Name, usize)>,
    /// The control messages of trains (UDP's segmentation offload). `None`: each packet is a message.
    trains: Option<Box<[Control; BATCH]>>,
}

/// The longest train in bytes: the longest IP packet, without headers.
const LONGEST_TRAIN: usize = 65_535 - 60 - 8;

impl Outbox {
    /// For packets of at most `longest` bytes.
    pub(crate) fn new(headroom: usize, longest: usize) -> Self {
        let stride = headroom + longest;
        Self {
            bytes: vec![0; stride * BATCH].into(),
            stride,
            headroom,
            spans: [(0, 0); BATCH],
            names: Box::new([Name::NONE; BATCH]),
            controls: Box::new([Control::NONE; BATCH]),
            count: 0,
            sent: 0,
            refusal: None,
            too_long: None,
            trains: None,
        }
    }

    /// Datagrams of UDP that follow each other are given to the kernel as one message, which it cuts: most of the way
    /// through it is passed once. Of what arrives nothing differs. They must have checksums: without, it takes no such messages.
    pub(crate) fn in_trains(self) -> Self {
        Self { trains: Some(Box::new([Control::NONE; BATCH])), ..self }
    }

    /// The buffer of the next packet, without the room before it.
    pub(crate) fn slot(&mut self) -> Option<&mut [u8]> {
        if self.count == BATCH {
            return None;
        }
        let start = self.count * self.stride;
        Some(&mut self.bytes[start + self.headroom..start + self.stride])
    }

    /// The whole buffer of the next packet; valid after `slot` returned one.
    pub(crate) fn place(&mut self) -> &mut [u8] {
        let start = self.count * self.stride;
        &mut self.bytes[start..start + self.stride]
    }

    /// Queues the next packet, at `span` of its buffer, to `name`.
    pub(crate) fn queue(&mut self, span: (usize, usize), name: Name) {
        self.queue_with(span, name, Control::NONE);
    }

    /// As [`Outbox::queue`], with control messages.
    pub(crate) fn queue_with(&mut self, span: (usize, usize), name: Name, control: Control) {
        self.spans[self.count] = span;
        self.names[self.count] = name;
        self.controls[self.count] = control;
        self.count += 1;
    }

    /// Whether no packet is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether there is no room for another packet.
    pub(crate) fn is_full(&self) -> bool {
        self.count == BATCH
    }

    /// Sends over a socket. `named`: each packet to its own address.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>, named: bool) -> io::Result<bool> {
        // An error may be that of an earlier packet, which an ICMP message was about: then nothing was sent, and the packet
        // is tried once more.
        let mut is_tried = false;
        while self.sent < self.count {
            // What was refused as a train goes packet by packet.
            let joined = if is_tried { [false; BATCH] } else { self.join() };
            let packets = (self.sent..self.count).map(|index| {
                let (start, end) = self.spans[index];
                let bytes = &self.bytes[index * self.stride + start..index * self.stride + end];
                let name = named.then_some(&self.names[index]);
                let control = match &self.trains {
                    Some(trains) if joined.get(index + 1) == Some(&true) => &trains[index],
                    _ => &self.controls[index],
                };
                Outgoing { bytes, name, control, joined: joined[index] }
            });
            match sys::send_batch(socket, packets) {
                Ok(sent) => {
                    self.sent += sent;
                    is_tried = false;
                }
                Err(error) => {
                    let is_too_long = error.raw_os_error() == Some(libc::EMSGSIZE);
                    match self.refused(error) {
                        Refusal::Wait => return Ok(false),
                        Refusal::Fatal(error) => return Err(error),
                        Refusal::Drop if !is_tried => is_tried = true,
                        Refusal::Drop => {
                            if is_too_long {
                                let (start, end) = self.spans[self.sent];
                                self.too_long = Some((self.names[self.sent], end - start));
                            }
                            self.sent += 1;
                            is_tried = false;
                        }
                    }
                }
            }
        }
        self.clear();
        Ok(true)
    }

    /// Which packets go in the message of the one before them: all of a train have the address and the control messages of
    /// the first, and its length, except for the last, which may be shorter.
    fn join(&mut self) -> [bool; BATCH] {
        let mut joined = [false; BATCH];
        let Some(trains) = &mut self.trains else { return joined };
        let len = |index: usize| self.spans[index].1 - self.spans[index].0;
        let mut head = self.sent;
        let mut bytes = 0;
        for (index, joined) in joined.iter_mut().enumerate().take(self.count).skip(self.sent) {
            *joined = index > head
                && len(index - 1) == len(head)
                && len(index) <= len(head)
                && bytes + len(index) <= LONGEST_TRAIN
                && self.names[index] == self.names[head]
                && self.controls[index] == self.controls[head];
            if *joined {
                bytes += len(index);
                // No datagram is longer than 16 bits say.
                let size = (len(head) as u16).to_ne_bytes();
                trains[head] = self.controls[head].and(libc::SOL_UDP, libc::UDP_SEGMENT, &size);
            } else {
                (head, bytes) = (index, len(index));
            }
        }
        joined
    }

    /// Sends with one call for each packet.
    pub(crate) fn write(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<bool> {
        self.write_some(|packets| packets.next().map(|packet| (1, write(packet))))
    }

    /// Sends with one call for each train of packets.
    pub(crate) fn write_trains(
        &mut self,
        mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<bool> {
        self.write_some(|packets| {
            Train::coalesce(packets).map(|train| (train.count(), train.write(|pieces| write(pieces))))
        })
    }

    /// Calls `write` with the remaining packets until there are none. It returns how many it processed,
    /// and the result.
    fn write_some(
        &mut self,
        mut write: impl FnMut(&mut dyn Iterator<Item = &[u8]>) -> Option<(usize, io::Result<usize>)>,
    ) -> io::Result<bool> {
        loop {
            let mut packets = (self.sent..self.count).map(|index| {
                let (start, end) = self.spans[index];
                &self.bytes[index * self.stride + start..index * self.stride + end]
            });
            let Some((count, result)) = write(&mut packets) else { break };
            match result.err().map(|error| self.refused(error)) {
                Some(Refusal::Wait) => return Ok(false),
                Some(Refusal::Fatal(error)) => return Err(error),
                None | Some(Refusal::Drop) => self.sent += count,
            }
        }
        self.clear();
        Ok(true)
    }

    /// Why the system refused a packet, or what it said of an earlier one, since the last call.
    pub(crate) fn take_refusal(&mut self) -> Option<io::Error> {
        self.refusal.take()
    }

    /// The address and the length of a packet that is too long for this host's interface, since the last call.
    pub(crate) fn take_too_long(&mut self) -> Option<(SocketAddr, usize)> {
        let (name, len) = self.too_long.take()?;
        Some((name.place()?, len))
    }

    /// Drops what is queued.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.sent = 0;
    }

    fn refused(&mut self, error: io::Error) -> Refusal {
        match error.raw_os_error() {
            Some(libc::EAGAIN) => Refusal::Wait,
            _ if super::is_fatal(&error) => Refusal::Fatal(error),
            _ => {
                // No buffers, no route, too long, the interface is down, no listener at a connected peer:
                // dropped, as by a router.
                tracing::debug!(%error, "a packet was refused");
                self.refusal = Some(error);
                Refusal::Drop
            }
        }
    }
}

enum Refusal {
    /// Try again later.
    Wait,
    /// The carrier failed.
    Fatal(io::Error),
    /// This packet was dropped.
    Drop,
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.bytes[..self.len] == other.bytes[..other.len]
    }
}

impl PartialEq for Control {
    fn eq(&self, other: &Self) -> bool {
        self.bytes[..self.len] == other.bytes[..other.len]
    }
}

const WORD: usize = size_of::<usize>();
/// `struct cmsghdr`: a length, and two `int`s.
const HEADER: usize = WORD + 8;

impl Control {
    /// The kernel's timestamp, in nanoseconds since 1970.
    fn timestamp(&self) -> Option<u64> {
        let value = self.find(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS)?;
        let seconds = i64::from_ne_bytes(*value.first_chunk()?);
        let nanos = i64::from_ne_bytes(*value.get(8..)?.first_chunk()?);
        u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?.checked_add(u64::try_from(nanos).ok()?)
    }

    /// The same and one more control message, whose value is an `int`. There is room for five.
    pub(crate) fn and_int(self, level: i32, kind: i32, value: i32) -> Self {
        self.and(level, kind, &value.to_ne_bytes())
    }

    fn and(mut self, level: i32, kind: i32, value: &[u8]) -> Self {
        let len = HEADER + value.len();
        let message = &mut self.bytes[self.len..];
        message[..WORD].copy_from_slice(&len.to_ne_bytes());
        message[WORD..WORD + 4].copy_from_slice(&level.to_ne_bytes());
        message[WORD + 4..HEADER].copy_from_slice(&kind.to_ne_bytes());
        message[HEADER..len].copy_from_slice(value);
        self.len += len.next_multiple_of(WORD);
        self
    }

    /// The value of a control message.
    pub(crate) fn find(&self, level: i32, kind: i32) -> Option<&[u8]> {
        let mut rest = &self.bytes[..self.len];
        while rest.len() >= HEADER {
            let len = usize::from_ne_bytes(*rest.first_chunk()?);
            let found = [WORD, WORD + 4].map(|at| rest[at..].first_chunk().map(|b| i32::from_ne_bytes(*b)));
            let value = rest.get(HEADER..len)?;
            if found == [Some(level), Some(kind)] {
                return Some(value);
            }
            rest = rest.get(len.next_multiple_of(WORD)..)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_said_of_an_earlier_packet_costs_no_other() {
        let place = {
            let free = UdpSocket::bind("127.0.0.1:0").expect("a free port");
            free.local_addr().expect("an address")
        };
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.connect(place).expect("a route");
        let mut outbox = Outbox::new(0, 10);
        let mut send = |bytes: &[u8]| {
            for byte in bytes {
                outbox.slot().expect("room")[0] = *byte;
                outbox.queue((0, 1), Name::NONE);
            }
            assert!(outbox.send(socket.as_fd(), false).expect("sent"));
            outbox.take_refusal().map(|error| error.kind())
        };
        // No one is there, which ICMP says when it was sent.
        assert_eq!(send(&[1]), None);
        let peer = UdpSocket::bind(place).expect("the same port");
        peer.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        assert_eq!(send(&[2, 3]), Some(io::ErrorKind::ConnectionRefused));
        assert_eq!(send(&[4]), None);
        for expected in 2..=4 {
            let mut byte = [0];
            peer.recv(&mut byte).expect("a packet");
            assert_eq!(byte, [expected]);
        }
    }

    /// The datagrams that are sent in trains, and what arrives of them where the kernel may hand up trains again.
    fn carried(with_checksum: bool) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let to = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        to.set_nonblocking(true).expect("an option");
        sys::set_option(to.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1).expect("an option");
        let name = Name::of(to.local_addr().expect("an address"));
        let from = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        sys::set_option(from.as_fd(), libc::SOL_SOCKET, libc::SO_NO_CHECK, (!with_checksum).into())
            .expect("an option");
        let mut outbox = Outbox::new(2, 1000).in_trains();
        let (mut sent, marked) = (Vec::new(), Control::NONE.and_int(libc::IPPROTO_IP, libc::IP_TOS, 4));
        let lens = [900, 900, 900, 300, 900, 900, 1000, 1000, 1000];
        for (number, len) in lens.into_iter().enumerate() {
            outbox.slot().expect("room")[..len].fill(number as u8);
            outbox.queue_with((2, 2 + len), name, if number < 8 { Control::NONE } else { marked });
            sent.push(vec![number as u8; len]);
        }
        assert!(outbox.send(from.as_fd(), true).expect("a socket"));
        let mut room = vec![0; 1 << 16];
        // The loopback delivers at once.
        let arrived = std::iter::from_fn(|| to.recv(&mut room).ok().map(|len| room[..len].to_vec()));
        (sent, arrived.collect())
    }

    #[test]
    fn equal_datagrams_to_one_address_pass_the_kernel_together() {
        let (sent, arrived) = carried(true);
        let trains = [0..4, 4..6, 6..8, 8..9].map(|train| sent[train].concat());
        assert_eq!(arrived, trains);
    }

    #[test]
    fn datagrams_without_checksum_are_sent_one_by_one() {
        let (sent, arrived) = carried(false);
        assert_eq!(arrived, sent);
    }

    /// An outbox with packets of one byte each, behind room for a header.
    fn outbox(bytes: &[u8]) -> Outbox {
        let mut outbox = Outbox::new(2, 10);
        for byte in bytes {
            let slot = outbox.slot().expect("room");
            assert_eq!(slot.len(), 10);
            slot[0] = *byte;
            outbox.queue((2, 3), Name::NONE);
        }
        outbox
    }

    #[test]
    fn what_cannot_be_written_yet_is_kept_and_what_is_refused_is_dropped() {
        let mut outbox = outbox(b"abcde");
        let (mut written, mut calls) = (Vec::new(), 0);
        let mut write = |packet: &[u8]| {
            calls += 1;
            match calls {
                2 => return Err(io::Error::from_raw_os_error(libc::EAGAIN)),
                4 => return Err(io::Error::from_raw_os_error(libc::ENOBUFS)),
                _ => written.extend_from_slice(packet),
            }
            Ok(packet.len())
        };
        assert!(!outbox.write(&mut write).expect("it can be tried again"));
        assert!(!outbox.is_empty());
        assert!(outbox.write(&mut write).expect("written"));
        assert!(outbox.is_empty());
        assert_eq!(written, b"abde", "the third was refused");
        let refusal = outbox.take_refusal().expect("one was refused");
        assert_eq!(refusal.raw_os_error(), Some(libc::ENOBUFS));
        assert!(outbox.take_refusal().is_none(), "it is said once");
    }

    #[test]
    fn a_device_that_is_gone_is_an_error() {
        for number in [libc::EBADFD, libc::EBADF, libc::ENODEV, libc::ENXIO] {
            let gone = || io::Error::from_raw_os_error(number);
            let error = outbox(b"a").write(|_| Err(gone())).expect_err("it is gone");
            assert_eq!(error.raw_os_error(), Some(number));
            assert!(outbox(b"a").write_trains(|_| Err(gone())).is_err());
        }
    }

    #[test]
    fn a_batch_has_so_many_packets() {
        let mut outbox = outbox(&[7; BATCH - 1]);
        assert!(!outbox.is_full());
        outbox.slot().expect("room")[0] = 7;
        // The room before it is part of the place.
        assert_eq!((outbox.place().len(), outbox.place()[2]), (12, 7));
        outbox.queue((0, 12), Name::NONE);
        assert!(outbox.is_full() && outbox.slot().is_none());
        let mut lens = Vec::new();
        assert!(
            outbox
                .write(|packet| {
                    lens.push(packet.len());
                    Ok(packet.len())
                })
                .expect("written")
        );
        assert_eq!((lens.len(), lens[0], lens[BATCH - 1]), (BATCH, 1, 12));
        assert!(!outbox.is_full());
    }

    /// Packets that are not alike are trains of one.
    #[test]
    fn trains_are_written_in_order() {
        let mut outbox = outbox(b"abc");
        let (mut written, mut calls) = (Vec::new(), 0);
        let mut write = |pieces: &[IoSlice<'_>]| {
            calls += 1;
            if calls == 2 {
                return Err(io::Error::from_raw_os_error(libc::EAGAIN));
            }
            written.extend_from_slice(&pieces[1]);
            Ok(1)
        };
        assert!(!outbox.write_trains(&mut write).expect("it can be tried again"));
        assert!(outbox.write_trains(&mut write).expect("written"));
        assert_eq!(written, b"abc");
    }

    #[test]
    fn a_packet_that_is_too_long_is_named_and_the_next_one_is_sent() {
        let peer = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        peer.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let place = peer.local_addr().expect("an address");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let mut outbox = Outbox::new(0, 66_000);
        for len in [66_000, 3] {
            outbox.slot().expect("room")[..3].copy_from_slice(b"abc");
            outbox.queue((0, len), Name::of(place));
        }
        assert!(outbox.take_too_long().is_none());
        assert!(outbox.send(socket.as_fd(), true).expect("sent"));
        assert_eq!(outbox.take_too_long(), Some((place, 66_000)));
        assert!(outbox.take_too_long().is_none(), "it is said once");
        let mut received = [0; 9];
        assert_eq!(peer.recv(&mut received).expect("a packet"), 3);
        assert_eq!(&received[..3], b"abc");
    }

    #[test]
    fn packets_are_read_until_there_is_none() {
        let clock = Clock::new();
        let before = clock.now();
        let mut inbox = Inbox::of(3, 4, 10);
        let mut packets = vec![&b"one"[..], b"three", b"", b"four"].into_iter();
        let mut read = |buffer: &mut [u8]| {
            assert_eq!(buffer.len(), 10);
            let packet = packets.next().ok_or(io::ErrorKind::WouldBlock)?;
            buffer[..packet.len()].copy_from_slice(packet);
            Ok(packet.len())
        };
        assert_eq!(inbox.read(&clock, &mut read).expect("packets"), 3);
        assert_eq!([0, 1, 2].map(|index| inbox.packet(index).0), [&b"one"[..], b"three", b""]);
        assert!(inbox.packet(2).1 >= before && inbox.packet(2).1 <= clock.now());
        let (place, len) = inbox.place(1);
        assert_eq!((place.len(), &place[4..], len), (9, &b"three"[..], 5));
        place[3] = b'>';
        assert_eq!(inbox.with_header(1, 1).0, b">three");
        assert_eq!(inbox.read(&clock, &mut read).expect("a packet"), 1);
        assert_eq!((inbox.len(), inbox.packet(0).0), (1, &b"four"[..]));
        assert_eq!(inbox.read(&clock, &mut read).expect("none"), 0);
        // An error is not lost, nor is what was read before it.
        let mut calls = 0;
        let error = inbox.read(&clock, |buffer| {
            calls += 1;
            buffer[0] = 7;
            if calls == 2 { Err(io::Error::from_raw_os_error(libc::EIO)) } else { Ok(1) }
        });
        assert_eq!(error.expect_err("an error").raw_os_error(), Some(libc::EIO));
        assert_eq!((inbox.len(), inbox.packet(0).0), (1, &[7][..]));
    }

    fn control(messages: &[(i32, i32, &[u8])]) -> Control {
        let mut control = Control::NONE;
        for (level, kind, value) in messages {
            let start = control.len;
            let len = 16 + value.len();
            control.bytes[start..start + 8].copy_from_slice(&len.to_ne_bytes());
            control.bytes[start + 8..start + 12].copy_from_slice(&level.to_ne_bytes());
            control.bytes[start + 12..start + 16].copy_from_slice(&kind.to_ne_bytes());
            control.bytes[start + 16..start + len].copy_from_slice(value);
            control.len += len.next_multiple_of(8);
        }
        control
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn control_messages_are_found() {
        let mut timestamp = 7_i64.to_ne_bytes().to_vec();
        timestamp.extend(9_i64.to_ne_bytes());
        let both = control(&[(263, 8, &[1; 20]), (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &timestamp)]);
        assert_eq!(both.timestamp(), Some(7_000_000_009));
        assert_eq!(both.find(263, 8), Some(&[1; 20][..]));
        assert_eq!(both.find(263, 9), None);
        assert_eq!(Control::NONE.timestamp(), None);
        let tos = Control::NONE.and_int(libc::IPPROTO_IP, libc::IP_TOS, 3);
        assert_eq!(tos.find(libc::IPPROTO_IP, libc::IP_TOS), Some(&3_i32.to_ne_bytes()[..]));
        let both_ints = tos.and_int(libc::IPPROTO_IP, libc::IP_TTL, 7);
        assert_eq!(both_ints.find(libc::IPPROTO_IP, libc::IP_TOS), Some(&3_i32.to_ne_bytes()[..]));
        assert_eq!(both_ints.find(libc::IPPROTO_IP, libc::IP_TTL), Some(&7_i32.to_ne_bytes()[..]));
        // An invalid length ends the search.
        let mut broken = both;
        broken.bytes[..8].copy_from_slice(&3_usize.to_ne_bytes());
        assert_eq!(broken.timestamp(), None);
        broken.bytes[..8].copy_from_slice(&usize::MAX.to_ne_bytes());
        assert_eq!(broken.timestamp(), None);
    }
}
