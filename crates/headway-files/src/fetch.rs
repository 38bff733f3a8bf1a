//! `headway fetch`: HTTP downloads and uploads.

mod partial;
mod progress;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{ArgAction, Args};
use headway_command::output::{self, NewFile};
use headway_command::{BadOption, Failure, OutputError, USAGE, notice, require_distinct};
use headway_transport::{NetworkArguments, Transport, TransportError, resolve, with_causes};
use http_body_util::{BodyExt as _, Either, Empty, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt as _, stdout};

use super::http::{FileBody, percent_decode};
use headway_transport::{GRACE, GRACE_STOPPED, stop_signal};
use partial::Partial;
use progress::{Progress, Shown, When};

const EXAMPLES: &str = "\
Examples:
  headway fetch --tun hw0 --address 10.77.2.2/24 http://10.77.2.1:8000/image.iso
      From a server of this machine, into image.iso.
  headway fetch --udp 192.0.2.1:4000 192.0.2.2:4000 http://192.0.2.2/image.iso --output - | sha256sum
      From `headway serve --udp 192.0.2.2:4000 any DIR`, to standard output.
  headway fetch --monitor wlan0 --address 10.77.2.2 --peer-address 10.77.2.1 http://10.77.2.1/image.iso
      Over a Wi-Fi card in monitor mode, which hands up damaged frames.
  headway fetch --udp 192.0.2.1:4000 192.0.2.2:4000 http://192.0.2.2/image.iso --continue
      Resumed with the same words if it is interrupted; the parts are in image.iso.part until it is complete.
  headway fetch --tun hw0 --address 10.77.2.2/24 --upload photo.raw http://10.77.2.1:8000/photo.raw
      Put a file there.";

/// Download or upload a file over HTTP
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The URL: `http://HOST/PATH` or `http://HOST:PORT/PATH`
    #[arg(value_parser = parse_url)]
    url: Uri,
    /// The output file; `-` is standard output [default: the last part of the URL's path]
    #[arg(long, short, value_name = "FILE", conflicts_with = "upload")]
    output: Option<PathBuf>,
    /// Keep what has arrived in FILE.part if the download is interrupted, and request only the rest the next time, if
    /// the file is still the same at the server (it has to have an entity tag)
    #[arg(long = "continue", short = 'c', action = ArgAction::SetTrue, conflicts_with = "upload")]
    resume: bool,
    /// Upload this file instead (PUT)
    #[arg(long, value_name = "FILE")]
    upload: Option<PathBuf>,
    /// Show the progress on standard error: on a terminal, everywhere (as lines), or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    progress: When,
    /// Print the result as JSON, on standard error if the file goes to standard output
    #[arg(long, action = ArgAction::SetTrue)]
    json: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

/// RFC 9110, 15.4: "A client SHOULD detect and intervene in cyclical redirections".
const MAX_REDIRECTIONS: usize = 10;

/// The result.
struct Done {
    /// Transferred bytes.
    bytes: u64,
    /// Bytes that an earlier download left.
    resumed: u64,
    elapsed: Duration,
    output: Option<PathBuf>,
}

/// Why it failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("{}: cannot be read: {source}", path.display())]
    Input { path: PathBuf, source: io::Error },
    #[error("{url}: expected {expected}")]
    BadUrl { url: String, expected: &'static str },
    #[error("{url}: expected the bytes from {from} on, of the file that they are the rest of; got {got:?}")]
    BadRange { url: String, from: u64, got: String },
    #[error("{url}: the server answered {status}{}{reason}", if reason.is_empty() { "" } else { ": " })]
    HttpStatus { url: String, status: StatusCode, reason: String },
    #[error("HTTP: {}", with_causes(.0))]
    Http(hyper::Error),
}

impl Failure for FetchError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Transport(error) => error.is_usage(),
            Self::BadUrl { .. } => true,
            _ => false,
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

