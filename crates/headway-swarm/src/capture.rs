//! What a run leaves behind to look at.

use std::fs::File;

use headway_trace::{Capture, Direction};
use headway_units::Instant;

/// What is recorded of a run.
#[derive(Default)]
pub struct Recording {
    /// Print all that happens.
    pub trace: bool,
    /// A capture of what each host sends and receives: an interface for each.
    pub capture: Option<File>,
    /// Spoils what programs read, which then starts at that place of the stream: to show that it is noticed.
    pub sabotage: Option<fn(usize, &mut [u8])>,
}

/// The capture of a world, if one is made.
pub(crate) struct Tape(Option<Capture<File>>);

impl Tape {
    pub(crate) fn new(file: Option<File>, hosts: usize) -> Result<Self, String> {
        let names: Vec<String> = (0..hosts).map(|host| format!("host{host}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let capture = file.map(|file| Capture::new(file, &names)).transpose();
        Ok(Self(capture.map_err(|error| format!("the capture: {error}"))?))
    }

    /// `host` sends `packet`.
    pub(crate) fn sent(&mut self, host: usize, at: Instant, packet: &[u8]) {
        self.write(host, at, packet, Direction::Outbound, None);
    }

    /// `packet` arrives at `host`.
    pub(crate) fn received(&mut self, host: usize, at: Instant, packet: &[u8], is_damaged: bool) {
        self.write(host, at, packet, Direction::Inbound, is_damaged.then_some("damaged"));
    }

    fn write(&mut self, host: usize, at: Instant, packet: &[u8], direction: Direction, what: Option<&str>) {
        if let Some(capture) = &mut self.0 {
            // A disk that is full must not change what a world does.
            let _ = capture.packet(host, at, packet, direction, what);
        }
    }

    pub(crate) fn finish(self) -> Result<(), String> {
        match self.0.map(Capture::finish) {
            Some(Err(error)) => Err(format!("the capture: {error}")),
            _ => Ok(()),
        }
    }
}
