//! The sealed tunnel to one other gateway in the frames of a modem: each datagram in one frame, with its header [`twice`].

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;

use headway_tcp::Transmit;
use headway_trunk_proto::{HEADROOM, LONGEST_DATA_HEADER, Tunnel, TunnelConfig, header_len, inner_mtu};
use headway_units::Instant;
use headway_wire::Ecn;

use super::super::batch::{Inbox, Outbox};
use super::super::frames::ModemConfig;
use super::super::frames::link::FrameLink;
use super::super::frames::twice::{self, HeaderLengths};
use super::super::{Arrival, Carrier, CarrierProperties, Housekeeping};
use super::end::{TunnelEnd, TunnelMonitor};
use crate::sys::Name;
use crate::{Clock, NetError};

/// Where the peer is: a frame has no address, and there is one peer.
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
/// The lengths of headers: those of data without and with a SACK block, and of a message with padding; and all.
const USUAL: [usize; 3] = [LONGEST_DATA_HEADER - 12, LONGEST_DATA_HEADER, 28];
const ALL: std::ops::RangeInclusive<usize> = 25..=101;

/// The sealed tunnel to one other gateway in the frames of a modem.
pub struct SealedFramesCarrier {
    link: Box<dyn FrameLink>,
    end: TunnelEnd,
    mtu: u16,
    frame_mtu: usize,
    inbox: Inbox,
    /// The frame that is read.
    frame: Vec<u8>,
    outbox: Outbox,
    read_error: Option<io::Error>,
}

impl SealedFramesCarrier {
    /// Opens the way to the modem. The longest frame has `mtu` bytes. The tunnel has one peer, and its longest datagram and the
    /// peer's endpoint follow from the frames.
    ///
    /// # Errors
    ///
    /// The addresses of the modem are inconsistent or in use, or there is no modem.
    pub fn open(modem: &ModemConfig, mtu: u16, mut tunnel: TunnelConfig) -> Result<Self, NetError> {
        let keys = [Some(tunnel.secret.public()), tunnel.peers.first().map(|peer| peer.key)];
        let [own, peer] = keys.map(|key| key.map_or_else(String::new, |key| key.to_string()));
        let link = modem.open(mtu, [&own, &peer])?;
        tunnel.longest = mtu.saturating_sub(LONGEST_DATA_HEADER as u16);
        tunnel.peers.iter_mut().for_each(|peer| peer.endpoint = Some(PEER));
        let inner_mtu = inner_mtu(tunnel.longest);
        // Of a frame, and of the packet that is sealed in it, which may be longer. A peer may have longer frames.
        let room = usize::from(mtu.max(inner_mtu)).max(2048);
        Ok(Self {
            link,
            end: TunnelEnd::new(Tunnel::new(tunnel)),
            mtu: inner_mtu,
            frame_mtu: mtu.into(),
            inbox: Inbox::new(HEADROOM, room),
            frame: Vec::new(),
            outbox: Outbox::new(HEADROOM, room),
            read_error: None,
        })
    }

    /// What the stack must have for an address.
    pub fn inner_addresses(&self) -> Vec<IpAddr> {
        self.end.inner_addresses()
    }

    /// What is known of the tunnel while it runs.
    pub fn monitor(&self) -> TunnelMonitor {
        self.end.monitor()
    }

    /// Queues the tunnel's own datagrams, as far as there is room. Returns whether those were all.
    fn queue_own(&mut self) -> bool {
        while !self.outbox.is_full() {
            let Some(own) = self.end.poll_transmit() else { return true };
            let Some(place) = self.outbox.slot().and_then(|slot| slot.get_mut(..own.datagram.len())) else {
                continue;
            };
            place.copy_from_slice(&own.datagram);
            self.queue_datagram(HEADROOM, HEADROOM + own.datagram.len());
        }
        false
    }

    /// Queues the datagram from `start` to `end` of the place, and the copy of its header.
    fn queue_datagram(&mut self, start: usize, end: usize) {
        let place = self.outbox.place();
        let header = header_len(&place[start..end]).unwrap_or_default();
        let end = twice::append(place, (start, end), header, self.frame_mtu);
        self.outbox.queue((start, end), Name::NONE);
    }
}

