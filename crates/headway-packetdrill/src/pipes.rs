//! `pipe` and `splice`.

use std::collections::VecDeque;

use libc::c_int;

use crate::descriptors::Kind;
use crate::errno::{Errno, Result};
use crate::sockets::Flags;
use crate::stack::Stack;

/// What a pipe holds at most, in octets, as on Linux.
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
    fn read(&mut self, end: PipeEnd, len: usize) -> Result<Vec<u8>> {
        let pipe = self.pipes.get_mut(end.pipe).filter(|_| end.is_reader).ok_or(Errno(libc::EBADF))?;
        if pipe.data.is_empty() && pipe.has_writer && len > 0 {
            return Err(Errno::WOULD_BLOCK);
        }
        let len = len.min(pipe.data.len());
        Ok(pipe.data.drain(..len).collect())
    }

    fn write(&mut self, end: PipeEnd, data: &[u8]) -> Result<usize> {
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

    fn room(&self, end: PipeEnd) -> usize {
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

impl Stack {
    /// Makes a pipe: the descriptor to read from and the one to write to.
    pub(crate) fn pipe(&mut self) -> Result<[c_int; 2]> {
        let pipe = self.pipes.pipes.len();
        self.pipes.pipes.push(Pipe { data: VecDeque::new(), has_reader: true, has_writer: true });
        let reader = self.descriptors.add(Kind::Pipe(PipeEnd { pipe, is_reader: true }), false)?;
        let writer = self.descriptors.add(Kind::Pipe(PipeEnd { pipe, is_reader: false }), false)?;
        Ok([reader, writer])
    }

    pub(crate) fn pipe_read(&mut self, end: PipeEnd, len: usize) -> Result<Vec<u8>> {
        self.pipes.read(end, len)
    }

    pub(crate) fn pipe_write(&mut self, end: PipeEnd, data: &[u8]) -> Result<usize> {
        self.pipes.write(end, data)
    }

    /// Moves data between a pipe and a socket, in either direction.
    pub(crate) fn splice(&mut self, from: c_int, to: c_int, len: usize) -> Result<usize> {
        match (&self.descriptors.get(from)?.kind, &self.descriptors.get(to)?.kind) {
            (Kind::Socket(_), &Kind::Pipe(end)) => {
                let room = self.pipes.room(end);
                if room == 0 && len > 0 {
                    return Err(Errno::WOULD_BLOCK);
                }
                let data = self.receive(from, len.min(room), Flags::default())?;
                self.pipes.write(end, &data)
            }
            (&Kind::Pipe(end), Kind::Socket(_)) => {
                if !end.is_reader {
                    return Err(Errno(libc::EBADF));
                }
                let held = self.pipes.pipes.get(end.pipe).map_or(&[][..], |pipe| {
                    let (first, second) = pipe.data.as_slices();
                    if first.is_empty() { second } else { first }
                });
                let data = held[..held.len().min(len)].to_vec();
                if data.is_empty() && len > 0 {
                    return self.pipes.read(end, len).map(|_| 0);
                }
                let sent = self.send(to, &data, Flags::default())?;
                self.pipes.read(end, sent).map(|moved| moved.len())
            }
            _ => Err(Errno(libc::EINVAL)),
        }
    }
}
