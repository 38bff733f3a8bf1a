//! Links that were drawn at random: where the values of each claim lie on them, and the worst of them.

use headway_lab::{Judgement, Mean, Results, Spread, WorstCell};
use headway_scenario::key;
use maud::{Markup, html};

use super::ReportedExperiment;
use super::columns::{Column, table};
use super::markdown::{escaped, row};
use super::words::{count, number, with_unit};
use crate::again::{Again, Recordings, again};

/// The heads of the quantiles and of the mean.
const HEADS: [&str; 5] = ["worst", "5 %", "25 %", "50 %", "mean"];

/// The quantiles of a claim's values, from the worst on, and their geometric mean with its 95 % interval.
pub fn quantiles(judgement: &Judgement, spread: &Spread) -> [String; 5] {
    let values = [spread.worst, spread.percentile_5, spread.quartile, spread.median];
    let [worst, twentieth, quarter, half] = values.map(|value| with_unit(&number(value), &judgement.unit));
    let mean = spread.mean.map_or("-".into(), |Mean { value, interval: (least, most) }| {
        format!("{} [{}, {}]", with_unit(&number(value), &judgement.unit), number(least), number(most))
    });
    [worst, twentieth, quarter, half, mean]
}

/// One of the worst links.
pub struct WorstLink {
    /// Its value, with the unit.
    pub ours: String,
    /// Its number, and the values of the other axes.
    pub link: String,
    /// What was drawn for it.
    pub drawn: String,
    /// The commands that make its run again, and then that of what it is compared with.
    pub commands: Vec<String>,
}

/// The worst links of a claim, the worst first.
pub fn worst_links(results: &Results, judgement: &Judgement, spread: &Spread) -> Vec<WorstLink> {
    let link = |worst: &WorstCell| {
        let cell = &results.manifest.cells[worst.place];
        let texts = |values: &mut dyn Iterator<Item = (&String, &String)>| -> String {
            values.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
        };
        // What is only a part of other drawn values shows in these.
        let is_shown = |name: &str| {
            let braced = format!("{{{name}}}");
            key(name).is_some() || cell.values.values().any(|value| value.contains(&braced))
        };
        let places = [Some(worst.place), worst.beside].into_iter().flatten();
        WorstLink {
            ours: with_unit(&number(worst.ours), &judgement.unit),
            link: texts(&mut cell.values.iter()),
            drawn: texts(&mut cell.drawn.iter().filter(|(name, _)| is_shown(name))),
            commands: places.filter_map(|place| command(results, place)).collect(),
        }
    };
    spread.worst_cells.iter().map(link).collect()
}

/// The command that makes the first run of a cell again.
fn command(results: &Results, place: usize) -> Option<String> {
    let Again { command, .. } = again(&results.manifest.cells[place], &Recordings::default()).ok()?;
    Some(format!("{command}{}", results.rows[place].first()?.seed))
}

/// The claims of an experiment that are about drawn links.
fn spreads(entry: &ReportedExperiment) -> Vec<(&Judgement, &Spread)> {
    entry.judgements.iter().filter_map(|judgement| Some((judgement, judgement.spread.as_ref()?))).collect()
}

/// The same, each set of worst links once: claims differ in their aim alone, too.
fn distinct<'a>(spreads: &[(&'a Judgement, &'a Spread)]) -> Vec<(&'a Judgement, &'a Spread)> {
    let mut distinct: Vec<(&Judgement, &Spread)> = Vec::new();
    for (judgement, spread) in spreads {
        if !distinct.iter().any(|(_, known)| known == spread) {
            distinct.push((judgement, spread));
        }
    }
    distinct
}

/// How many links there are, and which.
fn which(entry: &ReportedExperiment) -> String {
    let manifest = &entry.results.manifest;
    let links = manifest.draw.as_ref().map_or(0, |draw| draw.links);
    format!("{}, drawn from seed {}", count(links, "link", "links"), manifest.seed)
}

/// On the page, beneath the claims.
pub(super) fn section(entry: &ReportedExperiment) -> Markup {
    let spreads = spreads(entry);
    if spreads.is_empty() {
        return html! {};
    }
    let [mut claims, mut values] =
        [Column::words("claim"), Column::labelled("links")].map(|column| vec![column]);
    values.extend(HEADS.map(Column::labelled));
    for (judgement, spread) in &spreads {
        claims[0].push(html! { (judgement.says) });
        values[0].push(html! { (spread.cells) });
        for (column, value) in values[1..].iter_mut().zip(quantiles(judgement, spread)) {
            column.push(html! { (value) });
        }
    }
    claims.extend(values);
    html! {
        h3 { "On links drawn at random" }
        p.note { (which(entry)) ". From the worst on: the value that is reached on all links, and that which one in twenty, in four, in two does not reach; the geometric mean, with its 95 % interval." }
        (table("claims", &format!("Links of {}", entry.name()), &claims, |_| false))
        @for (judgement, spread) in distinct(&spreads) {
            details {
                summary { "The worst links: " (judgement.says) }
                (worst(entry, judgement, spread))
            }
        }
    }
}

