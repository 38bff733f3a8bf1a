//! Experiment files.

mod axes;
mod cells;
mod draw;
mod file;
mod keys;
mod links;
mod measure;
mod origin;
mod place;

use std::path::Path;

use headway_scenario::{Clock, RealCarrier, Sender, Traces};
use headway_sim::race::Scenario;
use headway_sim::{Value, derive_seed};
use headway_units::Size;
use indexmap::IndexMap;
use serde::Deserialize as _;
use toml::de::DeTable;

use axes::Axes;
pub(crate) use cells::stored as stored_cell;
pub use draw::{AXIS as LINK_AXIS, DrawnLinks};
use draw::{Complaint, Draws};
use file::ExperimentFile;
pub use file::{Aim, Change, Claim, EvidenceSource, Figure, FigureKind, Given, Scalar, Statistic, schema};
pub use links::{load_links, parse_links};
pub use measure::Measure;
use origin::Origin;
use place::malformed;

use crate::error::LabError;

/// An experiment that has been read and checked: every cell makes sense.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name: the file's, without folder and ending.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Where it comes from: a paper's figure; empty for one's own.
    pub source: String,
    /// Which reading of the source was taken, and why.
    pub reading: String,
    /// Runs of each cell.
    pub runs: u32,
    /// Seed that all runs derive from.
    pub seed: u64,
    /// What the command line changed in its conditions, as `KEY=VALUE`.
    pub changes: Vec<String>,
    /// The axes whose values are readings of a source.
    pub readings: Vec<String>,
    /// The axes, in the file's order; before them `link`, the numbers of the links, if links are drawn.
    pub axes: IndexMap<String, Vec<String>>,
    /// The links that are drawn, if any are.
    pub draw: Option<DrawnLinks>,
    /// Every combination of the axes.
    pub cells: Vec<Cell>,
    /// What became of each packet of the recorded links that cells name, as text, by the setting that
    /// names them, such as `damage=trace:FILE`.
    pub recordings: IndexMap<String, String>,
    /// How it is drawn.
    pub figure: Figure,
    /// What the source says of it.
    pub claims: Vec<Claim>,
}

/// One combination of the axes.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The value of each axis.
    pub values: IndexMap<String, String>,
    /// What was drawn for its link; empty if links are not drawn.
    pub drawn: IndexMap<String, String>,
    /// The time that its runs take place in.
    pub clock: Clock,
    /// What carries segments in real time.
    pub carrier: RealCarrier,
    /// The sender.
    pub sender: Sender,
    /// How much is sent; `None` in runs of fixed duration.
    pub size: Option<Size>,
    /// Everything else.
    pub scenario: Scenario,
    /// The keys that were given, with the values of the axes filled in.
    pub settings: IndexMap<String, String>,
    /// The value of each column of parameters.
    pub parameters: Vec<Value>,
    /// The keys that were given, as text in a fixed order: what determines the results of the cell.
    pub identity: String,
    /// Those of them that are not the sender's: the seeds of the runs derive from it, so that the senders
    /// of a combination meet the same damage.
    pub channel_key: String,
}

/// What the command line changes in an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Runs of each cell.
    pub runs: Option<u32>,
    /// The seed.
    pub seed: Option<u64>,
    /// `KEY=VALUE` for keys of `[scenario]` or axes (whose values are then separated by commas); a
    /// leading `scenario.`, `link.` or `sweep.` may stand for clarity.
    pub settings: Vec<String>,
    /// Real time, where the file names no clock. The experiment is then called by its file's name and
    /// `-live`, so that its results stand beside those of virtual time.
    pub real: bool,
}

/// More cells than this are a typing mistake.
const MAX_CELLS: usize = 20_000;
/// More runs than this, over all cells.
const MAX_RUNS: u64 = 2_000_000;

