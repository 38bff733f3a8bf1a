//! The metrics of a running gateway, served over HTTP for Prometheus.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use headway_trunk::{Gateway, METRICS_CONTENT_TYPE, metrics};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::error::TrunkCommandError;

/// Connections at once; more wait in the kernel's backlog.
const MOST: usize = 16;
/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait where no connection can be accepted: no descriptor is free.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens at `address`.
pub(super) async fn listen(address: SocketAddr) -> Result<TcpListener, TrunkCommandError> {
    TcpListener::bind(address).await.map_err(|source| TrunkCommandError::Metrics { address, source })
}

/// Answers requests for metrics, for ever.
pub(super) async fn serve(gateway: &Gateway, listener: Option<TcpListener>) {
    let Some(listener) = listener else { return std::future::pending().await };
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= MOST {
            connections.join_next().await;
        }
        match listener.accept().await {
            // The status is taken now: a connection is a request.
            Ok((stream, _)) => drop(connections.spawn(answer(stream, metrics(&gateway.status())))),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn answer(stream: TcpStream, text: String) {
    let text = Bytes::from(text);
    let service = service_fn(|request| {
        let response = respond(&request, text.clone());
        async move { Ok::<_, Infallible>(response) }
    });
    let mut builder = http1::Builder::new();
    builder.keep_alive(false);
    // Who goes away before the answer does not need it.
    let _ = timeout(PATIENCE, builder.serve_connection(TokioIo::new(stream), service)).await;
}

fn respond(request: &Request<Incoming>, text: Bytes) -> Response<Full<Bytes>> {
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, METRICS_CONTENT_TYPE, text),
        (&Method::GET | &Method::HEAD, _) => {
            (StatusCode::NOT_FOUND, "text/plain", Bytes::from_static(b"expected /metrics\n"))
        }
        _ => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", Bytes::from_static(b"expected GET or HEAD\n")),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
