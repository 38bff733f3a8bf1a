//! What client and server say to one another, as lines of JSON.
//!
//! The client opens a control connection and sends a [`Hello::Test`]; the server answers with a
//! [`Welcome`]. The client then opens the data connections, each beginning with a [`Hello::Data`]. The
//! test runs on those; at its end the server sends an [`Outcome`] over the control connection.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Of this form; another is refused.
pub(super) const VERSION: u32 = 1;

/// No line is longer.
const MAX_LINE: usize = 1 << 20;

/// Octets of a write, or of a request, at most: a peer may not make us hold more.
pub(super) const MAX_LENGTH: u32 = 16 << 20;

/// How a connection begins.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Hello {
    /// A control connection.
    Test(Test),
    /// A data connection.
    Data {
        /// What the server called the test.
        session: u64,
    },
}

/// What is measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Test {
    pub(super) version: u32,
    pub(super) kind: Kind,
    /// Data connections.
    pub(super) parallel: u16,
    /// Octets of a write, or of a request and its answer.
    pub(super) length: u32,
    /// Octets that each connection sends; `None`: as many as go in the time.
    pub(super) bytes: Option<u64>,
    /// Nanoseconds, where there is no number of octets.
    pub(super) nanos: u64,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// The client.
    Upload,
    /// The server.
    Download,
    /// Both, in turns.
    Latency,
}

/// The server's answer to a test.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Welcome {
    Session(u64),
    Refused(String),
}

/// What the server saw, connection by connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) streams: Vec<Share>,
}

/// What one end saw of one data connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Share {
    /// The port at the client's end, which both ends know.
    pub(super) client_port: u16,
    pub(super) bytes: u64,
    pub(super) nanos: u64,
    /// Segments sent again; `None`: the kernel's TCP does not tell.
    pub(super) retransmits: Option<u64>,
}

/// Sends one line.
pub(super) async fn say(stream: &mut (impl AsyncWrite + Unpin), what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// Receives one line, octet by octet: what follows is not ours to take.
pub(super) async fn hear<T: DeserializeOwned>(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<T> {
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await? {
            b'\n' => break,
            octet => line.push(octet),
        }
        if line.len() > MAX_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without end"));
        }
    }
    serde_json::from_slice(&line).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("no peer of `headway perf`: {error}"))
    })
}
