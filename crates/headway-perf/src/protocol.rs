//! The control protocol, in lines of JSON.
//!
//! The client opens a control connection and sends a [`Hello::Test`]; the server answers with a
//! [`Welcome`]. The client then opens the data connections, each beginning with a [`Hello::Data`]. The
//! test runs on those. Meanwhile the server sends [`Message::Interval`]s over the control connection, so
//! that the client can report what has arrived, and at the end a [`Message::Outcome`].

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::cpu::Usage;

/// The protocol version; others are refused.
pub(super) const VERSION: u32 = 3;

/// The maximum length of a line.
const MAX_LINE: usize = 1 << 20;

/// The maximum bytes of a write or a request, which limits the memory that a peer can use.
pub(super) const MAX_LENGTH: u32 = 16 << 20;

/// The maximum number of connections of each flow.
pub(super) const MAX_PARALLEL: u16 = 1000;

/// The shortest interval of reports, in milliseconds.
pub(super) const LEAST_INTERVAL: u64 = 10;

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
        /// What it is for.
        flow: Flow,
    },
}

/// The parameters of a test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Test {
    pub(super) version: u32,
    pub(super) kind: TestKind,
    /// Data connections of each flow that sends data.
    pub(super) parallel: u16,
    /// Bytes of a write.
    pub(super) length: u32,
    /// Bytes of a request and its answer.
    pub(super) request: u32,
    /// Bytes that each connection sends; `None`: limited by the duration.
    pub(super) bytes: Option<u64>,
    /// The duration in nanoseconds, if there is no number of bytes.
    pub(super) nanos: u64,
    /// Nanoseconds between the server's reports.
    pub(super) interval: u64,
    /// Whether the client wants the lines that the server prints.
    pub(super) wants_output: bool,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TestKind {
    /// The client sends.
    Upload,
    /// The server sends.
    Download,
    /// Both send at the same time.
    Bidirectional,
    /// Requests and answers.
    Latency,
    /// Requests and answers, first alone, then while both send (flent's "realtime response under load").
    Rrul,
}

/// What a data connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Flow {
    /// The client sends data.
    Upload,
    /// The server sends data.
    Download,
    /// The client sends requests, the server answers.
    Latency,
}

impl Test {
    /// How many connections of this flow the test has.
    pub(super) fn connections(&self, flow: Flow) -> u16 {
        match (self.kind, flow) {
            (TestKind::Upload | TestKind::Bidirectional | TestKind::Rrul, Flow::Upload)
            | (TestKind::Download | TestKind::Bidirectional | TestKind::Rrul, Flow::Download)
            | (TestKind::Latency, Flow::Latency) => self.parallel,
            (TestKind::Rrul, Flow::Latency) => 1,
            _ => 0,
        }
    }

    /// Whether data goes both ways.
    pub(super) fn is_both_ways(&self) -> bool {
        matches!(self.kind, TestKind::Bidirectional | TestKind::Rrul)
    }

    /// Why a server refuses it.
    pub(super) fn refusal(&self) -> Option<String> {
        if self.version != VERSION {
            return Some(format!("version {}: this server has {VERSION}", self.version));
        }
        let lengths = 1..=MAX_LENGTH;
        if self.parallel == 0
            || self.parallel > MAX_PARALLEL
            || !lengths.contains(&self.length)
            || !lengths.contains(&self.request)
        {
            return Some("expected 1 to 1000 streams, and writes of 1 B to 16 MiB".into());
        }
        if self.interval < LEAST_INTERVAL * 1_000_000 {
            return Some(format!("expected intervals of at least {LEAST_INTERVAL} ms"));
        }
        None
    }
}

/// The server's answer to a test.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Welcome {
    Session(u64),
    Refused(String),
}

/// What the server sends during a test.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    Interval(Received),
    Outcome(Outcome),
}

/// What has arrived at the server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Received {
    /// Nanoseconds since the first data connection was open.
    pub(super) nanos: u64,
    /// The client's port and all bytes that have arrived, for each connection on which the client sends.
    pub(super) totals: Vec<(u16, u64)>,
}

impl Received {
    /// The bytes of the connection from this port.
    pub(super) fn from(&self, port: u16) -> u64 {
        self.totals.iter().find(|(from, _)| *from == port).map_or(0, |(_, bytes)| *bytes)
    }
}

/// The server's results.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// By connection.
    pub(super) streams: Vec<StreamResult>,
    /// What has arrived when all had ended.
    pub(super) received: Received,
    /// CPU time of the server's process, from the first data connection to the end of the last.
    pub(super) cpu: Usage,
    /// What the server printed, if the client wanted it.
    pub(super) output: Option<String>,
}

/// The results of one end of a data connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StreamResult {
    /// The client's port, which identifies the connection.
    pub(super) client_port: u16,
    pub(super) bytes: u64,
    pub(super) nanos: u64,
    /// Retransmitted segments, at the end that sends.
    pub(super) retransmits: Option<u64>,
    /// Bytes that are not those that were sent, at the end that receives.
    pub(super) differing: u64,
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
        let message = format!("not a peer of `headway perf` of this version: {error}");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test() -> Test {
        Test {
            version: VERSION,
            kind: TestKind::Rrul,
            parallel: 4,
            length: 1 << 17,
            request: 1,
            bytes: None,
            nanos: 1,
            interval: 1_000_000_000,
            wants_output: false,
        }
    }

    #[test]
    fn a_test_under_load_has_one_connection_for_requests() {
        let of = |kind| {
            let test = Test { kind, ..test() };
            [Flow::Upload, Flow::Download, Flow::Latency].map(|flow| test.connections(flow))
        };
        assert_eq!(of(TestKind::Upload), [4, 0, 0]);
        assert_eq!(of(TestKind::Download), [0, 4, 0]);
        assert_eq!(of(TestKind::Bidirectional), [4, 4, 0]);
        assert_eq!(of(TestKind::Latency), [0, 0, 4]);
        assert_eq!(of(TestKind::Rrul), [4, 4, 1]);
    }

    #[test]
    fn tests_that_would_cost_the_server_too_much_are_refused() {
        assert_eq!(test().refusal(), None);
        for refused in [
            Test { version: 1, ..test() },
            Test { parallel: 0, ..test() },
            Test { parallel: MAX_PARALLEL + 1, ..test() },
            Test { length: 0, ..test() },
            Test { length: MAX_LENGTH + 1, ..test() },
            Test { request: MAX_LENGTH + 1, ..test() },
            Test { interval: 9_999_999, ..test() },
        ] {
            assert!(refused.refusal().is_some(), "{refused:?}");
        }
    }
}
