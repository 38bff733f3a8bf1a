//! A writer without room.

use std::io::{self, Write};

/// A full disk that counts the write attempts.
pub(crate) struct Full<'a>(pub(crate) &'a mut usize);

impl Write for Full<'_> {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        *self.0 += 1;
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
