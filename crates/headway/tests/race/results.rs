//! The table and the JSON of a race.

use headway_test_fixture::live_page::LivePage;
use headway_test_fixture::process::wait_until;
use serde_json::Value;
use tempfile::tempdir;

use super::VARIANTS;
use super::watch::STAYS;
use crate::HEADWAY;

/// A race that is over soon, with damage in both directions.
const SHORT: [&str; 9] =
    ["race", "--size", "100KB", "--runs", "3", "--delay", "20ms", "--reverse-damage", "random:3%"];

fn json(words: &[&str]) -> Value {
    let directory = tempdir().expect("a directory");
    let text = HEADWAY.succeed(directory.path(), &[words, &["--json"]].concat());
    serde_json::from_str(&text).expect("one JSON object")
}

fn list<'a>(document: &'a Value, name: &str) -> &'a Vec<Value> {
    document[name].as_array().unwrap_or_else(|| panic!("{name} is a list"))
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let directory = tempdir().expect("a directory");
    let words = [&SHORT[..], &["--json", "--seed", "7"]].concat();
    let first = HEADWAY.succeed(directory.path(), &words);
    assert_eq!(first, HEADWAY.succeed(directory.path(), &words));
    // Neither does it matter how many runs go on at the same time.
    let alone = HEADWAY
        .command(directory.path(), &words)
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .expect("the program starts");
    assert_eq!(first.as_bytes(), alone.stdout);
    let other = HEADWAY.succeed(directory.path(), &[&SHORT[..], &["--json", "--seed", "70"]].concat());
    assert_ne!(first, other);
}

/// More than the program's own file has, in every profile of the build.
#[test]
fn any_size_is_sent_without_a_file() {
    let words = ["race", "--size", "80MB", "--runs", "1", "--variant", "sack", "--damage", "none"];
    let document = json(&[&words[..], &["--rate", "10gbit", "--delay", "1ms", "--window", "16MiB"]].concat());
    let run = &list(&document, "runs")[0];
    assert_eq!((&run["finished"], &run["delivered_bytes"]), (&true.into(), &80_000_000.into()), "{run}");
}

#[test]
fn the_heading_names_delays_that_change() {
    let directory = tempdir().expect("a directory");
    let words =
        ["race", "--size", "10KB", "--runs", "1", "--variant", "sack", "--delay-steps", "20ms@0s,30ms@1s"];
    let text = HEADWAY.succeed(directory.path(), &words);
    assert!(text.contains("one-way delay 20ms@0s,30ms@1s, queue"), "{text}");
    assert!(!text.contains("reverse path: one-way delay"), "{text}");
    let text =
        HEADWAY.succeed(directory.path(), &[&words[..], &["--reverse-delay-steps", "5ms@0s"]].concat());
    assert!(text.contains("\nreverse path: one-way delay 5ms@0s\n"), "{text}");
}

#[test]
fn the_object_has_every_key() {
    let document = json(&SHORT);
    for key in ["profile", "rules", "size_bytes", "forward", "reverse", "bound_bps", "time_limit_seconds"] {
        assert!(!document["scenario"][key].is_null(), "scenario.{key}");
    }
    let runs = list(&document, "runs");
    assert_eq!(runs.len(), 3 * VARIANTS.len());
    for run in runs {
        for key in ["variant", "rules", "profile"] {
            assert!(run[key].is_string(), "{key}: {run}");
        }
        for key in ["seconds", "goodput_bps", "share_of_bound"] {
            assert!(run[key].as_f64().is_some_and(|value| value > 0.0), "{key}: {run}");
        }
        let counts =
            ["seed", "damaged_bytes_delivered", "retransmissions", "timeouts", "slow_starts", "special_acks"];
        for key in counts {
            assert!(run[key].is_u64(), "{key}: {run}");
        }
        for key in ["finished", "sha256_ok"] {
            assert!(run[key].is_boolean(), "{key}: {run}");
        }
    }
    let summary = list(&document, "summary");
    let names: Vec<&str> = summary.iter().filter_map(|row| row["variant"].as_str()).collect();
    assert_eq!(names, VARIANTS);
    for row in summary {
        assert_eq!((&row["runs"], &row["finished"]), (&3.into(), &3.into()), "{row}");
        for spread in ["seconds", "goodput_bps"] {
            let value =
                |key: &str| row[spread][key].as_f64().unwrap_or_else(|| panic!("{spread}.{key}: {row}"));
            assert!(value("mean") > 0.0);
            assert!(value("p10") <= value("median") && value("median") <= value("p90"), "{row}");
        }
    }
}

