//! Claims that are judged under every reading of their source.

use crate::common;

use std::path::Path;

use common::{parse, run_in};
use headway_lab::{ClaimVerdict, Evidence, EvidenceError, Experiment, Overrides, Results, weigh};

const SWEEP: &str = r#"
title = "Readings"
readings = ["header-hit", "burst"]
runs = 30

[sweep]
variant = ["sack", "hack+sack"]
length = [2, 4]
burst = ["", ":time"]
header-hit = ["0%", "40%"]

[scenario]
delay = "20ms"
size = "64KB"
damage = "burst:5%:{length}{burst}"

[figure]
kind = "bars"
x = "burst"
measure = "time"
"#;

/// An experiment of its own, with a claim about 40 % of the headers.
fn claiming(claim: &str) -> Experiment {
    let text = format!(
        "title = \"A figure\"\nruns = 1\n[sweep]\nvariant = [\"sack\", \"hack+sack\"]\nheader-hit = [\"40%\"]\n\
         [scenario]\ndamage = \"burst:5%:4\"\n[figure]\nkind = \"bars\"\nmeasure = \"goodput\"\nunit = \"KB/s\"\n\
         [[claim]]\nsays = \"it is so\"\n{claim}\n"
    );
    parse("figure", &text, &Overrides::default()).expect(claim)
}

fn sweep(folder: &Path) -> Results {
    run_in(&parse("readings", SWEEP, &Overrides::default()).expect("a sweep"), folder)
}

fn weighed(claim: &str, sweep: &Results) -> Result<Option<Evidence>, EvidenceError> {
    let experiment = claiming(claim);
    weigh(&experiment.claims[0], &experiment.figure, sweep)
}

/// Mean goodput in KB/s of the cells that have all these values, computed anew from the rows.
fn goodput(sweep: &Results, wanted: &[(&str, &str)]) -> f64 {
    let cells = sweep.manifest.cells.iter().zip(&sweep.rows);
    let rates: Vec<f64> = cells
        .filter(|(cell, _)| wanted.iter().all(|(axis, value)| cell.values[*axis] == *value))
        .flat_map(|(_, rows)| rows.iter().map(|row| row.metrics.goodput_bps / 8e3))
        .collect();
    assert!(!rates.is_empty(), "{wanted:?}");
    rates.iter().sum::<f64>() / rates.len() as f64
}

/// The ratio of HACK + SACK to SACK under each reading, for bursts of 4.
fn ratios(sweep: &Results) -> Vec<(&'static str, &'static str, f64)> {
    let mut ratios = Vec::new();
    for hit in ["0%", "40%"] {
        for burst in ["", ":time"] {
            let of = |variant| [("variant", variant), ("length", "4"), ("header-hit", hit), ("burst", burst)];
            ratios.push((hit, burst, goodput(sweep, &of("hack+sack")) / goodput(sweep, &of("sack"))));
        }
    }
    ratios
}

const RATIO: &str = r#"
of = { variant = "hack+sack", header-hit = "40%" }
over = { variant = "sack", header-hit = "40%" }
evidence = { sweep = "readings", of = { variant = "hack+sack", length = 4 }, over = { variant = "sack", length = 4 } }
"#;

#[test]
fn the_nearest_reading_is_found_and_what_no_reading_gives_is_contradicted() {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = sweep(folder.path());
    let ratios = ratios(&sweep);
    let highest = ratios.iter().max_by(|a, b| a.2.total_cmp(&b.2)).expect("readings");
    assert_eq!(highest.0, "0%", "{ratios:?}");

    // Far above all of them.
    let far = weighed(&format!("paper = {}{RATIO}", highest.2 * 10.0), &sweep);
    let far = far.expect("judged").expect("evidence");
    assert_eq!((far.judged, far.excluded, far.holding), (4, 0, 0));
    assert!(far.is_contradiction());
    let best = far.best.expect("a reading");
    assert!((best.ours - highest.2).abs() < 1e-9, "{} {ratios:?}", best.ours);
    let values: Vec<&str> = best.values.values().map(String::as_str).collect();
    assert_eq!(values, [highest.0, highest.1]);

    // Exactly one of them.
    for (hit, burst, ratio) in &ratios {
        let claim = format!("paper = {ratio}\ntolerance = 0.000001{RATIO}");
        let evidence = weighed(&claim, &sweep).expect("judged").expect("evidence");
        assert!(!evidence.is_contradiction() && evidence.holding >= 1);
        let best = evidence.best.expect("a reading");
        assert_eq!((best.values["header-hit"].as_str(), best.values["burst"].as_str()), (*hit, *burst));
        assert_eq!(best.verdict, ClaimVerdict::Reproduced);
    }
}

