//! The control protocol, in lines of JSON.
//!
//! The client opens a control connection and sends a [`Hello::Test`]; the server answers with a
//! [`Welcome`]. The client then opens the data connections, each beginning with a [`Hello::Data`]. The
//! test runs on those; at its end the server sends an [`Outcome`] over the control connection.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The protocol version; others are refused.
pub(super) const VERSION: u32 = 1;

/// The maximum length of a line.
const MAX_LINE: usize = 1 << 20;

/// The maximum bytes of a write or a request, which limits the memory that a peer can use.
pub(super) const MAX_LENGTH: u32 = 16 << 20;

/// The first message of a connection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Hello {
    /// A control connection.
    Test(Test),
    /// A data connection.
    Data {
        /// The session number from the server.
        session: u64,
    },
}

/// The parameters of a test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Test {
    pub(super) version: u32,
    pub(super) kind: Kind,
    /// Data connections.
    pub(super) parallel: u16,
    /// Bytes of a write, or of a request and its answer.
    pub(super) length: u32,
    /// Bytes that each connection sends; `None`: limited by the duration.
    pub(super) bytes: Option<u64>,
    /// The duration in nanoseconds, if there is no number of bytes.
    pub(super) nanos: u64,
}

/// The sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// The client.
    Upload,
    /// The server.
    Download,
    /// Both, alternating.
    Latency,
}

/// The server's answer to a test.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Welcome {
    Session(u64),
    Refused(String),
}

/// The server's results, by connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) streams: Vec<StreamResult>,
}

/// The results of one end of a data connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StreamResult {
    /// The client's port, which identifies the connection.
    pub(super) client_port: u16,
    pub(super) bytes: u64,
    pub(super) nanos: u64,
    /// Retransmitted segments; `None` for the kernel's TCP.
    pub(super) retransmits: Option<u64>,
}

/// Sends one line.
pub(super) async fn send_line(
    stream: &mut (impl AsyncWrite + Unpin),
    what: &impl Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// Receives one line, byte by byte, so that nothing after it is consumed.
pub(super) async fn receive_line<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
) -> io::Result<T> {
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await? {
            b'\n' => break,
            byte => line.push(byte),
        }
        if line.len() > MAX_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
        }
    }
    serde_json::from_slice(&line).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("not a peer of `headway perf`: {error}"))
    })
}
