//! `pipe` and `splice`.

use libc::c_int;

use crate::descriptors::Kind;
use crate::errno::{Errno, Result};
use crate::pipes::PipeEnd;
use crate::socket::Flags;
use crate::stack::Stack;

impl Stack {
    /// Creates a pipe: the descriptor to read from and the one to write to.
    pub(crate) fn pipe(&mut self) -> Result<[c_int; 2]> {
        let [reader, writer] = self.pipes.create();
        let reader = self.descriptors.add(Kind::Pipe(reader), false)?;
        let writer = self.descriptors.add(Kind::Pipe(writer), false)?;
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
                let data = self.pipes.peek(end, len)?;
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
