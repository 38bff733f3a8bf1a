//! Bringing packets in and out.

pub(crate) mod arp;
pub(crate) mod batch;
mod ethernet;
pub(crate) mod ndp;
pub(crate) mod neighbours;
mod train;
mod tun;
mod udp;
mod virtio;

use std::io;
use std::os::fd::BorrowedFd;

use headway_units::Instant;
use headway_wire::icmp::{ICMP, ICMPV6};
use headway_wire::{ParseError, PayloadVerdict, Segment, Verdicts, judge, judge_segment};

use crate::Clock;
pub use ethernet::{EthernetCarrier, EthernetConfig};
pub use tun::{TunCarrier, TunConfig};
pub use udp::{UdpCarrier, UdpConfig};

/// A packet that arrived: its bytes, when it did, and whether they are as they were sent.
#[derive(Debug)]
pub struct Received<'a> {
    /// The IP packet.
    pub packet: &'a [u8],
    /// When it arrived, as near to the wire as the carrier can tell.
    pub at: Instant,
    /// The packet, taken apart; `None` where that cannot be done.
    pub segment: Option<Segment<'a>>,
    /// What its checksums say.
    pub verdicts: Verdicts,
}

impl<'a> Received<'a> {
    /// Judges a packet by its checksums. ICMP is left to the host to judge. `None` if it is intact as far
    /// as can be told, and neither: that is no damage, and nobody's here.
    pub fn judge(packet: &'a [u8], at: Instant) -> Option<Self> {
        let (segment, verdicts) = match Segment::parse(packet) {
            Ok(segment) => (Some(segment), judge_segment(&segment, packet)),
            Err(ParseError::NotTcp(ICMP | ICMPV6)) => (None, Verdicts::GOOD),
            Err(ParseError::NotTcp(_)) => return None,
            Err(_) => (None, judge(packet).unwrap_or(Verdicts::BAD)),
        };
        Some(Self { packet, at, segment, verdicts })
    }

    /// A packet whose sums were checked before it came, or that the kernel of this machine made and handed
    /// over before its checksum was computed (Linux's `CHECKSUM_PARTIAL`): it was never on a wire, so it is
    /// as it was sent. `None` as with [`Received::judge`].
    pub fn vouched(packet: &'a [u8], at: Instant) -> Option<Self> {
        let Ok(segment) = Segment::parse(packet) else { return Self::judge(packet, at) };
        let verdicts = Verdicts { payload: PayloadVerdict::Unchecked, ..Verdicts::GOOD };
        Some(Self { packet, at, segment: Some(segment), verdicts })
    }
}

/// Brings IP packets in and out. It knows nothing of TCP's state.
///
/// A driver waits until [`Carrier::fd`] is readable, lets the carrier read what waits
/// ([`Carrier::fill`]), takes it ([`Carrier::received`]), writes packets into the places that
/// [`Carrier::slot`] gives, and has them sent ([`Carrier::flush`]). System calls happen in `fill` and
/// `flush` alone, each for a batch of packets.
pub trait Carrier: Send {
    /// Readable when packets wait; writable when packets that `flush` kept may go.
    fn fd(&self) -> BorrowedFd<'_>;

    /// The longest IP packet that it carries, in octets.
    fn mtu(&self) -> u16;

    /// What it is, for people.
    fn name(&self) -> String;

    /// Whether each segment goes and comes as a packet of its own, with its own checksums, as HACK needs
    /// it.
    fn keeps_segments(&self) -> bool {
        true
    }

    /// Reads packets that wait, as many as fit a batch, without waiting for any; says how many there
    /// are. Those of the call before are dropped.
    ///
    /// # Errors
    ///
    /// The carrier cannot go on: its interface is gone.
    fn fill(&mut self, clock: &Clock) -> io::Result<usize>;

    /// The packets that [`Carrier::fill`] read, judged, in the order of their arrival.
    fn received<'a>(&'a self, packets: &mut Vec<Received<'a>>);

    /// A place for a packet to be sent, as long as [`Carrier::mtu`] says; `None` while a batch waits
    /// to be flushed.
    fn slot(&mut self) -> Option<&mut [u8]>;

    /// The packet of `len` octets that was written into the last slot is to be sent.
    fn queue(&mut self, len: usize);

    /// Sends what is queued, and says whether all of it went; otherwise it is kept until the carrier
    /// is writable. A packet that the system refuses is dropped, as if lost.
    ///
    /// # Errors
    ///
    /// The carrier cannot go on: its interface is gone.
    fn flush(&mut self) -> io::Result<bool>;

    /// When the carrier has something to do of its own, such as asking again for a neighbour.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Does what is due. Packets that this queues go with the next [`Carrier::flush`].
    fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }
}

impl Carrier for Box<dyn Carrier> {
    fn fd(&self) -> BorrowedFd<'_> {
        (**self).fd()
    }

    fn mtu(&self) -> u16 {
        (**self).mtu()
    }

    fn name(&self) -> String {
        (**self).name()
    }

    fn keeps_segments(&self) -> bool {
        (**self).keeps_segments()
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        (**self).fill(clock)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Received<'a>>) {
        (**self).received(packets);
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        (**self).slot()
    }

    fn queue(&mut self, len: usize) {
        (**self).queue(len);
    }

    fn flush(&mut self) -> io::Result<bool> {
        (**self).flush()
    }

    fn next_deadline(&self) -> Option<Instant> {
        (**self).next_deadline()
    }

    fn handle_timeout(&mut self, now: Instant) {
        (**self).handle_timeout(now);
    }
}

/// Whether `error` says that an interface or socket will never work again.
pub(crate) fn is_fatal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADFD | libc::EBADF | libc::ENODEV | libc::ENXIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_tcp_is_no_damage() {
        let mut packet = [0; 84];
        let header = headway_wire::IpHeader {
            src: [192, 0, 2, 1].into(),
            dst: [192, 0, 2, 2].into(),
            ecn: headway_wire::Ecn::NotEct,
            hop_limit: 64,
            identification: 0,
        };
        header.emit(&mut packet, 17, 64).unwrap();
        assert!(Received::judge(&packet, Instant::ZERO).is_none());
        // The host sees for itself whether an ICMP message is sound.
        header.emit(&mut packet, 1, 64).unwrap();
        let ping = Received::judge(&packet, Instant::ZERO).unwrap();
        assert!(ping.segment.is_none() && ping.verdicts == Verdicts::GOOD);
        // With a damaged IP header nobody can say what it was.
        packet[9] = 6;
        let received = Received::judge(&packet, Instant::ZERO).unwrap();
        assert!(received.segment.is_none());
        assert_eq!(received.verdicts, Verdicts::BAD);
    }
}
