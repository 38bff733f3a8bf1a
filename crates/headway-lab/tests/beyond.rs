//! Senders with controllers and switches, runs of fixed duration, flows beside them, the oracle, and aims.

use crate::common;

use std::fs;
use std::path::Path;

use common::run_in;
use headway_lab::{ClaimVerdict, Experiment, Overrides, columns, judge};
use headway_link::QueueLimit;

const AIMS: &str = r#"
title = "Aims"
runs = 3

[sweep]
variant = ["sack", "oracle", "modern:cubic"]
delay = ["10ms", "50ms"]

[scenario]
size = "100KB"
damage = "random:2%"
header-hit = "0%"

[figure]
kind = "table"
x = "variant"
measure = "share-of-oracle"
unit = "%"
statistic = "median"

[[claim]]
says = "The oracle is its own measure"
of = { variant = "oracle" }
at-least = 100

[[claim]]
says = "No other sender comes near it"
of = { variant = "sack" }
at-least = 99.9

[[claim]]
says = "The oracle is ahead of all"
over = { variant = "oracle" }
measure = "goodput"
at-most = 1

[[claim]]
says = "All finish"
measure = "finished"
statistic = "mean"
at-least = 1
"#;

fn parse(text: &str) -> Result<Experiment, String> {
    common::parse("aims", text, &Overrides::default())
}

#[test]
fn aims_are_judged_cell_by_cell() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = run_in(&parse(AIMS).expect("an experiment"), folder.path());
    let judgements = judge(&results);
    let verdicts: Vec<ClaimVerdict> = judgements.iter().map(|judgement| judgement.verdict).collect();
    assert_eq!(verdicts, [ClaimVerdict::Met, ClaimVerdict::Missed, ClaimVerdict::Met, ClaimVerdict::Met]);
    assert_eq!((judgements[0].ours, judgements[0].unit.as_str()), (Some(100.0), "%"));
    // The value that is reported for an aim is that of the worst cell.
    let shares: Vec<f64> = results.rows[..2]
        .iter()
        .map(|rows| {
            let mut shares: Vec<f64> =
                rows.iter().map(|row| row.metrics.share_of_oracle.expect("an oracle")).collect();
            shares.sort_by(f64::total_cmp);
            shares[1]
        })
        .collect();
    let worst = usize::from(shares[1] < shares[0]);
    assert!((judgements[1].ours.expect("runs") - 100.0 * shares[worst]).abs() < 1e-9);
    let place = ["worst: delay 10ms", "worst: delay 50ms"][worst];
    assert!(judgements[1].basis.ends_with(place), "{}", judgements[1].basis);
    let missing = |at: usize| -> Vec<&str> {
        judgements[at].missing.iter().map(|missing| missing.cell.as_str()).collect()
    };
    assert_eq!(missing(1), ["delay 10ms", "delay 50ms"]);
    assert!((judgements[1].missing[worst].ours - 100.0 * shares[worst]).abs() < 1e-9);
    assert_eq!(missing(0), [""; 0]);
    assert_eq!(judgements[2].ours, Some(1.0), "the oracle beside itself");

    // A cell without runs leaves an aim open that the others meet, and does not save one that they miss.
    let mut some = results.clone();
    some.rows[1].clear();
    some.rows[3].clear();
    let verdicts: Vec<ClaimVerdict> = judge(&some).iter().map(|judgement| judgement.verdict).collect();
    assert_eq!(
        verdicts,
        [ClaimVerdict::NoResults, ClaimVerdict::Missed, ClaimVerdict::NoResults, ClaimVerdict::NoResults],
        "missing runs"
    );
}

#[test]
fn columns_tell_the_sender_and_the_oracle() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = AIMS.replace("size =", "tlp = \"off\"\nsize =").replace("\"sack\"", "\"headway:bbr\"");
    run_in(&parse(&text).expect("an experiment"), folder.path());
    let mut csv = csv::Reader::from_path(folder.path().join("runs.csv")).expect("a table");
    let place = |name: &str| columns().position(|column| column.name == name).expect("a column");
    let rows: Vec<csv::StringRecord> = csv.records().collect::<Result<_, _>>().expect("rows");
    let told = |row: usize, names: [&str; 4]| names.map(|name| rows[row][place(name)].to_owned());
    let columns = ["profile", "variant", "cc", "features"];
    assert_eq!(told(0, columns), ["modern", "headway", "bbr", "-tlp"]);
    assert_eq!(told(6, columns), ["", "oracle", "", "-tlp"]);
    assert_eq!(told(12, columns), ["modern", "modern", "cubic", "-tlp"]);
    for row in &rows {
        let number = |name: &str| row[place(name)].parse::<f64>().expect(name);
        let share = number("goodput_bps") / number("oracle_bps");
        assert!((number("share_of_oracle") - share).abs() < 1e-9);
        assert_eq!(&row[place("warm")], "false");
    }
    // The same fates for all.
    assert_eq!(rows[0][place("seed")], rows[12][place("seed")]);
    assert_eq!(rows[0][place("oracle_bps")], rows[6][place("goodput_bps")]);
}