impl Carrier for SealedFramesCarrier {
    fn fd(&self) -> BorrowedFd<'_> {
        self.link.fd()
    }

    fn mtu(&self) -> u16 {
        self.mtu
    }

    fn name(&self) -> String {
        format!("tunnel in frames of {}", self.link.name())
    }

    fn properties(&self) -> CarrierProperties {
        CarrierProperties { tags_payloads: true, ..CarrierProperties::default() }
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        Some(self)
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.end.on_time(clock.now());
        if let Err(error) = self.inbox.read(clock, |buffer| self.link.read(buffer)) {
            // ICMP port unreachable: the modem's program does not run.
            let error = super::super::unless_fatal(error)?;
            tracing::debug!(%error, "reading frames");
            self.read_error = Some(error);
        }
        for index in 0..self.inbox.len() {
            self.frame.clear();
            self.frame.extend_from_slice(self.inbox.packet(index).0);
            let (len, is_intact) =
                read(&self.frame, self.frame_mtu, self.inbox.place(index).0, self.end.tunnel());
            self.link.judged(is_intact);
            self.inbox.shorten(index, len);
            self.end.open(&mut self.inbox, index, (len > 0).then_some(PEER), Ecn::NotEct);
        }
        self.end.on_opened();
        Ok(self.inbox.len())
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        self.end.received(&self.inbox, packets);
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.outbox.slot()
    }

    fn queue(&mut self, Transmit { len, .. }: Transmit) {
        let (tunnel, now) = self.end.sending();
        match tunnel.seal(now, self.outbox.place(), HEADROOM..HEADROOM + len) {
            Ok(sealed) => self.queue_datagram(sealed.datagram.start, sealed.datagram.end),
            // As if lost on the way.
            Err(error) => tracing::trace!(%error, "a segment was not sent"),
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        loop {
            let is_all = self.queue_own();
            let are_taken = self.outbox.write(|frame| self.link.write(frame))?;
            if !(self.link.flush()? && are_taken) {
                return Ok(false);
            }
            if is_all {
                return Ok(true);
            }
        }
    }
}

/// Writes the datagram of a frame to the end of `place`, behind [`HEADROOM`]; returns its length, and whether
/// one of its headers is intact. If none is, it is what most frames are.
fn read(frame: &[u8], longest: usize, place: &mut [u8], tunnel: &Tunnel) -> (usize, bool) {
    let lengths = HeaderLengths { usual: &USUAL, declared: header_len(frame), all: ALL };
    let intact = twice::find(frame, longest, &lengths, |split| {
        let len = split.write(place, HEADROOM)?;
        tunnel.has_intact_header(&place[HEADROOM..HEADROOM + len]).then_some(len)
    });
    if let Some(len) = intact {
        return (len, true);
    }
    let mut damaged = |copy| twice::Split::new(frame, copy, false)?.write(place, HEADROOM);
    let declared = lengths.declared.unwrap_or(USUAL[0]);
    (damaged(declared).or_else(|| damaged(0)).unwrap_or_default(), false)
}

impl Housekeeping for SealedFramesCarrier {
    fn trouble(&mut self) -> Option<String> {
        let error = self.read_error.take().or(self.outbox.take_refusal());
        error.map(|error| self.link.explain(&error)).or_else(|| self.link.trouble())
    }

    fn restarted_peers(&mut self) -> Vec<IpAddr> {
        self.end.restarted_peers()
    }

    fn returned_peers(&mut self) -> Vec<IpAddr> {
        self.end.returned_peers()
    }

    fn path_mtus(&self) -> &[(IpAddr, IpAddr, u16)] {
        self.end.path_mtus()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.end.next_deadline().into_iter().chain(self.link.next_deadline()).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.link.handle_timeout(now);
        self.end.handle_timeout(now);
    }

    fn close(&mut self) {
        // What is sent may be lost.
        for _ in 0..3 {
            self.end.close();
            if !self.flush().is_ok_and(|are_sent| are_sent) {
                return tracing::debug!("the peer was not told of the end");
            }
        }
    }
}
