//! The frames of a radio modem, which come with the program.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;

use rustix::fs::{MemfdFlags, memfd_create};

/// 1000 frames of 1500 bytes: what is made by `modem trace --snr 12dB` of `reference/modem`.
const FRAMES: &[u8] = include_bytes!("awgn-12dB.txt");

/// How the damage is called.
pub(super) const NAME: &str = "of a radio modem at 12 dB";

/// The frames as a file that is in memory only, so that nothing is left of it. It can be opened as long as this is there.
pub(super) struct Radio(File);

impl Radio {
    pub(super) fn new() -> io::Result<Self> {
        let mut file = File::from(memfd_create("awgn-12dB.txt", MemfdFlags::CLOEXEC)?);
        file.write_all(FRAMES)?;
        Ok(Self(file))
    }

    /// The damage, for this process and those that it starts.
    pub(super) fn damage(&self) -> String {
        format!("trace:/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}
