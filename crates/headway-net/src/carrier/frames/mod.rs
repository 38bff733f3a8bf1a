//! TCP segments in the frames of a modem, whose program has a socket for datagrams.
//!
//! Each datagram is a frame behind a header of 8 bytes (`reference/modem/README.md`), as it is to be sent or as it was received: also if it
//! arrived damaged. A frame is a [bare](super::bare) TCP segment, in the compact form if both ends understand that
//! ([`headway_wire::compact`]), with its header [`twice`]. There are two ends. The DSCP and the ECN field are not carried.

mod socket;
mod twice;

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd as _, BorrowedFd};

use headway_tcp::Transmit;
use headway_units::{Duration, Instant};
use headway_wire::compact::LEFT_OUT;
use headway_wire::{ChecksumTrust, IpHeader};
use socket2::Socket;

use super::bare::{Bare, HEADROOM, header_len, take_header};
use super::batch::{Inbox, Outbox};
use super::{Arrival, Carrier, CarrierProperties, Housekeeping};
use crate::sys::{BATCH, Name};
use crate::{Clock, NetError};
pub use socket::FramesSocket;
use socket::{OwnPath, is_of_another_program, open_socket};
use twice::COPY;

/// The length of the header of a datagram.
const FRAME_HEADER: usize = 8;
/// Its first byte.
const VERSION: u8 = 1;
/// The header of what is sent: the modem ignores the rest.
const SENT: [u8; FRAME_HEADER] = [VERSION, 0, 0, 0, 0, 0, 0, 0];
/// How often a header without a frame is sent. It tells a modem's program, which may have been started again, where frames
/// are received.
const ANNOUNCED: Duration = Duration::from_secs(2);
/// The longest frame, of what fits a datagram of UDP over IPv4.
const LONGEST: u16 = 65_499;

/// How a [`FramesCarrier`] is set up.
#[derive(Clone, Debug)]
pub struct FramesConfig {
    /// Where received frames come.
    pub local: FramesSocket,
    /// The modem's socket, which takes frames to send.
    pub modem: FramesSocket,
    /// The address of this end, a name at this end only.
    pub address: IpAddr,
    /// The address of the other end, a name at this end only.
    pub peer: IpAddr,
    /// The longest frame, in bytes.
    pub mtu: u16,
}

/// TCP segments in the frames of a modem.
pub struct FramesCarrier {
    socket: Socket,
    /// Removed with the carrier.
    _path: Option<OwnPath>,
    modem: FramesSocket,
    address: IpAddr,
    peer: IpAddr,
    mtu: u16,
    frame_mtu: usize,
    inbox: Inbox,
    /// How many bytes of the headers were restored; `None`: it is no frame.
    restored: [Option<usize>; BATCH],
    /// The frame that is read.
    frame: Vec<u8>,
    outbox: Outbox,
    /// When this end is announced next.
    announced: Instant,
    read_error: Option<io::Error>,
}

impl FramesCarrier {
    /// Opens the socket. The modem's program may start later.
    ///
    /// # Errors
    ///
    /// The addresses are inconsistent or in use.
    pub fn open(config: &FramesConfig) -> Result<Self, NetError> {
        let FramesConfig { local, modem, address, peer, mtu } = config.clone();
        let bad = |got, expected| Err(NetError::BadAddress { got, expected });
        if address.is_ipv4() != peer.is_ipv4()
            || address == peer
            || address.is_unspecified()
            || peer.is_unspecified()
        {
            return bad(
                format!("addresses {address} and {peer}"),
                "two addresses of one family, one for each end",
            );
        }
        if mtu > LONGEST {
            return bad(format!("frames of {mtu} bytes"), "at most 65499");
        }
        let are_alike = match (&local, &modem) {
            (FramesSocket::Udp(local), FramesSocket::Udp(modem)) => {
                local.is_ipv4() == modem.is_ipv4() && modem.port() != 0
            }
            (FramesSocket::Unix(local), FramesSocket::Unix(modem)) => local != modem,
            _ => false,
        };
        if !are_alike {
            return bad(
                format!("frames {local} and {modem}"),
                "two UDP addresses of one family with ports, or two Unix sockets",
            );
        }
        let (socket, path) = open_socket(&local, &modem)?;
        let inner_mtu = mtu.saturating_add(header_len(address) as u16).saturating_sub(COPY as u16);
        let longest = usize::from(inner_mtu) + LEFT_OUT + COPY;
        Ok(Self {
            socket,
            _path: path,
            modem,
            address,
            peer,
            mtu: inner_mtu,
            frame_mtu: mtu.into(),
            // The other end may have longer frames.
            inbox: Inbox::new(HEADROOM - FRAME_HEADER, longest.max(2048)),
            restored: [None; BATCH],
            frame: Vec::new(),
            outbox: Outbox::new(0, longest),
            announced: Instant::ZERO,
            read_error: None,
        })
    }
}

