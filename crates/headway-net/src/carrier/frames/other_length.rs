//! A frame whose length changed: it ended early, bits slipped, or the next frame follows in it.
//!
//! The CRC of the header covers the length of the segment, so the header cannot be read although it is right. Most segments with
//! data are as long as the longest: the frame is read once more with that length, with zeros in place of what is missing. The CRC
//! says whether it had it, and partial recovery asks for what is missing.

use headway_wire::IpHeader;

use super::super::bare::HEADROOM;
use super::segment::{self, Found};

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct OtherLength {
    /// The longest frame that was readable.
    longest: usize,
    /// The segment that was found, at [`HEADROOM`].
    place: Vec<u8>,
}

impl OtherLength {
    /// A frame of `len` bytes is readable.
    pub(super) fn read(&mut self, len: usize) {
        self.longest = self.longest.max(len);
    }

    /// The segment of a frame that is not readable, if it was as long as the longest one, and the bytes of its place. `frame` may
    /// have another length afterwards. No frame is longer than `longest`.
    pub(super) fn find(
        &mut self,
        frame: &mut Vec<u8>,
        longest: usize,
        ip: &IpHeader,
    ) -> Option<(Found, &[u8])> {
        if frame.len() == self.longest || self.longest == 0 {
            return None;
        }
        frame.resize(self.longest, 0);
        self.place.clear();
        self.place.resize(HEADROOM + self.longest, 0);
        let found = segment::read(frame, longest, &mut self.place, ip);
        let end = HEADROOM + found.len;
        found.is_readable.then(|| (found, &self.place[..end]))
    }
}
