//! The claims beside ns-3 hold the medians that ns-3 gave, and not others.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use headway_lab::{Experiment, Overrides};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/ns3").join(name)
}

/// The rows of `reference.csv`, each by the names of its columns.
fn recorded() -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(file("reference.csv")).expect("reference.csv");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let names = lines.next().expect("the names of the columns");
    lines
        .map(|values| {
            assert_eq!(values.len(), names.len(), "{values:?}");
            names.iter().cloned().zip(values).collect()
        })
        .collect()
}

#[test]
fn the_claims_are_what_was_recorded() {
    let experiment = Experiment::load(&file("modern.toml"), &Overrides::default()).expect("an experiment");
    let rows = recorded();
    // Sizes, losses, and for each controller of ours ns-3's and that of the RFC.
    assert_eq!(experiment.claims.len(), 2 * 4 * 2 * 2);
    for claim in &experiment.claims {
        // "10MB, 5 % loss: TcpCubic"
        let (cell, congestion) = claim.says.split_once(": ").expect("a cell and a controller");
        let (size, loss) = cell.split_once(", ").expect("a size and a loss");
        let bytes = if size == "2MB" { "2000000" } else { "10000000" };
        let tolerance = if size == "2MB" { 0.25 } else { 0.15 };
        let loss = match loss {
            "0 % loss" => "0",
            "1 % loss" => "0.01",
            "2 % loss" => "0.02",
            "5 % loss" => "0.05",
            other => panic!("{other}: no loss that was recorded"),
        };
        let is_cell = |row: &&BTreeMap<String, String>| {
            let key = ["congestion", "variant", "recovery", "min_rto", "pacing", "loss", "bytes"]
                .map(|name| &*row[name]);
            key == [congestion, "", "TcpPrrRecovery", "1", "0", loss, bytes]
        };
        let mut rows = rows.iter().filter(is_cell);
        let row = rows.next().unwrap_or_else(|| panic!("{}: not recorded", claim.says));
        assert!(rows.next().is_none(), "{}: recorded twice", claim.says);
        let median: f64 = row["seconds_median"].parse().expect("seconds");
        assert_eq!((claim.paper, claim.tolerance), (Some(median), tolerance), "{}", claim.says);
        let ours = if congestion.ends_with("Cubic") { "modern:cubic" } else { "modern:newreno" };
        assert_eq!(claim.of["variant"].to_string(), ours, "{}", claim.says);
        assert_eq!(claim.of["size"].to_string(), size, "{}", claim.says);
        assert_eq!(claim.of["parts"].to_string(), "off", "{}", claim.says);
    }
}
