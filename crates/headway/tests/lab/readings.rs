//! Claims that every reading contradicts, in the report.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use super::program::run_experiment;
use crate::HEADWAY;

const SWEEP: &str = r#"
title = "Readings"
readings = ["header-hit"]
runs = 2
[sweep]
variant = ["sack", "hack"]
header-hit = ["0%", "95%"]
[scenario]
delay = "20ms"
size = "64KB"
damage = "burst:5%:4"
[figure]
kind = "bars"
x = "header-hit"
measure = "time"
"#;

/// The same link at 95 % of the headers, with claims that no reading gives, that another gives, and that
/// its own gives.
const FIGURE: &str = r#"
title = "A figure"
runs = 2
[sweep]
variant = ["sack", "hack"]
header-hit = ["95%"]
[scenario]
delay = "20ms"
size = "64KB"
damage = "burst:5%:4"
[figure]
kind = "bars"
x = "header-hit"
series = "variant"
measure = "time"
[[claim]]
says = "HACK needs a thousand seconds"
of = { variant = "hack", header-hit = "95%" }
paper = 1000
evidence = { sweep = "readings" }
[[claim]]
says = "HACK needs half a second"
of = { variant = "hack", header-hit = "95%" }
paper = PAPER
tolerance = 0.01
evidence = { sweep = "readings" }
[[claim]]
says = "It takes some time"
of = { variant = "sack", header-hit = "95%" }
paper = 25
tolerance = 0.99
evidence = { sweep = "readings" }
"#;

fn report(directory: &Path) -> (String, String, String) {
    let words = ["lab", "report", "results", "--html", "page.html", "--markdown", "page.md"];
    let said = HEADWAY.succeed(directory, &words);
    let read = |name: &str| fs::read_to_string(directory.join(name)).expect(name);
    (said, read("page.md"), read("page.html"))
}

/// The mean time of HACK where no header is hit, from the table of runs.
fn time_at_0(directory: &Path) -> f64 {
    let table = fs::read_to_string(directory.join("results/readings/runs.csv")).expect("a table");
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let column = |name: &str| header.iter().position(|other| *other == name).expect(name);
    let (variant, hit, seconds) = (column("variant"), column("header_hit"), column("seconds"));
    let times: Vec<f64> = lines
        .filter(|row| row[variant] == "hack" && row[hit] == "0")
        .map(|row| row[seconds].parse().expect("a number"))
        .collect();
    assert_eq!(times.len(), 2);
    times.iter().sum::<f64>() / 2.0
}

#[test]
fn claims_are_judged_under_every_reading() {
    let directory = tempdir().expect("a directory");
    let directory = directory.path();
    run_experiment(directory, "readings", SWEEP);
    run_experiment(directory, "figure", &FIGURE.replace("PAPER", &time_at_0(directory).to_string()));
    let (said, markdown, page) = report(directory);
    assert!(said.contains(" 1 claim is contradicted by every reading. "), "{said}");

    let table = |heading: &str| {
        let (_, rest) = markdown.split_once(&format!("## {heading}\n")).expect(heading);
        let end = rest.find("\n## ").unwrap_or(rest.len());
        rest[..end].lines().filter(|line| line.starts_with("| `")).collect::<Vec<_>>()
    };
    let contradicted = table("Claims that every reading contradicts");
    assert_eq!(contradicted.len(), 1, "{contradicted:?}");
    for part in [
        "| HACK needs a thousand seconds |",
        "| header hit ",
        "| 0 of 2 in `readings` | contradicted by every",
    ] {
        assert!(contradicted[0].contains(part), "{part}: {}", contradicted[0]);
    }
    let holding = table("Claims that hold under another reading");
    assert_eq!(holding.len(), 1, "{holding:?}");
    let expected = "| header hit 0% | 1 of 2 in `readings` | holds under reading header hit 0% |";
    assert!(
        holding[0].contains("| HACK needs half a second |") && holding[0].contains(expected),
        "{holding:?}"
    );
    assert_eq!(markdown.matches("; contradicted by every reading | ").count(), 1, "marked where it stands");
    assert!(!markdown.contains("## Claims that the readings do not decide"));
    assert!(page.contains("<h2>Claims that every reading contradicts</h2>"));
    assert!(page.contains("holds under reading header hit 0%"));
}

#[test]
fn a_sweep_without_results_proves_nothing() {
    let directory = tempdir().expect("a directory");
    let directory = directory.path();
    run_experiment(directory, "figure", &FIGURE.replace("PAPER", "1e9"));
    let (said, markdown, page) = report(directory);
    assert!(!said.contains("contradicted"), "{said}");
    assert!(markdown.contains("## Claims that the readings do not decide\n"));
    assert_eq!(markdown.matches("| readings was not run |").count(), 2, "{markdown}");
    assert!(!page.contains("<h2>Claims that every reading contradicts</h2>"));
}
