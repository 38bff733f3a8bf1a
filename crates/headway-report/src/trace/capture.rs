//! A capture file to an analysis.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use headway_trace::analysis::{Analyser, Analysis, Connection, Graphs, Offload, Options};
use headway_trace::reader::{HalfWritten, Interface, LinkType, Network, Packet, ReadError, Reader};
use headway_units::Instant;

use super::units::plural;

/// Why a capture cannot be analysed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The capture.
        path: PathBuf,
        /// What went wrong.
        source: ReadError,
    },
    /// It can be read only once.
    #[error("{}: expected a regular file: a capture is read twice", path.display())]
    NotAFile {
        /// The capture.
        path: PathBuf,
    },
    /// It has no such interface.
    #[error("{name}: {expected}")]
    UnknownInterface {
        /// The interface that was asked for.
        name: String,
        /// Those that it has.
        expected: String,
    },
}

/// A capture that was analysed.
pub struct AnalysedCapture {
    path: PathBuf,
    analysis: Analysis,
    interfaces: Vec<Interface>,
    half_written: Option<HalfWritten>,
    first_at: Instant,
}

/// A connection and its number, which counts from 1.
#[derive(Clone, Copy)]
pub struct Numbered<'a> {
    /// Its number.
    pub number: usize,
    /// The connection.
    pub connection: &'a Connection,
}

impl AnalysedCapture {
    /// Reads the capture twice: which checksums can be believed is known only at its end. Only packets of
    /// `interface` are analysed, where one is named.
    ///
    /// # Errors
    ///
    /// It cannot be read, or has no such interface.
    pub fn read(path: &Path, interface: Option<&str>, graphs: Option<Graphs>) -> Result<Self, CaptureError> {
        let unreadable = |source| CaptureError::Unreadable { path: path.into(), source };
        let is_file = fs::metadata(path).map_err(|error| unreadable(error.into()))?.is_file();
        if !is_file {
            return Err(CaptureError::NotAFile { path: path.into() });
        }
        let mut offload = Offload::new();
        let mut first_at = None;
        let (interfaces, half_written) = read(path, |packet| {
            first_at = first_at.or(Some(packet.at));
            offload.packet(packet);
        })
        .map_err(unreadable)?;
        let interface = match interface {
            Some(name) => Some(place(&interfaces, name)?),
            None => None,
        };
        let mut analyser = Analyser::new(Options { interface, graphs, offload });
        read(path, |packet| analyser.packet(packet)).map_err(unreadable)?;
        Ok(Self {
            path: path.into(),
            analysis: analyser.finish(),
            interfaces,
            half_written,
            first_at: first_at.unwrap_or(Instant::ZERO),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was found in it.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// Its connections with their numbers.
    pub fn connections(&self) -> impl Iterator<Item = Numbered<'_>> {
        self.analysis.connections.iter().zip(1..).map(|(connection, number)| Numbered { number, connection })
    }

    /// Its last connection alone.
    pub(crate) fn into_last_connection(self) -> Option<Connection> {
        self.analysis.connections.into_iter().next_back()
    }

    /// Its interfaces.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The name of an interface, or its place.
    pub fn interface(&self, place: usize) -> String {
        let known = self.interfaces.get(place);
        known.and_then(|interface| interface.name.clone()).unwrap_or_else(|| format!("interface {place}"))
    }

    /// A last packet that the file holds in part.
    pub fn half_written(&self) -> Option<HalfWritten> {
        self.half_written
    }

    /// When its first packet was captured.
    pub fn first_at(&self) -> Instant {
        self.first_at
    }

    /// What the numbers do not say by themselves.
    pub fn notes(&self) -> Vec<String> {
        let skipped = &self.analysis.skipped;
        let mut notes = Vec::new();
        if let Some(half) = self.half_written {
            notes.push(format!(
                "The last packet is half-written and was left out: at byte {}, {} missing.",
                half.offset,
                plural(half.missing, "byte"),
            ));
        }
        if self.analysis.not_computed > 0 {
            notes.push(format!(
                "Checksums are offloaded: {}, captured before the card computed the sum, count as sound.",
                plural(self.analysis.not_computed, "packet"),
            ));
        }
        let unknown = self.unknown_link().map_or(String::new(), |link| format!(" (link type {link})"));
        let reasons = [
            (skipped.other_interface, "seen at another interface than the one analysed".to_owned()),
            (skipped.not_tcp, "no TCP".into()),
            (skipped.unreadable, "damaged, of no connection that is known".into()),
            (skipped.fragments, "fragments".into()),
            (skipped.cut, "captured in too small a part".into()),
            (skipped.unknown_link, format!("of a kind of link that is not known{unknown}")),
            (skipped.beyond_limit, "of connections beyond the first 65,536".into()),
        ];
        for (count, reason) in reasons.iter().filter(|(count, _)| *count > 0) {
            notes.push(format!("Left out: {} {reason}.", plural(*count, "packet")));
        }
        notes
    }

    /// A kind of link that some packets have and that is not known here.
    fn unknown_link(&self) -> Option<LinkType> {
        let is_unknown = |link: &LinkType| matches!(link.network(&[]), Network::UnknownLink);
        self.interfaces.iter().map(|interface| interface.link).find(is_unknown)
    }
}

fn read(
    path: &Path,
    mut take: impl FnMut(&Packet<'_>),
) -> Result<(Vec<Interface>, Option<HalfWritten>), ReadError> {
    let mut reader = Reader::new(File::open(path)?)?;
    while let Some(packet) = reader.next_packet()? {
        take(&packet);
    }
    Ok((reader.interfaces().to_vec(), reader.half_written()))
}

fn place(interfaces: &[Interface], name: &str) -> Result<usize, CaptureError> {
    let known = interfaces.iter().position(|interface| interface.name.as_deref() == Some(name));
    known.ok_or_else(|| {
        let names: Vec<&str> = interfaces.iter().filter_map(|interface| interface.name.as_deref()).collect();
        let expected = match names[..] {
            [] => "the capture names no interfaces".into(),
            _ => format!("expected one of {}", names.join(", ")),
        };
        CaptureError::UnknownInterface { name: name.into(), expected }
    })
}
