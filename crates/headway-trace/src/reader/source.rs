//! The bytes of a file, a record at a time.

use std::io::{self, BufReader, Read};

/// A file and the record of it that was read last.
pub(super) struct Source<R> {
    inner: BufReader<R>,
    record: Vec<u8>,
    /// Where the record starts.
    offset: u64,
}

/// Whether a record is complete.
pub(super) enum Filled {
    Whole,
    Short { missing: u64 },
}

impl<R: Read> Source<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner: BufReader::with_capacity(1 << 16, inner), record: Vec::new(), offset: 0 }
    }

    /// Starts a new record with the next `len` bytes.
    pub(super) fn fill(&mut self, len: u32) -> io::Result<Filled> {
        self.offset += self.record.len() as u64;
        self.record.clear();
        self.extend(len)
    }

    /// Adds the next `len` bytes to the record. Memory grows with the bytes read, not with the length
    /// field.
    pub(super) fn extend(&mut self, len: u32) -> io::Result<Filled> {
        let len = u64::from(len);
        let got = (&mut self.inner).take(len).read_to_end(&mut self.record)? as u64;
        Ok(if got < len { Filled::Short { missing: len - got } } else { Filled::Whole })
    }

    /// The record.
    pub(super) fn record(&self) -> &[u8] {
        &self.record
    }

    /// Where the record starts, in bytes from the start of the file.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }
}

/// The byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

impl Order {
    /// The two bytes at `at` as a number; 0 if `bytes` is too short.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let word = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        match self {
            Self::Big => u16::from_be_bytes(word),
            Self::Little => u16::from_le_bytes(word),
        }
    }

    /// The four bytes at `at` as a number; 0 if `bytes` is too short.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let word = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        match self {
            Self::Big => u32::from_be_bytes(word),
            Self::Little => u32::from_le_bytes(word),
        }
    }

    /// The eight bytes at `at` as a number; 0 if `bytes` is too short.
    pub(super) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let word = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        match self {
            Self::Big => u64::from_be_bytes(word),
            Self::Little => u64::from_le_bytes(word),
        }
    }
}