fn worst(entry: &ReportedExperiment, judgement: &Judgement, spread: &Spread) -> Markup {
    let mut columns =
        [Column::labelled("ours"), Column::words("link"), Column::words("drawn"), Column::words("again")];
    for WorstLink { ours, link, drawn, commands } in worst_links(&entry.results, judgement, spread) {
        let again = html! { @for command in &commands { pre tabindex="0" { code { (command) } } } };
        let cells = [html! { (ours) }, html! { (link) }, html! { (drawn) }, again];
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell);
        }
    }
    table("claims", &format!("Worst links of {}", entry.name()), &columns, |_| false)
}

/// In documents, beneath the claims.
pub(super) fn tables(text: &mut String, entries: &[ReportedExperiment]) {
    let drawn: Vec<&ReportedExperiment> = entries.iter().filter(|entry| !spreads(entry).is_empty()).collect();
    if drawn.is_empty() {
        return;
    }
    text.push_str("\n## On links drawn at random\n\nFrom the worst on: the value that is reached on all links, and that which one in twenty, in four, in two does not reach; the geometric mean, with its 95 % interval.\n\n");
    text.push_str(&format!(
        "| experiment | claim | cells | {} |\n|---|---|--:|--:|--:|--:|--:|--:|\n",
        HEADS.join(" | ")
    ));
    for entry in &drawn {
        let name = format!("`{}` ({})", entry.name(), which(entry));
        for (judgement, spread) in spreads(entry) {
            let values = quantiles(judgement, spread);
            row(text, &[&name, &judgement.says, &spread.cells.to_string()]);
            row(text, &values.each_ref().map(String::as_str));
            text.push_str("|\n");
        }
    }
    text.push_str("\n### The worst links\n\n| experiment | claim | ours | link | drawn | again |\n|---|---|--:|---|---|---|\n");
    for entry in &drawn {
        let name = format!("`{}`", entry.name());
        for (judgement, spread) in distinct(&spreads(entry)) {
            for WorstLink { ours, link, drawn, commands } in worst_links(&entry.results, judgement, spread) {
                let again = commands.iter().map(|command| format!("`{}`", escaped(command)));
                let again = again.collect::<Vec<_>>().join("<br>");
                row(text, &[&name, &judgement.says, &ours, &link, &drawn]);
                text.push_str(&format!("| {again} |\n"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_lab::{Experiment, Overrides, Row};
    use headway_sim::race::RunMetrics;

    use super::super::{Report, ReportKind};
    use super::*;

    const FILE: &str = "title = \"t\"\nruns = 1\n[draw]\nlinks = 20\nrate = { log = [\"1mbit\", \"9mbit\"] }\n\
                        part = [\"1%\", \"2%\"]\nhits = [\"random:{part}\"]\n\
                        [sweep]\nvariant = [\"sack\", \"hack+sack\"]\ndamage = [\"{hits}\"]\n\
                        [scenario]\nsize = \"10KiB\"\n\
                        [[claim]]\nsays = \"most\"\nof = { variant = \"hack+sack\" }\nover = { variant = \"sack\" }\n\
                        share = 0.9\nat-least = 1.5\n\
                        [[claim]]\nsays = \"all\"\nof = { variant = \"hack+sack\" }\nover = { variant = \"sack\" }\n\
                        at-least = 0.5\n";

    /// The results of two senders, of which the second has `link` tenths of the goodput of the first.
    fn results() -> Results {
        let experiment =
            Experiment::parse("n", "n.toml", FILE, &Overrides::default()).expect("an experiment");
        let mut results = Results::none(&experiment);
        for (place, rows) in results.rows.iter_mut().enumerate() {
            let (link, is_second) = ((place / 2 + 1) as f64, place % 2 == 1);
            let goodput_bps = if is_second { link * 1e5 } else { 1e6 };
            rows.push(Row {
                run: 0,
                seed: place as u64,
                metrics: RunMetrics { goodput_bps, ..Default::default() },
            });
        }
        results
    }

    #[test]
    fn quantiles_and_the_worst_links_stand_in_page_and_table() {
        let report =
            Report::new(vec![results()], ReportKind::Own, "headway lab run FILE".into()).expect("a report");
        let (page, table) = (report.page(), report.claims());
        assert!(table.contains("`n` (20 links, drawn from seed 1) | most | 20 | 0.100\u{d7} | "), "{table}");
        assert!(table.contains("most | \u{2265} 1.5\u{d7} in 90\u{a0}% of cells | 0.300\u{d7} |"), "{table}");
        assert!(page.contains("On links drawn at random") && page.contains("20 links, drawn from seed 1"));
        // The 20th root of 20!, in tenths.
        assert!(table.contains(" | 0.830\u{d7} [") && page.contains("0.830\u{d7} ["), "{table}");
        let worst: Vec<&str> = table.lines().filter(|line| line.contains("`headway race ")).collect();
        assert_eq!(worst.len(), 5, "claims about the same values name them once: {table}");
        assert!(worst[0].contains("| 0.100\u{d7} | link 1, variant hack+sack"), "{}", worst[0]);
        assert!(worst[0].contains("hits random:") && !worst[0].contains("part "), "{}", worst[0]);
        let commands: Vec<&str> =
            worst[0].split('`').filter(|part| part.starts_with("headway race")).collect();
        assert!(
            commands[0].contains("--variant hack+sack ") && commands[0].ends_with(" --seed 1"),
            "{commands:?}"
        );
        assert!(
            commands[1].contains("--variant sack ") && commands[1].ends_with(" --seed 0"),
            "{commands:?}"
        );
    }
}
