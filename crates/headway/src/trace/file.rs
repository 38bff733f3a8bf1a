//! A capture file to an analysis.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use headway_trace::analysis::{Analyser, Analysis, Graphs, Offload, Options};
use headway_trace::reader::{HalfWritten, Interface, LinkType, Packet, ReadError, Reader};
use headway_units::Instant;

use crate::failure::Failure;

/// A capture that was analysed.
pub(crate) struct Traced {
    pub(super) path: PathBuf,
    pub(crate) analysis: Analysis,
    pub(super) interfaces: Vec<Interface>,
    pub(super) half_written: Option<HalfWritten>,
    /// When its first packet was captured.
    pub(super) first_at: Instant,
}

impl Traced {
    /// The name of an interface, or its place.
    pub(super) fn interface(&self, place: usize) -> String {
        let known = self.interfaces.get(place);
        known.and_then(|interface| interface.name.clone()).unwrap_or_else(|| format!("interface {place}"))
    }

    /// A kind of link that some packets have and that is not known here.
    pub(super) fn unknown_link(&self) -> Option<LinkType> {
        let is_unknown =
            |link: &LinkType| matches!(link.network(&[]), headway_trace::reader::Network::UnknownLink);
        self.interfaces.iter().map(|interface| interface.link).find(is_unknown)
    }
}

/// Reads the capture twice: which checksums can be believed is known only at its end.
pub(crate) fn analyse(
    path: &Path,
    interface: Option<&str>,
    graphs: Option<Graphs>,
) -> Result<Traced, Failure> {
    let unreadable = |source| Failure::Trace { path: path.into(), source };
    let is_file = fs::metadata(path).map_err(|error| unreadable(error.into()))?.is_file();
    if !is_file {
        return Err(Failure::NotAFile { path: path.into() });
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
    Ok(Traced {
        path: path.into(),
        analysis: analyser.finish(),
        interfaces,
        half_written,
        first_at: first_at.unwrap_or(Instant::ZERO),
    })
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

fn place(interfaces: &[Interface], name: &str) -> Result<usize, Failure> {
    let known = interfaces.iter().position(|interface| interface.name.as_deref() == Some(name));
    known.ok_or_else(|| {
        let names: Vec<&str> = interfaces.iter().filter_map(|interface| interface.name.as_deref()).collect();
        let expected = match names[..] {
            [] => "the capture names no interfaces".into(),
            _ => format!("expected one of {}", names.join(", ")),
        };
        Failure::BadOption { option: "--interface", value: name.into(), expected }
    })
}
