//! Experiment files, sweeps and claims.

use crate::{common, fuzzed};

use std::fs;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::run_in;
use headway_lab::{
    CODE, ClaimVerdict, Experiment, FigureKind, Overrides, Progress, Request, Results, columns, judge, run,
};
use headway_test_fixture::{corpus, experiment};
use parquet::file::reader::{FileReader, SerializedFileReader};

/// The small experiment, with claims that hold, that show the direction alone, and that do not hold.
static SMALL: LazyLock<String> = LazyLock::new(|| experiment::SMALL.to_owned() + CLAIMS);

const CLAIMS: &str = r#"
[[claim]]
says = "HACK is faster"
order = ["sack", "hack+sack"]

[[claim]]
says = "HACK is a thousand times as fast"
of = { variant = "hack+sack" }
over = { variant = "sack" }
paper = 1000

[[claim]]
says = "HACK is slower"
of = { variant = "hack+sack" }
over = { variant = "sack" }
paper = 0.5
"#;

fn parse(text: &str) -> Result<Experiment, String> {
    with(text, &Overrides::default())
}

fn with(text: &str, overrides: &Overrides) -> Result<Experiment, String> {
    common::parse("small", text, overrides)
}

#[test]
fn cells_are_the_product_of_the_axes() {
    let experiment = parse(&SMALL).expect("an experiment");
    let cells: Vec<String> = experiment
        .cells
        .iter()
        .map(|cell| format!("{} {}", cell.sender, cell.scenario.forward.damage))
        .collect();
    assert_eq!(cells, ["sack burst:5%:2", "sack burst:5%:4", "hack+sack burst:5%:2", "hack+sack burst:5%:4"]);
}

#[test]
fn values_of_axes_may_name_other_axes() {
    let text = SMALL
        .replacen(
            "length = [2, 4]",
            "length = [2]\nburst = [\"burst:5%:{length}\", \"burst-hit:5%:{length}\"]",
            1,
        )
        .replacen("\"burst:5%:{length}\"\n", "\"{burst}\"\n", 1);
    let experiment = parse(&text).expect("an experiment");
    let damage = |cell: usize| experiment.cells[cell].settings["damage"].as_str();
    assert_eq!((damage(0), damage(1)), ("burst:5%:2", "burst-hit:5%:2"));
    let complaint =
        parse(&text.replacen("-hit:5%:{length}", "-hit:5%:{lenght}", 1)).expect_err("no such axis");
    assert!(complaint.contains("{lenght} is no axis"), "{complaint}");
}

#[test]
fn mistakes_name_file_line_and_what_is_allowed() {
    let cases = [
        ("runs = 3", "rums = 3", "small.toml:2: rums: unknown key (did you mean runs?): expected one of"),
        ("runs = 3", "runs = 0", "small.toml:2: runs: expected at least one run"),
        ("runs = 3", "runs = 9000000", "expected at most 20000 cells and 2000000 runs in all"),
        ("length = [2, 4]", "length = []", "small.toml:6: length: the sweep is empty"),
        ("delay = \"20ms\"", "delay = \"20\"", "small.toml:9: delay: \"20\": expected"),
        (
            "delay = \"20ms\"",
            "dealy = \"20ms\"",
            "small.toml:9: dealy: unknown key (did you mean delay?): expected one of clock, profile,",
        ),
        (
            "{length}",
            "{lenght}",
            "small.toml:11: damage: {lenght} is no axis: expected one of variant, length",
        ),
        ("{length}", "{length", "expected a closing brace"),
        ("x = \"length\"", "x = \"loss\"", "small.toml:16: x: \"loss\" is no axis"),
        ("unit = \"KB/s\"", "unit = \"s\"", "small.toml:19: unit: \"s\": expected one of"),
        (
            "order = [\"sack\", \"hack+sack\"]",
            "order = [\"sack\", \"hack\"]",
            "expected a value of the axis variant",
        ),
        ("variant = [\"sack\", \"hack+sack\"]", "sender = [\"sack\"]", "expected a sender"),
        ("runs = 3", "runs = 3\nreadings = [\"loss\"]", "small.toml:3: readings: \"loss\" is no axis"),
        ("kind = \"lines\"", "kind = \"pie\"", "unknown variant `pie`, expected one of"),
        (
            "paper = 1000",
            "paper = 1.1",
            "tolerance: 0.25 is not smaller than the effect: a ratio of 1 would count as 1.1: expected less than 0.0909",
        ),
        (
            "paper = 1000",
            "paper = 1.012\ntolerance = 0.1",
            "tolerance: 0.1 is not smaller than the effect: a ratio of 1 would count as 1.012: expected less than 0.0118",
        ),
        (
            "over = { variant = \"sack\" }\npaper = 1000",
            "paper = 5\ntolerance = 1",
            "tolerance: 1 is not smaller than the effect: 0 would count as 5: expected less than 1",
        ),
        (
            "order = [\"sack\", \"hack+sack\"]",
            "order = [\"sack\", \"hack+sack\"]\nslack = 0.05",
            "slack: 0.05: expected 0 to 0.01",
        ),
        (
            "paper = 1000",
            "paper = 1000\nminus = { variant = \"sack\" }",
            "minus: expected it beside `order` or `change`",
        ),
        ("paper = 1000", "paper = nan", "paper: NaN: expected a finite number"),
        (
            "paper = 1000",
            "paper = 1000\ntolerance = nan",
            "tolerance: NaN: expected a finite number, at least 0",
        ),
        ("paper = 1000", "at-least = 1\nfitted = \"all\"", "fitted: an aim is no reading of a source"),
        (
            "paper = 1000",
            "paper = 1000\nchange = \"increases\"",
            "expected one of `paper` (a number), `order`",
        ),
    ];
    for (from, to, expected) in cases {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, *SMALL, "{from:?} is not in the file");
        let complaint = parse(&text).expect_err(to);
        assert!(complaint.contains(expected), "{to}: {complaint}");
        assert!(!complaint.contains('\n'), "{complaint}");
    }
}

