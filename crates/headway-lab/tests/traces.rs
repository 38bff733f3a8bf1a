//! Experiments over links that were recorded.

use crate::common;

use std::fs;
use std::path::Path;

use common::{parse, run_in};
use headway_lab::{Experiment, Overrides, Results, replay};
use headway_link::Damage;
use headway_scenario::Traces;
use headway_trace::{Capture, Direction};
use headway_units::Instant;

const OVER_TRACES: &str = r#"
title = "Recorded links"
runs = 1

[sweep]
variant = ["sack", "hack"]
link = ["good", "bad"]

[scenario]
size = "20KB"
damage = "trace:links/{link}.fates"

[figure]
kind = "bars"
x = "link"
series = "variant"
measure = "time"
"#;

fn write(folder: &Path, bad: &str) {
    fs::create_dir_all(folder.join("links")).expect("a folder");
    fs::write(folder.join("links/good.fates"), "ok 100").expect("written");
    fs::write(folder.join("links/bad.fates"), bad).expect("written");
    fs::write(folder.join("recorded.toml"), OVER_TRACES).expect("written");
}

fn load(folder: &Path) -> Experiment {
    Experiment::load(&folder.join("recorded.toml"), &Overrides::default()).expect("an experiment")
}

/// Files are looked for beside the experiment, wherever the program was started.
#[test]
fn traces_lie_beside_their_experiment() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "ok 5\nhit payload 1");
    let experiment = load(folder.path());
    let shares: Vec<f64> = experiment.cells.iter().map(|cell| cell.scenario.share_hit()).collect();
    assert_eq!(shares, [0.0, 1.0 / 6.0, 0.0, 1.0 / 6.0]);
    assert_eq!(experiment.cells[1].scenario.forward.damage.to_string(), "trace:links/bad.fates");
    let results = folder.path().join("results");
    let results = run_in(&experiment, &results);
    assert!(results.rows.iter().flatten().all(|row| row.metrics.finished));
}

/// A folder of results can be moved, and outlives the files of its recorded links.
#[test]
fn results_hold_their_recordings() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "ok 5\nhit payload 1\nlost\nhit header 2");
    run_in(&load(folder.path()), &folder.path().join("results"));
    fs::remove_dir_all(folder.path().join("links")).expect("removed");
    fs::rename(folder.path().join("results"), folder.path().join("elsewhere")).expect("moved");
    let results = Results::load(&folder.path().join("elsewhere")).expect("results");
    let manifest = &results.manifest;
    assert_eq!(manifest.recordings.len(), 2);
    for (cell, rows) in manifest.cells.iter().zip(&results.rows) {
        let again = replay(manifest, cell, rows[0].seed, ()).expect("a run").outcome;
        assert_eq!(again.metrics.seconds, rows[0].metrics.seconds, "{:?}", cell.values);
        assert_eq!(again.metrics.bytes_sent, rows[0].metrics.bytes_sent, "{:?}", cell.values);
    }
    let seconds = |cell: usize| results.rows[cell][0].metrics.seconds;
    assert!(seconds(1) > seconds(0), "the bad link is slower: its fates came back");
    let mut without = manifest.clone();
    without.recordings.clear();
    let error = replay(&without, &manifest.cells[0], 1, ()).map(drop).expect_err("no recording");
    assert!(error.to_string().contains("do not hold this recording"), "{error}");
}

/// Another recording under the same name is another cell: its results are not taken for the old ones.
#[test]
fn the_fates_count_not_the_name_of_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "ok 5\nhit payload 1");
    let before = load(folder.path());
    write(folder.path(), "ok 5  # the same\n\nhit payload 1\n");
    let same = load(folder.path());
    write(folder.path(), "ok 4\nhit payload 1");
    let after = load(folder.path());
    for (cell, is_changed) in [(0, false), (1, true), (2, false), (3, true)] {
        let identity = |experiment: &Experiment| experiment.cells[cell].identity.clone();
        let fate = |experiment: &Experiment| experiment.cells[cell].channel_key.clone();
        assert_eq!((identity(&before), fate(&before)), (identity(&same), fate(&same)));
        assert_eq!(identity(&before) != identity(&after), is_changed);
        assert_eq!(fate(&before) != fate(&after), is_changed);
    }
    // All senders of a combination meet the same link.
    assert_eq!(before.cells[1].channel_key, before.cells[3].channel_key);
}

#[test]
fn traces_may_come_from_anywhere_or_nowhere() {
    let overrides = Overrides::default();
    let traces = Traces::new(|path| {
        assert!(path.starts_with("links"));
        Ok(Box::new(&b"hit 1\nok"[..]))
    });
    let experiment =
        Experiment::parse_with("x", "x.toml", OVER_TRACES, &overrides, &traces).expect("an experiment");
    let Damage::Trace(trace) = &experiment.cells[0].scenario.forward.damage else { panic!("no trace") };
    assert_eq!((trace.packets(), trace.name()), (2, "links/good.fates"));
    let error = parse("x", OVER_TRACES, &overrides).expect_err("no folder");
    assert!(error.contains("links/good.fates: cannot be read: there is no folder"), "{error}");
}

