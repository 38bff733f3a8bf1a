//! The statistics as text.

use std::fmt::Write;

use headway_report::foot_notes;
use headway_report::trace::metrics::{GROUPS, ending};
use headway_report::trace::units::{self, plural};
use headway_report::trace::{AnalysedCapture, Numbered};
use headway_trace::analysis::Direction;
use headway_units::Duration;

/// More connections than this are listed, one line each.
const MOST_IN_FULL: usize = 8;
/// The width of the throughput chart.
const COLUMNS: usize = 60;

/// The text of `capture`. `is_chosen`: the connections were chosen by number.
pub(super) fn render(capture: &AnalysedCapture, chosen: &[Numbered<'_>], is_chosen: bool) -> String {
    let mut text = head(capture);
    if chosen.len() > MOST_IN_FULL && !is_chosen {
        list(&mut text, chosen);
        text.push_str("\nAll numbers of some of them: --connection N,...; of all: --json or --csv\n");
    } else {
        for numbered in chosen {
            connection(&mut text, capture, numbered);
        }
    }
    // The first line has the name of the file.
    let terms = foot_notes(text.lines().skip(1));
    for (place, note) in capture.notes().iter().chain(&terms).enumerate() {
        let _ = writeln!(text, "{}{note}", if place == 0 { "\n" } else { "" });
    }
    text
}

fn head(capture: &AnalysedCapture) -> String {
    let analysis = &capture.analysis();
    let connections = plural(analysis.connections.len() as u64, "connection");
    format!("{}: {}, {connections}\n", capture.name(), plural(analysis.packets, "packet"))
}

fn list(text: &mut String, chosen: &[Numbered<'_>]) {
    text.push('\n');
    for Numbered { number, connection } in chosen {
        let [first, second] = &connection.directions;
        let [from, to] = connection.ends;
        let _ = writeln!(
            text,
            "{number:>5}  {from} - {to}  {} > < {} packets, {} > < {} B, {}, {}",
            units::count(first.packets),
            units::count(second.packets),
            units::count(first.data.unique_bytes),
            units::count(second.data.unique_bytes),
            units::seconds(connection.duration().as_secs_f64()),
            ending(connection.ending()),
        );
    }
}

fn connection(text: &mut String, capture: &AnalysedCapture, Numbered { number, connection }: &Numbered<'_>) {
    let [from, to] = connection.ends;
    let since = connection.first_at.saturating_since(capture.first_at()).as_secs_f64();
    let _ = write!(
        text,
        "\n{number}. {from} - {to}: {}, {} from {} on",
        ending(connection.ending()),
        units::seconds(connection.duration().as_secs_f64()),
        units::seconds(since),
    );
    if capture.interfaces().len() > 1 {
        let _ = write!(text, ", at {}", capture.interface(connection.interface));
    }
    text.push('\n');
    let mut rows: Vec<(Option<&str>, &str, [String; 2])> = Vec::new();
    for (group, metrics) in GROUPS {
        let mut title = Some(*group);
        for metric in *metrics {
            let values =
                connection.directions.each_ref().map(|direction| (metric.value)(connection, direction));
            if metric.always || values.iter().any(|value| !value.is_nothing()) {
                rows.push((title.take(), metric.label, values.map(|value| value.text())));
            }
        }
    }
    let label_width = rows.iter().map(|(_, label, _)| width(label)).max().unwrap_or(0);
    let heads = [format!("{from} >"), format!("{to} >")];
    let widths = [0, 1].map(|side| {
        rows.iter().map(|(_, _, values)| width(&values[side])).chain([width(&heads[side])]).max().unwrap_or(0)
    });
    let table = Columns { label: label_width, values: widths };
    table.line(text, "", [&heads[0], &heads[1]]);
    for (title, label, [first, second]) in &rows {
        if let Some(title) = title {
            let _ = writeln!(text, "  {title}");
        }
        table.line(text, label, [first, second]);
    }
    for (head, direction) in heads.iter().zip(&connection.directions) {
        throughput(text, head, direction, connection.duration());
    }
    damage(text, capture, &connection.directions, &heads);
}

/// The widths of a table, in characters.
struct Columns {
    label: usize,
    values: [usize; 2],
}

impl Columns {
    fn line(&self, text: &mut String, label: &str, values: [&str; 2]) {
        // `format!` counts characters, which have equal width here.
        let _ = write!(text, "    {label:<0$}", self.label);
        for (value, wide) in values.iter().zip(self.values) {
            let _ = write!(text, "  {value:>wide$}");
        }
        text.push('\n');
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// New data over time, as a chart of one line.
fn throughput(text: &mut String, head: &str, direction: &Direction, duration: Duration) {
    let throughput = &direction.throughput;
    let nanos = u128::from(duration.as_nanos().max(1));
    let mut columns = [0_u64; COLUMNS];
    for (place, interval) in throughput.intervals().iter().enumerate() {
        let at = place as u128 * u128::from(throughput.width().as_nanos());
        let column = (at * COLUMNS as u128 / nanos).min(COLUMNS as u128 - 1) as usize;
        columns[column] += interval.new_bytes;
    }
    let most = columns.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let bars = headway_command::bars(&columns);
    let rate = most as f64 * 8.0 * COLUMNS as f64 / (nanos as f64 / 1e9);
    let _ = writeln!(text, "  new data over time, {head} (top: {})\n    |{bars}|", units::rate(rate));
}

/// Damage by interface, if any.
fn damage(text: &mut String, capture: &AnalysedCapture, directions: &[Direction; 2], heads: &[String; 2]) {
    for (head, direction) in heads.iter().zip(directions) {
        for (&interface, damage) in &direction.damage {
            let _ = writeln!(
                text,
                "  damaged, {head} captured at {}: {} with a sound header, {} without",
                capture.interface(interface),
                units::count(damage.corrupted),
                units::count(damage.unreadable),
            );
        }
    }
}
