//! A small HTTP/1.1 file server.

mod answer;
mod folder;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgAction, Args};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use super::error::LiveError;
use super::names::parse_listen;
use super::network_arguments::NetworkArgs;
use super::transport::Stream;
use super::{GRACE_STOPPED, stop_signal};
use crate::failure::Failure;
use crate::output::notice;
use folder::Folder;

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
    #[arg(long, value_name = "PORT", default_value = "80", value_parser = parse_listen)]
    listen: SocketAddr,
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
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), ServeError> {
    let folder = Arc::new(Folder::open(&arguments.folder, arguments.write)?);
    let transport = arguments.network.open()?;
    let listener = transport.listen(arguments.listen).await?;
    let local = listener.local_addr().map_err(LiveError::Connection)?;
    notice!("headway: serving {} at {local}", arguments.folder.display());
    let json = arguments.json;
    let mut connections = JoinSet::new();
    let stopped = async {
        loop {
            if connections.len() >= MAX_CONNECTIONS {
                connections.join_next().await;
            }
            let (stream, from) = listener.accept().await.map_err(LiveError::Connection)?;
            // Removes ended connections.
            while connections.try_join_next().is_some() {}
            connections.spawn(serve(stream, from, folder.clone(), json));
        }
    };
    let outcome = tokio::select! {
        failed = stopped => failed,
        signal = stop_signal() => signal.map(|_| ()),
    };
    connections.shutdown().await;
    drop(listener);
    let closed = transport.close(GRACE_STOPPED).await;
    Ok(outcome.and(closed)?)
}

async fn serve(stream: Stream, from: SocketAddr, folder: Arc<Folder>, json: bool) {
    let service = service_fn(move |request| {
        let folder = folder.clone();
        async move { answer::answer(&folder, request, from, json).await }
    });
    // Peers may disconnect at any time.
    if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, %from, "a connection ended early");
    }
}