/// The reason that the server gives with an error status: the first line of a short text, or nothing.
async fn reason_in(body: Incoming) -> String {
    const LONGEST: usize = 1024;
    let text = match Limited::new(body, LONGEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return String::new(),
    };
    let line =
        std::str::from_utf8(&text).ok().and_then(|text| text.lines().next()).unwrap_or_default().trim();
    let is_text = !line.starts_with('<') && !line.chars().any(char::is_control);
    if is_text { line.to_owned() } else { String::new() }
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), FetchError> {
    let output = if arguments.upload.is_some() { None } else { output_path(arguments)? };
    let written = arguments.network.written().into_iter().chain([("--output", output.as_deref())]);
    require_distinct([("--upload", arguments.upload.as_deref())], written).map_err(TransportError::from)?;
    let transport = arguments.network.open()?;
    let outcome = tokio::select! {
        outcome = fetch(arguments, &transport) => outcome,
        signal = stop_signal() => Err(TransportError::Stopped(signal?).into()),
    };
    let closed = transport.close(if outcome.is_ok() { GRACE } else { GRACE_STOPPED }).await;
    let done = outcome?;
    closed?;
    report(arguments, &done)?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a live command measures its time")]
async fn fetch(arguments: &Arguments, transport: &Transport) -> Result<Done, FetchError> {
    if let Some(file) = &arguments.upload {
        // Fails before the first request.
        length(file).await?;
    }
    let mut partial = if arguments.resume { Some(earlier_part(arguments)?) } else { None };
    let started = Instant::now();
    let mut url = arguments.url.clone();
    for _ in 0..=MAX_REDIRECTIONS {
        let condition = partial.as_ref().and_then(|partial| partial.condition(&url));
        let has_condition = condition.is_some();
        let response = request(&url, arguments, transport, condition).await?;
        let status = response.status();
        if let Some(partial) =
            partial.as_mut().filter(|_| has_condition && status == StatusCode::RANGE_NOT_SATISFIABLE)
        {
            partial.forget();
            continue;
        }
        if status.is_redirection()
            && let Some(location) = response.headers().get(header::LOCATION)
        {
            url = follow(&url, location.to_str().unwrap_or_default())?;
            continue;
        }
        if !status.is_success() {
            let reason = reason_in(response.into_body()).await;
            return Err(FetchError::HttpStatus { url: url.to_string(), status, reason });
        }
        let output = if arguments.upload.is_some() { None } else { output_path(arguments)? };
        let (bytes, resumed) = match &arguments.upload {
            Some(file) => (length(file).await?, 0),
            None => {
                let destination = Destination::of(output.as_deref(), partial, &url, &response)?;
                let resumed = destination.resumed();
                let progress = Progress::new(arguments.progress);
                (keep(response.into_body(), destination, progress).await?, resumed)
            }
        };
        return Ok(Done { bytes, resumed, elapsed: started.elapsed(), output });
    }
    Err(FetchError::BadUrl { url: arguments.url.to_string(), expected: "a URL without a redirection loop" })
}

/// The part of the file that an earlier download has left.
fn earlier_part(arguments: &Arguments) -> Result<Partial, FetchError> {
    match output_path(arguments)? {
        Some(path) => Ok(Partial::open(&path)?),
        None => {
            let error = BadOption::new("--continue", "with --output -", "expected a file");
            Err(TransportError::from(error).into())
        }
    }
}

async fn request(
    url: &Uri,
    arguments: &Arguments,
    transport: &Transport,
    condition: Option<(u64, &str)>,
) -> Result<Response<Incoming>, FetchError> {
    let bad = |expected| FetchError::BadUrl { url: url.to_string(), expected };
    if url.scheme_str() != Some("http") {
        return Err(bad("http://HOST[:PORT]/PATH: this command has no TLS"));
    }
    let authority = url.authority().ok_or_else(|| bad("http://HOST[:PORT]/PATH"))?;
    let remote =
        resolve(authority.host(), port(authority).ok_or_else(|| bad("a port from 1 to 65535"))?).await?;
    let stream = transport.connect(remote).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(FetchError::Http)?;
    // The task ends with the body of the response, which reports its errors too.
    tokio::spawn(connection);
    let target = url.path_and_query().map_or("/", |path| path.as_str());
    let mut builder = Request::builder().uri(target).header(header::HOST, authority.as_str());
    if let Some((from, tag)) = condition {
        builder = builder.header(header::RANGE, format!("bytes={from}-")).header(header::IF_RANGE, tag);
    }
    let request = match arguments.upload.as_deref() {
        None => builder
            .method(Method::GET)
            .body(Either::Left(Empty::<Bytes>::new().map_err(|never| match never {}))),
        Some(path) => {
            let file =
                File::open(path).await.map_err(|source| FetchError::Input { path: path.into(), source })?;
            let len = length(path).await?;
            let progress = Progress::new(arguments.progress);
            progress.begin(Some(len));
            let body = Shown { body: FileBody::new(file, len), progress };
            builder.method(Method::PUT).body(Either::Right(body))
        }
    };
    let request = request.map_err(|_| bad("http://HOST[:PORT]/PATH"))?;
    sender.send_request(request).await.map_err(FetchError::Http)
}

fn parse_url(input: &str) -> Result<Uri, String> {
    input.parse().map_err(|_| "expected http://HOST[:PORT]/PATH".into())
}

/// RFC 3986, 3.2.3: a port may be left out, or be empty. `None` if it is not a port.
fn port(authority: &Authority) -> Option<u16> {
    let at = authority.as_str().rsplit_once('@').map_or(authority.as_str(), |(_, at)| at);
    match at.strip_prefix(authority.host())?.strip_prefix(':') {
        None | Some("") => Some(80),
        Some(port) => port.parse().ok().filter(|port| *port > 0),
    }
}

async fn length(path: &Path) -> Result<u64, FetchError> {
    let fail = |source| FetchError::Input { path: path.into(), source };
    let metadata = tokio::fs::metadata(path).await.map_err(fail)?;
    if !metadata.is_file() {
        return Err(fail(io::Error::other("expected a regular file")));
    }
    Ok(metadata.len())
}

/// RFC 9110, 10.2.2: the location is a URI reference.
fn follow(from: &Uri, location: &str) -> Result<Uri, FetchError> {
    let bad = || FetchError::BadUrl {
        url: location.into(),
        expected: "a redirection to http://HOST[:PORT]/PATH or /PATH",
    };
    let target: Uri = location.parse().map_err(|_| bad())?;
    if target.scheme().is_some() {
        return Ok(target);
    }
    let mut parts = from.clone().into_parts();
    if !location.starts_with('/') {
        return Err(bad());
    }
    parts.path_and_query = target.into_parts().path_and_query;
    Uri::from_parts(parts).map_err(|_| bad())
}

/// `None` is standard output.
fn output_path(arguments: &Arguments) -> Result<Option<PathBuf>, FetchError> {
    match &arguments.output {
        Some(path) if path == Path::new("-") => Ok(None),
        Some(path) => Ok(Some(path.clone())),
        None => {
            let name = arguments.url.path().rsplit('/').next().and_then(percent_decode);
            let name =
                name.filter(|name| !name.is_empty() && !name.contains('/') && name != "." && name != "..");
            name.map(|name| Some(name.into())).ok_or_else(|| FetchError::BadUrl {
                url: arguments.url.to_string(),
                expected: "a path that ends with the name of a file, or --output FILE",
            })
        }
    }
}

/// Where the body of a response goes.
enum Destination<'a> {
    Standard,
    /// A file that is renamed into place when it is complete.
    New(NewFile, &'a Path),
    /// The same, but what has arrived remains if it is not.
    Resumed {
        partial: Partial,
        output: &'a Path,
        from: u64,
    },
}

impl<'a> Destination<'a> {
    /// The destination of a response from this URL.
    fn of(
        output: Option<&'a Path>,
        partial: Option<Partial>,
        url: &Uri,
        response: &Response<Incoming>,
    ) -> Result<Self, FetchError> {
        Ok(match (output, partial) {
            (Some(output), Some(mut partial)) => {
                let from = partial.begin(url, response.status(), response.headers())?;
                Self::Resumed { partial, output, from }
            }
            (Some(output), None) => Self::New(output::begin(output)?, output),
            (None, _) => Self::Standard,
        })
    }

    /// The bytes that an earlier download left.
    fn resumed(&self) -> u64 {
        if let Self::Resumed { from, .. } = self { *from } else { 0 }
    }

    fn open(&self) -> Result<Option<File>, OutputError> {
        let file = match self {
            Self::Standard => return Ok(None),
            Self::New(file, path) => file.reopen().map_err(|source| OutputError::file(path, source))?,
            Self::Resumed { partial, .. } => partial.reopen()?,
        };
        Ok(Some(File::from_std(file)))
    }

    fn error(&self, source: io::Error) -> OutputError {
        match self {
            Self::Standard => OutputError::standard(source),
            Self::New(_, path) => OutputError::file(path, source),
            Self::Resumed { partial, .. } => OutputError::file(partial.path(), source),
        }
    }

    fn finish(self) -> Result<(), OutputError> {
        match self {
            Self::Standard => Ok(()),
            Self::New(file, path) => output::finish(file, path),
            Self::Resumed { partial, output, .. } => partial.finish(output),
        }
    }
}

/// Writes the body to the output, and returns its length in bytes.
async fn keep(mut body: Incoming, to: Destination<'_>, mut progress: Progress) -> Result<u64, FetchError> {
    let mut bytes = 0;
    progress.begin(body.size_hint().exact());
    let mut file = to.open()?;
    let mut standard = stdout();
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => {
                // With `--continue` the next download begins after what has arrived.
                if let Some(file) = &mut file {
                    file.flush().await.map_err(|source| to.error(source))?;
                }
                return Err(FetchError::Http(error));
            }
        };
        let Some(data) = frame.data_ref() else { continue };
        bytes += data.len() as u64;
        progress.advance(data.len());
        match &mut file {
            Some(file) => file.write_all(data).await.map_err(|source| to.error(source))?,
            None => standard.write_all(data).await.map_err(|source| to.error(source))?,
        }
    }
    match &mut file {
        Some(file) => file.flush().await.map_err(|source| to.error(source))?,
        None => standard.flush().await.map_err(|source| to.error(source))?,
    }
    to.finish()?;
    Ok(bytes)
}

