//! TCP segments in the frames of a modem.
//!
//! A frame is a [bare](super::bare) TCP segment, in the compact form if both ends understand that ([`headway_wire::compact`]),
//! with its header [`twice`]. It is received as it is, also if it arrived damaged or with [another length](other_length), and there are two ends. The DSCP and the ECN
//! field are not carried. [`link`] says how frames reach the modem.

mod ax25;
mod datagrams;
mod framing;
#[cfg(test)]
mod fuzzed;
mod kiss;
pub(super) mod link;
mod marks;
mod monitor;
mod other_length;
mod segment;
mod serial;
mod stream;
pub(super) mod twice;

use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use headway_tcp::Transmit;
use headway_units::Instant;
use headway_wire::compact::LEFT_OUT;
use headway_wire::{ChecksumTrust, IpHeader};

use super::bare::{Bare, HEADROOM, header_len, take_header};
use super::batch::{Inbox, Outbox};
use super::{Arrival, Carrier, CarrierProperties, Housekeeping};
use crate::sys::{BATCH, Name};
use crate::{Clock, NetError};
pub use ax25::Callsign;
pub use datagrams::FramesSocket;
use link::FrameLink;
pub use link::ModemConfig;
pub use monitor::LegacyRate;
use other_length::OtherLength;
use segment::COPY;
pub use stream::StreamPlace;

/// How a [`FramesCarrier`] is set up.
#[derive(Clone, Debug)]
pub struct FramesConfig {
    /// How the modem is reached.
    pub modem: ModemConfig,
    /// The address of this end: a name at this end only, except over [`ModemConfig::Monitor`].
    pub address: IpAddr,
    /// The address of the other end, as above.
    pub peer: IpAddr,
    /// The longest frame, in bytes.
    pub mtu: u16,
}

/// TCP segments in the frames of a modem.
pub struct FramesCarrier {
    link: Box<dyn FrameLink>,
    address: IpAddr,
    peer: IpAddr,
    mtu: u16,
    frame_mtu: usize,
    inbox: Inbox,
    /// How many bytes of the headers were restored; `None`: it is no frame.
    restored: [Option<usize>; BATCH],
    /// The frame that is read.
    frame: Vec<u8>,
    /// What it was, if its length changed.
    other_length: OtherLength,
    outbox: Outbox,
    read_error: Option<io::Error>,
}

impl FramesCarrier {
    /// Opens the way to the modem.
    ///
    /// # Errors
    ///
    /// The addresses are inconsistent or in use, or there is no modem.
    pub fn open(config: &FramesConfig) -> Result<Self, NetError> {
        let FramesConfig { modem, address, peer, mtu } = config.clone();
        if address.is_ipv4() != peer.is_ipv4()
            || address == peer
            || address.is_unspecified()
            || peer.is_unspecified()
        {
            return Err(NetError::BadAddress {
                got: format!("addresses {address} and {peer}"),
                expected: "two addresses of one family, one for each end",
            });
        }
        let link = modem.open(mtu, [&address.to_string(), &peer.to_string()])?;
        let inner_mtu = mtu.saturating_add(header_len(address) as u16).saturating_sub(COPY as u16);
        let longest = usize::from(inner_mtu) + LEFT_OUT + COPY;
        Ok(Self {
            link,
            address,
            peer,
            mtu: inner_mtu,
            frame_mtu: mtu.into(),
            // The other end may have longer frames.
            inbox: Inbox::new(HEADROOM, longest.max(2048)),
            restored: [None; BATCH],
            frame: Vec::new(),
            other_length: OtherLength::default(),
            outbox: Outbox::new(0, longest),
            read_error: None,
        })
    }
}

impl Carrier for FramesCarrier {
    fn fd(&self) -> BorrowedFd<'_> {
        self.link.fd()
    }

    fn mtu(&self) -> u16 {
        self.mtu
    }

    fn name(&self) -> String {
        format!("frames of {}", self.link.name())
    }

    fn properties(&self) -> CarrierProperties {
        CarrierProperties { compacts_headers: true, ..CarrierProperties::default() }
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        Some(self)
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        if let Err(error) = self.inbox.read(clock, |buffer| self.link.read(buffer)) {
            // ICMP port unreachable: the modem's program does not run.
            let error = super::unless_fatal(error)?;
            tracing::debug!(%error, "reading frames");
            self.read_error = Some(error);
        }
        let header = IpHeader::new(self.peer, self.address);
        for index in 0..self.inbox.len() {
            self.restored[index] = None;
            self.frame.clear();
            self.frame.extend_from_slice(self.inbox.packet(index).0);
            let mut found = segment::read(&self.frame, self.frame_mtu, self.inbox.place(index).0, &header);
            if found.is_readable {
                self.other_length.read(self.frame.len());
            } else if let Some((segment, restored)) =
                self.other_length.find(&mut self.frame, self.frame_mtu, &header)
            {
                found = segment;
                self.inbox.write(index, restored);
            }
            self.link.judged(found.is_readable);
            if found.len > 0 {
                self.inbox.shorten(index, found.len);
                self.restored[index] = Some(found.restored);
            }
        }
        Ok(self.inbox.len())
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        for index in 0..self.inbox.len() {
            let Some(restored) = self.restored[index] else { continue };
            let (packet, at) = self.inbox.with_header(index, header_len(self.address) + restored);
            packets.push(Arrival::new(packet, at, ChecksumTrust::None));
        }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.outbox.slot()
    }

    fn queue(&mut self, Transmit { len, compact }: Transmit) {
        let place = self.outbox.place();
        let Some(packet) = place.get_mut(..len) else { return };
        let Some(Bare { ip, start, header_len }) = take_header(packet, compact) else { return };
        // No one else is there.
        if ip.dst != self.peer {
            return;
        }
        let end = twice::append(place, (start, len), header_len, self.frame_mtu);
        self.outbox.queue((start, end), Name::NONE);
    }

    fn flush(&mut self) -> io::Result<bool> {
        let are_taken = self.outbox.write(|frame| self.link.write(frame))?;
        Ok(self.link.flush()? && are_taken)
    }
}

impl Housekeeping for FramesCarrier {
    fn next_deadline(&self) -> Option<Instant> {
        self.link.next_deadline()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.link.handle_timeout(now);
    }

    fn trouble(&mut self) -> Option<String> {
        let error = self.read_error.take().or(self.outbox.take_refusal());
        error.map(|error| self.link.explain(&error)).or_else(|| self.link.trouble())
    }
}
