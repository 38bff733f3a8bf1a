//! Running one run of an experiment again, to look at it closely.

use std::io;

use headway_sim::Tap;
use headway_sim::race::{self, Entrant, Recording};

use crate::damage::Traces;
use crate::error::LabError;
use crate::experiment::{Clock, Complaint, Sender, Settings};
use crate::results::{Manifest, ManifestCell};
use crate::runner::content;

/// Makes the run of `cell`, one of those of `manifest`, with this seed (a [`crate::Row`] has it) again, with
/// a tap on its packets. It takes the same course, octet by octet.
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
    let mut settings = Settings::new();
    for (key, value) in &cell.settings {
        // The file of a recorded link may be elsewhere by now, or another: the results hold its fates.
        let traces = Traces::new(|_| match manifest.recordings.get(&format!("{key}={value}")) {
            Some(fates) => Ok(Box::new(io::Cursor::new(fates.clone()))),
            None => Err(io::Error::other("the results do not hold this recording")),
        });
        settings
            .set(key, value, &traces)
            .map_err(|problem| LabError::NotReplayable { key: key.clone(), problem })?;
    }
    let sender = settings
        .sender()
        .map_err(|Complaint { key, problem }| LabError::NotReplayable { key: key.into(), problem })?;
    let (Sender::Ours(Entrant::Tcp(tcp)), Clock::Virtual) = (&sender, settings.clock) else {
        return Err(LabError::NoConnection { sender: sender.to_string() });
    };
    let content = content(settings.size());
    Ok(race::run_recorded(&settings.scenario, *tcp, &content, seed, false, || (), tap)?)
}
