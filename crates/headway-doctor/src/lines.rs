//! Messages of two doctors: lines of JSON.

use std::io;

use headway_transport::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy, sink};

/// A connection on which lines are exchanged.
pub(super) struct Lines(BufReader<Stream>);

impl Lines {
    pub(super) fn new(stream: Stream) -> Self {
        Self(BufReader::new(stream))
    }

    pub(super) fn stream(&self) -> &Stream {
        self.0.get_ref()
    }

    pub(super) async fn send(&mut self, what: &impl Serialize) -> io::Result<()> {
        self.send_padded(what, 0).await
    }

    /// With `padding` bytes behind the line.
    pub(super) async fn send_padded(&mut self, what: &impl Serialize, padding: usize) -> io::Result<()> {
        let mut message = serde_json::to_vec(what)?;
        message.push(b'\n');
        message.resize(message.len() + padding, b'.');
        self.0.write_all(&message).await
    }

    /// The next line, of at most `longest` bytes.
    pub(super) async fn receive<T: DeserializeOwned>(&mut self, longest: usize) -> io::Result<T> {
        let mut line = Vec::new();
        (&mut self.0).take(longest as u64).read_until(b'\n', &mut line).await?;
        let line = line.strip_suffix(b"\n").ok_or_else(no_doctor)?;
        serde_json::from_slice(line).map_err(|_| no_doctor())
    }

    /// Waits for the padding behind a line.
    pub(super) async fn skip(&mut self, padding: usize) -> io::Result<()> {
        let skipped = copy(&mut (&mut self.0).take(padding as u64), &mut sink()).await?;
        if skipped < padding as u64 { Err(no_doctor()) } else { Ok(()) }
    }

    /// Sends no more, and waits for the peer's FIN, which confirms that it has all.
    pub(super) async fn finish(&mut self) -> io::Result<()> {
        self.0.shutdown().await?;
        self.0.read(&mut [0]).await.map(|_| ())
    }
}

fn no_doctor() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the peer is not `headway doctor`")
}
