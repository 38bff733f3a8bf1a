//! The metrics of a running gateway, served over HTTP for Prometheus.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use headway_http::{ClientPlace, Clients, OwnNames};
use headway_trunk::{GatewayConfig, METRICS_CONTENT_TYPE, Status, metrics};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::error::TrunkCommandError;

/// Connections at once; more wait in the kernel's backlog.
const MOST: usize = 32;
/// Connections at once of one client; more are closed.
const MOST_OF_CLIENT: usize = 8;
/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait where no connection can be accepted: no descriptor is free.
const PAUSE: Duration = Duration::from_millis(100);
/// How old metrics may be: they are computed so often at most, whoever asks.
const FRESH: Duration = Duration::from_millis(100);

const FORBIDDEN: &str = "expected an IP address, localhost, the name of this machine or one of gateway.metrics-names as \
                         Host\n";

/// Where metrics are asked for.
pub(super) struct MetricsListener {
    listener: TcpListener,
    names: Arc<OwnNames>,
}

/// Who waits for metrics.
type Waiting = oneshot::Sender<Bytes>;

impl MetricsListener {
    /// Listens, where the configuration says so.
    pub(super) async fn bind(config: &GatewayConfig) -> Result<Option<Self>, TrunkCommandError> {
        let Some(address) = config.metrics else { return Ok(None) };
        let failed = |source| TrunkCommandError::Metrics { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        Ok(Some(Self { listener, names: Arc::new(OwnNames::new(&config.metrics_names)) }))
    }

    pub(super) fn local_addr(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }
}

/// Answers requests for metrics, for ever. Only they take the status.
pub(super) async fn serve(listener: Option<MetricsListener>, status: impl Fn() -> Status) {
    let Some(MetricsListener { listener, names }) = listener else { return std::future::pending().await };
    let (ask, mut asked) = mpsc::channel::<Waiting>(MOST);
    let clients = Clients::new(MOST_OF_CLIENT);
    let mut connections = JoinSet::new();
    let mut latest: Option<(Instant, Bytes)> = None;
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MOST => match accepted {
                Ok((stream, from)) => {
                    if let Ok(place) = clients.admit(from.ip()) {
                        connections.spawn(answer(stream, place, names.clone(), ask.clone()));
                    }
                }
                Err(_) => sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
            Some(waiting) = asked.recv() => {
                let now = Instant::now();
                let fresh = latest.take().filter(|(at, _)| now.duration_since(*at) < FRESH);
                let (_, text) = latest.insert(fresh.unwrap_or_else(|| (now, metrics(&status()).into())));
                // Who has gone away does not need it.
                let _ = waiting.send(text.clone());
            }
        }
    }
}

async fn answer(stream: TcpStream, place: ClientPlace, names: Arc<OwnNames>, ask: mpsc::Sender<Waiting>) {
    let service = service_fn(async |request| Ok::<_, Infallible>(respond(&request, &names, &ask).await));
    let mut builder = http1::Builder::new();
    builder.keep_alive(false);
    // Who goes away before the answer does not need it.
    let _ = timeout(PATIENCE, builder.serve_connection(TokioIo::new(stream), service)).await;
    drop(place);
}

async fn respond(
    request: &Request<Incoming>,
    names: &OwnNames,
    ask: &mpsc::Sender<Waiting>,
) -> Response<Full<Bytes>> {
    if !names.are_asked(request.headers()) {
        return refusal(StatusCode::FORBIDDEN, FORBIDDEN);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, "expected GET or HEAD\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if request.uri().path() != "/metrics" {
        return refusal(StatusCode::NOT_FOUND, "expected /metrics\n");
    }
    let (waiting, text) = oneshot::channel();
    // It fails where the gateway is ending.
    let _ = ask.send(waiting).await;
    match text.await {
        Ok(text) => response(StatusCode::OK, METRICS_CONTENT_TYPE, text),
        Err(_) => refusal(StatusCode::SERVICE_UNAVAILABLE, "the gateway is ending\n"),
    }
}

fn refusal(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    response(status, "text/plain", Bytes::from_static(text.as_bytes()))
}

fn response(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const ASKED: &str = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

    fn status() -> Status {
        serde_json::from_value(serde_json::json!({
            "public_key": "AAAA", "listen": "0.0.0.0:4433", "seconds": 1.0, "peers": [], "intact": 0, "corrupted": 0,
            "unreadable": 0, "ignored": 0, "bad_handshakes": 0, "cookies_sent": 0, "without_session": 0,
            "memory_bytes": 0,
        }))
        .expect("a status")
    }

    async fn listener(names: &[&str]) -> (MetricsListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let place = listener.local_addr().expect("an address");
        let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
        (MetricsListener { listener, names: Arc::new(OwnNames::new(&names)) }, place)
    }

    async fn request(place: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(place).await.expect("a connection");
        stream.write_all(request.as_bytes()).await.expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        answer
    }

    #[tokio::test]
    async fn the_status_is_taken_for_valid_requests_alone() {
        let (listener, place) = listener(&["gw.example"]).await;
        let taken = Cell::new(0);
        let take = || {
            taken.set(taken.get() + 1);
            status()
        };
        let asking = async {
            for (bad, code) in [
                ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
                ("GET /metrics HTTP/1.1\r\n\r\n", "403"),
                ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
                ("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
                ("nonsense\r\n\r\n", "400"),
            ] {
                let answer = request(place, bad).await;
                assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{bad}: {answer}");
            }
            assert_eq!(taken.get(), 0);
            for host in ["127.0.0.1:9464", "localhost", "gw.example:9464"] {
                let answer = request(place, &ASKED.replace("127.0.0.1", host)).await;
                assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("# EOF"), "{host}: {answer}");
            }
            assert!((1..=3).contains(&taken.get()));
        };
        tokio::select! {
            () = serve(Some(listener), take) => {}
            () = asking => {}
        }
    }

    /// Eight connections that ask nothing are all that a client has; the others are closed at once.
    #[tokio::test]
    async fn a_client_has_a_share_of_the_connections() {
        let (listener, place) = listener(&[]).await;
        let asking = async {
            let mut idle = Vec::new();
            for _ in 0..MOST_OF_CLIENT {
                idle.push(TcpStream::connect(place).await.expect("a connection"));
            }
            let mut ninth = TcpStream::connect(place).await.expect("a connection");
            assert_eq!(ninth.read(&mut [0]).await.expect("its end"), 0);
            idle.pop();
            while !request_or_end(place).await.starts_with("HTTP/1.1 200 ") {}
        };
        tokio::select! {
            () = serve(Some(listener), status) => {}
            () = asking => {}
        }
    }

    /// The answer; empty where the connection was closed.
    async fn request_or_end(place: SocketAddr) -> String {
        let mut stream = TcpStream::connect(place).await.expect("a connection");
        let mut answer = String::new();
        let _ = stream.write_all(ASKED.as_bytes()).await;
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }
}
