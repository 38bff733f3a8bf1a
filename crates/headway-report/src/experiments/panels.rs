//! From results to what a figure shows: panels, their lines, the points of each.

use headway_lab::{Manifest, ManifestCell, Results, Row, Summary, in_unit};

use crate::page::series::looks;

/// One panel of a figure.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    /// Its value of the panels' axis.
    pub(super) value: Option<String>,
    /// Its lines, or the bars of each group.
    pub(super) series: Vec<Series>,
}

/// One line of a panel.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Its value of the axis of the series.
    pub(super) name: String,
    /// Which colour and mark it has.
    pub(super) look: usize,
    /// A point for each value along x.
    pub(super) points: Vec<Point>,
}

/// What was measured of the cells that share a place in a figure.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// The value along x.
    pub(super) x: String,
    /// Whether there is such a cell: not every combination of the axes need be one.
    pub(super) exists: bool,
    /// In the unit of the figure; `None` where there are no runs.
    pub(super) summary: Option<Summary>,
    /// The statistic that the figure shows.
    pub(super) value: Option<f64>,
    /// Runs that were made.
    pub(super) runs: usize,
    /// Those of them that did not finish.
    pub(super) unfinished: usize,
}

/// A value for each of some axes.
type AxisValues<'a> = [(Option<&'a str>, &'a str)];

/// The panels of the results' figure.
pub(super) fn panels(results: &Results) -> Vec<Panel> {
    let figure = &results.manifest.figure;
    let (panels, series, x) = (figure.panels.as_deref(), figure.series.as_deref(), figure.x.as_deref());
    let names = values(&results.manifest, series);
    let looks = looks(&names);
    values(&results.manifest, panels)
        .into_iter()
        .map(|panel| Panel {
            value: panels.map(|_| panel.to_owned()),
            series: names
                .iter()
                .zip(&looks)
                .map(|(&name, &look)| Series {
                    name: name.to_owned(),
                    look,
                    points: values(&results.manifest, x)
                        .into_iter()
                        .map(|value| point(results, value, &[(panels, panel), (series, name), (x, value)]))
                        .collect(),
                })
                .collect(),
        })
        .collect()
}

/// The values of an axis; a single nameless one where there is no axis.
pub(super) fn values<'a>(manifest: &'a Manifest, axis: Option<&str>) -> Vec<&'a str> {
    match axis.and_then(|axis| manifest.axes.get(axis)) {
        Some(values) => values.iter().map(String::as_str).collect(),
        None => vec![""],
    }
}

/// The cells at a place, with their runs.
pub(super) fn cells_at<'a>(
    results: &'a Results,
    place: &AxisValues<'_>,
) -> impl Iterator<Item = (&'a ManifestCell, &'a [Row])> {
    let lies_there = |cell: &ManifestCell| {
        place
            .iter()
            .filter_map(|(axis, value)| Some((cell.values.get((*axis)?)?, *value)))
            .all(|(own, value)| own == value)
    };
    let cells = results.manifest.cells.iter().zip(&results.rows);
    cells
        .filter(|(cell, _)| lies_there(cell))
        .map(|(cell, rows)| (cell, rows.as_slice()))
        .collect::<Vec<_>>()
        .into_iter()
}

fn point(results: &Results, x: &str, place: &AxisValues<'_>) -> Point {
    let figure = &results.manifest.figure;
    let (mut values, mut runs, mut unfinished, mut exists) = (Vec::new(), 0, 0, false);
    for (_, rows) in cells_at(results, place) {
        exists = true;
        let measured = rows.iter().filter_map(|row| row.measure(figure.measure));
        values.extend(measured.map(|value| in_unit(value, figure.measure, figure.unit.as_deref())));
        runs += rows.len();
        unfinished += rows.iter().filter(|row| !row.metrics.finished).count();
    }
    let summary = Summary::of(&values, figure.statistic);
    let value = summary.as_ref().map(|summary| summary.value(figure.statistic));
    Point { x: x.to_owned(), exists, summary, value, runs, unfinished }
}

/// Axes that the figure does not distinguish: their cells are taken together.
pub(super) fn merged(manifest: &Manifest) -> Vec<&str> {
    let figure = &manifest.figure;
    let shown = [&figure.x, &figure.series, &figure.panels];
    let apart = |axis: &&String| !shown.iter().any(|other| other.as_deref() == Some(axis.as_str()));
    let several = |axis: &&String| manifest.axes.get(axis.as_str()).is_some_and(|values| values.len() > 1);
    manifest.axes.keys().filter(apart).filter(several).map(String::as_str).collect()
}