#[test]
fn a_short_file_does_not_become_a_long_text() {
    let naming = |axis: &str| format!("{{{axis}}}").repeat(500);
    // A value that names an axis 500 times, which names another one 500 times.
    let text = SMALL
        .replacen("length = [2, 4]", &format!("length = [2]\na = [\"{}\"]", naming("length")), 1)
        .replacen("burst:5%:{length}", &naming("a"), 1);
    let complaint = parse(&text).expect_err("250 KB");
    assert_eq!(complaint, "small.toml:12: damage: a value that is too long: expected at most 64 KiB");
    // A long value in every cell of a large sweep.
    let values = (0..20_000).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
    let text = SMALL
        .replacen("runs = 3", "runs = 1", 1)
        .replacen(
            "variant = [\"sack\", \"hack+sack\"]",
            &format!("variant = [\"sack\"]\nlong = [\"{}\"]", "x".repeat(5_000)),
            1,
        )
        .replacen("length = [2, 4]", &format!("length = [{values}]"), 1)
        .replacen("burst:5%:{length}", "none", 1);
    let complaint = parse(&text).expect_err("100 MB");
    let expected = "sweep: the values of 20000 cells are too long: expected at most 64 MiB in all";
    assert!(complaint.ends_with(expected), "{complaint}");
}

#[test]
fn complaints_are_of_one_line_whatever_the_names() {
    for (from, to, expected) in [
        ("runs = 3", "runs = 3\n\"a\\nb\" = 1", "a\\nb: unknown key"),
        ("\"burst:5%:{length}\"", "\"trace:a\\nb\"", "a\\nb: cannot be read"),
        ("length = [2, 4]", "length = [2, 4]\n\"a\\nb\" = []", "a\\nb: the sweep is empty"),
    ] {
        let complaint = parse(&SMALL.replacen(from, to, 1)).expect_err(to);
        assert!(complaint.contains(expected) && !complaint.contains('\n'), "{complaint}");
    }
    let settings = vec!["delay=x\nms".to_owned()];
    let complaint = with(&SMALL, &Overrides { settings, ..Overrides::default() }).expect_err("no delay");
    assert!(complaint.starts_with("--set delay=x\\nms: ") && !complaint.contains('\n'), "{complaint}");
}

#[test]
fn few_of_many_unknown_keys_are_named() {
    let keys: String = (0..1000).map(|number| format!("unknown{number} = 1\n")).collect();
    let complaint = parse(&SMALL.replacen("runs = 3\n", &format!("runs = 3\n{keys}"), 1)).expect_err("keys");
    assert!(complaint.contains("unknown4: unknown key") && !complaint.contains("unknown5"), "{complaint}");
    assert!(complaint.ends_with("; and 995 more unknown keys"), "{complaint}");
}

