//! HTTP requests and responses.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::folder::{Folder, Refusal};
use super::log::{Counted, Log};
use super::{read, upload};

pub(super) type Answer = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// Answers a request. It is logged when the answer has been sent.
pub(super) async fn answer(
    folder: &Folder,
    request: Request<Incoming>,
    log: Arc<Log>,
) -> Result<Response<Counted>, Infallible> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut received = None;
    let response = match method {
        Method::GET | Method::HEAD => read::read(folder, &request, &path).await,
        Method::PUT if folder.writable => upload::upload(folder, request, &path, received.insert(0)).await,
        Method::PUT => Err(not_allowed(folder, "this server does not accept uploads (--write)\n")),
        _ => Err(not_allowed(folder, "this method is not supported\n")),
    };
    let response = response.unwrap_or_else(|refusal| refusal);
    // There is none for HEAD.
    let length = if method == Method::HEAD {
        0
    } else {
        response.body().size_hint().exact().unwrap_or_else(|| content_length(&response))
    };
    log.begin(format!("{method}"), path, response.status().as_u16(), length, received);
    Ok(response.map(|body| Counted::new(body, log)))
}

/// A file's length is in the header only.
fn content_length(response: &Answer) -> u64 {
    let value = response.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// RFC 9110, 15.5.6: "The origin server MUST generate an Allow header field in a 405 response".
fn not_allowed(folder: &Folder, reason: &str) -> Answer {
    let allowed = if folder.writable { "GET, HEAD, PUT" } else { "GET, HEAD" };
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, reason);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

pub(super) fn refused(refusal: Refusal) -> Answer {
    match refusal {
        Refusal::BadPath => text(StatusCode::BAD_REQUEST, "invalid path\n"),
        Refusal::Outside => text(StatusCode::FORBIDDEN, "outside of the folder\n"),
        Refusal::Io(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                text(StatusCode::NOT_FOUND, "no such file\n")
            }
            io::ErrorKind::InvalidFilename => text(StatusCode::BAD_REQUEST, "invalid path\n"),
            io::ErrorKind::PermissionDenied => text(StatusCode::FORBIDDEN, "not readable\n"),
            _ => text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
        },
    }
}

pub(super) fn text(status: StatusCode, text: &str) -> Answer {
    let body = Full::new(Bytes::copy_from_slice(text.as_bytes())).map_err(|never| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    if !text.is_empty() {
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
    }
    response
}
