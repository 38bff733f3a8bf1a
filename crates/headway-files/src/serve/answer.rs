//! HTTP requests and responses.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::folder::Folder;
use super::log::{Counted, Log};
use super::response::{Answer, text};
use super::{Site, read, upload};

/// Answers a request. It is logged when the answer has been sent.
pub(super) async fn answer(
    site: &Site,
    request: Request<Incoming>,
    log: Arc<Log>,
) -> Result<Response<Counted>, Infallible> {
    let folder = &site.folder;
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut received = None;
    let response = match method {
        Method::GET | Method::HEAD => read::read(folder, &request, &path).await,
        Method::PUT if folder.writable => upload::upload(site, request, &path, received.insert(0)).await,
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
