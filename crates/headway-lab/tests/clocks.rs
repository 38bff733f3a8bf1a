//! Experiments whose cells run in real time.

use std::sync::atomic::{AtomicUsize, Ordering};

use headway_lab::{Cell, Experiment, LabError, Overrides, Request, Testbed, run};
use headway_scenario::{Clock, Sender};
use headway_sim::race::RunMetrics;

const BOTH: &str = r#"
title = "Both clocks"
runs = 2
skip = [{ variant = ["linux:cubic", "kcptun"], header-hit = "95%" }]

[sweep]
clock = ["virtual", "real"]
variant = ["oracle", "sack", "linux:cubic", "kcptun"]
header-hit = ["40%", "95%"]

[scenario]
delay = "20ms"
size = "64KB"
damage = "burst:5%:2"

[figure]
kind = "table"
measure = "time"
"#;

fn parse(text: &str, real: bool) -> Result<Experiment, String> {
    let overrides = Overrides { real, ..Overrides::default() };
    Experiment::parse("both", "both.toml", text, &overrides).map_err(|error| error.to_string())
}

/// Counts its runs, and takes a second for each run.
#[derive(Default)]
struct Recorded(AtomicUsize);

impl Testbed for Recorded {
    fn prepare(&self, cells: &[&Cell]) -> Result<(), LabError> {
        assert!(cells.iter().all(|cell| cell.clock == Clock::Real));
        Ok(())
    }

    fn run(&self, cell: &Cell, _seed: u64) -> Result<RunMetrics, LabError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let delivered_bytes = cell.size.expect("a size").bytes();
        Ok(RunMetrics { finished: true, seconds: 1.0, delivered_bytes, ..RunMetrics::default() })
    }

    fn jobs(&self) -> usize {
        3
    }
}

#[test]
fn senders_that_a_clock_does_not_have_and_cells_to_skip_are_left_out() {
    let experiment = parse(BOTH, false).expect("an experiment");
    let cells: Vec<String> = experiment
        .cells
        .iter()
        .map(|cell| format!("{} {} {}", cell.clock.name(), cell.sender, cell.values["header-hit"]))
        .collect();
    let expected = [
        "virtual oracle 40%",
        "virtual oracle 95%",
        "virtual sack 40%",
        "virtual sack 95%",
        "real sack 40%",
        "real sack 95%",
        "real linux:cubic 40%",
        "real kcptun 40%",
    ];
    assert_eq!(cells, expected);
    let of = |clock| experiment.cells.iter().find(|cell| cell.clock == clock && is_sack(cell)).expect("sack");
    assert_eq!(of(Clock::Virtual).channel_key, of(Clock::Real).channel_key, "they meet the same damage");
    assert_ne!(of(Clock::Virtual).identity, of(Clock::Real).identity);
}

fn is_sack(cell: &Cell) -> bool {
    cell.sender.to_string() == "sack"
}

#[test]
fn real_runs_stand_beside_virtual_ones_and_are_made_once() {
    let experiment = parse(BOTH, false).expect("an experiment");
    let folder = tempfile::tempdir().expect("a folder");
    let testbed = Recorded::default();
    let request = Request {
        experiment: &experiment,
        folder: folder.path(),
        reuse: false,
        testbed: Some(&testbed),
        progress: &(),
    };
    for _ in 0..2 {
        let results = run(&request).expect("a sweep");
        assert_eq!((results.missing(), results.outdated), (0, 0));
        for (cell, rows) in experiment.cells.iter().zip(&results.rows) {
            let real = cell.clock == Clock::Real;
            assert!(rows.iter().all(|row| (row.metrics.seconds == 1.0) == real), "{}", cell.identity);
            assert!(rows.iter().all(|row| row.metrics.retransmissions.is_none() == real));
            let tcp = matches!(&cell.sender, Sender::Ours(entrant) if entrant.tcp().is_some());
            assert!(
                rows.iter().all(|row| row.metrics.oracle_bps.is_some() || !tcp),
                "the oracle's fates are known"
            );
        }
        assert_eq!(testbed.0.load(Ordering::Relaxed), 8, "runs of the second time are the first's");
    }
    let table = std::fs::read_to_string(folder.path().join("runs.csv")).expect("a table");
    assert!(table.starts_with("clock,"), "{table}");
    assert!(table.contains("real,,default,linux,cubic,"), "{table}");
    let error = run(&Request { testbed: None, ..request }).map(|_| ()).expect_err("no testbed");
    assert!(error.to_string().contains("headway lab live"), "{error}");
}

#[test]
fn a_file_without_a_clock_runs_on_either() {
    let text = BOTH.replace("clock = [\"virtual\", \"real\"]\n", "").replace("\"oracle\", ", "");
    let complaint = parse(&text, false).expect_err("linux:cubic is no sender of the simulator");
    assert!(complaint.contains("both.toml:7: variant: linux:cubic runs in real time only"), "{complaint}");
    let experiment = parse(&text, true).expect("an experiment");
    assert_eq!(experiment.name, "both-live");
    assert!(experiment.cells.iter().all(|cell| cell.clock == Clock::Real));
    let complaint = parse(&BOTH.replace("clock = [\"virtual\", \"real\"]\n", ""), true)
        .expect_err("the oracle is no sender of packets");
    assert!(complaint.contains("oracle is no sender of packets"), "{complaint}");
}

#[test]
fn what_real_time_has_not_is_named() {
    for (key, expected) in [
        ("warm = \"on\"", "warm: in real time every run has new hosts"),
        ("frames = \"count\"", "frames: linux:cubic has no such count: expected drop"),
        ("companions = \"sack\"", "companions: one transfer at a time"),
        ("rivals = \"sack\"", "rivals: one transfer at a time"),
        ("cross = \"1mbit\"", "cross: one transfer at a time"),
    ] {
        let text = BOTH
            .replace("delay =", &format!("{key}\ndelay ="))
            .replace("clock = [\"virtual\", \"real\"]", "clock = [\"real\"]");
        let complaint = parse(&text, false).expect_err(key);
        assert!(complaint.contains(expected), "{key}: {complaint}");
    }
    for (from, to, expected) in [
        ("header-hit = \"95%\" }", "header-hit = \"50%\" }", "skip: header-hit = \"50%\": expected a value"),
        ("header-hit = \"95%\" }", "hit = \"50%\" }", "skip: \"hit\" is no axis"),
        ("[\"virtual\", \"real\"]", "[\"tomorrow\"]", "\"tomorrow\": expected virtual or real"),
        ("{ variant = [\"linux:cubic\", \"kcptun\"], header-hit = \"95%\" }", "{}", "no cell is left"),
    ] {
        let complaint = parse(&BOTH.replace(from, to), false).expect_err(to);
        assert!(complaint.contains(expected), "{to}: {complaint}");
    }
}