#[test]
fn the_fuzz_corpus_is_read() {
    corpus::replay("experiment_files", fuzzed::check_experiment);
}

#[test]
fn a_sweep_needs_no_figure() {
    let head = "title = 'Plain'\nruns = 1\n[scenario]\nsize = '1KB'\n";
    let figure = |axes: &str, more: &str| {
        let text = head.replace("[scenario]\n", &format!("{axes}[scenario]\n{more}"));
        let figure = parse(&text).expect("an experiment").figure;
        assert_eq!((figure.kind, figure.measure.name()), (FigureKind::Table, "goodput"));
        [figure.x, figure.series, figure.panels].map(Option::unwrap_or_default)
    };
    assert_eq!(figure("", "variant = 'sack'\n"), ["", "", ""]);
    assert_eq!(figure("[sweep]\nvariant = ['sack', 'hack']\n", ""), ["variant", "", ""]);
    let delay = "[sweep]\nvariant = ['sack']\ndelay = ['1ms', '2ms']\n";
    assert_eq!(figure(delay, ""), ["delay", "variant", ""]);
    assert_eq!(figure(&format!("{delay}loss = ['1%']\n"), ""), ["delay", "variant", "loss"]);
    let senders = "variant = 'sack'\n";
    assert_eq!(figure("[sweep]\ndelay = ['1ms']\nloss = ['1%']\n", senders), ["delay", "loss", ""]);
}

#[test]
fn overrides_change_keys_and_axes() {
    let set = |settings: &[&str]| Overrides {
        settings: settings.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    let experiment = with(&SMALL, &set(&["link.delay=150ms", "length=1, 3,5"])).expect("an experiment");
    assert_eq!(experiment.cells.len(), 6);
    assert_eq!(experiment.cells[5].scenario.forward.delay.as_millis(), 150);
    for (setting, expected) in [
        (
            "dealy=1ms",
            "\"dealy\" is neither an axis nor a key of [scenario]: unknown key (did you mean delay?): expected one of variant, length, clock,",
        ),
        ("delay", "expected KEY=VALUE"),
        ("delay=fast", "expected"),
    ] {
        let complaint = with(&SMALL, &set(&[setting])).expect_err(setting);
        assert!(complaint.contains(expected), "{complaint}");
    }
}

#[test]
fn senders_face_the_same_fates_and_cells_do_not_depend_on_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = run_in(&parse(&SMALL).expect("an experiment"), &folder.path().join("a"));
    let seeds =
        |results: &Results, cell: usize| results.rows[cell].iter().map(|row| row.seed).collect::<Vec<_>>();
    assert_eq!(seeds(&small, 0), seeds(&small, 2), "sack and hack+sack over the same link");
    assert_ne!(seeds(&small, 0), seeds(&small, 1), "another link");
    let more = SMALL.replacen("length = [2, 4]", "length = [3, 2, 4]", 1);
    let more = run_in(&parse(&more).expect("an experiment"), &folder.path().join("b"));
    assert_eq!(small.rows[0], more.rows[1], "a cell more changes no other");
    assert_eq!(small.rows[3], more.rows[5]);
}

#[test]
fn claims_are_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = SMALL.replacen("runs = 3", "runs = 8", 1);
    let results = run_in(&parse(&text).expect("an experiment"), folder.path());
    let judgements = judge(&results);
    let verdicts: Vec<ClaimVerdict> = judgements.iter().map(|judgement| judgement.verdict).collect();
    assert_eq!(
        verdicts,
        [ClaimVerdict::Reproduced, ClaimVerdict::DirectionOnly, ClaimVerdict::NotReproduced]
    );
    assert!(judgements[1].ours.is_some_and(|ratio| ratio > 1.0));
    let empty = Results { rows: vec![Vec::new(); results.rows.len()], ..results };
    assert!(judge(&empty).iter().all(|judgement| judgement.verdict == ClaimVerdict::NoResults));
}

/// The verdicts on claims about an experiment, in their order.
fn verdicts(results: &Results, claims: &[&str]) -> Vec<ClaimVerdict> {
    let text = experiment::SMALL.to_owned() + &claims.join("");
    let experiment = parse(&text).expect("an experiment");
    let mut results = results.clone();
    results.manifest.claims = experiment.claims;
    judge(&results).iter().map(|judgement| judgement.verdict).collect()
}

