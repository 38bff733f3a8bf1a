//! Links that are drawn at random, and claims about a share of them.

use crate::common;

use std::fs;
use std::path::Path;

use common::run_in;
use headway_lab::{ClaimVerdict, Experiment, LINK_AXIS, Overrides, columns, judge};
use indexmap::IndexMap;

const DRAWN: &str = r#"
title = "Drawn"
runs = 1

[draw]
links = 6
rate = { log = ["1mbit", "100mbit"] }
delay = { uniform = ["2ms", "40ms"] }
queue = { log = ["4p", "200p"] }
share = ["0.1%", { uniform = ["1%", "9%"] }]
hits = ["random:{share}", "burst:{share}:3"]
aqm = ["none", "codel"]

[sweep]
variant = ["sack", "hack+sack"]
damage = ["{hits}", "none"]

[[skip]]
variant = "sack"
damage = "{hits}"

[scenario]
size = "100KB"
header-hit = "0%"

[[claim]]
says = "HACK has half the goodput without damage that SACK has, on every link"
of = { variant = "hack+sack", damage = "none" }
over = { variant = "sack", damage = "none" }
at-least = 0.5

[[claim]]
says = "HACK has a tenth more than SACK on half of the links with damage"
of = { variant = "hack+sack", damage = "{hits}" }
over = { variant = "sack", damage = "none" }
share = 0.5
at-least = 1.1

[[claim]]
says = "HACK drops no more packets behind CoDel"
of = { variant = "hack+sack", damage = "none", aqm = "codel" }
over = { variant = "sack", damage = "none" }
measure = "drops-per-megabyte"
share = 0.5
at-most = 10
"#;

fn with(text: &str, overrides: &Overrides) -> Result<Experiment, String> {
    common::parse("drawn", text, overrides)
}

fn parse(text: &str) -> Experiment {
    with(text, &Overrides::default()).expect("an experiment")
}

/// What was drawn for each link.
fn links(experiment: &Experiment) -> Vec<IndexMap<String, String>> {
    let mut links: Vec<IndexMap<String, String>> = Vec::new();
    for cell in &experiment.cells {
        let link: usize = cell.values[LINK_AXIS].parse().expect("a number");
        match links.get(link - 1) {
            Some(known) => assert_eq!(known, &cell.drawn, "one draw for all cells of a link"),
            None => links.push(cell.drawn.clone()),
        }
    }
    links
}

#[test]
fn each_link_is_one_draw_of_all_keys() {
    let experiment = parse(&DRAWN.replace("links = 6", "links = 300"));
    let links = links(&experiment);
    assert_eq!(links.len(), 300);
    assert_eq!(experiment.cells.len(), 3 * 300, "the sweep on each link, without what is skipped");
    let number = |text: &str, unit: &str| -> f64 {
        text.strip_suffix(unit).and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
    };
    let below = |key: &str, unit: &str, middle: f64| {
        let below = links.iter().filter(|link| number(&link[key], unit) < middle).count();
        assert!((120..=180).contains(&below), "{key}: {below} of 300 below {middle}");
    };
    below("rate", "mbit", 10.0);
    below("delay", "ms", 21.0);
    below("queue", "p", 28.0);
    below("share", "%", 0.5);
    for link in &links {
        assert!((1.0..=100.0).contains(&number(&link["rate"], "mbit")), "{link:?}");
        assert!((4.0..=200.0).contains(&number(&link["queue"], "p")), "{link:?}");
        assert!(link["rate"].trim_end_matches("mbit").replace('.', "").len() <= 3, "{link:?}");
        assert!(link["hits"].contains(&format!(":{}", link["share"])), "{link:?}");
    }
    for cell in &experiment.cells {
        let damage = if cell.values["damage"] == "none" { "none" } else { &cell.drawn["hits"] };
        assert_eq!(cell.settings["damage"], damage);
        assert_eq!(cell.settings["rate"], cell.drawn["rate"]);
        assert!(!cell.settings.contains_key("hits"), "a name of the file alone");
    }
}

#[test]
fn senders_of_a_link_meet_the_same_channel() {
    let experiment = parse(DRAWN);
    for cells in experiment.cells.chunks(3) {
        let undamaged: Vec<_> = cells.iter().filter(|cell| cell.values["damage"] == "none").collect();
        assert_eq!(undamaged.len(), 2);
        assert_eq!(undamaged[0].channel_key, undamaged[1].channel_key);
    }
}

#[test]
fn options_of_a_sender_are_swept_over_each_link() {
    let text =
        DRAWN.replace("damage = [\"{hits}\", \"none\"]", "tlp = [\"on\", \"off\"]\ndamage = [\"{hits}\"]");
    let (skip, scenario) = (text.find("[[skip]]").expect("skip"), text.find("[scenario]").expect("scenario"));
    let claims = text.find("[[claim]]").expect("claims");
    let text = format!("{}{}", &text[..skip], &text[scenario..claims]);
    let experiment = parse(&text.replace("\"sack\", \"hack+sack\"", "\"modern:cubic\", \"headway\""));
    for cells in experiment.cells.chunks(4) {
        let options: Vec<&str> = cells.iter().map(|cell| cell.settings["tlp"].as_str()).collect();
        assert_eq!(options, ["on", "off", "on", "off"]);
        assert!(
            cells.iter().all(|cell| cell.channel_key == cells[0].channel_key && cell.drawn == cells[0].drawn)
        );
    }
}

