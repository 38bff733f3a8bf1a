//! An interface of the box.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use headway_link::{Hit, PacketBuffer as _};
use headway_units::Instant;

use super::finish::{complete, cut};
use super::frame::packet_range;
use super::receive_offload::ReceiveOffload;
use super::{Frame, PortCounters};
use crate::carrier::unless_fatal;
use crate::packet_socket::{self, ChecksumPlace, Framing, PacketSocket, SegmentKind};
use crate::{Clock, Interface, NetError, sys};

/// An interface of the box: receives frames, and queues frames to send.
pub(super) struct Port {
    socket: PacketSocket,
    framing: Framing,
    /// Restored when the port is dropped.
    _receive_offload: ReceiveOffload,
    outgoing: VecDeque<Outgoing>,
    counters: PortCounters,
}

/// The maximum number of frames queued for an interface: over half a second of 1 Gbit/s in packets of
/// 1500 bytes.
const MAX_OUTGOING: usize = 65_536;

/// A received frame.
pub(super) enum Incoming {
    /// An IP packet.
    Packet(Frame),
    /// Anything else, which does not pass the link.
    Other(Frame),
}

/// A frame to send.
pub(super) struct Outgoing {
    pub(super) frame: Frame,
    /// Its due time; `None`: at once.
    pub(super) due: Option<Instant>,
    pub(super) damage: Option<Hit>,
}

impl Outgoing {
    /// A frame that does not pass the link.
    pub(super) fn at_once(frame: Frame) -> Self {
        Self { frame, due: None, damage: None }
    }
}

impl Port {
    pub(super) fn open(name: &str) -> Result<Self, NetError> {
        let socket = PacketSocket::open_for_relaying(name)?;
        let fail = |source, expected| NetError::Interface {
            name: name.into(),
            what: "cannot be an end of the box",
            source,
            expected,
        };
        let framing = socket.framing().map_err(|source| fail(source, "an existing interface"))?;
        if let Framing::Other(kind) = framing {
            let source = io::Error::other(format!("its frames are of another kind (ARPHRD {kind})"));
            return Err(fail(source, "an Ethernet interface, such as eth0 or one end of a veth, or a TUN"));
        }
        if !socket.interface().up {
            let source = io::Error::from_raw_os_error(libc::ENETDOWN);
            return Err(fail(source, "an interface that is up (`ip link set NAME up`)"));
        }
        let receive_offload = ReceiveOffload::switch_off(name);
        Ok(Self {
            socket,
            framing,
            _receive_offload: receive_offload,
            outgoing: VecDeque::new(),
            counters: PortCounters::default(),
        })
    }

    pub(super) fn interface(&self) -> &Interface {
        self.socket.interface()
    }

    pub(super) fn framing(&self) -> Framing {
        self.framing
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// The counters, with the kernel's drop counter.
    pub(super) fn counters(&mut self) -> PortCounters {
        // Without the kernel's counter no drops are counted.
        let drops = self.socket.drops().unwrap_or(0);
        with_socket(&mut self.counters, drops, self.socket.unreadable())
    }

    /// Whether the opened interface still exists.
    pub(super) fn exists(&self) -> bool {
        self.socket.exists()
    }

    /// Reads a batch of frames.
    pub(super) fn read(&mut self, clock: &Clock, mut each: impl FnMut(Instant, Incoming)) -> io::Result<()> {
        for index in 0..self.socket.fill(clock)? {
            let frame = self.socket.frame(index);
            take_in(&frame, self.framing, &mut self.counters, &mut each);
        }
        Ok(())
    }

    /// Queues a frame for the next flush. Frames beyond the limit are dropped.
    pub(super) fn queue(&mut self, outgoing: Outgoing) {
        if self.outgoing.len() < MAX_OUTGOING {
            self.outgoing.push_back(outgoing);
        } else {
            self.counters.refused += 1;
        }
    }

    /// Whether frames are queued after a flush because the socket is full.
    pub(super) fn is_congested(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Sends queued frames until the socket is full; `sent` gets each sent frame and the time of sending.
    pub(super) fn flush(
        &mut self,
        clock: &Clock,
        mut sent: impl FnMut(Instant, &Outgoing),
    ) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            let frames = self.outgoing.iter().map(|outgoing| outgoing.frame.wire());
            match self.socket.send(frames) {
                Ok(count) => {
                    let now = clock.now();
                    self.outgoing.drain(..count).for_each(|outgoing| sent(now, &outgoing));
                }
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => return Ok(()),
                Err(error) => {
                    let error = unless_fatal(error)?;
                    if self.shorten_joined() {
                        continue;
                    }
                    tracing::debug!(%error, interface = self.socket.interface().name, "a frame was refused");
                    self.counters.refused += 1;
                    self.outgoing.pop_front();
                }
            }
        }
        Ok(())
    }

