//! The bytes that are sent, and compared with what arrives.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files up to this size are read once and shared; larger ones are read as they are sent.
const IN_MEMORY: u64 = 64 << 20;

/// How much of a larger file is read at a time.
const CHUNK: usize = 64 << 10;

/// The golden ratio's fraction in 64 bits: multiples are spread evenly.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// What a sender sends.
#[derive(Clone, Debug)]
pub struct Content {
    source: Source,
    len: u64,
}

#[derive(Clone, Debug)]
enum Source {
    Memory(Arc<[u8]>),
    /// The first `len` bytes of a file that is larger than what is kept in memory.
    File(PathBuf),
    /// Made as it is read.
    Generated,
}

/// Bytes without a pattern that a checksum would miss: of each position's multiple of [`STEP`] the highest byte.
fn generated(positions: Range<u64>) -> impl Iterator<Item = u8> {
    let mut multiple = positions.start.wrapping_mul(STEP);
    // An addition takes a quarter of the time of a multiplication.
    positions.map(move |_| {
        let byte = (multiple >> 56) as u8;
        multiple = multiple.wrapping_add(STEP);
        byte
    })
}

/// A file that cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// It cannot be opened or read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("{}: the file is empty; expected at least one byte to send", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It is a directory or a device.
    #[error("{}: expected a regular file", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
}

impl Content {
    /// Bytes that are in memory already.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self { len: bytes.len() as u64, source: Source::Memory(bytes) }
    }

    /// `len` bytes without a pattern that a checksum would miss, the same every time. Few are kept in
    /// memory, many are made as they are read: there can be more than any memory holds.
    pub fn generated(len: u64) -> Self {
        if len <= IN_MEMORY {
            return Self::from_bytes(generated(0..len).collect::<Vec<u8>>());
        }
        Self { len, source: Source::Generated }
    }

    /// A file, or its first `limit` bytes.
    ///
    /// # Errors
    ///
    /// The file is missing, unreadable, empty or no regular file.
    pub fn from_file(path: &Path, limit: Option<u64>) -> Result<Self, ContentError> {
        let unreadable = |source| ContentError::Unreadable { path: path.into(), source };
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(ContentError::NotAFile { path: path.into() });
        }
        let len = metadata.len().min(limit.unwrap_or(u64::MAX));
        if len == 0 {
            return Err(ContentError::Empty { path: path.into() });
        }
        if len > IN_MEMORY {
            return Ok(Self { source: Source::File(path.into()), len });
        }
        let mut bytes = Vec::with_capacity(len as usize);
        file.take(len).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(Self::from_bytes(bytes))
    }

    /// Bytes in all.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads it from the start.
    ///
    /// # Errors
    ///
    /// The file cannot be opened any more.
    pub fn open(&self) -> Result<ContentReader, ContentError> {
        let input = match &self.source {
            Source::Memory(bytes) => Input::Memory(bytes.clone()),
            Source::File(path) => {
                let file = File::open(path)
                    .map_err(|source| ContentError::Unreadable { path: path.clone(), source })?;
                Input::File(BufReader::with_capacity(CHUNK, file))
            }
            Source::Generated => Input::Generated { start: 0, chunk: Vec::new() },
        };
        Ok(ContentReader { input, position: 0, len: self.len })
    }
}

enum Input {
    Memory(Arc<[u8]>),
    File(BufReader<File>),
    /// What lies from `start` on.
    Generated {
        start: u64,
        chunk: Vec<u8>,
    },
}

/// Goes through a [`Content`] once, without copying it.
pub struct ContentReader {
    input: Input,
    position: u64,
    len: u64,
}

impl ContentReader {
    /// The bytes that come next: all that are at hand, none at the end.
    ///
    /// # Panics
    ///
    /// The file changed while it was sent: the run would be meaningless.
    pub fn chunk(&mut self) -> &[u8] {
        let left = self.len - self.position;
        match &mut self.input {
            Input::Memory(bytes) => &bytes[self.position as usize..self.len as usize],
            Input::File(_) if left == 0 => &[],
            Input::File(reader) => match reader.fill_buf() {
                Ok([]) => panic!("the file became shorter while it was being sent"),
                Ok(bytes) => &bytes[..bytes.len().min(left as usize)],
                Err(error) => panic!("the file became unreadable while it was being sent: {error}"),
            },
            Input::Generated { start, chunk } => {
                if self.position == *start + chunk.len() as u64 {
                    *start = self.position;
                    chunk.clear();
                    chunk.extend(generated(*start..*start + left.min(CHUNK as u64)));
                }
                &chunk[(self.position - *start) as usize..]
            }
        }
    }

    /// Goes on by `n` bytes of what [`ContentReader::chunk`] gave.
    pub fn advance(&mut self, n: usize) {
        if let Input::File(reader) = &mut self.input {
            reader.consume(n);
        }
        self.position += n as u64;
    }

    /// Whether all has been passed.
    pub fn is_at_end(&self) -> bool {
        self.position == self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_wherever_reading_begins() {
        let byte = |position: u64| (position.wrapping_mul(STEP) >> 56) as u8;
        for start in [0, CHUNK as u64, u64::MAX - 1000] {
            assert!(generated(start..start + 1000).eq((start..start + 1000).map(byte)));
        }
    }
}