const FASTER: &str = "[[claim]]\nsays = \"HACK is faster\"\norder = [\"sack\", \"hack+sack\"]\n";
const SLOWER: &str = "[[claim]]\nsays = \"HACK is slower\"\norder = [\"hack+sack\", \"sack\"]\n";

#[test]
fn orders_need_runs_that_decide_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = SMALL.replacen("runs = 3", "runs = 8", 1);
    let mut results = run_in(&parse(&text).expect("an experiment"), folder.path());
    assert_eq!(
        verdicts(&results, &[FASTER, SLOWER]),
        [ClaimVerdict::Reproduced, ClaimVerdict::NotReproduced]
    );

    // The same values with other seeds: what the channel did to both no longer cancels.
    let mut apart = results.clone();
    for row in apart.rows[2..].iter_mut().flatten() {
        row.seed += 1;
        row.metrics.goodput_bps = 0.0;
    }
    for (at, row) in apart.rows.iter_mut().flat_map(|rows| rows.iter_mut().enumerate()) {
        row.metrics.goodput_bps += 1e6 * at as f64;
    }
    let mut together = apart.clone();
    for row in together.rows[2..].iter_mut().flatten() {
        row.seed -= 1;
    }
    for (results, expected) in [(apart, ClaimVerdict::Undecided), (together, ClaimVerdict::NotReproduced)] {
        assert_eq!(verdicts(&results, &[FASTER]), [expected]);
    }

    // Too few runs for an interval; and runs in which nothing is random, where two are enough.
    for rows in &mut results.rows {
        rows.truncate(2);
    }
    assert_eq!(verdicts(&results, &[FASTER]), [ClaimVerdict::Undecided]);
    for rows in &mut results.rows {
        rows[1].metrics = rows[0].metrics.clone();
    }
    assert_ne!(verdicts(&results, &[FASTER]), [ClaimVerdict::Undecided]);
    // Equal is not faster, unless equal values are in order.
    for row in results.rows.iter_mut().flatten() {
        row.metrics.goodput_bps = 1e6;
    }
    let or_equal = format!("{FASTER}slack = 0.001\n");
    assert_eq!(
        verdicts(&results, &[FASTER, &or_equal]),
        [ClaimVerdict::NotReproduced, ClaimVerdict::Reproduced]
    );
}

#[test]
fn a_change_is_judged_by_its_direction() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = SMALL.replacen("runs = 3", "runs = 8", 1);
    let mut results = run_in(&parse(&text).expect("an experiment"), folder.path());
    // Both decrease as bursts become longer; HACK less than SACK, so the difference increases.
    for (rows, goodput) in results.rows.iter_mut().zip([5e6, 1e6, 6e6, 4e6]) {
        for (at, row) in rows.iter_mut().enumerate() {
            row.metrics.goodput_bps = goodput + 1e5 * at as f64;
        }
    }
    let claim = |change: &str, minus: &str| {
        format!(
            "[[claim]]\nsays = \"it {change}\"\nof = {{ variant = \"hack+sack\" }}\nchange = \"{change}\"\n\
             axis = \"length\"\n{minus}"
        )
    };
    let minus = "minus = { variant = \"sack\" }\n";
    let claims = [
        claim("decreases", ""),
        claim("increases", ""),
        claim("decreases", minus),
        claim("increases", minus),
    ];
    let (yes, no) = (ClaimVerdict::Reproduced, ClaimVerdict::NotReproduced);
    assert_eq!(verdicts(&results, &claims.each_ref().map(String::as_str)), [yes, no, no, yes]);
}

#[test]
fn what_rests_on_a_fitted_parameter_is_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = SMALL.replacen("runs = 3", "runs = 8", 1);
    let results = run_in(&parse(&text).expect("an experiment"), folder.path());
    let fitted = |claim: &str| format!("{claim}fitted = \"the damage to the order\"\n");
    let claims = [FASTER.to_owned(), fitted(FASTER), fitted(SLOWER)];
    let expected = [ClaimVerdict::Reproduced, ClaimVerdict::Fitted, ClaimVerdict::NotReproduced];
    assert_eq!(verdicts(&results, &claims.each_ref().map(String::as_str)), expected);
}