impl Carrier for FramesCarrier {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn mtu(&self) -> u16 {
        self.mtu
    }

    fn name(&self) -> String {
        format!("frames of {}", self.modem)
    }

    fn properties(&self) -> CarrierProperties {
        CarrierProperties { compacts_headers: true, ..CarrierProperties::default() }
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        Some(self)
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        let socket = &self.socket;
        if let Err(error) = self.inbox.read(clock, |buffer| Ok(rustix::io::read(socket, buffer)?)) {
            // ICMP port unreachable: the modem's program does not run.
            let error = super::unless_fatal(error)?;
            tracing::debug!(%error, "reading frames");
            self.read_error = Some(error);
        }
        let header = IpHeader::new(self.peer, self.address);
        for index in 0..self.inbox.len() {
            self.restored[index] = None;
            let (datagram, ..) = self.inbox.packet(index);
            let Some(frame) = datagram.get(FRAME_HEADER..).filter(|_| datagram[0] == VERSION) else {
                continue;
            };
            self.frame.clear();
            self.frame.extend_from_slice(frame);
            let found = twice::read(&self.frame, self.frame_mtu, self.inbox.place(index).0, &header);
            if found.len > 0 {
                self.inbox.shorten(index, FRAME_HEADER + found.len);
                self.restored[index] = Some(found.restored);
            }
        }
        Ok(self.inbox.len())
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        for index in 0..self.inbox.len() {
            let Some(restored) = self.restored[index] else { continue };
            let headers = header_len(self.address) + restored;
            let (packet, at) = self.inbox.with_header(index, headers - FRAME_HEADER);
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
        // In the place of the IP header, which is longer.
        let at = start - FRAME_HEADER;
        place[at..start].copy_from_slice(&SENT);
        let end = len + header_len;
        let has_room = end - start <= self.frame_mtu && end <= place.len();
        if has_room {
            place.copy_within(start..start + header_len, len);
        }
        self.outbox.queue((at, if has_room { end } else { len }), Name::NONE);
    }

    fn flush(&mut self) -> io::Result<bool> {
        let (socket, modem) = (&self.socket, &self.modem);
        self.outbox.write(|frame| match socket.send(frame) {
            Err(error) if is_of_another_program(&error, modem) => {
                socket.connect(&modem.name()?)?;
                socket.send(frame)
            }
            done => done,
        })
    }
}

impl Housekeeping for FramesCarrier {
    fn next_deadline(&self) -> Option<Instant> {
        Some(self.announced)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now < self.announced {
            return;
        }
        self.announced = now + ANNOUNCED;
        if let Some(slot) = self.outbox.slot() {
            slot[..FRAME_HEADER].copy_from_slice(&SENT);
            self.outbox.queue((0, FRAME_HEADER), Name::NONE);
        }
    }

    fn trouble(&mut self) -> Option<String> {
        let error = self.read_error.take().or(self.outbox.take_refusal())?;
        Some(match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                format!("no program of a modem has the socket {}", self.modem)
            }
            _ => format!("frames {}: {error}", self.modem),
        })
    }
}
