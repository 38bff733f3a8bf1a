//! PUT.

use std::path::Path;

use headway_command::output;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap};
use hyper::{Request, StatusCode};
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::Site;
use super::folder::Refusal;
use super::limits::UploadLimits;
use super::read::permits_change;
use super::response::{Answer, refused, text};

/// The file is renamed into place when it is complete. `received` counts its bytes.
pub(super) async fn upload(
    site: &Site,
    request: Request<Incoming>,
    path: &str,
    received: &mut u64,
) -> Result<Answer, Answer> {
    let UploadLimits { most, stall } = site.upload;
    let place = site.folder.place(path).map_err(refused)?;
    if place.is_dir() {
        return Err(text(StatusCode::CONFLICT, "a folder has this name\n"));
    }
    // RFC 9110, 9.3.4: "An origin server SHOULD respond with a 400 (Bad Request) status code if it receives
    // Content-Range on a PUT for a target resource that does not support partial PUT requests."
    if request.headers().contains_key(header::CONTENT_RANGE) {
        return Err(text(StatusCode::BAD_REQUEST, "expected the whole file, without Content-Range\n"));
    }
    let too_long = || {
        let reason = format!("an upload is at most {most} here (--max-upload)\n");
        text(StatusCode::PAYLOAD_TOO_LARGE, &reason)
    };
    if request.body().size_hint().lower() > most.bytes() {
        return Err(too_long());
    }
    let headers = request.headers().clone();
    check(&place, &headers).await?;
    let broken = |error: String| text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n"));
    let temporary = output::begin_replacing(&place).map_err(|error| broken(error.to_string()))?;
    let mut file = File::from_std(temporary.reopen().map_err(|error| broken(error.to_string()))?);
    let mut body = request.into_body();
    let stalled = |_| text(StatusCode::REQUEST_TIMEOUT, "no data has arrived for too long\n");
    while let Some(frame) = timeout(stall, body.frame()).await.map_err(stalled)? {
        let frame = frame.map_err(|error| text(StatusCode::BAD_REQUEST, &format!("{error}\n")))?;
        if let Some(data) = frame.data_ref() {
            *received += data.len() as u64;
            if *received > most.bytes() {
                return Err(too_long());
            }
            file.write_all(data).await.map_err(|error| broken(error.to_string()))?;
        }
    }
    file.flush().await.map_err(|error| broken(error.to_string()))?;
    // Another upload may have ended since.
    check(&place, &headers).await?;
    let status = if place.exists() { StatusCode::NO_CONTENT } else { StatusCode::CREATED };
    output::finish(temporary, &place).map_err(|error| broken(error.to_string()))?;
    Ok(text(status, ""))
}

/// The conditions of the request.
async fn check(place: &Path, headers: &HeaderMap) -> Result<(), Answer> {
    match permits_change(place, headers).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(text(StatusCode::PRECONDITION_FAILED, "the file there is another\n")),
        Err(error) => Err(refused(Refusal::Io(error))),
    }
}
