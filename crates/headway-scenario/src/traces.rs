//! Damage models and rates as people write them, with traces read from their files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use headway_link::{
    Damage, DelayTable, DeliveryTrace, JitterModel, ParseDeliveryTraceError, ParseLinkError, Trace,
};
use headway_sim::PacketTrace;
use headway_trace::{FatesError, PathDirection, read_fates};
use sha2::{Digest, Sha256};

use crate::jitter::{self, JitterError};
use crate::packets::{self, PacketsError};

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

/// The file of a delivery trace cannot be read, or is not a delivery trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RateTraceError {
    /// It cannot be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file, as it was given.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It has more bytes than a delivery trace may have.
    #[error("{}: expected at most 64 MiB of delivery opportunities", path.display())]
    TooLong {
        /// The file, as it was given.
        path: PathBuf,
    },
    /// It is no delivery trace.
    #[error("{}: {source}", path.display())]
    Invalid {
        /// The file, as it was given.
        path: PathBuf,
        /// What is wrong with it.
        source: ParseDeliveryTraceError,
    },
}

/// The most bytes of the file of a delivery trace.
const MOST_BYTES: u64 = 64 << 20;

/// What a file is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The fates of the packets in one direction.
    Fates(PathDirection),
    /// Delivery opportunities.
    Opportunities,
    /// A table of delays.
    DelayTable,
    /// Packets of other traffic.
    Packets,
}

type Open<'a> = dyn Fn(&Path, Recorded) -> io::Result<Box<dyn Read>> + 'a;

/// Where traces come from. Each file is read once.
pub struct Traces<'a> {
    open: Box<Open<'a>>,
    known: RefCell<BTreeMap<(PathBuf, PathDirection), Known>>,
    known_rates: RefCell<BTreeMap<PathBuf, DeliveryTrace>>,
    known_tables: RefCell<BTreeMap<String, DelayTable>>,
    known_packets: RefCell<BTreeMap<String, PacketTrace>>,
    /// What was read from captures is text.
    is_stored: bool,
}

#[derive(Clone)]
struct Known {
    trace: Trace,
    digest: String,
}

impl<'a> Traces<'a> {
    /// Traces that `open` opens, given the path as it stands behind `trace:` or as the value of `rate-trace`.
    pub fn new(open: impl Fn(&Path) -> io::Result<Box<dyn Read>> + 'a) -> Self {
        Self::opened(move |path, _| open(path))
    }

    /// Traces whose paths count from `folder`; an empty one is the working directory.
    pub fn in_folder(folder: &'a Path) -> Self {
        Self::new(move |path| Ok(Box::new(File::open(folder.join(path))?)))
    }

    /// Traces that were stored as text: their files are not looked for.
    pub fn stored(text: impl Fn(&Path, Recorded) -> Option<String> + 'a) -> Self {
        let opened = Self::opened(move |path, recorded| {
            let missing = || io::Error::other("the results do not hold this recording");
            Ok(Box::new(io::Cursor::new(text(path, recorded).ok_or_else(missing)?)))
        });
        Self { is_stored: true, ..opened }
    }