/// As fates: the opportunities count and not the file's name, and the results hold them.
#[test]
fn delivery_traces_are_part_of_a_cell_and_of_its_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let toml = OVER_TRACES.replace("damage = \"trace:links/{link}.fates\"", "rate-trace = \"{link}.up\"");
    fs::write(folder.path().join("recorded.toml"), toml).expect("written");
    fs::write(folder.path().join("good.up"), "1\n").expect("written");
    fs::write(folder.path().join("bad.up"), "7\n9\n").expect("written");
    let experiment = load(folder.path());
    let results = run_in(&experiment, &folder.path().join("results"));
    let seconds = |cell: usize| results.rows[cell][0].metrics.seconds;
    assert!(seconds(1) > seconds(0), "{} and {}", seconds(1), seconds(0));

    fs::write(folder.path().join("bad.up"), "# another\n8\n9\n").expect("written");
    let changed = load(folder.path());
    let same = |cell: usize| experiment.cells[cell].identity == changed.cells[cell].identity;
    assert_eq!([same(0), same(1)], [true, false]);

    fs::remove_file(folder.path().join("bad.up")).expect("removed");
    let row = &results.rows[1][0];
    let again = replay(&results.manifest, &results.manifest.cells[1], row.seed, ()).expect("a run").outcome;
    assert_eq!(again.metrics.seconds, row.metrics.seconds);
}

/// A capture of packets of this length, one a millisecond, and as many in the other direction.
fn capture(len: usize) -> Vec<u8> {
    let mut capture = Capture::new(Vec::new(), &["here"]).expect("a capture");
    let mut packet = vec![0; len];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    for time in 0..20 {
        for way in [1, 2] {
            packet[12..20].copy_from_slice(&[192, 0, 2, way, 192, 0, 2, 3 - way]);
            let at = Instant::from_nanos(1_700_000_000_000_000_000 + time * 1_000_000);
            capture.packet(0, at, &packet, Direction::Inbound, None).expect("written");
        }
    }
    capture.finish().expect("written")
}

/// And recorded traffic: the lengths and times of the packets that were chosen.
#[test]
fn replayed_captures_are_part_of_a_cell_and_of_its_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let cross = "cross = \"pcap:links/{link}.pcapng:to=192.0.2.1\"";
    let toml = OVER_TRACES.replace("damage = \"trace:links/{link}.fates\"", cross);
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("written");
    fs::create_dir(folder.path().join("links")).expect("a folder");
    write("recorded.toml", toml.as_bytes());
    write("links/good.pcapng", &capture(40));
    write("links/bad.pcapng", &capture(1400));
    let experiment = load(folder.path());
    let results = run_in(&experiment, &folder.path().join("results"));
    let seconds = |cell: usize| results.rows[cell][0].metrics.seconds;
    assert!(seconds(1) > seconds(0), "{} and {}", seconds(1), seconds(0));
    let stored = &results.manifest.recordings;
    assert_eq!(stored.len(), 2);
    let text = &stored["cross=pcap:links/bad.pcapng:to=192.0.2.1"];
    assert_eq!(*text, format!("0 1400\n{}", "1000000 1400\n".repeat(19)));
    // The mean rate is in the tables: 20 packets in 20 ms.
    let bps = headway_scenario::parameters().iter().position(|column| column.name == "cross_bps");
    let value = &experiment.cells[1].parameters[bps.expect("a column")];
    assert_eq!(*value, headway_sim::Value::Integer(1400 * 8 * 1000));

    write("links/good.pcapng", &capture(41));
    let changed = load(folder.path());
    for (cell, is_same) in [(0, false), (1, true), (2, false), (3, true)] {
        let [old, new] = [&experiment, &changed].map(|experiment| &experiment.cells[cell]);
        assert_eq!(old.identity == new.identity, is_same);
        assert_eq!(old.channel_key == new.channel_key, is_same);
    }

    fs::remove_dir_all(folder.path().join("links")).expect("removed");
    for (cell, rows) in results.manifest.cells.iter().zip(&results.rows) {
        let again = replay(&results.manifest, cell, rows[0].seed, ()).expect("a run").outcome;
        assert_eq!(again.metrics.seconds, rows[0].metrics.seconds, "{:?}", cell.values);
        assert_eq!(again.metrics.bytes_sent, rows[0].metrics.bytes_sent, "{:?}", cell.values);
    }
    let mut without = results.manifest.clone();
    without.recordings.clear();
    let error = replay(&without, &results.manifest.cells[0], 1, ()).map(drop).expect_err("no recording");
    assert!(error.to_string().contains("do not hold this recording"), "{error}");
}

/// Tables of delays too, whatever else is said of the jitter.
#[test]
fn tables_of_delays_are_part_of_a_cell_and_of_its_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let jitter = "jitter = \"5ms\"\njitter-distribution = \"{link}.dist:10%:ordered\"";
    let toml = OVER_TRACES.replace("damage = \"trace:links/{link}.fates\"", jitter);
    fs::write(folder.path().join("recorded.toml"), toml).expect("written");
    fs::write(folder.path().join("good.dist"), "0 0\n").expect("written");
    fs::write(folder.path().join("bad.dist"), "8192 32767\n").expect("written");
    let experiment = load(folder.path());
    let results = run_in(&experiment, &folder.path().join("results"));
    let seconds = |cell: usize| results.rows[cell][0].metrics.seconds;
    assert!(seconds(1) > seconds(0), "{} and {}", seconds(1), seconds(0));

    fs::write(folder.path().join("bad.dist"), "# another\n8192\n32766\n").expect("written");
    let changed = load(folder.path());
    let same = |cell: usize| experiment.cells[cell].identity == changed.cells[cell].identity;
    assert_eq!([same(0), same(1)], [true, false]);

    fs::remove_file(folder.path().join("bad.dist")).expect("removed");
    let row = &results.rows[1][0];
    let again = replay(&results.manifest, &results.manifest.cells[1], row.seed, ()).expect("a run").outcome;
    assert_eq!(again.metrics.seconds, row.metrics.seconds);
}
