//! What frames are exchanged through: a socket of a modem's program, a stream of bytes, or Wi-Fi cards.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use headway_units::{Duration, Instant};

use super::ax25::{Callsign, Header};
use super::datagrams::{Datagrams, FramesSocket};
use super::kiss::Kiss;
use super::marks::Marks;
use super::monitor::{self, LegacyRate, Monitor};
use super::stream::{StreamLink, StreamPlace};
use crate::NetError;

/// How a modem is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModemConfig {
    /// Datagrams of its program.
    Datagrams {
        /// Where received frames come.
        local: FramesSocket,
        /// The modem's socket, which takes frames to send.
        modem: FramesSocket,
    },
    /// Frames of AX.25, through a TNC that speaks KISS.
    Kiss {
        /// Where the TNC is.
        place: StreamPlace,
        /// The station at this end.
        callsign: Callsign,
        /// The station at the other end.
        peer: Callsign,
        /// How long nothing is sent after something was received.
        turnaround: Duration,
    },
    /// A serial line without a frame check, such as that of a radio module that passes bytes on.
    Serial {
        /// The path of the device.
        device: PathBuf,
        /// Bits per second.
        speed: u32,
        /// How long nothing is sent after something was received.
        turnaround: Duration,
    },
    /// Wi-Fi cards in monitor mode. The names of the ends tell the two directions and other links apart, so the other end
    /// has the same, the other way round.
    Monitor {
        /// Their interfaces. All receive, and the first that is there sends.
        interfaces: Vec<String>,
        /// The rate at which it sends; `None`: the driver's choice.
        rate: Option<LegacyRate>,
    },
}

impl ModemConfig {
    /// The longest frame that is usual, in bytes: AX.25's default (2.2, 6.7.2.3) is 256. Over Wi-Fi an interface whose MTU is 1500
    /// carries this.
    pub fn usual_mtu(&self) -> u16 {
        match self {
            Self::Kiss { .. } => 255,
            Self::Monitor { .. } => monitor::USUAL,
            Self::Datagrams { .. } | Self::Serial { .. } => 1500,
        }
    }

    /// Opens it. No frame is longer than `longest`. The ends have these names, ours first.
    pub(in crate::carrier) fn open(
        &self,
        longest: u16,
        names: [&str; 2],
    ) -> Result<Box<dyn FrameLink>, NetError> {
        match self {
            Self::Datagrams { local, modem } => Ok(Box::new(Datagrams::open(local, modem, longest)?)),
            Self::Kiss { place, callsign, peer, turnaround } => {
                if callsign == peer {
                    return Err(NetError::BadAddress {
                        got: format!("callsigns {callsign} and {peer}"),
                        expected: "two, one for each end",
                    });
                }
                let (sent, received) = (Header::new(*callsign, *peer), Header::new(*peer, *callsign));
                let framing = Kiss::new(sent, received, longest.into());
                Ok(Box::new(StreamLink::open(place.clone(), framing, *turnaround)?))
            }
            Self::Serial { device, speed, turnaround } => {
                let place = StreamPlace::Serial { device: device.clone(), speed: *speed };
                Ok(Box::new(StreamLink::open(place, Marks::new(longest.into()), *turnaround)?))
            }
            Self::Monitor { interfaces, rate } => {
                Ok(Box::new(Monitor::open(interfaces, *rate, longest, names)?))
            }
        }
    }
}

impl fmt::Display for ModemConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Datagrams { modem, .. } => modem.fmt(f),
            Self::Kiss { place, .. } => place.fmt(f),
            Self::Serial { device, speed, .. } => write!(f, "{}:{speed}", device.display()),
            Self::Monitor { interfaces, .. } => f.write_str(&interfaces.join(",")),
        }
    }
}

/// Exchanges frames with the other end of a link, which has two.
pub(in crate::carrier) trait FrameLink: Send {
    /// Readable when there may be frames; writable, or readable, when [`FrameLink::write`] may take more.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Its description in messages.
    fn name(&self) -> String;

    /// Reads the next frame as it was received, without waiting; 0: what arrived is no frame.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Takes a frame to send, or fails with `EAGAIN`, as the system does.
    fn write(&mut self, frame: &[u8]) -> io::Result<usize>;

    /// Sends what it has taken; returns whether that was all.
    fn flush(&mut self) -> io::Result<bool>;

    /// What an error of [`FrameLink::read`] or [`FrameLink::write`] means.
    fn explain(&self, error: &io::Error) -> String;

    /// Whether the last frame that was read has a readable header.
    fn judged(&mut self, is_readable: bool);

    /// What keeps it from working, since the last call.
    fn trouble(&mut self) -> Option<String>;

    /// When [`FrameLink::handle_timeout`] is due.
    fn next_deadline(&self) -> Option<Instant>;

    /// Handles expired deadlines.
    fn handle_timeout(&mut self, now: Instant);
}
