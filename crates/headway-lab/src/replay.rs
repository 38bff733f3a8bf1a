//! Running one run of an experiment again, to look at it closely.

use headway_sim::Tap;
use headway_sim::race::{self, Recording};

use crate::damage::Traces;
use crate::error::LabError;
use crate::experiment::Settings;
use crate::results::ManifestCell;
use crate::runner::content;

/// Makes the run of `cell` with this seed (a [`crate::Row`] has it) again, with a tap on its packets. It
/// takes the same course, octet by octet.
///
/// # Errors
///
/// The cell was not written by this version of the program, its link is a recorded one (whose file
/// the results do not hold), or the run shows a defect.
pub fn replay<T: Tap>(cell: &ManifestCell, seed: u64, tap: T) -> Result<Recording<(), T>, LabError> {
    // Its file may be elsewhere by now, or another.
    let traces = Traces::refused("a run over a recorded link cannot be made again from its results");
    let mut settings = Settings::new();
    for (key, value) in &cell.settings {
        settings
            .set(key, value, &traces)
            .map_err(|problem| LabError::NotReplayable { key: key.clone(), problem })?;
    }
    let Some(variant) = settings.variant else {
        let problem = "expected a sender".into();
        return Err(LabError::NotReplayable { key: "variant".into(), problem });
    };
    let content = content(settings.size.bytes());
    Ok(race::run_recorded(&settings.scenario, variant, &content, seed, false, || (), tap)?)
}
