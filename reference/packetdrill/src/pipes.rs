//! Pipes.

use std::collections::VecDeque;

use crate::errno::{Errno, Result};

/// The capacity of a pipe in bytes, as on Linux.
const CAPACITY: usize = 65_536;

/// One end of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PipeEnd {
    pipe: usize,
    is_reader: bool,
}

#[derive(Debug, Default)]
struct Pipe {
    data: VecDeque<u8>,
    has_reader: bool,
    has_writer: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Pipes {
    pipes: Vec<Pipe>,
}

impl Pipes {
    /// Creates a pipe: its end to read from and its end to write to.
    pub(crate) fn create(&mut self) -> [PipeEnd; 2] {
        let pipe = self.pipes.len();
        self.pipes.push(Pipe { data: VecDeque::new(), has_reader: true, has_writer: true });
        [true, false].map(|is_reader| PipeEnd { pipe, is_reader })
    }

    pub(crate) fn read(&mut self, end: PipeEnd, len: usize) -> Result<Vec<u8>> {
        let pipe = self.pipes.get_mut(end.pipe).filter(|_| end.is_reader).ok_or(Errno(libc::EBADF))?;
        if pipe.data.is_empty() && pipe.has_writer && len > 0 {
            return Err(Errno::WOULD_BLOCK);
        }
        let len = len.min(pipe.data.len());
        Ok(pipe.data.drain(..len).collect())
    }

    pub(crate) fn write(&mut self, end: PipeEnd, data: &[u8]) -> Result<usize> {
        let pipe = self.pipes.get_mut(end.pipe).filter(|_| !end.is_reader).ok_or(Errno(libc::EBADF))?;
        if !pipe.has_reader {
            return Err(Errno(libc::EPIPE));
        }
        let taken = data.len().min(CAPACITY - pipe.data.len());
        if taken == 0 && !data.is_empty() {
            return Err(Errno::WOULD_BLOCK);
        }
        pipe.data.extend(&data[..taken]);
        Ok(taken)
    }

    /// Data at the beginning of the pipe, at most `len` bytes.
    pub(crate) fn peek(&self, end: PipeEnd, len: usize) -> Result<Vec<u8>> {
        if !end.is_reader {
            return Err(Errno(libc::EBADF));
        }
        let held = self.pipes.get(end.pipe).map_or(&[][..], |pipe| {
            let (first, second) = pipe.data.as_slices();
            if first.is_empty() { second } else { first }
        });
        Ok(held[..held.len().min(len)].to_vec())
    }

    pub(crate) fn room(&self, end: PipeEnd) -> usize {
        self.pipes.get(end.pipe).map_or(0, |pipe| CAPACITY - pipe.data.len())
    }

    pub(crate) fn close(&mut self, end: PipeEnd) {
        if let Some(pipe) = self.pipes.get_mut(end.pipe) {
            if end.is_reader {
                pipe.has_reader = false;
            } else {
                pipe.has_writer = false;
            }
        }
    }
}
