//! The packets of a capture, or of several of one time as one.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use headway_trace::Direction;
use headway_trace::reader::{HalfWritten, Interface, LinkType, Packet, ReadError, Reader};
use headway_units::Instant;

use super::capture_error::CaptureError;

/// Reads all packets of a capture, from its beginning. At the end, a last packet that is incomplete.
pub(super) fn of_file(
    mut file: &File,
    take: &mut dyn FnMut(&Packet<'_>),
) -> Result<(Vec<Interface>, Option<HalfWritten>), ReadError> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = Reader::new(file)?;
    while let Some(packet) = reader.next_packet()? {
        take(&packet);
    }
    Ok((reader.interfaces().to_vec(), reader.half_written()))
}

/// Reads those of several in the order of time; of one time, in the order of the files. Interfaces are counted through all
/// files. At the end, the first last packet that is incomplete.
pub(super) fn of_files(
    paths: &[PathBuf],
    take: &mut dyn FnMut(&Packet<'_>),
) -> Result<(Vec<Interface>, Option<HalfWritten>), CaptureError> {
    let mut interfaces = Vec::new();
    let mut half_written = None;
    let mut files = Vec::new();
    for path in paths {
        let unreadable = |source: ReadError| CaptureError::Unreadable { path: path.clone(), source };
        let file = File::open(path).map_err(|error| unreadable(error.into()))?;
        if !file.metadata().map_err(|error| unreadable(error.into()))?.is_file() {
            return Err(CaptureError::NotAFile { path: path.clone() });
        }
        // A file may name interfaces anywhere.
        let (known, half) = of_file(&file, &mut |_| {}).map_err(unreadable)?;
        half_written = half_written.or(half);
        let first = interfaces.len();
        interfaces.extend(known);
        let file = File::open(path).map_err(|error| unreadable(error.into()))?;
        let mut file = Merged { path, reader: Reader::new(file).map_err(unreadable)?, first, next: None };
        file.advance()?;
        files.push(file);
    }
    let at = |file: &Merged<'_>| file.next.as_ref().map(|held| held.at);
    while let Some(file) = files.iter_mut().filter(|file| file.next.is_some()).min_by_key(|file| at(file)) {
        if let Some(held) = &file.next {
            take(&held.packet(file.first));
        }
        file.advance()?;
    }
    Ok((interfaces, half_written))
}

/// One of the captures.
struct Merged<'a> {
    path: &'a Path,
    reader: Reader<File>,
    /// The number of its first interface.
    first: usize,
    next: Option<Held>,
}

/// A packet that waits for its turn.
struct Held {
    interface: usize,
    link: LinkType,
    at: Instant,
    bytes: Vec<u8>,
    original_len: u32,
    direction: Option<Direction>,
    comment: Option<Vec<u8>>,
}

impl Merged<'_> {
    fn advance(&mut self) -> Result<(), CaptureError> {
        let next = self.reader.next_packet();
        let next = next.map_err(|source| CaptureError::Unreadable { path: self.path.into(), source })?;
        self.next = next.map(|packet| Held {
            interface: packet.interface,
            link: packet.link,
            at: packet.at,
            bytes: packet.bytes.to_vec(),
            original_len: packet.original_len,
            direction: packet.direction,
            comment: packet.comment.map(<[u8]>::to_vec),
        });
        Ok(())
    }
}

impl Held {
    fn packet(&self, first: usize) -> Packet<'_> {
        Packet {
            interface: first + self.interface,
            link: self.link,
            at: self.at,
            bytes: &self.bytes,
            original_len: self.original_len,
            direction: self.direction,
            comment: self.comment.as_deref(),
        }
    }
}