    /// Of the next frame to send, if another follows in it, leaves what the interface has room for: a receiver hands up no longer
    /// one. Says whether it was longer.
    fn shorten_joined(&mut self) -> bool {
        let mtu = sys::interface_mtu(self.socket.fd(), &self.socket.interface().name);
        let mtu = mtu.ok().and_then(|mtu| usize::try_from(mtu).ok());
        let (Some(first), Some(mtu)) = (self.outgoing.front_mut(), mtu) else { return false };
        let is_longer = first.damage.is_some_and(|hit| hit.no_end) && first.frame.packet().len() > mtu;
        if is_longer {
            first.frame.set_len(mtu);
        }
        is_longer
    }
}

/// The counters, with what the kernel dropped since the last time, and what could not be read since the beginning.
fn with_socket(counters: &mut PortCounters, drops: u32, unreadable: u64) -> PortCounters {
    counters.kernel_drops += u64::from(drops);
    PortCounters { uncut: counters.uncut + unreadable, ..*counters }
}

/// Completes a frame: gives one or more complete frames.
fn take_in(
    frame: &packet_socket::Frame<'_>,
    framing: Framing,
    counters: &mut PortCounters,
    each: &mut impl FnMut(Instant, Incoming),
) {
    let Some((start, end)) = packet_range(frame.bytes, framing) else {
        let (link_header, rest) = frame.bytes.split_at(frame.bytes.len().min(TAG_AT));
        let tag = frame.vlan.unwrap_or_default();
        let tag = if frame.vlan.is_some() { &tag[..] } else { &[] };
        counters.passed += 1;
        return each(frame.at, Incoming::Other(Frame::new(link_header, tag, rest)));
    };
    let mut link_header = [0; MAX_LINK_HEADER];
    let link_header = with_tag(&mut link_header, &frame.bytes[..start], frame.vlan);
    let packet = &frame.bytes[start..end];
    match frame.offload.segments {
        _ if !frame.whole => counters.uncut += 1,
        Some(segments) if matches!(segments.kind, SegmentKind::Tcp | SegmentKind::Udp) => {
            let done = cut(link_header, packet, segments, |piece| each(frame.at, Incoming::Packet(piece)));
            *(if done { &mut counters.cut } else { &mut counters.uncut }) += 1;
        }
        Some(_) => counters.uncut += 1,
        None => {
            let mut whole = Frame::new(link_header, packet, &[]);
            if let Some(place) = frame.offload.checksum
                && let Some(from) = place.start.checked_sub(start)
            {
                complete(whole.as_mut(), ChecksumPlace { start: from, ..place });
                counters.completed += 1;
            }
            each(frame.at, Incoming::Packet(whole));
        }
    }
}

/// Two addresses; the type or a tag follows.
const TAG_AT: usize = 12;
/// Ethernet with two tags, and one that the interface removed.
const MAX_LINK_HEADER: usize = packet_socket::ETHERNET_HEADER + 3 * 4;

