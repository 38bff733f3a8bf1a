//! Responses of a line of text, and why a path is refused.

use std::io;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

use super::folder::Refusal;

pub(super) type Answer = Response<UnsyncBoxBody<Bytes, io::Error>>;

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