impl Experiment {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file is unreadable, malformed, or asks for something that makes no sense; the error names
    /// file, line and key, and says what is allowed.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| LabError::Unreadable { path: path.into(), source })?;
        let name =
            path.file_stem().map_or_else(|| "experiment".into(), |stem| stem.to_string_lossy().into_owned());
        let traces = Traces::in_folder(path.parent().unwrap_or(Path::new("")));
        Self::parse_with(&name, &path.display().to_string(), &text, overrides, &traces)
    }

    /// Reads the text of a file that is called `file` in errors. It may name no traces, for want of a
    /// folder to look in.
    ///
    /// # Errors
    ///
    /// As [`Experiment::load`].
    pub fn parse(name: &str, file: &str, text: &str, overrides: &Overrides) -> Result<Self, LabError> {
        let traces = Traces::refused("there is no folder to look in");
        Self::parse_with(name, file, text, overrides, &traces)
    }

    /// Reads the text of a file that is called `file` in errors, with its traces from elsewhere.
    ///
    /// # Errors
    ///
    /// As [`Experiment::load`].
    pub fn parse_with(
        name: &str,
        file: &str,
        text: &str,
        overrides: &Overrides,
        traces: &Traces<'_>,
    ) -> Result<Self, LabError> {
        let origin = Origin { file, text, overrides };
        let wrong = |error| malformed(file, text, &error);
        let table = DeTable::parse(text).map_err(wrong)?;
        keys::check(file, text, table.get_ref())?;
        let read = ExperimentFile::deserialize(toml::Deserializer::from(table)).map_err(wrong)?;
        Self::of_file(name, read.clone(), origin, traces).map_err(|error| {
            origin.attribute(error, |overrides| {
                Self::of_file(name, read, Origin { overrides, ..origin }, traces).is_ok()
            })
        })
    }

    /// The experiment of a file that was read, with what the command line changes.
    fn of_file(
        name: &str,
        mut read: ExperimentFile,
        origin: Origin<'_>,
        traces: &Traces<'_>,
    ) -> Result<Self, LabError> {
        let overrides = origin.overrides;
        let mut changes = Vec::new();
        for setting in &overrides.settings {
            if !read.chooses(setting) {
                changes.push(setting.clone());
            }
            read.set(setting)?;
        }
        let moves =
            overrides.real && !read.sweep.contains_key("clock") && !read.scenario.contains_key("clock");
        if moves {
            read.scenario.insert("clock".into(), Scalar::Text(Clock::Real.name().into()));
        }
        let runs = overrides.runs.unwrap_or(read.runs);
        let complaint = |key: &str, problem: String| origin.complaint(key, problem);
        if runs == 0 {
            return Err(complaint("runs", "expected at least one run".into()));
        }
        if let Some((axis, _)) = read.sweep.iter().find(|(_, values)| values.is_empty()) {
            return Err(complaint(axis, "the sweep is empty: expected at least one value".into()));
        }
        let draws = Draws::of(&read).map_err(|Complaint { key, problem }| complaint(&key, problem))?;
        let links = draws.as_ref().map_or(1, |draws| draws.links);
        // However many axes there are: a product that wraps around would look harmless.
        let count = read.sweep.values().fold(links, |count, values| count.saturating_mul(values.len()));
        if count > MAX_CELLS || (count as u64).saturating_mul(runs.into()) > MAX_RUNS {
            let problem = format!(
                "{count} cells of {runs} runs: expected at most {MAX_CELLS} cells and {MAX_RUNS} runs in all"
            );
            let is_of_runs = overrides.runs.is_some() && count <= MAX_CELLS;
            let table = if draws.is_some() { "draw" } else { "sweep" };
            return Err(complaint(if is_of_runs { "runs" } else { table }, problem));
        }
        let seed = overrides.seed.unwrap_or(read.seed);
        let cells = cells::enumerate(&read, (draws.as_ref(), name, seed), origin, traces)?;
        if cells.is_empty() {
            return Err(complaint("sweep", "no cell is left: expected at least one".into()));
        }
        let recordings =
            cells::recordings(&cells, traces).map_err(|error| complaint("damage", error.to_string()))?;
        let claims = std::mem::take(&mut read.claim);
        read.claim = claims.into_iter().flat_map(|claim| claim.of_each(&read.sweep)).collect();
        let figure = read.figure.clone().unwrap_or_else(|| Figure::of_axes(read.sweep.keys()));
        let axes = Axes::of(&read, draws.as_ref());
        check_figure(&read, &axes, &figure, &complaint)?;
        Ok(Self {
            name: if moves { format!("{name}-live") } else { name.into() },
            title: read.title,
            source: read.source,
            reading: read.reading.trim().into(),
            changes,
            readings: read.readings,
            runs,
            seed,
            axes: axes.into_all(),
            draw: draws.as_ref().map(Draws::described),
            cells,
            recordings,
            figure,
            claims: read.claim,
        })
    }

    /// Whether all its cells run in virtual time.
    ///
    /// # Errors
    ///
    /// Some run in real time.
    pub fn check_virtual(&self) -> Result<(), LabError> {
        if self.cells.iter().any(|cell| cell.clock == Clock::Real) {
            return Err(LabError::NoRealTime { name: self.name.clone() });
        }
        Ok(())
    }

    /// The seed of a run: of the experiment, the cell's link and the run, so that adding a cell changes no
    /// other, and senders meet the same damage.
    pub(crate) fn run_seed(&self, cell: &Cell, run: u32) -> u64 {
        run_seed(&self.name, self.seed, cell, run)
    }
}

