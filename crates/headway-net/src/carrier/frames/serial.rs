//! Serial devices.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, ioctl_tiocexcl, tcflush, tcgetattr, tcsetattr,
};

/// Opens the device without waiting: 8 data bits, no parity, one stop bit, no flow control, and every byte as it is.
pub(super) fn open(device: &Path, speed: u32) -> io::Result<File> {
    let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(device)?;
    let mut settings = tcgetattr(&file).map_err(|error| of_step(error, "it is no serial device"))?;
    settings.make_raw();
    settings.control_modes -= ControlModes::CSTOPB | ControlModes::CRTSCTS;
    settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    let of_speed = |error| of_step(error, &format!("it does not have the speed {speed}"));
    settings.set_speed(speed).map_err(of_speed)?;
    tcsetattr(&file, OptionalActions::Now, &settings).map_err(of_speed)?;
    // A driver may take another speed without a word.
    let taken = tcgetattr(&file)?.output_speed();
    if taken.abs_diff(speed) > speed / 20 {
        return Err(io::Error::other(format!("it has the speed {taken} and not {speed}")));
    }
    ioctl_tiocexcl(&file)?;
    // What it received before.
    tcflush(&file, QueueSelector::IOFlush)?;
    Ok(file)
}

fn of_step(error: rustix::io::Errno, what: &str) -> io::Error {
    io::Error::new(io::Error::from(error).kind(), format!("{what}: {error}"))
}