    fn opened(open: impl Fn(&Path, Recorded) -> io::Result<Box<dyn Read>> + 'a) -> Self {
        Self {
            open: Box::new(open),
            known: RefCell::default(),
            known_rates: RefCell::default(),
            known_tables: RefCell::default(),
            known_packets: RefCell::default(),
            is_stored: false,
        }
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

    /// The delivery trace of a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is too long or is no delivery trace.
    pub fn opportunities(&self, file: &str) -> Result<DeliveryTrace, RateTraceError> {
        let path = Path::new(file);
        if let Some(known) = self.known_rates.borrow().get(path) {
            return Ok(known.clone());
        }
        let unreadable = |source| RateTraceError::Unreadable { path: path.into(), source };
        let opened = (self.open)(path, Recorded::Opportunities).map_err(unreadable)?;
        let mut text = String::new();
        let length = opened.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        if length as u64 > MOST_BYTES {
            return Err(RateTraceError::TooLong { path: path.into() });
        }
        let trace: DeliveryTrace =
            text.parse().map_err(|source| RateTraceError::Invalid { path: path.into(), source })?;
        let trace = trace.named(file);
        self.known_rates.borrow_mut().insert(path.into(), trace.clone());
        Ok(trace)
    }

    /// A digest of the delivery opportunities of a file: files of the same have the same.
    ///
    /// # Errors
    ///
    /// As [`Traces::opportunities`].
    pub fn opportunities_digest(&self, file: &str) -> Result<String, RateTraceError> {
        Ok(digest_of(&self.opportunities(file)?.to_string()))
    }

    /// Reads how jitter is distributed, as `TABLE[:CORRELATION][:ordered]`; `None` for `none`.
    ///
    /// # Errors
    ///
    /// The text says something else, or the table cannot be read.
    pub fn jitter(&self, text: &str) -> Result<Option<JitterModel>, JitterError> {
        jitter::parse(text, |name| self.delay_table(name))
    }

    /// The table of delays that the text names, as text; `None` if it names none.
    ///
    /// # Errors
    ///
    /// As [`Traces::jitter`].
    pub fn delay_table_text(&self, text: &str) -> Result<Option<String>, JitterError> {
        Ok(self.jitter(text)?.and_then(|model| model.table).map(|table| table.to_string()))
    }

    /// A digest of the table of delays that the text names; `None` if it names none.
    ///
    /// # Errors
    ///
    /// As [`Traces::jitter`].
    pub fn delay_table_digest(&self, text: &str) -> Result<Option<String>, JitterError> {
        Ok(self.delay_table_text(text)?.map(|table| digest_of(&table)))
    }

    fn delay_table(&self, name: &str) -> Result<DelayTable, JitterError> {
        if let Some(known) = self.known_tables.borrow().get(name) {
            return Ok(known.clone());
        }
        let table = jitter::read_table(name, |path| (self.open)(path, Recorded::DelayTable))?;
        self.known_tables.borrow_mut().insert(name.to_owned(), table.clone());
        Ok(table)
    }

    /// The packets that `pcap:FILE`, `pcap:FILE:to=ADDRESS` or `pcap:FILE:from=ADDRESS` names; `None` for other texts.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is no capture, or there are no packets that can be replayed.
    pub fn packets(&self, text: &str) -> Result<Option<PacketTrace>, PacketsError> {
        let Some(name) = packets::name_of(text) else { return Ok(None) };
        if let Some(known) = self.known_packets.borrow().get(name) {
            return Ok(Some(known.clone()));
        }
        let trace = packets::read(name, self.is_stored, |path| (self.open)(path, Recorded::Packets))?;
        self.known_packets.borrow_mut().insert(name.to_owned(), trace.clone());
        Ok(Some(trace))
    }

    /// A digest of the times and lengths of these packets: captures of the same have the same.
    ///
    /// # Errors
    ///
    /// As [`Traces::packets`].
    pub fn packets_digest(&self, text: &str) -> Result<Option<String>, PacketsError> {
        Ok(self.packets(text)?.map(|trace| digest_of(&trace.to_string())))
    }

    fn read(&self, path: &Path, direction: PathDirection) -> Result<Known, DamageError> {
        let key = (path.to_owned(), direction);
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        let file = (self.open)(path, Recorded::Fates(direction))
            .map_err(|source| DamageError::Unreadable { path: path.into(), source })?;
        let trace = read_fates(&path.display().to_string(), direction, file)
            .map_err(|source| DamageError::Fates { path: path.into(), source })?;
        let digest = digest_of(&trace.to_string());
        let known = Known { trace, digest };
        self.known.borrow_mut().insert(key, known.clone());
        Ok(known)
    }
}

fn digest_of(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file of `trace:FILE`.
fn file_of(text: &str) -> Option<&Path> {
    text.trim().strip_prefix("trace:").filter(|file| !file.is_empty()).map(Path::new)
}
