//! HTTP requests and responses.

use std::convert::Infallible;
use std::io::{self, SeekFrom};
use std::net::SocketAddr;
use std::path::Path;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use maud::{DOCTYPE, html};
use tokio::fs::{self, File};
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};

use super::folder::{Folder, Refusal};
use crate::live::http::{FileBody, percent_encode};
use crate::output::{self, notice};

type Answer = Response<BoxBody<Bytes, io::Error>>;

/// Answers a request, and logs it to standard output or standard error.
pub(super) async fn answer(
    folder: &Folder,
    request: Request<Incoming>,
    from: SocketAddr,
    json: bool,
) -> Result<Answer, Infallible> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = match method {
        Method::GET | Method::HEAD => read(folder, &request, &path).await,
        Method::PUT if folder.writable => write(folder, request, &path).await,
        Method::PUT => Err(text(StatusCode::FORBIDDEN, "this server does not accept uploads (--write)\n")),
        _ => Err(text(StatusCode::METHOD_NOT_ALLOWED, "expected GET, HEAD or PUT\n")),
    };
    let response = response.unwrap_or_else(|refusal| refusal);
    let status = response.status().as_u16();
    let bytes = hyper::body::Body::size_hint(response.body()).exact();
    if json {
        let line = serde_json::json!({
            "from": from.to_string(), "method": method.as_str(), "path": path, "status": status, "bytes": bytes,
        });
        if let Err(error) = output::print(&format!("{line}\n")) {
            notice!("headway: {error}");
        }
    } else {
        notice!("headway: {from} {method} {path} {status} {}", bytes.unwrap_or(0));
    }
    Ok(response)
}

async fn read(folder: &Folder, request: &Request<Incoming>, path: &str) -> Result<Answer, Answer> {
    let mut found = folder.find(path).map_err(refused)?;
    if found.is_dir() {
        let index = found.join("index.html");
        if !index.is_file() {
            return listing(&found, path).await.map_err(|error| refused(Refusal::Io(error)));
        }
        found = index;
    }
    let failed = |error| refused(Refusal::Io(error));
    let mut file = File::open(&found).await.map_err(failed)?;
    let metadata = file.metadata().await.map_err(failed)?;
    if !metadata.is_file() {
        return Err(text(StatusCode::FORBIDDEN, "not a regular file\n"));
    }
    let len = metadata.len();
    let part = match request.headers().get(header::RANGE) {
        Some(range) => parse_range(range, len),
        None => Part::Whole,
    };
    let mut response = match part {
        Part::Whole => Response::new(FileBody::new(file, len).boxed()),
        Part::Nothing => {
            let mut response = text(StatusCode::RANGE_NOT_SATISFIABLE, "the file is shorter\n");
            response.headers_mut().insert(header::CONTENT_RANGE, value(&format!("bytes */{len}")));
            return Err(response);
        }
        Part::Of { first, last } => {
            file.seek(SeekFrom::Start(first)).await.map_err(failed)?;
            let mut response = Response::new(FileBody::new(file, last - first + 1).boxed());
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let range = format!("bytes {first}-{last}/{len}");
            response.headers_mut().insert(header::CONTENT_RANGE, value(&range));
            response
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let kind = if found.extension().is_some_and(|extension| extension == "html") {
        "text/html; charset=utf-8"
    } else {
        "application/octet-stream"
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

/// The requested range of a file.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Whole,
    Of { first: u64, last: u64 },
    Nothing,
}

/// RFC 9110, 14.1.2, one range. 14.2: "A server MAY ignore the Range header field", as here with several
/// ranges and with invalid ones.
fn parse_range(range: &HeaderValue, len: u64) -> Part {
    let one = |range: &HeaderValue| {
        let (first, last) = range.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
        Some(match (first.trim(), last.trim()) {
            ("", last) => (len.saturating_sub(last.parse().ok()?), len.checked_sub(1)),
            (first, "") => (first.parse().ok()?, len.checked_sub(1)),
            (first, last) => {
                let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
                if first > last {
                    return None;
                }
                (first, len.checked_sub(1).map(|end| end.min(last)))
            }
        })
    };
    match one(range) {
        None => Part::Whole,
        Some((first, Some(last))) if first <= last => Part::Of { first, last },
        Some(_) => Part::Nothing,
    }
}

async fn listing(folder: &Path, path: &str) -> io::Result<Answer> {
    let mut names = Vec::new();
    let mut entries = fs::read_dir(folder).await?;
    while let Some(entry) = entries.next_entry().await? {
        let slash = if entry.file_type().await?.is_dir() { "/" } else { "" };
        names.push((entry.file_name().to_string_lossy().into_owned(), slash));
    }
    names.sort();
    let base = path.trim_end_matches('/');
    let page = html! {
        (DOCTYPE)
        title { (path) }
        ul {
            @for (name, slash) in &names {
                li { a href=(format!("{base}/{}{slash}", percent_encode(name))) { (name) (slash) } }
            }
        }
    };
    let mut response = text(StatusCode::OK, &page.into_string());
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    Ok(response)
}

/// The file is renamed into place when it is complete.
async fn write(folder: &Folder, request: Request<Incoming>, path: &str) -> Result<Answer, Answer> {
    let place = folder.place(path).map_err(refused)?;
    let broken = |error: String| text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n"));
    let temporary = output::begin_replacing(&place).map_err(|error| broken(error.to_string()))?;
    let mut file = File::from_std(temporary.reopen().map_err(|error| broken(error.to_string()))?);
    let mut body = request.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| text(StatusCode::BAD_REQUEST, &format!("{error}\n")))?;
        if let Some(data) = frame.data_ref() {
            file.write_all(data).await.map_err(|error| broken(error.to_string()))?;
        }
    }
    file.flush().await.map_err(|error| broken(error.to_string()))?;
    output::finish(temporary, &place).map_err(|error| broken(error.to_string()))?;
    Ok(text(StatusCode::CREATED, ""))
}

fn refused(refusal: Refusal) -> Answer {
    match refusal {
        Refusal::BadPath => text(StatusCode::BAD_REQUEST, "invalid path\n"),
        Refusal::Outside => text(StatusCode::FORBIDDEN, "outside of the folder\n"),
        Refusal::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            text(StatusCode::NOT_FOUND, "no such file\n")
        }
        Refusal::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            text(StatusCode::FORBIDDEN, "not readable\n")
        }
        Refusal::Io(error) => text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
    }
}

fn text(status: StatusCode, text: &str) -> Answer {
    let body = Full::new(Bytes::copy_from_slice(text.as_bytes())).map_err(|never| match never {});
    let mut response = Response::new(body.boxed());
    *response.status_mut() = status;
    response
}

/// A value of ASCII characters only.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        let of = |first, last| Part::Of { first, last };
        for (text, part) in [
            ("bytes=0-0", of(0, 0)),
            ("bytes=5-", of(5, 9)),
            ("bytes=5-100", of(5, 9)),
            ("bytes=-3", of(7, 9)),
            ("bytes=-100", of(0, 9)),
            ("bytes=10-", Part::Nothing),
            ("bytes=-0", Part::Nothing),
            ("bytes=3-2", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("lines=0-1", Part::Whole),
        ] {
            assert_eq!(parse_range(&HeaderValue::from_static(text), 10), part, "{text}");
        }
        assert_eq!(parse_range(&HeaderValue::from_static("bytes=0-"), 0), Part::Nothing);
    }
}
