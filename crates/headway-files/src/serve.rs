//! A small HTTP/1.1 file server.

mod answer;
mod folder;
mod limits;
mod listing;
mod log;
mod read;
mod response;
mod upload;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgAction, Args};
use headway_command::{Failure, USAGE, notice};
use headway_http::Clients;
use headway_transport::{Listen, NetworkArguments, TransportError};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use folder::Folder;
use headway_transport::{GRACE_STOPPED, stop_signal};
use limits::{Limits, UploadLimits};
use log::{Lines, Log, Logged};

const EXAMPLES: &str = "\
Examples:
  headway serve --tun hw0 --address 10.77.2.2/24 /srv/files
      Files at http://10.77.2.2/ for this machine and the hosts that it forwards.
  headway serve --udp 192.0.2.2:4000 any --write --json .
      For peers over UDP (`headway fetch --udp ...`), uploads allowed, a line for each request.
  headway serve --monitor wlan0,wlan1 --address 10.77.2.1 --peer-address 10.77.2.2 .
      For the other end of a link of Wi-Fi cards in monitor mode, here with two that receive.
  headway serve --packet veth1 --address 10.0.0.9/24 --listen 8080 .
      On an Ethernet, under an address that the kernel does not have.

Stops at SIGINT or SIGTERM.";

/// Serve the files of a folder over HTTP.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
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
    limits: Limits,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Bytes that wait in a connection before TCP: the log is not exact by more.
const BUFFER: usize = 1 << 16;

/// Why it failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServeError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error("{}: {source}; expected a folder to serve", path.display())]
    Folder { path: PathBuf, source: io::Error },
}

impl Failure for ServeError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Transport(error) => error.is_usage(),
            Self::Folder { .. } => true,
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Transport(error) => error.code(),
            _ if self.is_usage() => USAGE,
            _ => 1,
        }
    }
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), ServeError> {
    let folder = Folder::open(&arguments.folder, arguments.write)?;
    let transport = arguments.network.open()?;
    let listener = transport.listen(arguments.listen).await?;
    let local = listener.local_addr().map_err(TransportError::Connection)?;
    let places = places(local, transport.addresses());
    let urls: Vec<String> = places.iter().map(|place| url(*place)).collect();
    notice!("headway: serving {} at {}", arguments.folder.display(), urls.join(" and "));
    if let (Some(words), Some(place)) = (arguments.network.words_of_peer(), places.first()) {
        notice!("headway: for a peer: headway fetch {}FILE {words}", url(*place));
    }
    let (closed, mut is_closed) = mpsc::channel(1);
    let lines = if arguments.json { Lines::Json(closed.clone()) } else { Lines::Text };
    let limits = &arguments.limits;
    let site = Arc::new(Site { folder, lines, idle: limits.idle(), upload: limits.upload() });
    let stall = arguments.network.stall(limits.stall());
    let clients = Clients::new(limits.connections_per_client());
    let mut connections = JoinSet::new();
    let stopped = async {
        loop {
            if connections.len() >= limits.connections() {
                connections.join_next().await;
            }
            let (stream, from) = listener.accept().await.map_err(TransportError::Connection)?;
            // Removes ended connections.
            while connections.try_join_next().is_some() {}
            let place = match clients.admit(from.ip()) {
                Ok(place) => place,
                Err(refused) => {
                    if refused.is_first {
                        let most = limits.connections_per_client();
                        notice!(
                            "headway: {from}: refused: {most} connections are open (--max-connections-per-client)"
                        );
                    }
                    stream.reset();
                    continue;
                }
            };
            stream.set_user_timeout(stall);
            let site = site.clone();
            connections.spawn(async move {
                serve(stream, from, site).await;
                drop(place);
            });
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

/// What every connection needs.
struct Site {
    folder: Folder,
    lines: Lines,
    /// How long a request header may take to arrive, and the time before it.
    idle: Duration,
    upload: UploadLimits,
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, from: SocketAddr, site: Arc<Site>) {
    let log = Arc::new(Log::new(from, site.lines.clone()));
    let stream = Logged::new(stream, log.clone());
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(site.idle).max_buf_size(BUFFER);
    let service = service_fn(move |request| {
        let (site, log) = (site.clone(), log.clone());
        async move { answer::answer(&site, request, log).await }
    });
    // Peers may disconnect at any time.
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, %from, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::{Instant, timeout};

    use super::*;

    const IDLE: Duration = Duration::from_secs(60);
    const STALL: Duration = Duration::from_secs(120);

    /// The client's end of a connection to a server that takes uploads of up to 100 bytes.
    fn connect(folder: &std::path::Path) -> DuplexStream {
        let (client, server) = duplex(1 << 16);
        let upload = UploadLimits { most: headway_units::Size::from_bytes(100), stall: STALL };
        let folder = Folder::open(folder, true).unwrap();
        let site = Site { folder, lines: Lines::Text, idle: IDLE, upload };
        tokio::spawn(serve(server, "192.0.2.1:4000".parse().unwrap(), Arc::new(site)));
        client
    }

    /// All that the server answers until it closes the connection, and when that was.
    async fn rest(client: &mut DuplexStream) -> (String, Duration) {
        let (mut answer, started) = (String::new(), Instant::now());
        let day = Duration::from_secs(86_400);
        timeout(day, client.read_to_string(&mut answer)).await.expect("the connection is closed").unwrap();
        (answer, started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_whole_request_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        for request in ["", "GET / HTTP/1.1\r\nHost: ", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"] {
            let mut client = connect(folder.path());
            client.write_all(request.as_bytes()).await.unwrap();
            let (answer, time) = rest(&mut client).await;
            assert_eq!(answer.starts_with("HTTP/1.1 200 OK"), request.ends_with("\r\n\r\n"), "{answer}");
            assert!((IDLE..IDLE + Duration::from_secs(1)).contains(&time), "{request:?}: {time:?}");
        }
        // A byte now and then is no progress.
        let mut client = connect(folder.path());
        let started = Instant::now();
        while client.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert!(started.elapsed() < 2 * IDLE, "it is still open");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_stands_still_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut client = connect(folder.path());
        client.write_all(b"PUT /new HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n").await.unwrap();
        for _ in 0..5 {
            client.write_all(b"x").await.unwrap();
            tokio::time::sleep(STALL / 2).await;
        }
        let (answer, time) = rest(&mut client).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(time < STALL, "{time:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_has_a_greatest_length() {
        let folder = tempfile::tempdir().unwrap();
        let chunk = format!("32\r\n{}\r\n", "x".repeat(50));
        for (header, body, status) in [
            ("Content-Length: 101", String::new(), "413"),
            ("Content-Length: 100", "x".repeat(100), "201"),
            ("Transfer-Encoding: chunked", chunk.repeat(3), "413"),
            ("Transfer-Encoding: chunked", chunk.repeat(2) + "0\r\n\r\n", "204"),
        ] {
            let mut client = connect(folder.path());
            let request = format!("PUT /new HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n{body}");
            client.write_all(request.as_bytes()).await.unwrap();
            let (answer, _) = rest(&mut client).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{header}: {answer}");
            let is_refused = status == "413";
            assert_eq!(answer.contains("at most 100B here (--max-upload)"), is_refused, "{answer}");
        }
        assert_eq!(std::fs::read_to_string(folder.path().join("new")).unwrap(), "x".repeat(100));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
    }

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
