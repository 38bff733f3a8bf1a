//! The playground has the packets of the command: natively, and as WebAssembly where it can be built.

use std::fs;
use std::path::Path;
use std::process::Command;

use headway_playground::answer;
use headway_report::RunCapture;
use headway_scenario::{Defaults, Traces, read};
use headway_sim::Content;
use headway_sim::race::{RunSettings, TcpSender, run_recorded};
use headway_test_fixture::process::say_skipped;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const KEYS: [(&str, &str); 5] = [
    ("rate", "10mbit"),
    ("delay", "50ms"),
    ("damage", "burst:5%:5"),
    ("reverse-damage", "random:1%"),
    ("size", "256KiB"),
];
const VARIANTS: [&str; 4] = ["sack", "hack+sack", "modern:bbr", "headway"];

fn request(seed: u64) -> Value {
    let keys: serde_json::Map<String, Value> =
        KEYS.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({ "keys": keys, "variants": VARIANTS, "seed": seed })
}

/// The SHA-256 of the file that `headway race --pcap` writes.
fn of_the_command(variant: &str, seed: u64) -> String {
    let given = |name: &str| KEYS.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    let settings = read(given, Defaults::Commands, &Traces::refused("none")).expect("keys");
    let content = Content::generated(256 << 10);
    let settings = RunSettings { scenario: &settings.scenario, content: &content, seed, hash: true };
    let tap = RunCapture::at_both_ends(Vec::new()).expect("a capture in memory");
    let sender: TcpSender = variant.parse().expect("a sender");
    let file = run_recorded(settings, sender, || (), tap).expect("a run").tap.finish().expect("a capture");
    Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn ask(request: &Value) -> Value {
    serde_json::from_str(&answer(&request.to_string())).expect("JSON")
}

#[test]
fn digests_are_those_of_the_command() {
    for seed in [1, 2] {
        let answer = ask(&request(seed));
        let runs = answer["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), VARIANTS.len());
        for (run, variant) in runs.iter().zip(VARIANTS) {
            assert_eq!(run["variant"], variant);
            assert_eq!(run["finished"], true, "{run}");
            assert_eq!(run["sha256"], of_the_command(variant, seed), "{variant}, seed {seed}");
            assert!(run["damaged"].as_u64().expect("a number") > 5, "{run}");
            let points = run["points"].as_array().expect("points");
            assert!((20..=600).contains(&points.len()));
            let last = points[points.len() - 1][1].as_u64().expect("bytes");
            assert!(last >= 256 << 10, "all was acknowledged: {last}");
        }
        let command = answer["command"].as_str().expect("a command");
        for part in [
            "headway race --damage burst:5%:5 --delay 50ms",
            "--variant sack,hack+sack,modern:bbr,headway --seed ",
        ] {
            assert!(command.contains(part), "{command}");
        }
    }
}

#[test]
fn mistakes_are_told() {
    for (change, expected) in [
        (json!({ "rate": "fast" }), "rate: "),
        (json!({ "rtae": "1mbit" }), "rtae: unknown key (did you mean rate?)"),
        (json!({ "clock": "real" }), "clock: unknown key"),
        (json!({ "size": "1GiB" }), "size: 1GiB: expected at most 16MiB"),
        (
            json!({ "damage": "trace:/etc/passwd" }),
            "damage: /etc/passwd: cannot be read: the page reads no files",
        ),
    ] {
        let error = ask(&json!({ "keys": change, "variants": ["sack"], "seed": 1 }))["error"].clone();
        assert!(error.as_str().is_some_and(|error| error.starts_with(expected)), "{change}: {error}");
    }
    for variants in [json!([]), json!(["tahoe"]), json!(["oracle"])] {
        let error = ask(&json!({ "keys": {}, "variants": variants, "seed": 1 }))["error"].clone();
        assert!(error.as_str().is_some_and(|error| error.starts_with("variant")), "{variants}: {error}");
    }
    assert!(ask(&json!(["no request"]))["error"].is_string());
}

#[test]
fn a_browser_has_the_same_digests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    if Command::new("node").arg("--version").output().is_err() {
        return say_skipped("node", "");
    }
    let build = Command::new(folder.join("build")).output().expect("the script starts");
    if build.status.code() == Some(77) {
        return say_skipped("wasm", &String::from_utf8_lossy(&build.stderr));
    }
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    let out = folder.join("../../target/playground");
    let scratch = tempfile::tempdir().expect("a folder");
    let script = scratch.path().join("run.js");
    let engine = fs::read_to_string(folder.join("page/engine.js")).expect("the engine");
    let ask = "const race = engine(require('fs').readFileSync(process.argv[2]));\n\
               for (const request of JSON.parse(process.argv[3])) console.log(race(request));\n";
    fs::write(&script, engine + ask).expect("written");
    let requests = json!([
        request(1),
        request(2),
        json!({ "keys": { "rate": "fast" }, "variants": ["sack"], "seed": 1 })
    ]);
    let mut node = Command::new("node");
    let output = node
        .arg(&script)
        .arg(out.join("headway.wasm"))
        .arg(requests.to_string())
        .output()
        .expect("node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    let requests = requests.as_array().expect("a list");
    assert_eq!(lines.lines().count(), requests.len());
    for (line, request) in lines.lines().zip(requests) {
        assert_eq!(line, answer(&request.to_string()), "every digit of every number");
    }
    let page = fs::read_to_string(out.join("playground.html")).expect("the page");
    assert!(!page.contains("/* SCRIPT */") && page.contains("function engine(") && page.len() > 1_000_000);
}
