//! A small HTTP/1.1 file server.

mod answer;
mod folder;
mod listing;
mod log;
mod read;
mod response;
mod upload;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgAction, Args};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::error::LiveError;
use super::names::Listen;
use super::network_arguments::NetworkArgs;
use super::transport::Stream;
use super::{GRACE_STOPPED, stop_signal};
use crate::failure::{Failure, USAGE};
use crate::output::notice;
use folder::Folder;
use log::{Lines, Log, Logged};

const EXAMPLES: &str = "\
Examples:
  headway serve --tun hw0 --address 10.77.2.2/24 /srv/files
      Files at http://10.77.2.2/ for this machine and the hosts that it forwards.
  headway serve --udp 192.0.2.2:4000 any --write --json .
      For peers over UDP (`headway fetch --udp ...`), uploads allowed, a line for each request.
  headway serve --packet veth1 --address 10.0.0.9/24 --listen 8080 .
      On an Ethernet, under an address that the kernel does not have.

Stops at SIGINT or SIGTERM.";

/// Serve the files of a folder over HTTP.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The port, or address and port, to listen at
    #[arg(long, value_name = "PORT", default_value = "80")]
    listen: Listen,
    /// Accept uploads to the folder (PUT)
    #[arg(long, action = ArgAction::SetTrue)]
    write: bool,
    /// Print a line of JSON for each request
    #[arg(long, action = ArgAction::SetTrue)]
    json: bool,
    #[command(flatten)]
    network: NetworkArgs,
}

/// The maximum number of concurrent connections; others wait.
const MAX_CONNECTIONS: usize = 10_000;

/// Bytes that wait in a connection before TCP: the log is not exact by more.
const BUFFER: usize = 1 << 16;

/// Why it failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServeError {
    #[error(transparent)]
    Live(#[from] LiveError),
    #[error("{}: {source}; expected a folder to serve", path.display())]
    Folder { path: PathBuf, source: io::Error },
}

impl Failure for ServeError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Live(error) => error.is_usage(),
            Self::Folder { .. } => true,
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Live(error) => error.code(),
            _ if self.is_usage() => USAGE,
            _ => 1,
        }
    }
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), ServeError> {
    let folder = Arc::new(Folder::open(&arguments.folder, arguments.write)?);
    let transport = arguments.network.open()?;
    let listener = transport.listen(arguments.listen).await?;
    let local = listener.local_addr().map_err(LiveError::Connection)?;
    let places = places(local, transport.addresses());
    let urls: Vec<String> = places.iter().map(|place| url(*place)).collect();
    notice!("headway: serving {} at {}", arguments.folder.display(), urls.join(" and "));
    if let (Some(words), Some(place)) = (arguments.network.words_of_peer(), places.first()) {
        notice!("headway: for a peer: headway fetch {}FILE {words}", url(*place));
    }
    let (closed, mut is_closed) = mpsc::channel(1);
    let lines = if arguments.json { Lines::Json(closed.clone()) } else { Lines::Text };
    let mut connections = JoinSet::new();
    let stopped = async {
        loop {
            if connections.len() >= MAX_CONNECTIONS {
                connections.join_next().await;
            }
            let (stream, from) = listener.accept().await.map_err(LiveError::Connection)?;
            // Removes ended connections.
            while connections.try_join_next().is_some() {}
            connections.spawn(serve(stream, from, folder.clone(), lines.clone()));
        }
    };
    let outcome = tokio::select! {
        failed = stopped => failed,
        Some(error) = is_closed.recv() => Err(error.into()),
        signal = stop_signal() => signal.map(|_| ()),
    };
    connections.shutdown().await;
    drop(listener);
    let closed = transport.close(GRACE_STOPPED).await;
    Ok(outcome.and(closed)?)
}

/// The addresses that a listener is reached at: where it listens at any, those of this end.
fn places(local: SocketAddr, ours: Vec<IpAddr>) -> Vec<SocketAddr> {
    if !local.ip().is_unspecified() {
        return vec![local];
    }
    let same = ours.into_iter().filter(|ours| ours.is_ipv4() == local.is_ipv4());
    let found: Vec<SocketAddr> = same.map(|ours| SocketAddr::new(ours, local.port())).collect();
    if found.is_empty() { vec![local] } else { found }
}

/// Port 80 is that of `http`.
fn url(place: SocketAddr) -> String {
    match place {
        SocketAddr::V4(v4) if v4.port() == 80 => format!("http://{}/", v4.ip()),
        SocketAddr::V6(v6) if v6.port() == 80 => format!("http://[{}]/", v6.ip()),
        _ => format!("http://{place}/"),
    }
}

async fn serve(stream: Stream, from: SocketAddr, folder: Arc<Folder>, lines: Lines) {
    let log = Arc::new(Log::new(from, lines));
    let stream = Logged::new(stream, log.clone());
    let service = service_fn(move |request| {
        let (folder, log) = (folder.clone(), log.clone());
        async move { answer::answer(&folder, request, log).await }
    });
    let mut builder = http1::Builder::new();
    builder.max_buf_size(BUFFER);
    // Peers may disconnect at any time.
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, %from, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_can_be_pasted() {
        let at = |local: &str, ours: &[&str]| -> Vec<String> {
            let ours = ours.iter().map(|ours| ours.parse().unwrap()).collect();
            places(local.parse().unwrap(), ours).into_iter().map(url).collect()
        };
        assert_eq!(at("0.0.0.0:80", &["10.77.2.2", "fd77::2"]), ["http://10.77.2.2/"]);
        assert_eq!(at("[::]:8000", &["10.77.2.2", "fd77::2"]), ["http://[fd77::2]:8000/"]);
        assert_eq!(at("[fd77::2]:80", &["10.77.2.2"]), ["http://[fd77::2]/"]);
        assert_eq!(at("127.0.0.1:8000", &["10.77.2.2"]), ["http://127.0.0.1:8000/"]);
        assert_eq!(
            at("0.0.0.0:81", &["10.0.0.1", "10.0.0.2"]),
            ["http://10.0.0.1:81/", "http://10.0.0.2:81/"]
        );
    }
}
