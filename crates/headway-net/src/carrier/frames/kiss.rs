//! KISS: AX.25 frames in a stream of bytes to and from a TNC (M. Chepponis, P. Karn, *The KISS TNC*, 1987).
//!
//! A frame is between two FENDs. The first byte has the port and the command, of which 0 is data. Frames are UI frames of AX.25
//! ([`ax25`](super::ax25)). Their check sequence is the TNC's; one that hands up frames in spite of it (direwolf: FIX_BITS with
//! PASSALL) delivers damaged ones, of which those for this end are taken.

use super::ax25::Header;
use super::framing::{Framing, SHORTEST};

const FEND: u8 = 0xc0;
const FESC: u8 = 0xdb;
const TFEND: u8 = 0xdc;
const TFESC: u8 = 0xdd;
/// The command of data, at port 0.
const DATA: u8 = 0;
/// The lower half of the first byte.
const COMMAND: u8 = 0x0f;

/// Finds and makes frames of KISS.
pub(super) struct Kiss {
    /// Of frames that are sent, and of those that are received.
    sent: Header,
    received: Header,
    longest: usize,
    /// What was received since the last FEND, without escapes.
    bytes: Vec<u8>,
    is_escaped: bool,
    /// More came than the longest frame has.
    is_too_long: bool,
    /// The frame was given to the caller.
    is_over: bool,
}

impl Kiss {
    /// For frames with at most `longest` bytes of information.
    pub(super) fn new(sent: Header, received: Header, longest: usize) -> Self {
        let bytes = Vec::new();
        Self { sent, received, longest, bytes, is_escaped: false, is_too_long: false, is_over: false }
    }

    fn take(&mut self, byte: u8) {
        // The other end may have longer frames.
        if self.bytes.len() < 1 + Header::LEN + self.longest.max(2048) {
            self.bytes.push(byte);
        } else {
            self.is_too_long = true;
        }
    }
}

impl Framing for Kiss {
    fn push(&mut self, byte: u8) -> Option<&[u8]> {
        if std::mem::take(&mut self.is_over) {
            self.reset();
        }
        match (std::mem::take(&mut self.is_escaped), byte) {
            (_, FEND) => {
                self.is_over = true;
                if self.is_too_long {
                    return None;
                }
                let (command, frame) = self.bytes.split_first()?;
                let (header, information) = frame.split_at_checked(Header::LEN)?;
                let is_ours = command & COMMAND == DATA && self.received.resembles(header);
                return (is_ours && information.len() >= SHORTEST).then_some(information);
            }
            (_, FESC) => self.is_escaped = true,
            (true, TFEND) => self.take(FEND),
            (true, TFESC) => self.take(FESC),
            // What an escape of nothing means is not said: as it is.
            (_, byte) => self.take(byte),
        }
        None
    }

    fn encode(&mut self, frame: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&[FEND, DATA]);
        for byte in self.sent.bytes().iter().chain(frame) {
            match *byte {
                FEND => out.extend_from_slice(&[FESC, TFEND]),
                FESC => out.extend_from_slice(&[FESC, TFESC]),
                byte => out.push(byte),
            }
        }
        out.push(FEND);
    }

    fn reset(&mut self) {
        self.bytes.clear();
        (self.is_escaped, self.is_too_long) = (false, false);
    }
}
