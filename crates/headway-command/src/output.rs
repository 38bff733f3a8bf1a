//! Where results go: files that are written whole or not at all, and standard output.

mod escape;
#[cfg(feature = "log")]
mod log;

use std::error::Error;
use std::fmt::Arguments;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::iter;
use std::path::{Path, PathBuf};

use headway_trace::TraceError;
use tempfile::NamedTempFile;

pub use escape::one_line;
#[cfg(feature = "log")]
pub use log::LogWriter;

/// What cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file.
    #[error("{}: cannot be written: {source}", path.display())]
    File {
        /// The file, or a folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The packets of a capture.
    #[error("{}: cannot be written: {source}", path.display())]
    Capture {
        /// Its file.
        path: PathBuf,
        /// What was wrong.
        source: TraceError,
    },
    /// Standard output.
    #[error("standard output cannot be written: {0}")]
    Standard(io::Error),
    /// Standard output, which no one reads any more.
    #[error("{0}")]
    Closed(#[source] ClosedOutput),
}

/// Whoever read standard output has gone, as `head` does when it has enough.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub struct ClosedOutput;

/// Whether a command failed because its standard output was closed.
pub fn is_closed(failure: &dyn Error) -> bool {
    iter::successors(failure.source(), |&error| error.source()).any(<dyn Error>::is::<ClosedOutput>)
}

impl OutputError {
    /// A file cannot be written.
    pub fn file(path: &Path, error: io::Error) -> Self {
        Self::File { path: path.into(), source: without_path(error) }
    }

    /// Standard output cannot be written.
    pub fn standard(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed(ClosedOutput),
            _ => Self::Standard(error),
        }
    }

    /// A capture cannot be written.
    pub fn capture(path: &Path, error: TraceError) -> Self {
        match error {
            TraceError::Io(error) => Self::file(path, error),
            source => Self::Capture { path: path.into(), source },
        }
    }
}

/// The system's reason alone: what `tempfile` adds is the name of a file that the user did not ask for.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path \"") {
        Some((reason, _)) => io::Error::new(error.kind(), reason),
        None => error,
    }
}

/// Says something on standard error, in a line, with the arguments of `format!`. What acts on a terminal is escaped: it may
/// come from a peer. Where it cannot be read, the program goes on.
#[macro_export]
macro_rules! notice {
    ($($text:tt)*) => { $crate::output::notify(format_args!($($text)*)) };
}

/// What [`notice!`] does.
pub fn notify(text: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", one_line(&text.to_string()));
}

/// Writes text to standard output. What acts on a terminal is escaped: it may come from a peer.
pub fn print(text: &str) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    out.write_all(escape::lines(text).as_bytes()).and_then(|()| out.flush()).map_err(OutputError::standard)
}

/// Creates the file of something that lasts, and is written as it comes.
pub fn create(path: &Path) -> Result<Box<dyn Write + Send>, OutputError> {
    let file = File::create(path).map_err(|source| OutputError::File { path: path.into(), source })?;
    Ok(Box::new(BufWriter::new(NamedFile { file, path: path.into() })))
}

/// A file whose errors name it: they are reported where nothing else knows it.
struct NamedFile {
    file: File,
    path: PathBuf,
}

impl NamedFile {
    fn name(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), OutputError::file(&self.path, error).to_string())
    }
}

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.name(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.name(error))
    }
}

/// Creates a folder and those that it is in, where they do not exist.
pub fn create_directory(path: &Path) -> Result<(), OutputError> {
    fs::create_dir_all(path).map_err(|error| {
        let is_file = fs::metadata(path).is_ok_and(|found| !found.is_dir());
        let source =
            if is_file { io::Error::other("a folder is expected, and this is a file") } else { error };
        OutputError::File { path: path.into(), source }
    })
}

/// Writes a whole file.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), OutputError> {
    write_to(begin(path)?, path, bytes)
}

/// Writes all of a file that was begun.
pub fn write_to(mut file: NewFile, path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), OutputError> {
    file.write_all(bytes.as_ref()).map_err(|source| OutputError::file(path, source))?;
    finish(file, path)
}

/// A file that is being written.
pub enum NewFile {
    /// Beside the place that it takes when it is complete.
    Temporary(NamedTempFile),
    /// A device, a pipe or what a link leads to: they are written to, not replaced.
    InPlace(File),
}

impl NewFile {
    /// A second handle of it.
    pub fn reopen(&self) -> io::Result<File> {
        match self {
            Self::Temporary(file) => file.reopen().map_err(without_path),
            Self::InPlace(file) => file.try_clone(),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Temporary(file) => file.write(bytes),
            Self::InPlace(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Temporary(file) => file.flush(),
            Self::InPlace(file) => file.flush(),
        }
    }
}

/// A file that takes the place of `path` when it is complete.
pub fn begin(path: &Path) -> Result<NewFile, OutputError> {
    let complaint = |source| OutputError::file(path, source);
    if path.is_dir() {
        return Err(complaint(io::ErrorKind::IsADirectory.into()));
    }
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return File::create(path).map(NewFile::InPlace).map_err(complaint);
    }
    begin_replacing(path)
}

/// The same, whatever is there: no link is followed, so that the file is where `path` says.
pub fn begin_replacing(path: &Path) -> Result<NewFile, OutputError> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    NamedTempFile::new_in(directory).map(NewFile::Temporary).map_err(|error| OutputError::file(path, error))
}

/// Puts a complete file where it belongs.
pub fn finish(file: NewFile, path: &Path) -> Result<(), OutputError> {
    let complaint = |source| OutputError::file(path, source);
    let NewFile::Temporary(file) = file else { return Ok(()) };
    // Temporary files are private; results are as readable as anything else the user writes.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).map_err(complaint)?;
    }
    file.persist(path).map_err(|error| complaint(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_as_it_comes_names_itself_when_it_fails() {
        let mut file = create(Path::new("/dev/full")).expect("it is there");
        let error = file.write_all(&[0; 100_000]).and_then(|()| file.flush()).expect_err("it is full");
        assert!(error.to_string().starts_with("/dev/full: cannot be written: No space left"), "{error}");
    }
}
