//! The Unix socket at which a running gateway is asked: a line with a command goes in, an answer comes out.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream as ClientStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headway_trunk::{Status, StatusSocket};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{sleep, timeout};

use super::error::TrunkCommandError;

/// How long the gateway may take to answer, and a client to ask.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait where no connection can be accepted: no descriptor is free.
const PAUSE: Duration = Duration::from_millis(100);
/// No command is longer, in bytes.
const LONGEST: u64 = 4096;

/// What a gateway can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// [`Status`] as JSON.
    Status,
    /// The configuration is read again: [`Answer`] as JSON.
    Reload,
    /// The fates of the last packets from a peer, or from the only one: [`Answer`] as JSON.
    Record(Option<String>),
}

/// What a request that does something came to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// It was done.
    Done(String),
    /// It was not.
    Failed(String),
}

impl Request {
    fn line(&self) -> String {
        match self {
            Self::Status => "status\n".into(),
            Self::Reload => "reload\n".into(),
            Self::Record(None) => "record\n".into(),
            Self::Record(Some(peer)) => format!("record {peer}\n"),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        match line.trim() {
            "status" | "" => Some(Self::Status),
            "reload" => Some(Self::Reload),
            "record" => Some(Self::Record(None)),
            line => line.strip_prefix("record ").map(|peer| Self::Record(Some(peer.to_owned()))),
        }
    }
}

/// A running gateway, by its status socket.
pub(super) struct RunningGateway {
    socket: PathBuf,
}

impl RunningGateway {
    /// The one whose socket the configuration at `config` names. The rest of the file, and the files that it names, need not be
    /// right, or readable.
    pub(super) fn of(config: &Path) -> Result<Self, TrunkCommandError> {
        let socket = headway_trunk::status_socket(config)?;
        let missing = || TrunkCommandError::NoStatusSocket { config: config.into() };
        Ok(Self { socket: socket.ok_or_else(missing)? })
    }

    /// Asks it.
    pub(super) fn ask(&self, request: &Request) -> Result<String, TrunkCommandError> {
        let failed = |source| self.not_running(source);
        let mut stream = ClientStream::connect(&self.socket).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        stream.write_all(request.line().as_bytes()).map_err(failed)?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map_err(failed)?;
        Ok(text)
    }

    /// Has it do something. Says what it came to.
    pub(super) fn request(&self, request: &Request) -> Result<String, TrunkCommandError> {
        match serde_json::from_str(&self.ask(request)?) {
            Ok(Answer::Done(text)) => Ok(text),
            Ok(Answer::Failed(text)) => Err(TrunkCommandError::Refused(text)),
            Err(error) => Err(self.not_running(error.into())),
        }
    }

    /// Its status.
    pub(super) fn status(&self) -> Result<Status, TrunkCommandError> {
        serde_json::from_str(&self.ask(&Request::Status)?).map_err(|error| self.not_running(error.into()))
    }

    fn not_running(&self, source: io::Error) -> TrunkCommandError {
        TrunkCommandError::NotRunning { path: self.socket.clone(), source }
    }
}

/// The socket. It is removed at the end.
pub(super) struct ControlSocket {
    listener: UnixListener,
    _place: StatusSocket,
}

impl ControlSocket {
    pub(super) fn listen(path: &Path) -> Result<Self, TrunkCommandError> {
        let (place, listener) = StatusSocket::bind(path)?;
        let failed = |source| TrunkCommandError::File { path: path.into(), source };
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener: UnixListener::from_std(listener).map_err(failed)?, _place: place })
    }

    /// The next request, and who waits for its answer. Requests that are none are answered here.
    pub(super) async fn next(&self) -> (Request, UnixStream) {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            let mut reader = BufReader::new(stream.take(LONGEST));
            let mut line = String::new();
            // Who asks nothing in time is not answered.
            let Ok(Ok(_)) = timeout(PATIENCE, reader.read_line(&mut line)).await else { continue };
            let stream = reader.into_inner().into_inner();
            match Request::parse(&line) {
                Some(request) => return (request, stream),
                None => answer(stream, format!("unknown request: {}", line.trim())).await,
            }
        }
    }
}

/// Answers. Who goes away before the answer does not need it.
pub(super) async fn answer(mut stream: UnixStream, text: String) {
    let _ = timeout(PATIENCE, stream.write_all(text.as_bytes())).await;
}
