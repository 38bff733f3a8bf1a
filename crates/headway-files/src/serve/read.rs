//! GET and HEAD. Files are served by [`ServeFile`], which knows entity tags, dates and ranges; here is what
//! it lacks: `If-Range`, and range units that it does not know.

use std::io;
use std::path::Path;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use tower_http::services::ServeFile;

use super::folder::{Folder, Refusal};
use super::listing::listing;
use super::response::{Answer, refused, text};

/// The headers that [`ServeFile`] looks at.
const SELECTING: [header::HeaderName; 5] = [
    header::IF_MATCH,
    header::IF_UNMODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::RANGE,
];

pub(super) async fn read<B>(folder: &Folder, request: &Request<B>, path: &str) -> Result<Answer, Answer> {
    let mut found = folder.find(path).map_err(refused)?;
    if found.is_dir() {
        if !path.ends_with('/') {
            return Err(moved(path));
        }
        let index = found.join("index.html");
        if !index.is_file() {
            return listing(folder, &found, path).map_err(|error| refused(Refusal::Io(error)));
        }
        // It may be a link.
        found = folder.find(&format!("{path}index.html")).map_err(refused)?;
    } else if path.ends_with('/') {
        return Err(refused(Refusal::Io(io::ErrorKind::NotFound.into())));
    }
    let metadata = tokio::fs::metadata(&found).await.map_err(|error| refused(Refusal::Io(error)))?;
    if !metadata.is_file() {
        return Err(text(StatusCode::FORBIDDEN, "not a regular file\n"));
    }
    file(&found, request.method(), request.headers()).await.map_err(|error| refused(Refusal::Io(error)))
}