/// A reading under which another number of the source does not come out is not the source's.
#[test]
fn readings_count_only_where_what_is_given_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = sweep(folder.path());
    let sack = |hit, burst| {
        goodput(&sweep, &[("variant", "sack"), ("header-hit", hit), ("burst", burst), ("length", "2")])
    };
    let (tolerance, paper) = (0.001, sack("0%", ":time"));
    let expected: usize = [("0%", ""), ("0%", ":time"), ("40%", ""), ("40%", ":time")]
        .iter()
        .filter(|(hit, burst)| (sack(hit, burst) / paper - 1.0).abs() <= tolerance)
        .count();
    assert!((1..4).contains(&expected), "readings differ");
    let claim = format!(
        "of = {{ variant = \"hack+sack\", header-hit = \"40%\" }}\npaper = 1e9\n[claim.evidence]\nsweep = \"readings\"\n\
         given = {{ of = {{ variant = \"sack\", length = 2 }}, paper = {paper}, tolerance = {tolerance} }}"
    );
    let evidence = weighed(&claim, &sweep).expect("judged").expect("evidence");
    assert_eq!((evidence.judged, evidence.excluded), (expected, 4 - expected));
    assert!(evidence.is_contradiction());
}

/// What the source states is not open: a reading at odds with it is distinguished.
#[test]
fn readings_at_odds_with_the_source_do_not_save_a_claim() {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = sweep(folder.path());
    let ratios = ratios(&sweep);
    let (hit, burst, ratio) = ratios.iter().max_by(|a, b| a.2.total_cmp(&b.2)).expect("readings");
    let claim = |stated: &str| {
        let stated =
            RATIO.replace("sweep = \"readings\"", &format!("sweep = \"readings\", stated = {stated}"));
        let claim = format!("paper = {ratio}\ntolerance = 0.000001{stated}");
        weighed(&claim, &sweep).expect("judged").expect("evidence")
    };
    let apart = claim(r#"{ header-hit = ["40%"] }"#);
    assert_eq!((apart.judged, apart.holding), (2, 0));
    assert!(apart.is_contradiction());
    assert_eq!(apart.best.expect("a reading").values["header-hit"], "40%");
    let at_odds = apart.at_odds.expect("another reading");
    assert_eq!((at_odds.values["header-hit"].as_str(), at_odds.values["burst"].as_str()), (*hit, *burst));
    let open = claim(r#"{ header-hit = ["40%", "0%"] }"#);
    assert_eq!((open.judged, open.holding, open.at_odds), (4, 1, None));
}

/// An order is asked for in every place of each reading; the claim's own 40 % is the sweep's to vary.
#[test]
fn orders_are_judged_in_each_reading() {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = sweep(folder.path());
    let claim = |order: &str| {
        format!("of = {{ header-hit = \"40%\" }}\norder = {order}\nevidence = {{ sweep = \"readings\" }}")
    };
    let holds = weighed(&claim(r#"["sack", "hack+sack"]"#), &sweep).expect("judged").expect("evidence");
    let fails = weighed(&claim(r#"["hack+sack", "sack"]"#), &sweep).expect("judged").expect("evidence");
    assert_eq!((holds.judged, fails.judged), (4, 4));
    assert!(holds.holding >= 1 && holds.best.is_some_and(|best| best.ours == 1.0));
    assert!(fails.is_contradiction() && fails.best.is_some_and(|best| best.ours < 1.0));
}

#[test]
fn what_the_sweep_does_not_have_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = sweep(folder.path());
    let evidence = "evidence = { sweep = \"readings\" }";
    for (claim, expected) in [
        ("of = { variant = \"sack\" }\npaper = 1", None),
        ("order = [\"sack\", \"hack+sack\"]", None),
        (
            "paper = 1\n[claim.evidence]\nsweep = \"readings\"\nof = { variant = \"hack\" }",
            Some("readings: variant = \"hack\": expected one of sack, hack+sack"),
        ),
        (
            "paper = 1\n[claim.evidence]\nsweep = \"readings\"\nof = { size = 3 }",
            Some("readings: size = \"3\": expected an axis: one of variant, length, burst, header-hit"),
        ),
        (
            "paper = 1\n[claim.evidence]\nsweep = \"readings\"\ngiven = { of = { length = 3 }, paper = 1 }",
            Some("readings: length = \"3\": expected one of 2, 4"),
        ),
        (
            "paper = 1\n[claim.evidence]\nsweep = \"readings\"\nstated = { header-hit = [\"50%\"] }",
            Some("readings: header-hit = \"50%\": expected one of 0%, 40%"),
        ),
    ] {
        let claim = if claim.contains("evidence") { claim.into() } else { format!("{claim}\n{evidence}") };
        let error = weighed(&claim, &sweep).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expected, "{claim}");
    }
    assert_eq!(weighed("paper = 1", &sweep), Ok(None));
    let mut plain = sweep;
    plain.manifest.readings.clear();
    let error = weighed(&format!("paper = 1\n{evidence}"), &plain).expect_err("no readings");
    assert!(error.to_string().contains("no axis of it is a reading"), "{error}");
}

#[test]
fn without_runs_there_is_no_evidence() {
    let experiment = parse("readings", SWEEP, &Overrides::default()).expect("a sweep");
    let evidence = weighed(&format!("paper = 3{RATIO}"), &Results::none(&experiment));
    let evidence = evidence.expect("judged").expect("evidence");
    assert_eq!((evidence.judged, evidence.best.is_none(), evidence.is_contradiction()), (0, true, false));
}
