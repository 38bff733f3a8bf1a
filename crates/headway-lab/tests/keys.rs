//! Every key of a scenario is one of experiment files, of their schema and of the tables of results.

use std::path::Path;

use headway_lab::{Experiment, Overrides, columns, schema};
use headway_scenario::{Defaults, Key, Scope, Traces, keys, read};

const FILE: &str = r#"
title = "One key"
runs = 1

[sweep]
variant = ["sack"]

[scenario]
KEY

[figure]
kind = "table"
measure = "time"
"#;

/// The key's default, or some value if it has none.
fn value(key: &Key) -> String {
    let none = read(|_| None, Defaults::Files, &Traces::in_folder(Path::new(""))).expect("settings");
    match (key.name, key.show(&none)) {
        ("variant", _) => "hack".into(),
        ("duration", _) => "5s".into(),
        ("flips" | "cross-packet", _) => "100".into(),
        ("trunk-mode", _) => "split".into(),
        ("trunk-window", _) => "64KiB".into(),
        ("trunk-queue", _) => "20p".into(),
        ("trunk-aqm", _) => "codel".into(),
        ("trunk-cost", _) => "2ms".into(),
        ("hops", _) => "2 rate 5mbit".into(),
        (_, shown) => shown,
    }
}

#[test]
fn files_and_the_command_line_take_every_key() {
    for key in keys() {
        let (name, value) = (key.name, value(key));
        let in_file = FILE.replace("KEY", &format!("{name} = \"{value}\""));
        let without = FILE.replace("KEY", "");
        let set = Overrides { settings: vec![format!("{name}={value}")], ..Overrides::default() };
        for (text, overrides) in [(in_file, Overrides::default()), (without, set)] {
            let experiment = Experiment::parse("key", "key.toml", &text, &overrides).expect(name);
            assert_eq!(experiment.cells[0].settings[name], value, "{name}");
            assert!(experiment.cells[0].identity.contains(&format!("{name}={value}")), "{name}");
            let is_of_channel = experiment.cells[0].channel_key.contains(&format!("{name}={value}"));
            assert_eq!(is_of_channel, key.scope.is_in_channel_key(), "{name}");
        }
    }
}

#[test]
fn the_schema_has_every_key() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).expect("JSON");
    let scenario = &schema["properties"]["scenario"];
    assert_eq!(scenario["additionalProperties"], false);
    let properties = scenario["properties"].as_object().expect("properties");
    // And the tables of hops.
    assert_eq!(properties.len(), keys().len() + 1);
    let of_hop = properties["hop"]["items"]["properties"].as_object().expect("properties");
    assert_eq!(of_hop.len(), keys().iter().filter(|key| key.scope.is_of_link()).count());
    for key in keys() {
        let described = properties[key.name]["description"].as_str().expect(key.name);
        assert!(described.contains(key.help), "{}", key.name);
    }
}

#[test]
fn results_have_a_column_for_every_key() {
    let names: Vec<&str> = columns().map(|column| column.name).collect();
    for key in keys() {
        let column = if key.scope == Scope::Feature { "features".into() } else { key.column() };
        assert!(names.contains(&column.as_str()), "{}", key.name);
    }
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
}