#[test]
fn runs_of_fixed_duration_beside_others() {
    let text = AIMS
        .replace("size = \"100KB\"", "duration = \"5s\"\nqueue = \"1bdp\"")
        .replace("damage =", "companions = \"{variant}\"\nrivals = \"2 sack undamaged\"\ndamage =")
        .replace("\"oracle\", ", "")
        .replace("measure = \"share-of-oracle\"", "measure = \"rival-goodput\"")
        .replace("unit = \"%\"", "unit = \"KB/s\"");
    let text = &text[..text.find("[[claim]]").expect("claims")];
    let experiment = parse(text).expect("an experiment");
    let queues: Vec<QueueLimit> = experiment.cells.iter().map(|cell| cell.scenario.forward.queue).collect();
    assert_eq!(queues[..2], [QueueLimit::Packets(17), QueueLimit::Packets(84)]);
    assert!(experiment.cells.iter().all(|cell| cell.size.is_none()));
    let folder = tempfile::tempdir().expect("a folder");
    let results = run_in(&experiment, folder.path());
    for row in results.rows.iter().flatten() {
        assert_eq!((row.metrics.finished, row.metrics.seconds, row.metrics.sha256_ok), (true, 5.0, None));
        assert_eq!((row.metrics.share_of_oracle, row.metrics.companions_bps.len()), (None, 3));
        let rivals = (row.metrics.companions_bps[1] + row.metrics.companions_bps[2]) / 2.0;
        assert!((row.metrics.rival_goodput_bps.expect("rivals") - rivals).abs() < 1e-6);
    }
    let csv = fs::read_to_string(folder.path().join("runs.csv")).expect("a table");
    assert!(csv.contains("\"sack undamaged, sack undamaged\""), "{csv}");
}

#[test]
fn what_does_not_fit_together_names_its_key() {
    for (from, to, expected) in [
        ("\"sack\"", "\"sack:bbr\"", "variant: congestion controller bbr: sack of profile linux22 has"),
        (
            "\"sack\"",
            "\"sack:vegas\"",
            "\"vegas\": expected a congestion controller: reno (or newreno), cubic, bbr, draft-bbr, copa or vivace",
        ),
        ("size =", "cc = \"tahoe\"\nsize =", "aims.toml:10: cc: \"tahoe\": expected a congestion"),
        ("size =", "duration = \"9s\"\nsize =", "aims.toml:10: duration: a run of fixed duration"),
        ("size =", "duration = \"0s\"\nsize =", "expected some virtual time"),
        ("size =", "ledger = \"maybe\"\nsize =", "aims.toml:10: ledger: \"maybe\": expected on or off"),
        ("size =", "partial = \"on\"\nsize =", "+partial: sack of profile linux22 has no such features"),
        ("size =", "rivals = \"9 sack, x cubic\"\nsize =", "aims.toml:10: rivals: \"x\": expected one of"),
        ("size =", "rivals = \"2001 sack\"\nsize =", "expected at most 2000 flows"),
        ("size =", "warm = \"on\"\nrivals = \"sack\"\nsize =", "aims.toml:10: warm: warm: expected no other"),
        ("size =", "rivals = \"sack\"\nsize =", "oracle: expected a link without other flows"),
        ("size =", "queue = \"0bdp\"\nsize =", "expected bandwidth-delay products above 0"),
        ("at-least = 100", "", "expected one of `paper` (a number), `order`"),
        ("at-least = 100", "at-least = 1\npaper = 2", "expected one of `paper`"),
        ("at-least = 100", "at-least = \"much\"", "at-least: got \"much\": expected a number"),
    ] {
        let text = AIMS.replacen(from, to, 1);
        assert_ne!(text, AIMS, "{from:?} is not in the file");
        let complaint = parse(&text).expect_err(to);
        assert!(complaint.contains(expected), "{to}: {complaint}");
    }
}

/// Every file of the folder, with its claims, makes sense.
#[test]
fn the_files_beyond_the_papers_can_be_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../beyond");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let experiment = Experiment::load(&path, &Overrides::default()).expect("an experiment");
            assert!(!experiment.claims.is_empty(), "{}: an aim for each file", experiment.name);
            names.push(experiment.name);
        }
    }
    let index = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../beyond/README.md"));
    let index = index.expect("an index");
    for name in &names {
        assert!(index.contains(&format!("[`{name}`]({name}.toml)")), "{name} is not in the index");
    }
    assert!(!names.is_empty());
}