/// The link header, with the tag that the interface removed.
fn with_tag<'a>(room: &'a mut [u8; MAX_LINK_HEADER], header: &[u8], tag: Option<[u8; 4]>) -> &'a [u8] {
    let (addresses, rest) = header.split_at(header.len().min(TAG_AT));
    let mut len = 0;
    for part in [addresses, tag.as_ref().map_or(&[][..], |tag| tag), rest] {
        if let Some(place) = room.get_mut(len..len + part.len()) {
            place.copy_from_slice(part);
            len += part.len();
        }
    }
    &room[..len]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet_socket::{FrameChecksum, Offload, Segments};

    /// Kind, link header, packet.
    type Taken = (char, Vec<u8>, Vec<u8>);

    /// The result of taking in a frame.
    fn take(frame: &packet_socket::Frame<'_>) -> (Vec<Taken>, PortCounters) {
        let (mut taken, mut counters) = (Vec::new(), PortCounters::default());
        take_in(frame, Framing::Ethernet, &mut counters, &mut |_, incoming| {
            let (letter, frame) = match incoming {
                Incoming::Packet(frame) => ('p', frame),
                Incoming::Other(frame) => ('o', frame),
            };
            taken.push((letter, frame.link_header().to_vec(), frame.packet().to_vec()));
        });
        (taken, counters)
    }

    fn frame(bytes: &[u8]) -> packet_socket::Frame<'_> {
        packet_socket::Frame {
            bytes,
            at: Instant::ZERO,
            checksum: FrameChecksum::Final,
            offload: Offload::default(),
            vlan: None,
            whole: true,
        }
    }

    const TAG: [u8; 4] = [0x81, 0, 0, 5];

    fn udp(payload: usize) -> Vec<u8> {
        let mut bytes = [&[7; 12][..], &[8, 0, 0x45, 0, 0, 28 + payload as u8, 0, 0, 0, 0, 64, 17]].concat();
        bytes.resize(14 + 28 + payload, 3);
        bytes
    }

    #[test]
    fn what_the_socket_dropped_is_added_to_the_counters() {
        let mut counters = PortCounters { uncut: 5, ..PortCounters::default() };
        for (drops, unreadable, expected) in [(0, 0, (0, 5)), (3, 0, (3, 5)), (4, 2, (7, 7)), (0, 2, (7, 7))]
        {
            let now = with_socket(&mut counters, drops, unreadable);
            assert_eq!((now.kernel_drops, now.uncut), expected);
        }
    }

    #[test]
    fn removed_tags_are_restored() {
        let bytes = udp(10);
        let (taken, counters) = take(&packet_socket::Frame { vlan: Some(TAG), ..frame(&bytes) });
        let header = [&[7; 12][..], &TAG, &[8, 0]].concat();
        assert_eq!(taken, [('p', header, bytes[14..].to_vec())]);
        assert_eq!(counters, PortCounters::default());
        // ARP.
        let bytes = [&[7; 12][..], &[8, 6], b"who"].concat();
        let (taken, counters) = take(&packet_socket::Frame { vlan: Some(TAG), ..frame(&bytes) });
        let whole = [&taken[0].1[..], &taken[0].2].concat();
        assert_eq!((taken[0].0, whole), ('o', [&[7; 12][..], &TAG, &[8, 6], b"who"].concat()));
        assert_eq!(counters.passed, 1);
    }

    #[test]
    fn offload_is_completed() {
        let bytes = udp(10);
        let place = ChecksumPlace { start: 34, offset: 6 };
        let offload = Offload { checksum: Some(place), segments: None };
        let (taken, counters) = take(&packet_socket::Frame { offload, ..frame(&bytes) });
        let mut expected = bytes[14..].to_vec();
        complete(&mut expected, ChecksumPlace { start: 20, offset: 6 });
        assert_ne!(expected, bytes[14..]);
        assert_eq!((&taken[0].2, counters.completed), (&expected, 1));
        let cut = |kind| {
            let segments = Some(Segments { kind, payload: 4 });
            let offload = Offload { checksum: Some(place), segments };
            let (taken, counters) = take(&packet_socket::Frame { offload, ..frame(&bytes) });
            (taken.len(), counters.cut, counters.uncut)
        };
        assert_eq!(cut(SegmentKind::Udp), (3, 1, 0));
        assert_eq!(cut(SegmentKind::Other(3)), (0, 0, 1));
        let (taken, counters) = take(&packet_socket::Frame { whole: false, ..frame(&bytes) });
        assert_eq!((taken.len(), counters.uncut), (0, 1));
    }
}
