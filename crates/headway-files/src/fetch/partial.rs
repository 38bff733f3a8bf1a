//! A download that can be resumed: what has arrived is kept beside the output until it is complete.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use headway_command::{OutputError, notice, output};
use hyper::header::{self, HeaderMap};
use hyper::{StatusCode, Uri};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::FetchError;

/// The longest entity tag that is kept, and the longest note.
const MAX_TAG: usize = 4096;
const MAX_NOTE: u64 = 64 << 10;

/// The part of a file that has arrived, `FILE.part`, and of which file it is a part, `FILE.part.json`.
pub(super) struct Partial {
    path: PathBuf,
    note: PathBuf,
    file: File,
    len: u64,
    origin: Option<Origin>,
}

/// Where the part came from.
#[derive(Debug, Serialize, Deserialize)]
struct Origin {
    /// After redirections: tags of other resources say nothing about this one.
    url: String,
    /// A strong entity tag (RFC 9110, 8.8.3).
    etag: String,
}

impl Partial {
    /// The part of this file that an earlier download left, or an empty one.
    pub(super) fn open(output: &Path) -> Result<Self, OutputError> {
        let beside = |suffix: &str| {
            let mut name = output.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let (path, note) = (beside(".part"), beside(".part.json"));
        let fail = |source| OutputError::file(&path, source);
        if fs::metadata(output).is_ok_and(|found| !found.is_file()) {
            return Err(OutputError::file(
                output,
                io::Error::other("expected a regular file with --continue"),
            ));
        }
        let file = File::options().read(true).append(true).create(true).open(&path).map_err(fail)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| fail(io::Error::other("another download is writing to it")))?;
        let metadata = file.metadata().map_err(fail)?;
        if !metadata.is_file() {
            return Err(fail(io::Error::other("expected a regular file")));
        }
        let origin = read_note(&note);
        Ok(Self { path, note, file, len: metadata.len(), origin })
    }

    /// Where a request for the rest begins, and the tag of the file that it is the rest of.
    pub(super) fn condition(&self, url: &Uri) -> Option<(u64, &str)> {
        let origin = self.origin.as_ref().filter(|origin| self.len > 0 && url.to_string() == origin.url)?;
        Some((self.len, &origin.etag))
    }

    /// There is no such rest: all of the file has to be requested.
    pub(super) fn forget(&mut self) {
        self.origin = None;
    }

    /// Prepares the file for the body of an answer; how many of its bytes are there already.
    pub(super) fn begin(
        &mut self,
        url: &Uri,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<u64, FetchError> {
        let etag = strong_tag(headers);
        if status == StatusCode::PARTIAL_CONTENT {
            let range =
                headers.get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok()).unwrap_or_default();
            let known = self.condition(url).filter(|(_, tag)| etag.as_deref().is_none_or(|now| now == *tag));
            return match known {
                Some((from, _)) if begins_at(range, from) => Ok(from),
                _ => Err(FetchError::BadRange { url: url.to_string(), from: self.len, got: range.into() }),
            };
        }
        if self.len > 0 {
            let path = self.path.display();
            notice!(
                "headway: {path}: its {} bytes are dropped: the server does not say that they are of this file",
                self.len
            );
        }
        if etag.is_none() {
            notice!("headway: {url}: the server gives no entity tag: an interrupted download begins anew");
        }
        // The note never describes other bytes than those that are there.
        match fs::remove_file(&self.note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(OutputError::file(&self.note, error).into());
            }
            _ => {}
        }
        self.file.set_len(0).map_err(|error| OutputError::file(&self.path, error))?;
        self.len = 0;
        if let Some(etag) = etag {
            let origin = Origin { url: url.to_string(), etag };
            let note = serde_json::to_string(&origin).map_err(io::Error::other);
            let note = note.map_err(|error| OutputError::file(&self.note, error))?;
            output::write(&self.note, note)?;
        }
        Ok(0)
    }

    /// Where the body is to be written.
    pub(super) fn reopen(&self) -> Result<File, OutputError> {
        self.file.try_clone().map_err(|error| OutputError::file(&self.path, error))
    }

    /// Where it is, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the complete file in its place.
    pub(super) fn finish(self, output: &Path) -> Result<(), OutputError> {
        fs::rename(&self.path, output).map_err(|error| OutputError::file(output, error))?;
        // It is missing if the server gave no tag.
        let _ = fs::remove_file(&self.note);
        Ok(())
    }
}

/// `None` also where there is a note that is not ours.
fn read_note(path: &Path) -> Option<Origin> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_NOTE).read_to_string(&mut text).ok()?;
    let origin: Origin = serde_json::from_str(&text).ok()?;
    is_strong(&origin.etag).then_some(origin)
}

fn strong_tag(headers: &HeaderMap) -> Option<String> {
    let tag = headers.get(header::ETAG)?.to_str().ok()?;
    is_strong(tag).then(|| tag.to_owned())
}

/// RFC 9110, 13.1.5: "A client MUST NOT generate an If-Range header field containing an entity tag that is marked as
/// weak."
fn is_strong(tag: &str) -> bool {
    let is_visible = |byte: u8| byte > b' ' && byte != b'"' && byte != 0x7f;
    let inner = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    tag.len() <= MAX_TAG && inner.is_some_and(|inner| inner.bytes().all(is_visible))
}

/// Whether a Content-Range is of all bytes from this one on (RFC 9110, 14.4: `bytes FIRST-LAST/LENGTH`).
fn begins_at(range: &str, from: u64) -> bool {
    let parts = range.strip_prefix("bytes ").and_then(|range| range.split_once('/'));
    let Some(((first, last), length)) =
        parts.and_then(|(span, length)| Some((span.split_once('-')?, length)))
    else {
        return false;
    };
    let [first, last, length] = [first, last, length].map(|number| number.parse::<u64>().ok());
    first == Some(from) && last >= first && last.and_then(|last| last.checked_add(1)) == length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_of_the_rest_is_a_rest() {
        assert!(begins_at("bytes 4-9/10", 4));
        for other in [
            "",
            "bytes 4-9",
            "bytes 5-9/10",
            "bytes 4-8/10",
            "bytes 4-3/4",
            "bytes */10",
            "bytes 4-9/*",
            "4-9/10",
        ] {
            assert!(!begins_at(other, 4), "{other}");
        }
        assert!(!begins_at(&format!("bytes 4-{}/0", u64::MAX), 4));
    }

    #[test]
    fn weak_tags_and_those_that_are_none_do_not_count() {
        assert!(is_strong("\"a-1\"") && is_strong("\"\""));
        for other in ["W/\"a\"", "a", "\"", "\"a\"b\"", "\"a\r\nb\"", "\"a b\""] {
            assert!(!is_strong(other), "{other}");
        }
        assert!(!is_strong(&format!("\"{}\"", "a".repeat(MAX_TAG))));
    }
}
