//! Analysis of a capture file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use headway_trace::analysis::{Analyser, Analysis, Connection, Graphs, Offload, Options};
use headway_trace::reader::{HalfWritten, Interface, LinkType, Network, Packet};
use headway_units::Instant;

use super::capture_error::CaptureError;
use super::packets;
use super::units::plural;

/// An analysed capture.
pub struct AnalysedCapture {
    /// Several, if the ends of connections were captured in files of their own.
    paths: Vec<PathBuf>,
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
    /// Reads the capture twice, since checksum offload is detected only at its end. With `interface`,
    /// only its packets are analysed.
    ///
    /// # Errors
    ///
    /// It cannot be read, or has no such interface.
    pub fn read(path: &Path, interface: Option<&str>, graphs: Option<Graphs>) -> Result<Self, CaptureError> {
        let unreadable =
            |error: io::Error| CaptureError::Unreadable { path: path.into(), source: error.into() };
        let is_file = fs::metadata(path).map_err(unreadable)?.is_file();
        if !is_file {
            return Err(CaptureError::NotAFile { path: path.into() });
        }
        Self::read_file(&File::open(path).map_err(unreadable)?, path, interface, graphs)
    }

    /// The same for captures of one time, such as those of both ends: their packets are merged by time, and the
    /// interfaces of later files follow those of earlier ones.
    ///
    /// # Errors
    ///
    /// One cannot be read, or none has such an interface.
    pub fn read_all(
        paths: &[PathBuf],
        interface: Option<&str>,
        graphs: Option<Graphs>,
    ) -> Result<Self, CaptureError> {
        let [path] = paths else {
            return Self::analyse(paths.to_vec(), interface, graphs, |take| packets::of_files(paths, take));
        };
        Self::read(path, interface, graphs)
    }

    /// The same for an open file that messages and pages call `path`, such as a copy of what came through a pipe.
    ///
    /// # Errors
    ///
    /// It cannot be read, or has no such interface.
    pub fn read_file(
        file: &File,
        path: &Path,
        interface: Option<&str>,
        graphs: Option<Graphs>,
    ) -> Result<Self, CaptureError> {
        let unreadable = |source| CaptureError::Unreadable { path: path.into(), source };
        Self::analyse(vec![path.into()], interface, graphs, |take| {
            packets::of_file(file, take).map_err(unreadable)
        })
    }

    /// `read` reads all packets from the beginning.
    fn analyse(
        paths: Vec<PathBuf>,
        interface: Option<&str>,
        graphs: Option<Graphs>,
        mut read: impl FnMut(
            &mut dyn FnMut(&Packet<'_>),
        ) -> Result<(Vec<Interface>, Option<HalfWritten>), CaptureError>,
    ) -> Result<Self, CaptureError> {
        let mut offload = Offload::new();
        let mut first_at = None;
        let (interfaces, half_written) = read(&mut |packet| {
            first_at = first_at.or(Some(packet.at));
            offload.packet(packet);
        })?;
        let interface = match interface {
            Some(name) => Some(place(&interfaces, name)?),
            None => None,
        };
        let mut analyser = Analyser::new(Options { interface, graphs, offload });
        read(&mut |packet| analyser.packet(packet))?;
        Ok(Self {
            paths,
            analysis: analyser.finish(),
            interfaces,
            half_written,
            first_at: first_at.unwrap_or(Instant::ZERO),
        })
    }

    /// The files, as they were named.
    pub fn name(&self) -> String {
        let names: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        names.join(" and ")
    }

    /// Their names without folders.
    pub(crate) fn file_names(&self) -> String {
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.paths.iter().map(name).collect::<Vec<_>>().join(" and ")
    }

    /// The analysis.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// Its connections with their numbers.
    pub fn connections(&self) -> impl Iterator<Item = Numbered<'_>> {
        self.analysis.connections.iter().zip(1..).map(|(connection, number)| Numbered { number, connection })
    }

    /// Its last connection only.
    pub(crate) fn into_last_connection(self) -> Option<Connection> {
        self.analysis.connections.into_iter().next_back()
    }

    /// Its interfaces.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The name of an interface, or its index.
    pub fn interface(&self, place: usize) -> String {
        let known = self.interfaces.get(place);
        known.and_then(|interface| interface.name.clone()).unwrap_or_else(|| format!("interface {place}"))
    }

    /// An incomplete last packet.
    pub fn half_written(&self) -> Option<HalfWritten> {
        self.half_written
    }

    /// When its first packet was captured.
    pub fn first_at(&self) -> Instant {
        self.first_at
    }

    /// Notes on the numbers.
    pub fn notes(&self) -> Vec<String> {
        let skipped = &self.analysis.skipped;
        let mut notes = Vec::new();
        if let Some(half) = self.half_written {
            notes.push(format!(
                "The last packet is incomplete and was ignored: at byte {}, {} missing.",
                half.offset,
                plural(half.missing, "byte"),
            ));
        }
        if self.analysis.not_computed > 0 {
            notes.push(format!(
                "Checksums are offloaded: {}, captured before the card computed the checksum, count as valid.",
                plural(self.analysis.not_computed, "packet"),
            ));
        }
        // Such as the copies at the other end of a link, which no one misses.
        if skipped.other_interface > 0 {
            notes.push(format!(
                "Captured elsewhere too: {}; a connection is analysed where its first packet was.",
                plural(skipped.other_interface, "packet"),
            ));
        }
        let unknown = self.unknown_link().map_or(String::new(), |link| format!(" (link type {link})"));
        let reasons = [
            (skipped.not_tcp, "not TCP".to_owned()),
            (skipped.unreadable, "damaged, without a known connection".into()),
            (skipped.fragments, "fragments".into()),
            (skipped.cut, "captured with incomplete headers".into()),
            (skipped.unknown_link, format!("of an unsupported link type{unknown}")),
            (skipped.beyond_limit, "of connections beyond the first 65,536".into()),
        ];
        for (count, reason) in reasons.iter().filter(|(count, _)| *count > 0) {
            notes.push(format!("Ignored: {} {reason}.", plural(*count, "packet")));
        }
        notes
    }

    /// An unsupported link type of some packets.
    fn unknown_link(&self) -> Option<LinkType> {
        let is_unknown = |link: &LinkType| matches!(link.network(&[]), Network::UnknownLink);
        self.interfaces.iter().map(|interface| interface.link).find(is_unknown)
    }
}

fn place(interfaces: &[Interface], name: &str) -> Result<usize, CaptureError> {
    let known = interfaces.iter().position(|interface| interface.name.as_deref() == Some(name));
    known.ok_or_else(|| {
        let names: Vec<&str> = interfaces.iter().filter_map(|interface| interface.name.as_deref()).collect();
        let expected = match names[..] {
            [] => "the capture has no interface names".into(),
            _ => format!("expected one of {}", names.join(", ")),
        };
        CaptureError::UnknownInterface { name: name.into(), expected }
    })
}
