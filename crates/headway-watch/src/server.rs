//! The HTTP server of a live page: a thread of its own, so that it has no part in what is measured.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use headway_http::OwnNames;
use headway_libraries::{Libraries, Library};
use headway_report::watch;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Shared;
use super::error::WatchError;
use super::events::Events;

/// Pages at once.
const MOST_PAGES: usize = 32;
/// Connections at once; others wait in the kernel's backlog.
const MOST_CONNECTIONS: usize = 128;
/// How long a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a peer may leave what was sent to it unacknowledged, or not read it.
const UNREAD: Duration = Duration::from_secs(30);
/// How long pages get at the end to be told of it.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait where no connection can be accepted: no descriptor is free.
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes that wait in a connection before TCP.
const BUFFER: usize = 1 << 16;

/// The page uses what this server gives it, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Listens, and serves in a thread until `stop` is sent or dropped. Gives the address that it listens at.
pub(super) fn start(
    address: SocketAddr,
    shared: Arc<Shared>,
    libraries: &Libraries,
    stop: oneshot::Receiver<()>,
) -> Result<(SocketAddr, JoinHandle<()>), WatchError> {
    let failed = |source| WatchError::Listen { address, source };
    let listener = StdListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let place = listener.local_addr().map_err(failed)?;
    let site = Arc::new(Site {
        files: files(&shared, libraries)?,
        shared,
        names: OwnNames::new(&[]),
        pages: Arc::new(Semaphore::new(MOST_PAGES)),
    });
    // The runtime is made and dropped in its thread: that of the command may be one too.
    let (ready, is_ready) = channel();
    let serve = move || {
        let made = runtime::Builder::new_current_thread().enable_all().build();
        // Who waits for it has not gone.
        match made {
            Ok(runtime) => {
                let _ = ready.send(Ok(()));
                runtime.block_on(run(listener, &site, stop));
            }
            Err(error) => drop(ready.send(Err(error))),
        }
    };
    let thread = thread::Builder::new().name("watch".into()).spawn(serve).map_err(WatchError::NoRuntime)?;
    match is_ready.recv() {
        Ok(Ok(())) => Ok((place, thread)),
        Ok(Err(error)) => Err(WatchError::NoRuntime(error)),
        Err(_) => Err(WatchError::NoRuntime(io::Error::other("its thread has ended"))),
    }
}

async fn run(listener: StdListener, site: &Arc<Site>, stop: oneshot::Receiver<()>) {
    // It was made for this: it is bound, and does not block.
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut connections = JoinSet::new();
    tokio::select! {
        () = accept(&listener, site, &mut connections) => {}
        _ = stop => {}
    }
    drop(listener);
    // Streams of events end by themselves once they have told all.
    let _ = timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

async fn accept(listener: &TcpListener, site: &Arc<Site>, connections: &mut JoinSet<()>) {
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= MOST_CONNECTIONS {
            connections.join_next().await;
        }
        match listener.accept().await {
            Ok((stream, _)) => drop(connections.spawn(serve(stream, site.clone()))),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// A connection, which is one request.
fn serve(stream: TcpStream, site: Arc<Site>) -> impl Future<Output = ()> {
    // Where the system does not have it, one that is gone takes its place until the kernel gives it up.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(UNREAD));
    let service = service_fn(move |request| {
        let answer = site.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let mut builder = http1::Builder::new();
    builder.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(BUFFER);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    // A browser may go away at any time.
    async move { drop(connection.await) }
}

/// What is served.
struct Site {
    /// Path, kind, content.
    files: Vec<(&'static str, &'static str, Bytes)>,
    shared: Arc<Shared>,
    names: OwnNames,
    pages: Arc<Semaphore>,
}

fn files(
    shared: &Shared,
    libraries: &Libraries,
) -> Result<Vec<(&'static str, &'static str, Bytes)>, WatchError> {
    const HTML: &str = "text/html; charset=utf-8";
    const STYLE: &str = "text/css; charset=utf-8";
    const SCRIPT: &str = "text/javascript; charset=utf-8";
    let library = |library| libraries.text(library).map(Bytes::from);
    Ok(vec![
        ("/", HTML, watch::page(shared.description.title()).into()),
        ("/page.css", STYLE, watch::style().into()),
        ("/page.js", SCRIPT, watch::script().into()),
        ("/uPlot.css", STYLE, library(Library::UPlotStyle)?),
        ("/uPlot.js", SCRIPT, library(Library::UPlot)?),
        ("/licences.txt", "text/plain; charset=utf-8", library(Library::Licences)?),
    ])
}

impl Site {
    fn answer(&self, request: &Request<Incoming>) -> Answer {
        let mut answer = self.content(request);
        for (name, value) in HEADERS {
            answer.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        answer
    }

    fn content(&self, request: &Request<Incoming>) -> Answer {
        if !self.names.are_asked(request.headers()) {
            let text = "expected an IP address, localhost or the name of this machine as Host\n";
            return refusal(StatusCode::FORBIDDEN, text);
        }
        let path = request.uri().path();
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut answer = refusal(StatusCode::METHOD_NOT_ALLOWED, "expected GET or HEAD\n");
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        if path == "/events" {
            return self.events(request);
        }
        match self.files.iter().find(|(name, ..)| *name == path) {
            Some((_, kind, content)) => full(StatusCode::OK, kind, content.clone()),
            None => refusal(StatusCode::NOT_FOUND, "expected / or /events\n"),
        }
    }

    fn events(&self, request: &Request<Incoming>) -> Answer {
        const KIND: &str = "text/event-stream";
        if *request.method() == Method::HEAD {
            return full(StatusCode::OK, KIND, Bytes::new());
        }
        let Ok(place) = self.pages.clone().try_acquire_owned() else {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open\n");
        };
        let last = request.headers().get("last-event-id").and_then(|id| id.to_str().ok());
        let events = Events::new(self.shared.clone(), last, place);
        let mut answer = Response::new(events.boxed_unsync());
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(KIND));
        answer
    }
}

fn refusal(status: StatusCode, text: &'static str) -> Answer {
    full(status, "text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()))
}

fn full(status: StatusCode, kind: &'static str, content: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(content).boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