fn report(arguments: &Arguments, done: &Done) -> Result<(), OutputError> {
    let seconds = done.elapsed.as_secs_f64();
    let rate = done.bytes as f64 * 8.0 / seconds.max(1e-9);
    if arguments.json {
        let report = serde_json::json!({
            "url": arguments.url.to_string(),
            "output": done.output.as_ref().map(|path| path.display().to_string()),
            "upload": arguments.upload.as_ref().map(|path| path.display().to_string()),
            "bytes": done.bytes,
            "resumed": done.resumed,
            "seconds": seconds,
            "bits_per_second": rate,
            "variant": arguments.network.label(),
        });
        if done.output.is_some() || arguments.upload.is_some() {
            return output::print(&format!("{report}\n"));
        } else {
            // The file is on standard output, which the report must not change.
            notice!("{report}");
        }
    } else {
        let after =
            if done.resumed > 0 { format!(" after {} that were there", done.resumed) } else { String::new() };
        notice!("headway: {} bytes{after} in {seconds:.3} s, {:.3} Mbit/s", done.bytes, rate / 1e6);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_of_the_url_or_80() {
        let port = |url: &str| port(url.parse::<Uri>().unwrap().authority().unwrap());
        assert_eq!(port("http://a/"), Some(80));
        assert_eq!(port("http://a:/"), Some(80));
        assert_eq!(port("http://user:pass@a:8080/"), Some(8080));
        assert_eq!(port("http://[fd77::2]:81/"), Some(81));
        for bad in ["http://a:0/", "http://a:99999/", "http://[fd77::2]:65536/"] {
            assert_eq!(port(bad), None, "{bad}");
        }
    }
}
