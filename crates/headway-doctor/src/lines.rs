//! Messages of two doctors: lines of JSON.

use std::io;

use headway_transport::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A connection, and what has arrived of the next line.
pub(super) struct Lines {
    pub(super) stream: Stream,
    arrived: Vec<u8>,
}

impl Lines {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, arrived: Vec::new() }
    }

    pub(super) async fn send(&mut self, what: &impl Serialize) -> io::Result<()> {
        self.send_padded(what, 0).await
    }

    /// With `padding` bytes behind the line.
    pub(super) async fn send_padded(&mut self, what: &impl Serialize, padding: usize) -> io::Result<()> {
        let mut message = serde_json::to_vec(what)?;
        message.push(b'\n');
        message.resize(message.len() + padding, b'.');
        self.stream.write_all(&message).await
    }

    /// The next line, of at most `longest` bytes.
    pub(super) async fn receive<T: DeserializeOwned>(&mut self, longest: usize) -> io::Result<T> {
        let mut looked = 0;
        loop {
            if let Some(end) = self.arrived[looked..].iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.arrived.drain(..=looked + end).collect();
                return serde_json::from_slice(&line).map_err(|_| no_doctor());
            }
            looked = self.arrived.len();
            if looked > longest {
                return Err(no_doctor());
            }
            self.read().await?;
        }
    }

    /// Waits for the padding behind a line.
    pub(super) async fn skip(&mut self, padding: usize) -> io::Result<()> {
        while self.arrived.len() < padding {
            self.read().await?;
        }
        self.arrived.drain(..padding);
        Ok(())
    }

    /// Sends no more, and waits for the peer's FIN, which confirms that it has all.
    pub(super) async fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        self.stream.read(&mut [0]).await.map(|_| ())
    }

    async fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let n = self.stream.read(&mut buffer).await?;
        self.arrived.extend_from_slice(&buffer[..n]);
        if n == 0 { Err(no_doctor()) } else { Ok(()) }
    }
}

fn no_doctor() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the peer is not `headway doctor`")
}
