//! Running one run of an experiment again, to look at it closely.

use headway_scenario::{Clock, Defaults, KeyError, Sender};
use headway_sim::Tap;
use headway_sim::race::{self, Entrant, Recording, RunSettings};
use headway_tcp::Observer;

use crate::error::LabError;
use crate::recorded;
use crate::results::{Manifest, ManifestCell};
use crate::runner::content;

/// Makes the run of `cell`, one of those of `manifest`, with this seed (a [`crate::Row`] has it) again, with
/// a tap on its packets. It takes the same course, byte by byte.
///
/// # Errors
///
/// The cell was not written by this version of the program, its sender is no TCP, or the run shows a defect.
pub fn replay<T: Tap>(
    manifest: &Manifest,
    cell: &ManifestCell,
    seed: u64,
    tap: T,
) -> Result<Recording<(), T>, LabError> {
    replay_observed(manifest, cell, seed, || (), tap)
}

/// As [`replay`], with an observer on each host.
///
/// # Errors
///
/// As [`replay`].
pub fn replay_observed<O: Observer + 'static, T: Tap>(
    manifest: &Manifest,
    cell: &ManifestCell,
    seed: u64,
    observer: impl FnMut() -> O,
    tap: T,
) -> Result<Recording<O, T>, LabError> {
    let bad = |KeyError { key, problem }: KeyError| LabError::NotReplayable { key: key.into(), problem };
    let traces = recorded::traces(&cell.settings, &manifest.recordings);
    let given = |key: &str| cell.settings.get(key).map(String::as_str);
    let settings = headway_scenario::read(given, Defaults::Files, &traces).map_err(bad)?;
    let sender = settings.sender().map_err(bad)?;
    let (Sender::Ours(Entrant::Tcp(tcp)), Clock::Virtual) = (&sender, settings.clock) else {
        return Err(LabError::NoConnection { sender: sender.to_string() });
    };
    let content = content(settings.sent_size());
    let run = RunSettings { scenario: &settings.scenario, content: &content, seed, hash: false };
    Ok(race::run_recorded(run, *tcp, observer, tap)?)
}