#[test]
fn a_link_depends_on_the_seed_and_its_number_alone() {
    let first = links(&parse(DRAWN));
    let more = links(&parse(&DRAWN.replace("links = 6", "links = 8")));
    assert_eq!(more[..6], first[..], "more links change none");
    let another = links(&parse(&DRAWN.replace("\naqm =", "\nloss = [\"0%\", \"1%\"]\naqm =")));
    for (link, other) in first.iter().zip(&another) {
        assert!(link.iter().all(|(key, value)| other[key] == *value), "another key changes none");
    }
    let seeded = with(DRAWN, &Overrides { seed: Some(2), ..Overrides::default() }).expect("an experiment");
    assert!(links(&seeded).iter().zip(&first).all(|(link, other)| link["rate"] != other["rate"]));
    let renamed = common::parse("other", DRAWN, &Overrides::default()).expect("an experiment");
    assert_ne!(links(&renamed), first, "experiments have links of their own");
}

#[test]
fn the_command_line_changes_how_many_and_what() {
    let set =
        |setting: &str| with(DRAWN, &Overrides { settings: vec![setting.into()], ..Overrides::default() });
    let fewer = set("links=2").expect("an experiment");
    assert_eq!(links(&fewer), links(&parse(DRAWN))[..2]);
    assert!(fewer.changes.is_empty(), "the claims are about any number of links");
    let other = set("draw.rate=3mbit,5mbit").expect("an experiment");
    assert!(links(&other).iter().all(|link| ["3mbit", "5mbit"].contains(&link["rate"].as_str())));
    assert_eq!(other.changes, ["draw.rate=3mbit,5mbit"]);
    let refusal = set("links=none").expect_err("no number");
    assert!(refusal.contains("--set links=none") && refusal.contains("expected a whole number"), "{refusal}");
}

#[test]
fn mistakes_name_file_line_and_what_is_allowed() {
    let cases = [
        ("links = 6\n", "", "missing key `draw.links`"),
        ("links = 6", "links = 0", "drawn.toml:6: links: 0: expected a whole number above 0"),
        ("links = 6", "links = 9000", "36000 cells of 1 runs: expected at most 20000 cells"),
        ("[\"1mbit\", \"100mbit\"]", "[\"1mbit\", \"100kbit\"]", "expected two values with the same unit"),
        ("[\"1mbit\", \"100mbit\"]", "[\"100mbit\", \"1mbit\"]", "drawn.toml:7: rate: "),
        ("[\"1mbit\", \"100mbit\"]", "[\"0mbit\", \"1mbit\"]", "expected the least first, above 0"),
        ("[\"1mbit\", \"100mbit\"]", "[\"1mbit\"]", "expected a list of values, { log = [LEAST, MOST] }"),
        ("[\"1mbit\", \"100mbit\"]", "[\"1mbps\", \"9mbps\"]", "drawn.toml:7: rate: "),
        ("{ log = [\"1mbit\", \"100mbit\"] }", "{ lg = [1, 2] }", "expected a list of values, { log ="),
        (
            "{ log = [\"1mbit\", \"100mbit\"] }",
            "\"1mbit\"",
            "what is the same on all links belongs in [scenario]",
        ),
        ("aqm = [\"none\", \"codel\"]", "aqm = []", "drawn.toml:12: aqm: the list is empty"),
        ("aqm = [\"none\", \"codel\"]", "aqm = [[\"none\"]]", "expected a number, or a text in quotes"),
        ("\naqm =", "\naqn =", "drawn.toml:12: aqn: draws nothing: expected a key of a scenario, or a name"),
        ("rate = {", "variant = {", "variant: is in [draw] and in [sweep]: expected it in one of them"),
        ("rate = {", "size = {", "size: is in [draw] and in [scenario]: expected it in one of them"),
        ("[sweep]", "[sweep]\nlink = [1]", "link: is the axis of the links that are drawn: expected another"),
        ("random:{share}", "random:{shore}", "hits: {shore} is no axis: expected one of rate, delay"),
        ("over = { variant = \"sack\"", "over = { aqm = \"none\"", "over: aqm is of the link: expected axes"),
        ("share = 0.5", "share = 1.5", "share: 1.5: expected above 0, and at most 1"),
        ("at-least = 1.1", "order = [\"sack\", \"hack+sack\"]", "expected it beside `at-least` or `at-most`"),
    ];
    for (old, new, expected) in cases {
        assert!(DRAWN.contains(old), "{old}");
        let complaint = with(&DRAWN.replacen(old, new, 1), &Overrides::default()).expect_err(new);
        assert!(complaint.contains(expected), "{new}: {complaint}");
    }
}

