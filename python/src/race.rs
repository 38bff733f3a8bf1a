//! `headway.race`: several senders over one scenario.

use headway_lab::{Row, record};
use headway_scenario::{Column, Sender, Settings, parameters};
use headway_sim::Content;
use headway_sim::race::{
    self as simulator, Entrant, OracleOutcome, RunError, RunMetrics, RunSettings, UnknownName,
};
use headway_tcp::congestion::Algorithm;
use headway_units::Size;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrow::{Arrow, Table};
use crate::controller::{Raised, custom};
use crate::error::{input, of_run};
use crate::interrupt::{Work, beside_python};
use crate::keys::{Given, settings};

/// Runs beyond this are a typing mistake rather than a wish.
const MAX_RUNS: u64 = 1_000_000;

/// Runs each of the senders with each of the seeds from `seed` on. The rows are in the order of the senders.
#[pyfunction]
#[pyo3(signature = (given, variants, runs, seed, progress=None, controller=None))]
#[expect(clippy::too_many_arguments, reason = "Python has them by name")]
pub(crate) fn race(
    py: Python<'_>,
    given: Given,
    variants: Vec<String>,
    runs: u64,
    seed: u64,
    progress: Option<Bound<'_, PyAny>>,
    controller: Option<Bound<'_, PyAny>>,
) -> PyResult<Arrow> {
    let mut settings = settings(&given)?;
    let raised = give_controller(&mut settings, controller.as_ref())?;
    if !(1..=MAX_RUNS).contains(&runs) {
        return Err(input(format!("runs: {runs}: expected between 1 and {MAX_RUNS}")));
    }
    if seed.checked_add(runs).is_none() {
        return Err(input(format!("seed: {seed}: expected room for the seeds of all runs above it")));
    }
    let senders = entrants(&settings, &variants)?;
    let seeds = seed..seed + runs;
    let rows = beside_python(py, progress.as_ref(), |work| {
        raised.stops(work.stop());
        make(&settings, &senders, seeds, work)
    })?;
    raised.check()?;
    // What was interrupted has raised an exception.
    let rows = rows.map_err(of_run)?.unwrap_or_default();
    let records = rows.into_iter().map(|(sender, row)| record(&parameters_of(&settings, sender), None, &row));
    Table::of_records(records.collect())
}

/// Gives senders that are called `custom` their controllers. What they raise is asked for in the end.
pub(crate) fn give_controller(
    settings: &mut Settings,
    controller: Option<&Bound<'_, PyAny>>,
) -> PyResult<Raised> {
    let raised = Raised::default();
    settings.scenario.custom = controller.map(|maker| custom(maker, &raised)).transpose()?;
    Ok(raised)
}

/// The senders of these names, each once, each of which can send in the scenario.
pub(crate) fn entrants(settings: &Settings, names: &[String]) -> PyResult<Vec<Entrant>> {
    let mut senders = Vec::new();
    for name in names {
        let entrant: Entrant =
            name.parse().map_err(|error: UnknownName| input(format!("variant: {error}{}", more(name))))?;
        let entrant = entrant.with_congestion(settings.congestion);
        if !senders.contains(&entrant) {
            settings.scenario.check(entrant).map_err(|error| input(format!("variant {name}: {error}")))?;
            senders.push(entrant);
        }
    }
    if senders.is_empty() {
        return Err(input("variant: expected at least one sender, such as \"headway\""));
    }
    let scenario = &settings.scenario;
    let tcps = senders.iter().filter_map(|sender| sender.tcp());
    let beside = scenario.companions.iter().map(|other| other.sender);
    let mut all = tcps.chain(beside).chain(scenario.trunk.as_ref().map(|trunk| trunk.sender));
    if scenario.custom.is_some() && all.all(|sender| sender.congestion != Some(Algorithm::Custom)) {
        return Err(input(
            "controller: no sender has it: expected one that is called custom, such as \"modern:custom\"",
        ));
    }
    Ok(senders)
}

/// What else would have done; behind a colon the controllers are listed.
fn more(name: &str) -> &'static str {
    if name.contains(':') { "" } else { " (or newreno); or oracle" }
}

/// The values of the columns of parameters. As in the JSON of a race, the sender's name has its controller: who groups by it means that.
pub(crate) fn parameters_of(settings: &Settings, sender: Entrant) -> Vec<headway_sim::Value> {
    let settings = Settings { variant: Some(Sender::Ours(sender)), ..settings.clone() };
    let value = |column: &Column| match column.key() {
        Some(key) if key.name == "variant" => sender.to_string().into(),
        _ => column.value(&settings),
    };
    parameters().iter().map(value).collect()
}

/// What is sent.
pub(crate) fn content(settings: &Settings) -> Content {
    Content::generated(settings.sent_size().map_or(u64::MAX, Size::bytes))
}

type Rows = Vec<(Entrant, Row)>;

/// `None` where the work was stopped.
fn make(
    settings: &Settings,
    senders: &[Entrant],
    seeds: std::ops::Range<u64>,
    work: &Work,
) -> Result<Option<Rows>, RunError> {
    use headway_lab::Progress as _;
    let scenario = &settings.scenario;
    let content = content(settings);
    let jobs: Vec<(Entrant, u64)> =
        senders.iter().flat_map(|&sender| seeds.clone().map(move |seed| (sender, seed))).collect();
    work.begin(jobs.len());
    let made = jobs.par_iter().map(|&(sender, seed)| {
        if work.is_interrupted() {
            return Ok(None);
        }
        let run = RunSettings { scenario, content: &content, seed, hash: scenario.duration.is_none() };
        match simulator::run_recorded(run, sender, || (), work.stop()) {
            Ok(recording) => {
                work.advance();
                Ok(Some(recording.outcome.metrics))
            }
            Err(RunError::Stopped) => Ok(None),
            Err(error) => Err(error),
        }
    });
    let made: Result<Option<Vec<RunMetrics>>, RunError> = made.collect::<Result<Vec<_>, _>>().map(|runs| {
        // One that is missing makes all of them `None`.
        runs.into_iter().collect()
    });
    let Some(made) = made? else { return Ok(None) };
    let oracles: Vec<Option<OracleOutcome>> = seeds
        .clone()
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|seed| simulator::oracle(scenario, content.len(), seed))
        .collect();
    let rows = jobs.into_iter().zip(made).map(|((sender, seed), metrics)| {
        let run = seed - seeds.start;
        let metrics = metrics.beside(oracles[run as usize].as_ref());
        // At most `MAX_RUNS`.
        (sender, Row { run: run as u32, seed, metrics })
    });
    Ok(Some(rows.collect()))
}
