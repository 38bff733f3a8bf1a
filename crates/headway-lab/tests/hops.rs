//! Experiments over several links in a row: how files describe them, what results say, and what is refused.

use crate::common;

use std::fs;

use common::{parse, run_in};
use headway_lab::{Experiment, Overrides, RemoteMaker, describe, replay};
use headway_link::QueueLimit;
use headway_units::Rate;

const FILE: &str = r#"
title = "Several links"
runs = 1

[sweep]
variant = ["sack", "headway"]
tight = ["4mbit", "6mbit"]

[scenario]
duration = "3s"
rate = "10mbit"
delay = "5ms"
queue = "1bdp"
damage = "random:2%"
rivals = "modern:cubic undamaged hops 2"

[[scenario.hop]]

[[scenario.hop]]
rate = "{tight}"
delay = "20ms"
damage = "none"
"#;

fn read(text: &str) -> Result<Experiment, String> {
    parse("hops", text, &Overrides::default())
}

#[test]
fn tables_and_the_key_describe_the_same() {
    let tables = read(FILE).expect("an experiment");
    let (keys, _) = FILE.split_once("[[").expect("tables");
    let key = format!("{keys}hops = \"1; rate {{tight}} delay 20ms damage none\"\n");
    let key = read(&key).expect("an experiment");
    for (one, other) in tables.cells.iter().zip(&key.cells) {
        assert_eq!(one.identity, other.identity);
        assert_eq!(one.scenario, other.scenario);
    }
    let [first, second] = &tables.cells[3].scenario.hops[..] else {
        panic!("{:?}", tables.cells[3].scenario)
    };
    assert_eq!(first.forward.rate.map(Rate::bits_per_second), Some(10_000_000));
    assert_eq!(second.reverse.rate.map(Rate::bits_per_second), Some(6_000_000));
    assert_eq!(
        (first.forward.damage.to_string(), second.forward.damage.to_string()),
        ("random:2%".into(), "none".into())
    );
    // 50 ms, the round trip of all hops: 10 Mbit/s are 41.7 packets, and 6 Mbit/s 25.
    assert_eq!(first.forward.queue, QueueLimit::Packets(42));
    assert_eq!(second.forward.queue, QueueLimit::Packets(25));
    assert_eq!(tables.cells[3].settings["hops"], "1; rate 6mbit delay 20ms damage none");
}

#[test]
fn hops_may_be_swept_and_set() {
    let swept = FILE.replace("tight = [\"4mbit\", \"6mbit\"]", "hops = [\"2\", \"3 delay 2ms\"]");
    let (swept, _) = swept.split_once("[[").expect("tables");
    let experiment = read(swept).expect("an experiment");
    let counts: Vec<usize> = experiment.cells.iter().map(|cell| cell.scenario.hops.len()).collect();
    assert_eq!(counts, [2, 3, 2, 3]);
    let set = Overrides { settings: vec!["hops=4".into(), "flow-hops=1-2".into()], ..Overrides::default() };
    let experiment = parse("hops", FILE, &set).expect("an experiment");
    assert_eq!(experiment.cells[0].scenario.hops.len(), 4);
}