/// To the same path with a slash at its end, so that relative links in the folder's page work.
fn moved(path: &str) -> Answer {
    // Two slashes at the beginning would name a host.
    let location = format!("/{}/", path.trim_start_matches('/'));
    let mut response = text(StatusCode::MOVED_PERMANENTLY, "a folder: see the path with / at its end\n");
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

async fn file(path: &Path, method: &Method, headers: &HeaderMap) -> io::Result<Answer> {
    let response = select(path, method, headers, is_bytes(headers)).await?;
    let is_partial =
        matches!(response.status(), StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE);
    if response.status() == StatusCode::RANGE_NOT_SATISFIABLE && asks_for_end(headers) {
        // RFC 9110, 14.1.2: "If the selected representation is shorter than the specified suffix-length, the
        // entire representation is used."
        return select(path, method, headers, false).await;
    }
    let Some(condition) = headers.get(header::IF_RANGE).filter(|_| is_partial) else {
        return Ok(response);
    };
    // RFC 9110, 13.1.5: "A recipient of an If-Range header field MUST ignore the Range header field if the
    // If-Range condition evaluates as false." The tag is that of the file that was opened, so that no other can
    // be sent under it.
    if is_same(condition, response.headers().get(header::ETAG)) {
        return Ok(response);
    }
    select(path, method, headers, false).await
}

/// RFC 9110, 8.8.3.2: strong comparison. A date is never taken for the same: it says nothing of changes within
/// its second, and whoever has it has the tag too.
fn is_same(condition: &HeaderValue, tag: Option<&HeaderValue>) -> bool {
    tag.is_some_and(|tag| condition == tag && !tag.as_bytes().starts_with(b"W/"))
}

/// RFC 9110, 14.2: "An origin server MUST ignore a Range header field that contains a range unit it does not
/// understand."
fn is_bytes(headers: &HeaderMap) -> bool {
    let value = headers.get(header::RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split_once('=').is_some_and(|(unit, _)| unit.trim().eq_ignore_ascii_case("bytes"))
}

/// Whether the range is some of the last bytes.
fn asks_for_end(headers: &HeaderMap) -> bool {
    let value = headers.get(header::RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let suffix = value.split_once('=').and_then(|(_, range)| range.trim().strip_prefix('-'));
    suffix.is_some_and(|suffix| {
        suffix.bytes().all(|byte| byte.is_ascii_digit()) && suffix.contains(|c| c != '0')
    })
}

/// The answer of [`ServeFile`].
async fn select(path: &Path, method: &Method, headers: &HeaderMap, with_range: bool) -> io::Result<Answer> {
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.method_mut() = method.clone();
    for name in SELECTING.into_iter().filter(|name| with_range || name != header::RANGE) {
        if let Some(value) = headers.get(&name) {
            request.headers_mut().insert(name, value.clone());
        }
    }
    let mut service = ServeFile::new(path).ignore_multi_range_requests(true);
    Ok(service.try_call(request).await?.map(BodyExt::boxed_unsync))
}

/// Whether the conditions of a request that changes the file hold.
pub(super) async fn permits_change(path: &Path, headers: &HeaderMap) -> io::Result<bool> {
    let requires = |name| headers.contains_key(name);
    if !path.is_file() {
        // RFC 9110, 13.1.1: there is no current representation that could match.
        return Ok(!requires(header::IF_MATCH));
    }
    let status = select(path, &Method::HEAD, headers, false).await?.status();
    // RFC 9110, 13.1.2: with another method than GET and HEAD, the answer is 412 in place of 304. 13.1.3: such a
    // method ignores If-Modified-Since.
    Ok(match status {
        StatusCode::PRECONDITION_FAILED => false,
        StatusCode::NOT_MODIFIED => !requires(header::IF_NONE_MATCH),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use hyper::Response;

    use super::*;

    async fn ask(path: &Path, headers: &[(header::HeaderName, &str)]) -> (Response<()>, Bytes) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(name, HeaderValue::from_str(value).unwrap());
        }
        let (parts, body) = file(path, &Method::GET, &map).await.unwrap().into_parts();
        (Response::from_parts(parts, ()), body.collect().await.unwrap().to_bytes())
    }

    #[tokio::test]
    async fn ranges_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "0123456789").unwrap();
        for (range, status, part) in [
            ("bytes=0-0", 206, "0"),
            ("bytes=5-", 206, "56789"),
            ("bytes=5-100", 206, "56789"),
            ("bytes=-3", 206, "789"),
            ("bytes=-100", 200, "0123456789"),
            ("bytes=-0", 416, ""),
            ("bytes=10-", 416, ""),
            ("bytes=0-1,3-4", 200, "0123456789"),
            ("lines=0-1", 200, "0123456789"),
            ("nonsense", 200, "0123456789"),
        ] {
            let (response, body) = ask(&path, &[(header::RANGE, range)]).await;
            assert_eq!((response.status().as_u16(), &*body), (status, part.as_bytes()), "{range}");
        }
    }

    #[tokio::test]
    async fn a_resume_gets_the_rest_of_the_same_file_or_all_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "0123456789").unwrap();
        let (whole, _) = ask(&path, &[]).await;
        let tag = whole.headers()[header::ETAG].to_str().unwrap().to_owned();
        let date = whole.headers()[header::LAST_MODIFIED].to_str().unwrap().to_owned();
        let resume = async |condition: &str| {
            let (response, body) =
                ask(&path, &[(header::RANGE, "bytes=7-"), (header::IF_RANGE, condition)]).await;
            (response.status().as_u16(), String::from_utf8(body.to_vec()).unwrap())
        };
        assert_eq!(resume(&tag).await, (206, "789".into()));
        for other in ["\"other\"", &format!("W/{tag}"), &date, "nonsense"] {
            assert_eq!(resume(other).await, (200, "0123456789".into()), "{other}");
        }
        // Another file, which is also too short for the range.
        fs::write(&path, "short").unwrap();
        assert_eq!(resume(&tag).await, (200, "short".into()));
    }

    #[tokio::test]
    async fn changes_have_conditions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let permits = async |name, value: &str| {
            let headers = HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())]);
            permits_change(&path, &headers).await.unwrap()
        };
        assert!(permits(header::IF_NONE_MATCH, "*").await);
        assert!(!permits(header::IF_MATCH, "*").await);
        fs::write(&path, "text").unwrap();
        let tag = ask(&path, &[]).await.0.headers()[header::ETAG].to_str().unwrap().to_owned();
        assert!(!permits(header::IF_NONE_MATCH, "*").await);
        assert!(!permits(header::IF_NONE_MATCH, &tag).await);
        assert!(permits(header::IF_MATCH, &tag).await);
        assert!(!permits(header::IF_MATCH, "\"other\"").await);
        assert!(!permits(header::IF_UNMODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:37 GMT").await);
        assert!(permits(header::IF_MODIFIED_SINCE, "Sun, 06 Nov 2994 08:49:37 GMT").await);
    }
}