#[test]
fn results_name_their_links_and_claims_judge_a_share_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let experiment = parse(DRAWN);
    let results = run_in(&experiment, folder.path());
    let mut csv = csv::Reader::from_path(folder.path().join("runs.csv")).expect("a table");
    let place = columns().position(|column| column.name == LINK_AXIS).expect("a column");
    let numbers: Vec<String> = csv.records().map(|record| record.expect("a row")[place].to_owned()).collect();
    let expected: Vec<String> = experiment.cells.iter().map(|cell| cell.values[LINK_AXIS].clone()).collect();
    assert_eq!(numbers, expected);
    assert!(fs::metadata(folder.path().join("runs.parquet")).is_ok());

    let judgements = judge(&results);
    let damaged = &judgements[1];
    let spread = damaged.spread.as_ref().expect("drawn links");
    let mut ratios: Vec<f64> = results
        .rows
        .chunks(3)
        .map(|rows| rows[1][0].metrics.goodput_bps / rows[0][0].metrics.goodput_bps)
        .collect();
    ratios.sort_by(f64::total_cmp);
    assert_eq!((spread.cells, spread.worst), (6, ratios[0]), "link by link");
    assert_eq!((spread.quartile, spread.median), (ratios[1], ratios[3]));
    assert_eq!(damaged.ours, Some(ratios[3]), "what half of the links have");
    assert_eq!(damaged.verdict == ClaimVerdict::Met, ratios[3] >= 1.1);
    assert!(damaged.missing.is_empty() && damaged.share == Some(0.5));
    let worst = &spread.worst_cells[0];
    assert_eq!((worst.ours, spread.worst_cells.len()), (ratios[0], 5));
    let (cell, beside) =
        (&results.manifest.cells[worst.place], &results.manifest.cells[worst.beside.expect("a ratio")]);
    assert_eq!((cell.link(), &cell.drawn), (beside.link(), &beside.drawn), "both are of one link");
    assert_eq!(beside.settings["variant"], "sack");

    let behind_codel = experiment.cells.iter().filter(|cell| cell.drawn["aqm"] == "codel").count() / 3;
    let codel = judgements[2].spread.as_ref().map_or(0, |spread| spread.cells);
    assert_eq!(codel, behind_codel, "claims may name what was drawn from a list");
}

/// Each names the rules that there are, and has a claim on each of its cells but those compared with.
#[test]
fn the_study_of_the_rules_has_a_cell_without_each_and_one_with_each_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ablation");
    for file in ["lone.toml", "rivals.toml"] {
        let experiment = Experiment::load(&folder.join(file), &Overrides::default()).expect(file);
        let off = &experiment.axes["rules-off"];
        let mut expected = vec!["none".to_owned(), "all".to_owned()];
        // Thin streams are of gateways.
        for (rule, _) in headway_tcp::Rule::NAMES.iter().filter(|(rule, _)| *rule != "thin-streams") {
            expected.extend([rule.to_string(), format!("all-except:{rule}")]);
        }
        assert!(off.len() == expected.len() && expected.iter().all(|rules| off.contains(rules)), "{file}");
        assert_eq!(experiment.claims.len(), 2 * (off.len() - 1), "{file}");
        let first = &experiment.claims[0];
        assert!(first.says.starts_with("allowance off:"), "{}", first.says);
        assert_eq!(first.of["rules-off"].to_string(), "allowance");
    }
}

/// Each of eight rules is off in half of the combinations, two in a quarter and three in an eighth: so no effect of a rule is
/// that of a pair.
#[test]
fn the_combinations_of_rules_tell_each_from_pairs() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ablation/interactions.toml");
    let experiment = Experiment::load(&file, &Overrides::default()).expect("an experiment");
    let off: Vec<Vec<&str>> =
        experiment.axes["rules-off"].iter().map(|rules| rules.split('+').collect()).collect();
    let rules: Vec<&str> = off.iter().max_by_key(|rules| rules.len()).expect("one without all").clone();
    assert_eq!((off.len(), rules.len()), (16, 8));
    for (one, other, third) in triples(&rules) {
        let mut different = vec![one, other, third];
        different.sort_unstable();
        different.dedup();
        let together = off.iter().filter(|rules| different.iter().all(|rule| rules.contains(rule))).count();
        assert_eq!(together, 16 >> different.len(), "{different:?}");
    }
}

/// All triples.
fn triples<'a>(rules: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    rules.iter().flat_map(move |&one| {
        rules.iter().flat_map(move |&other| rules.iter().map(move |&third| (one, other, third)))
    })
}

#[test]
fn a_claim_of_each_value_names_an_axis_that_is_swept() {
    let text = DRAWN.replace("says = \"HACK has half", "each = \"aqm\"\nsays = \"HACK has half");
    let error = with(&text, &Overrides::default()).expect_err("an axis");
    assert!(error.contains("aqm: expected an axis of [sweep]"), "{error}");
}
