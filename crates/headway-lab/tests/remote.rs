//! Runs that other machines make: the rows are those of this machine, and what is wrong with an answer is found.

use crate::common;

use std::fs;
use std::path::Path;

use common::{parse, run_in};
use headway_lab::{Experiment, LabError, Overrides, PlaceInSweep, RemoteMaker, Sweep, describe};
use headway_test_fixture::experiment::{SMALL, with};

const FILES: [&str; 3] = ["runs.csv", "runs.parquet", "experiment.json"];

fn small() -> Experiment {
    parse("small", SMALL, &Overrides::default()).expect("an experiment")
}

fn maker(experiment: &Experiment) -> RemoteMaker {
    RemoteMaker::read(&describe(experiment).expect("a description")).expect("read")
}

fn lines(maker: &RemoteMaker, places: &[PlaceInSweep]) -> Vec<u8> {
    places.iter().flat_map(|&place| maker.make(place).expect("a run").into_bytes()).collect()
}

/// The lines of a journal in an order that does not depend on that of the runs.
fn journal(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("runs.jsonl")).expect("a journal");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[track_caller]
fn is_same(ours: &Path, theirs: &Path) {
    for file in FILES {
        assert!(fs::read(ours.join(file)).expect(file) == fs::read(theirs.join(file)).expect(file), "{file}");
    }
    assert_eq!(journal(ours), journal(theirs));
}

#[test]
fn files_are_those_of_one_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let experiment = small();
    run_in(&experiment, &here);
    let mut sweep = Sweep::begin(&experiment, &there, false).expect("a sweep");
    let places = sweep.missing_by_seed();
    assert_eq!(places.len(), 12);
    let of_seed: Vec<(usize, u32)> = places.iter().map(|place| (place.cell, place.run)).collect();
    // Cells 0 and 2 differ in the sender only, and so do 1 and 3.
    assert_eq!(of_seed[..8], [(0, 0), (2, 0), (0, 1), (2, 1), (0, 2), (2, 2), (1, 0), (3, 0)]);
    let maker = maker(&experiment);
    // In any order, and in pieces.
    for batch in places.chunks(5).rev() {
        assert_eq!(sweep.accept(batch, &lines(&maker, batch)).expect("rows"), batch.len());
    }
    assert!(sweep.missing().is_empty());
    sweep.finish().expect("tables");
    is_same(&here, &there);
}

#[test]
fn recorded_links_need_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = with(SMALL, "burst:5%:{length}", "trace:{length}.fates");
    fs::write(folder.path().join("recorded.toml"), text).expect("written");
    fs::write(folder.path().join("2.fates"), "ok 5\nhit payload 1").expect("written");
    fs::write(folder.path().join("4.fates"), "ok 3\nhit 1\nlost 1").expect("written");
    let experiment = Experiment::load(&folder.path().join("recorded.toml"), &Overrides::default());
    let experiment = experiment.expect("an experiment");
    run_in(&experiment, &folder.path().join("here"));
    for file in ["2.fates", "4.fates"] {
        fs::remove_file(folder.path().join(file)).expect("removed");
    }
    let there = folder.path().join("there");
    let mut sweep = Sweep::begin(&experiment, &there, false).expect("a sweep");
    let places = sweep.missing_by_seed();
    sweep.accept(&places, &lines(&maker(&experiment), &places)).expect("rows");
    sweep.finish().expect("tables");
    is_same(&folder.path().join("here"), &there);
}

#[test]
fn fewer_rows_than_runs_leave_the_others_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let experiment = small();
    let mut sweep = Sweep::begin(&experiment, folder.path(), false).expect("a sweep");
    let places = sweep.missing_by_seed();
    assert_eq!(sweep.accept(&places, &lines(&maker(&experiment), &places[..3])).expect("rows"), 3);
    assert_eq!(sweep.missing_by_seed(), places[3..]);
    drop(sweep);
    let again = Sweep::begin(&experiment, folder.path(), false).expect("a sweep");
    assert_eq!(again.missing_by_seed(), places[3..], "they are stored");
}

#[test]
fn a_folder_has_one_sweep_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let experiment = small();
    let sweep = Sweep::begin(&experiment, folder.path(), false).expect("a sweep");
    let Err(error) = Sweep::begin(&experiment, folder.path(), false) else { panic!("two sweeps") };
    assert!(matches!(error, LabError::InUse { .. }), "{error:?}");
    drop(sweep);
    Sweep::begin(&experiment, folder.path(), false).expect("a sweep after the other");
}

#[track_caller]
fn refused(answer: &[u8], parts: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sweep = Sweep::begin(&small(), folder.path(), false).expect("a sweep");
    let places = sweep.missing_by_seed();
    let error = sweep.accept(&places[..2], answer).expect_err("refused");
    assert!(matches!(error, LabError::BadLine { .. }), "{error:?}");
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{text:?} has {part:?}");
    }
}

#[test]
fn answers_that_are_not_of_these_runs_are_refused() {
    let experiment = small();
    let places = [(0, 0), (2, 0), (0, 1)].map(|(cell, run)| PlaceInSweep { cell, run });
    let good = lines(&maker(&experiment), &places);
    refused(&good, &["row 3 of an answer: expected no more rows than runs"]);
    refused(&good[..good.len() / 2], &["row 2 of an answer: expected a row of results"]);
    refused(b"{}\n", &["row 1 of an answer: expected a row of results: missing field"]);
    let swapped = lines(&maker(&experiment), &[places[1], places[0]]);
    refused(&swapped, &["row 1 of an answer: expected run 0 with key ", "; found run 0 with key "]);
    let text = String::from_utf8(good).expect("text");
    let other = text.replacen(headway_lab::CODE, "0123456789ab", 1);
    refused(other.as_bytes(), &["row 1", headway_lab::CODE, "code 0123456789ab"]);
    // Another seed, and so another key.
    let overrides = Overrides { seed: Some(99), ..Overrides::default() };
    let of_other_seed = parse("small", SMALL, &overrides).expect("an experiment");
    refused(&lines(&maker(&of_other_seed), &places[..1]), &["row 1 of an answer: expected run 0 with key"]);
}

#[test]
fn descriptions_that_make_no_sense_are_refused() {
    let text = describe(&small()).expect("a description");
    let text = String::from_utf8(text).expect("text");
    for (description, part) in [
        (text[..text.len() / 2].to_owned(), "the description of the sweep: EOF"),
        (text.replace("\"delay\"", "\"dealy\""), "small: settings: dealy: unknown key"),
        (text.replace("\"20ms\"", "\"soon\""), "small: delay: "),
        (text.replace("\"sack\"", "\"linux:cubic\""), "linux:cubic"),
    ] {
        let Err(error) = RemoteMaker::read(description.as_bytes()) else { panic!("{part:?} expected") };
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = maker(&small()).make(PlaceInSweep { cell: 4, run: 0 }).expect_err("there is no such cell");
    assert!(error.to_string().contains("cell 4: expected one of 4"), "{error}");
    let real = with(SMALL, "delay = \"20ms\"", "delay = \"20ms\"\nclock = \"real\"");
    let real = parse("small", &real, &Overrides::default()).expect("an experiment");
    assert!(matches!(describe(&real), Err(LabError::NoRealTime { .. })));
}
