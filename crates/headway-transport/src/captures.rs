//! Capture files of live commands.

use std::path::{Path, PathBuf};

use headway_command::OutputError;
use headway_command::output::create;
use headway_net::CaptureFile;
use headway_trace::Capture;

/// A capture of these interfaces in one file.
pub(super) fn open_capture(path: &Path, interfaces: &[&str]) -> Result<CaptureFile, OutputError> {
    Capture::new(create(path)?, interfaces).map_err(|error| OutputError::capture(path, error))
}

/// A capture of two ends: in one file, or with `split` in a file for each, named after its interface.
pub fn open_ends(path: &Path, ends: [&str; 2], split: bool) -> Result<CaptureFile, OutputError> {
    if !split {
        return open_capture(path, &ends);
    }
    let [first, second] = ends.map(|name| create(&of_end(path, name)).map(|file| (file, name)));
    Capture::in_files(first?, vec![second?]).map_err(|error| OutputError::capture(path, error))
}

/// The file of one end: its name before the extension.
fn of_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push("-");
    name.push(end);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_named_before_the_extension() {
        for (path, expected) in
            [("box.pcapng", "box-hw1.pcapng"), ("a/b.c.pcapng", "a/b.c-hw1.pcapng"), ("/tmp/x", "/tmp/x-hw1")]
        {
            assert_eq!(of_end(Path::new(path), "hw1"), Path::new(expected));
        }
    }
}