#[test]
fn every_run_is_held_against_the_oracle() {
    let document = json(&["race", "--size", "100KB", "--runs", "2", "--variant", "sack,oracle,modern:bbr"]);
    let runs = list(&document, "runs");
    let value = |run: &Value, key: &str| run[key].as_f64().unwrap_or_else(|| panic!("{key}: {run}"));
    for run in runs {
        let best = runs.iter().find(|other| other["variant"] == "oracle" && other["seed"] == run["seed"]);
        let share = value(best.expect("an oracle"), "seconds") / value(run, "seconds");
        assert!((value(run, "share_of_oracle") - share).abs() < 1e-9, "{run}");
    }
    let told = |variant: &str, key: &str| {
        let run = runs.iter().find(|run| run["variant"] == variant).expect("a run");
        run[key].as_str().map(str::to_owned)
    };
    assert_eq!((told("oracle", "profile"), told("oracle", "cc")), (None, None));
    assert_eq!(told("sack", "cc").as_deref(), Some("linux22"));
    assert_eq!(told("modern:bbr", "cc").as_deref(), Some("bbr"));
    assert_eq!(told("modern:bbr", "profile").as_deref(), Some("modern"));
}

#[test]
fn a_race_of_fixed_duration() {
    let words = ["race", "--duration", "5s", "--delay", "20ms", "--runs", "1", "--variant", "sack,oracle"];
    let document = json(&words);
    assert_eq!(document["scenario"]["duration_seconds"], 5.0);
    assert!(document["scenario"]["size_bytes"].is_null());
    for run in list(&document, "runs") {
        assert_eq!((&run["finished"], &run["seconds"]), (&true.into(), &5.0.into()), "{run}");
        let delivered = run["delivered_bytes"].as_f64().expect("bytes");
        assert_eq!(run["goodput_bps"].as_f64(), Some(delivered * 8.0 / 5.0));
    }
    let directory = tempdir().expect("a directory");
    let text = HEADWAY.succeed(directory.path(), &words);
    assert!(text.starts_with("5s of sending over 10mbit"), "{text}");
}

/// The papers' senders and ours, with an empty line between them.
#[test]
fn the_table_has_two_groups() {
    let directory = tempdir().expect("a directory");
    let text = HEADWAY.succeed(directory.path(), &SHORT);
    let rows: Vec<&str> = text.lines().map(|line| line.split("  ").next().unwrap_or_default()).collect();
    let first = rows.iter().position(|row| *row == "newreno").expect("a row");
    let mut expected = VARIANTS.to_vec();
    expected.insert(6, "");
    assert_eq!(rows[first..first + expected.len()], expected, "{text}");
}

#[test]
fn what_arrives_is_what_was_sent_or_the_damage_is_reported() {
    // Two flipped bits are the damage that a 16-bit sum misses most often.
    let document = json(&[
        "race",
        "--size",
        "100KB",
        "--runs",
        "20",
        "--delay",
        "20ms",
        "--flips",
        "2",
        "--header-hit",
        "0%",
    ]);
    let runs = list(&document, "runs");
    let mut damaged = 0;
    for run in runs {
        assert_eq!(run["finished"], true, "{run}");
        let bytes = run["damaged_bytes_delivered"].as_u64().expect("a count");
        assert_eq!(run["sha256_ok"] == true, bytes == 0, "{run}");
        damaged += u64::from(bytes > 0);
    }
    assert!(damaged > 0, "this damage must pass a 16-bit sum now and then");
    let clean = json(&["race", "--size", "100KB", "--runs", "3", "--damage", "none"]);
    assert!(list(&clean, "runs").iter().all(|run| run["sha256_ok"] == true));
}

