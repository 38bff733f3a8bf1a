//! Runs that are made again while the folder is written, such that their time sequences can be looked at.

use headway_lab::{LabError, Results, Row, Sender, replay_observed};
use headway_sim::race::Entrant;
use headway_trace::TimeSequence;
use maud::{Markup, PreEscaped, html};
use rayon::prelude::*;

use crate::page;
use crate::race::{FirstRun, zoom};

/// A run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunRow {
    /// The cell of the manifest.
    pub(super) cell: usize,
    /// The run among the rows of the cell.
    pub(super) run: usize,
    /// The row among all rows.
    pub(super) row: usize,
}

/// At most `most` runs of our TCPs in virtual time: of each cell the median by the measure of the experiment's figure,
/// of cells that are evenly spread where there are more.
pub(super) fn chosen(results: &Results, most: usize) -> Vec<RunRow> {
    let mut places = Vec::new();
    let mut before = 0;
    for (cell, rows) in results.rows.iter().enumerate() {
        if is_replayable(results, cell)
            && let Some(run) = median(results, rows)
        {
            places.push(RunRow { cell, run, row: before + run });
        }
        before += rows.len();
    }
    let count = places.len().min(most);
    (0..count).map(|place| places[place * places.len() / count]).collect()
}

fn is_replayable(results: &Results, cell: usize) -> bool {
    let settings = &results.manifest.cells[cell].settings;
    let sender = settings.get("variant").map(|name| name.parse());
    settings.get("clock").is_none_or(|clock| clock == "virtual")
        && matches!(sender, Some(Ok(Sender::Ours(Entrant::Tcp(_)))))
}

/// The run in the middle; of two the lower.
fn median(results: &Results, rows: &[Row]) -> Option<usize> {
    let measure = results.manifest.figure.measure;
    let mut order: Vec<(f64, usize)> = rows
        .iter()
        .enumerate()
        .map(|(run, row)| (row.measure(measure).unwrap_or(f64::INFINITY), run))
        .collect();
    order.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    order.get(order.len().checked_sub(1)? / 2).map(|&(_, run)| run)
}

/// A page for each of the runs, in their order.
pub(super) fn pages(results: &Results, places: &[RunRow]) -> Result<Vec<String>, LabError> {
    places.par_iter().map(|place| one(results, *place)).collect()
}

fn one(results: &Results, place: RunRow) -> Result<String, LabError> {
    let (cell, row) = (&results.manifest.cells[place.cell], &results.rows[place.cell][place.run]);
    let recording = replay_observed(&results.manifest, cell, row.seed, TimeSequence::new, ())?;
    let sender = recording.outcome.sender;
    let first = FirstRun { sender, outcome: recording.outcome, sequence: Some(recording.sender) };
    Ok(page(
        &cell.values.iter().map(|(axis, value)| format!("{axis} {value}")).collect::<Vec<_>>(),
        row.seed,
        &first,
    ))
}

/// Says how high the page is to the one that it is in: pages of files cannot look into each other.
const HEIGHT: &str = "new ResizeObserver(() => parent.postMessage({ height: document.body.offsetHeight }, \"*\")).observe(document.body);";

fn page(values: &[String], seed: u64, first: &FirstRun) -> String {
    let runs = std::slice::from_ref(first);
    let body: Markup = html! {
        header { h1 { "Time sequence" } p { (values.join(" \u{b7} ")) ", seed " (seed) } }
        main { (zoom::section(runs)) }
        (zoom::script(runs))
        script { (PreEscaped(HEIGHT)) }
    };
    page::page_with_style(&format!("Time sequence, seed {seed}"), &zoom::style(runs), &body)
}

#[cfg(test)]
mod tests {
    use headway_lab::{Experiment, Overrides};

    use super::*;

    const FILE: &str = "title = \"t\"\nruns = 3\n[sweep]\nvariant = [\"sack\", \"oracle\", \"headway\"]\n\
                        delay = [\"1ms\", \"2ms\"]\n[scenario]\nsize = \"10KiB\"\n[figure]\nkind = \"lines\"\nx = \"delay\"\n\
                        series = \"variant\"\nmeasure = \"time\"\n";

    #[test]
    fn the_median_run_of_cells_that_are_spread() {
        let experiment =
            Experiment::parse("n", "n.toml", FILE, &Overrides::default()).expect("an experiment");
        let mut results = Results::none(&experiment);
        for (cell, rows) in results.rows.iter_mut().enumerate() {
            for (run, seconds) in [(0, 3.0), (1, 1.0), (2, 2.0)] {
                let metrics = headway_sim::race::RunMetrics { seconds, ..Default::default() };
                rows.push(Row { run, seed: cell as u64, metrics });
            }
        }
        let places = chosen(&results, 100);
        assert_eq!(places.len(), 4, "the oracle is no TCP");
        assert!(places.iter().all(|place| place.run == 2 && place.row == 3 * place.cell + 2), "{places:?}");
        let two = chosen(&results, 2);
        assert_eq!(two, [places[0], places[2]]);
        assert!(chosen(&results, 0).is_empty());
    }
}
