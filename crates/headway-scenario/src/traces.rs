//! Damage models as people write them, with traces read from their files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use headway_link::{Damage, ParseLinkError, Trace};
use headway_trace::{FatesError, PathDirection, read_fates};
use sha2::{Digest, Sha256};

/// A text is no damage model, or the file that it names is no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DamageError {
    /// It describes no model.
    #[error("{0}; or trace:FILE with a text of fates or a capture (pcap, pcapng)")]
    Model(#[from] ParseLinkError),
    /// The file cannot be opened.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file, as it was given.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no trace.
    #[error("{}: {source}", path.display())]
    Fates {
        /// The file, as it was given.
        path: PathBuf,
        /// What is wrong with it.
        source: FatesError,
    },
}

type Open<'a> = dyn Fn(&Path, PathDirection) -> io::Result<Box<dyn Read>> + 'a;

/// Where traces come from. Each file is read once.
pub struct Traces<'a> {
    open: Box<Open<'a>>,
    known: RefCell<BTreeMap<(PathBuf, PathDirection), Known>>,
}

#[derive(Clone)]
struct Known {
    trace: Trace,
    digest: String,
}

impl<'a> Traces<'a> {
    /// Traces that `open` opens, given the path as it stands behind `trace:`.
    pub fn new(open: impl Fn(&Path) -> io::Result<Box<dyn Read>> + 'a) -> Self {
        Self { open: Box::new(move |path, _| open(path)), known: RefCell::default() }
    }

    /// Traces whose paths count from `folder`; an empty one is the working directory.
    pub fn in_folder(folder: &'a Path) -> Self {
        Self::new(move |path| Ok(Box::new(File::open(folder.join(path))?)))
    }

    /// Traces that were stored as text, one for each direction: their files are not looked for.
    pub fn stored(fates: impl Fn(PathDirection) -> Option<String> + 'a) -> Self {
        let open = move |_: &Path, direction| -> io::Result<Box<dyn Read>> {
            let missing = || io::Error::other("the results do not hold this recording");
            Ok(Box::new(io::Cursor::new(fates(direction).ok_or_else(missing)?)))
        };
        Self { open: Box::new(open), known: RefCell::default() }
    }

    /// No traces: each is refused, with this reason.
    pub fn refused(reason: &'static str) -> Self {
        Self::new(move |_| Err(io::Error::other(reason)))
    }

    /// Reads a damage model: `trace:FILE` or what [`Damage`] reads. `direction` says which direction of a
    /// capture is meant.
    ///
    /// # Errors
    ///
    /// The text is no damage model, or the file cannot be read or is no trace.
    pub fn damage(&self, text: &str, direction: PathDirection) -> Result<Damage, DamageError> {
        match file_of(text) {
            Some(path) => Ok(Damage::Trace(self.read(path, direction)?.trace)),
            None => Ok(text.parse()?),
        }
    }

    /// A digest of all fates, where `text` is `trace:FILE`: files of the same fates have the same.
    ///
    /// # Errors
    ///
    /// As [`Traces::damage`].
    pub fn digest(&self, text: &str, direction: PathDirection) -> Result<Option<String>, DamageError> {
        file_of(text).map(|path| Ok(self.read(path, direction)?.digest)).transpose()
    }

    /// All fates as text, where `text` is `trace:FILE`: what `FILE` would say if it were written out.
    ///
    /// # Errors
    ///
    /// As [`Traces::damage`].
    pub fn fates(&self, text: &str, direction: PathDirection) -> Result<Option<String>, DamageError> {
        file_of(text).map(|path| Ok(self.read(path, direction)?.trace.to_string())).transpose()
    }

    fn read(&self, path: &Path, direction: PathDirection) -> Result<Known, DamageError> {
        let key = (path.to_owned(), direction);
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        let file = (self.open)(path, direction)
            .map_err(|source| DamageError::Unreadable { path: path.into(), source })?;
        let trace = read_fates(&path.display().to_string(), direction, file)
            .map_err(|source| DamageError::Fates { path: path.into(), source })?;
        let digest = Sha256::digest(trace.to_string());
        let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let known = Known { trace, digest };
        self.known.borrow_mut().insert(key, known.clone());
        Ok(known)
    }
}

/// The file of `trace:FILE`.
fn file_of(text: &str) -> Option<&Path> {
    text.trim().strip_prefix("trace:").filter(|file| !file.is_empty()).map(Path::new)
}