#[test]
fn unfinished_runs_are_shown_as_such() {
    let directory = tempdir().expect("a directory");
    let words = ["race", "--runs", "2", "--time-limit", "3s"];
    let document = json(&words);
    for run in list(&document, "runs") {
        assert_eq!((&run["finished"], run["seconds"].as_f64()), (&false.into(), Some(3.0)), "{run}");
        assert_eq!(run["sha256_ok"], Value::Null, "{run}");
    }
    assert!(list(&document, "summary").iter().all(|row| row["finished"] == 0 && row["runs"] == 2));
    let table = HEADWAY.succeed(directory.path(), &words);
    assert_eq!(table.matches("2 unfinished").count(), VARIANTS.len(), "{table}");
    assert_eq!(table.matches("> 3.00 s").count(), VARIANTS.len(), "{table}");
    assert!(fits(&table), "{table}");
}

#[test]
fn the_table_has_a_line_for_each_sender_and_fits_a_terminal() {
    let directory = tempdir().expect("a directory");
    let output = HEADWAY.run(directory.path(), &["race", "--runs", "2", "--size", "1MiB"]);
    let table = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.stderr.is_empty(), "nothing was written, so there is nothing to say");
    let starts: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| VARIANTS.contains(word))
        .collect();
    assert_eq!(starts, VARIANTS);
    assert_eq!(
        table.lines().filter(|line| line.starts_with('─')).count(),
        2,
        "no lines between rows: {table}"
    );
    assert!(fits(&table), "{table}");
}

/// Whether the table itself, of which the rules show the width, has at most 120 columns.
fn fits(table: &str) -> bool {
    table.lines().filter(|line| line.starts_with(['─', '═'])).all(|line| line.chars().count() <= 120)
}

#[test]
fn the_senders_come_as_they_were_named_each_once() {
    let document = json(&[&SHORT[..], &["--variant", "hack,newreno,hack"]].concat());
    let summary = list(&document, "summary");
    let names: Vec<&str> = summary.iter().filter_map(|row| row["variant"].as_str()).collect();
    assert_eq!(names, ["hack", "newreno"]);
}

#[test]
fn the_help_has_examples_that_work() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    let help = HEADWAY.succeed(root, &["race", "--help"]);
    let examples: Vec<&str> =
        help.lines().filter_map(|line| line.trim_start().strip_prefix("headway ")).collect();
    assert!(help.contains("Examples:") && examples.len() >= 3, "{help}");
    std::fs::write(root.join("photo.raw"), vec![b'p'; 50_000]).expect("written");
    for example in examples {
        let own = example.split(" | ").next().unwrap_or_default();
        for command in own.split(" && ") {
            let mut words: Vec<&str> = command.trim_start_matches("headway ").split_whitespace().collect();
            if !words.contains(&"--runs") {
                words.extend(["--runs", "2"]);
            }
            if words.contains(&"--watch") {
                // It stays until it is interrupted.
                let Some(page) = LivePage::start(HEADWAY.command(root, &words)) else { continue };
                wait_until(example, || page.has_said(STAYS));
                let output = page.stop();
                assert!(output.status.success() && !output.stdout.is_empty(), "{example}");
                continue;
            }
            assert!(!HEADWAY.succeed(root, &words).is_empty(), "{example}");
        }
    }
    assert!(HEADWAY.succeed(root, &["--help"]).contains("race"));
    assert!(HEADWAY.succeed(root, &["--version"]).contains(env!("CARGO_PKG_VERSION")));
}