#[test]
fn an_interrupted_sweep_goes_on_and_a_finished_one_is_not_run_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let experiment = parse(&SMALL).expect("an experiment");
    let (whole, part) = (folder.path().join("whole"), folder.path().join("part"));
    run_in(&experiment, &whole);
    let journal = fs::read_to_string(whole.join("runs.jsonl")).expect("a journal");
    // The folder as it would be after an interruption in the middle of the sixth line.
    fs::create_dir(&part).expect("a folder");
    let cut = journal.match_indices('\n').nth(5).expect("six lines").0 - 20;
    fs::write(part.join("runs.jsonl"), &journal[..cut]).expect("a journal");
    run_in(&experiment, &part);
    for table in ["runs.csv", "runs.parquet", "experiment.json"] {
        let [a, b] = [&whole, &part].map(|folder| fs::read(folder.join(table)).expect("a table"));
        assert!(a == b, "{table} differs");
    }
    let before = fs::read(part.join("runs.jsonl")).expect("a journal");
    run_in(&experiment, &part);
    assert!(before == fs::read(part.join("runs.jsonl")).expect("a journal"), "runs were made again");
    let loaded = Results::load(&part).expect("results");
    assert_eq!((loaded.missing(), loaded.rows.len()), (0, 4));
}

/// Rows that other code made are made again, and kept only where that is asked for.
#[test]
fn rows_of_other_code_are_known_as_such() {
    struct Notified(AtomicUsize, AtomicUsize);
    impl Progress for Notified {
        fn begin(&self, runs: usize) {
            self.0.store(runs, Ordering::Relaxed);
        }
        fn advance(&self) {}
        fn outdated(&self, runs: usize) {
            self.1.store(runs, Ordering::Relaxed);
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let experiment = parse(&SMALL).expect("an experiment");
    let first = run_in(&experiment, folder);
    assert_eq!(first.outdated, 0);
    // Five of the rows as another version of the program would have made them.
    let journal = fs::read_to_string(folder.join("runs.jsonl")).expect("a journal");
    assert_eq!(journal.matches(&format!("\"code\":\"{CODE}\"")).count(), 12);
    let changed = journal.replacen(CODE, "another", 5).replacen("\"timeouts\":", "\"timeouts\":9", 5);
    fs::write(folder.join("runs.jsonl"), &changed).expect("a journal");
    assert_eq!(Results::load(folder).expect("results").outdated, 5);

    let with = |reuse| {
        let notified = Notified(AtomicUsize::new(99), AtomicUsize::new(0));
        let request = Request { experiment: &experiment, folder, reuse, testbed: None, progress: &notified };
        let results = run(&request).expect("a sweep");
        (results, notified.0.into_inner(), notified.1.into_inner())
    };
    let (kept, made, reported) = with(true);
    assert_eq!((kept.outdated, made, reported), (5, 0, 0));
    assert_ne!(kept.rows, first.rows);
    assert_eq!(fs::read_to_string(folder.join("runs.jsonl")).expect("a journal"), changed);
    let (anew, made, reported) = with(false);
    assert_eq!((anew.outdated, made, reported), (0, 5, 5));
    assert_eq!(anew.rows, first.rows);
    assert_eq!(Results::load(folder).expect("results"), first, "the newest row counts");
}

#[test]
fn both_tables_hold_every_column_of_every_run() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(&parse(&SMALL).expect("an experiment"), folder.path());
    let mut csv = csv::Reader::from_path(folder.path().join("runs.csv")).expect("a table");
    let names: Vec<String> = csv.headers().expect("a header").iter().map(Into::into).collect();
    assert_eq!(names, columns().map(|column| column.name).collect::<Vec<_>>());
    let rows: Vec<csv::StringRecord> = csv.records().collect::<Result<_, _>>().expect("rows");
    assert_eq!(rows.len(), 12);
    let file = fs::File::open(folder.path().join("runs.parquet")).expect("a table");
    let parquet = SerializedFileReader::new(file).expect("a Parquet file");
    let goodput = names.iter().position(|name| name == "goodput_bps").expect("a column");
    for (row, line) in parquet.get_row_iter(None).expect("rows").zip(&rows) {
        let row = row.expect("a row");
        let columns: Vec<String> = row.get_column_iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(columns, names);
        let value = row.get_column_iter().nth(goodput).map(|(_, field)| field.to_string()).expect("a value");
        assert_eq!(value.parse::<f64>().expect("a number"), line[goodput].parse::<f64>().expect("a number"));
    }
}
