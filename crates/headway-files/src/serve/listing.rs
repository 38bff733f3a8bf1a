//! The page of a folder.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::http::{percent_decode, percent_encode};
use httpdate::fmt_http_date;
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use indicatif::DecimalBytes;
use maud::{DOCTYPE, html};

use super::folder::Folder;
use super::response::{Answer, text};

const STYLE: &str = "\
:root { color-scheme: light dark; font-family: system-ui, sans-serif }
body { margin: 1rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { padding: .2rem .6rem .2rem 0; text-align: left; vertical-align: top }
td:first-child { overflow-wrap: anywhere }
.size { text-align: right; white-space: nowrap }
time { white-space: nowrap; font-variant-numeric: tabular-nums }
@media (max-width: 40rem) { .date { display: none } }";

/// A file or folder in a folder.
struct ListedFile {
    name: String,
    is_folder: bool,
    bytes: u64,
    modified: Option<SystemTime>,
}

/// Folders first, then files, by name. What leads outside is not listed, as it is not served.
fn entries(folder: &Folder, path: &Path) -> io::Result<Vec<ListedFile>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        // It may have disappeared meanwhile, or be a link to nothing.
        let Ok(target) = entry.path().canonicalize() else { continue };
        let Ok(metadata) = target.metadata() else { continue };
        // A name that is not UTF-8 cannot be requested.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if folder.contains(&target) && (metadata.is_dir() || metadata.is_file()) {
            let (is_folder, bytes, modified) = (metadata.is_dir(), metadata.len(), metadata.modified().ok());
            entries.push(ListedFile { name, is_folder, bytes, modified });
        }
    }
    entries.sort_by(|a, b| (!a.is_folder, &a.name).cmp(&(!b.is_folder, &b.name)));
    Ok(entries)
}

/// The page of a folder, whose request path ends with a slash.
pub(super) fn listing(folder: &Folder, found: &Path, path: &str) -> io::Result<Answer> {
    let entries = entries(folder, found)?;
    let title = percent_decode(path).unwrap_or_else(|| path.to_owned());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (STYLE) }
            }
            body {
                h1 { (title) }
                table {
                    thead { tr { th { "Name" } th.size { "Size" } th.date { "Modified" } } }
                    tbody {
                        @if !path.trim_matches('/').is_empty() {
                            tr { td { a href="../" { "../" } } td.size {} td.date {} }
                        }
                        @for ListedFile { name, is_folder, bytes, modified } in &entries {
                            @let slash = if *is_folder { "/" } else { "" };
                            tr {
                                td { a href=(format!("./{}{slash}", percent_encode(name))) { (name) (slash) } }
                                td.size title=[(!is_folder).then(|| format!("{bytes} bytes"))] {
                                    @if !is_folder { (DecimalBytes(*bytes)) }
                                }
                                td.date { @if let Some(modified) = modified { time { (fmt_http_date(*modified)) } } }
                            }
                        }
                    }
                }
            }
        }
    };
    let mut response = text(StatusCode::OK, &page.into_string());
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    Ok(response)
}