#[test]
fn results_say_what_each_hop_did_and_are_made_again_anywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let experiment = read(FILE).expect("an experiment");
    let results = run_in(&experiment, folder.path());
    let table = fs::read_to_string(folder.path().join("runs.csv")).expect("a table");
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().expect("names").split(',').collect();
    let place = |name: &str| names.iter().position(|known| *known == name).expect(name);
    for line in lines {
        let values: Vec<&str> = line.split(',').collect();
        assert!(values[place("hops")].starts_with("1; rate "), "{line}");
        let damaged: Vec<u64> =
            values[place("hop_damaged")].split(' ').map(|count| count.parse().expect("a count")).collect();
        assert!(damaged[0] > 0 && damaged[1] == 0 && damaged.len() == 2, "{line}");
        assert_eq!(values[place("hop_queue_drops")].split(' ').count(), 2, "{line}");
    }
    let there = RemoteMaker::read(&describe(&experiment).expect("a description")).expect("a maker");
    let place = headway_lab::PlaceInSweep { cell: 2, run: 0 };
    let line = there.make(place).expect("a run");
    let goodput = results.rows[2][0].metrics.goodput_bps;
    assert!(line.contains(&format!("\"goodput_bps\":{goodput}")), "{goodput}: {line}");
    let again =
        replay(&results.manifest, &results.manifest.cells[2], results.rows[2][0].seed, ()).expect("a run");
    assert_eq!(again.outcome.metrics.goodput_bps, goodput);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    let recorded = "[[scenario.hop]]\ndamage = \"trace:a.fates\"\n";
    for (change, parts) in [
        (
            ("rate = \"{tight}\"", "rate = \"{tight}s\""),
            &["hops.toml:17: hops: hop 2: rate: \"4mbits\": expected"][..],
        ),
        (
            ("rate = \"{tight}\"", "rte = \"{tight}\""),
            &["hops.toml:20: rte: unknown key (did you mean rate?): expected one of rate,"],
        ),
        (("rate = \"{tight}\"", "window = \"{tight}\""), &["window: unknown key: expected one of rate,"]),
        (
            ("rate = \"{tight}\"", "rate = \"4 mbit\""),
            &["hop 2: rate: \"4 mbit\": expected a value without spaces"],
        ),
        (("rate = \"{tight}\"", "rate = true"), &["expected a number, or a text in quotes"]),
        (("hops 2\"", "hops 3\""), &["rivals: ", "hops 3: there are 2 hops: expected some of them"]),
        (
            ("hops 2\"", "hops 0\""),
            &["rivals: ", "\"0\": expected hops, counted from 1, such as 2, 1-3 or all"],
        ),
        (
            ("hops 2\"", "hops 2\"\nhops = \"3\""),
            &["hops: are there as a key and as tables [[scenario.hop]]: expected one of them"],
        ),
        (
            ("rate = \"10mbit\"", "rate = \"10mbit\"\nrate-steps = \"1mbit@0s\""),
            &["hop 2: rate: rate-steps replaces it: expected rate-steps none beside it"],
        ),
        (
            ("[[scenario.hop]]\n\n", recorded),
            &["hop 1: damage: a.fates: cannot be read: a hop has no file of its own"],
        ),
        (
            ("rivals = \"modern:cubic undamaged hops 2\"", "trunk = \"sack\""),
            &["trunk: ", "expected one hop"],
        ),
        (
            ("rivals = \"modern:cubic undamaged hops 2\"", "clock = \"real\""),
            &["hops: in real time there is one link: expected none"],
        ),
        (
            ("rivals = \"modern:cubic undamaged hops 2\"", "frames = \"count\""),
            &["frames: ", "expected one hop"],
        ),
        (("\"headway\"", "\"oracle\""), &["oracle: expected one hop"]),
        (
            ("rivals =", "flow-hops = \"4\"\nrivals ="),
            &["hops.toml:15: flow-hops: ", "hops 4: there are 2 hops"],
        ),
    ] {
        let text = FILE.replacen(change.0, change.1, 1);
        assert_ne!(text, FILE, "{change:?}");
        let error = read(&text).expect_err(change.1);
        assert!(parts.iter().all(|part| error.contains(part)), "{change:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let (keys, _) = FILE.split_once("[[").expect("tables");
    for (hops, part) in [
        ("", "expected hops with ; between them"),
        ("2;", "expected hops with ; between them"),
        ("0", "0: expected 1 to 64 hops"),
        ("65", "65: expected 1 to 64 hops"),
        ("40; 40", "80 hops: expected at most 64"),
        ("rate", "expected a value after \"rate\""),
        ("rate 1mbit rate 2mbit", "rate is there twice: expected it once"),
        ("variant sack", "variant: is not about the link: expected one of rate,"),
        ("rte 1mbit", "rte: unknown key (did you mean rate?)"),
        ("1; delay soon", "hop 2: delay: \"soon\": expected"),
    ] {
        let error = read(&format!("{keys}hops = \"{hops}\"\n")).expect_err(hops);
        assert!(error.contains("hops: ") && error.contains(part), "{hops}: {error}");
    }
    let scalar = read(&format!("{keys}hop = 3\n")).expect_err("a number");
    assert!(scalar.contains("hop: expected tables, each with [[scenario.hop]] above it"), "{scalar}");
}