/// The seed of a run of the experiment with this name and seed.
pub(crate) fn run_seed(name: &str, seed: u64, cell: &Cell, run: u32) -> u64 {
    derive_seed(seed, &format!("{name}\n{}", cell.channel_key), run.into())
}

/// Axes that figure and claims name must exist, and so must the values.
fn check_figure(
    read: &ExperimentFile,
    axes: &Axes,
    figure: &Figure,
    complaint: &dyn Fn(&str, String) -> LabError,
) -> Result<(), LabError> {
    let known = |key: &str, axis: &str| axes.check_axis(axis).map_err(|problem| complaint(key, problem));
    if let Some(unit) = &figure.unit {
        let units = figure.measure.unit().names();
        if !units.contains(&unit.as_str()) {
            return Err(complaint("unit", format!("{unit:?}: expected one of {units:?}")));
        }
    }
    for (key, axis) in [("x", &figure.x), ("series", &figure.series), ("panels", &figure.panels)] {
        if let Some(axis) = axis {
            known(key, axis)?;
        }
    }
    for (axis, left_out) in read.skip.iter().flatten() {
        for value in left_out.values() {
            axes.check_value("skip", axis, value).map_err(|problem| complaint("skip", problem))?;
        }
    }
    for axis in &read.readings {
        known("readings", axis)?;
    }
    read.claim.iter().try_for_each(|claim| check_claim(axes, claim, complaint))
}

/// More than this as a share is a difference, not rounding.
const MOST_SLACK: f64 = 0.01;

/// What a claim names must exist, and it must be one claim, which could fail.
fn check_claim(
    axes: &Axes,
    claim: &Claim,
    complaint: &dyn Fn(&str, String) -> LabError,
) -> Result<(), LabError> {
    if let Some(axis) = &claim.each {
        // Those that are swept have been replaced.
        return Err(complaint("each", format!("{axis}: expected an axis of [sweep]")));
    }
    let places = [Some(&claim.of), claim.over.as_ref(), claim.minus.as_ref()];
    for (axis, value) in places.into_iter().flatten().flatten() {
        axes.check_value("claim", axis, value).map_err(|problem| complaint("claim", problem))?;
    }
    for (key, beside) in [("over", &claim.over), ("minus", &claim.minus)] {
        if let Some((name, _)) = beside.iter().flatten().find(|(name, _)| axes.is_of_link(name)) {
            let problem = format!("{name} is of the link: expected axes of [sweep], as both are of one link");
            return Err(complaint(key, problem));
        }
    }
    if claim.is_order() {
        let axis = claim.axis.as_deref().unwrap_or("variant");
        axes.check_axis(axis).map_err(|problem| complaint("axis", problem))?;
        for value in claim.order.iter().flatten() {
            axes.check_value("order", axis, value).map_err(|problem| complaint("order", problem))?;
        }
    }
    let given = [
        claim.paper.is_some(),
        claim.order.is_some(),
        claim.change.is_some(),
        claim.at_least.is_some(),
        claim.at_most.is_some(),
    ];
    if given.iter().filter(|given| **given).count() != 1 {
        let expected = "expected one of `paper` (a number), `order` (values of an axis), `change` (increases or \
                        decreases), `at-least` and `at-most` (numbers)";
        return Err(complaint("claim", expected.into()));
    }
    if let Some((key, problem)) = claim.improper_number() {
        return Err(complaint(key, problem));
    }
    if let Some(share) = claim.share {
        if claim.aim().is_none() {
            return Err(complaint("share", "expected it beside `at-least` or `at-most`".into()));
        }
        if !(share > 0.0 && share <= 1.0) {
            return Err(complaint("share", format!("{share}: expected above 0, and at most 1")));
        }
    }
    if let Some(tolerance) = claim.excessive_tolerance() {
        return Err(complaint("tolerance", tolerance.to_string()));
    }
    if !(0.0..=MOST_SLACK).contains(&claim.slack) {
        return Err(complaint("slack", format!("{}: expected 0 to {MOST_SLACK}", claim.slack)));
    }
    if claim.minus.is_some() && (!claim.is_order() || claim.slack > 0.0) {
        let expected = "expected it beside `order` or `change`, without `slack`";
        return Err(complaint("minus", expected.into()));
    }
    for (key, is_given) in [("evidence", claim.evidence.is_some()), ("fitted", claim.fitted.is_some())] {
        if claim.aim().is_some() && is_given {
            let expected = format!("an aim is no reading of a source: expected no `{key}` beside it");
            return Err(complaint(key, expected));
        }
    }
    Ok(())
}
