//! The live page of a box.

use std::process::Command;

use headway_test_fixture::live_page::LivePage;
use headway_test_fixture::process::is_installed;
use serde_json::Value;

use super::testbed::{KERNEL_RIGHT, Testbed};
use crate::namespace::HEADWAY;

/// The items in the events of a stream.
fn items(events: &str) -> Vec<Value> {
    let lists = events.split("\n\n").filter(|event| event.contains("event: items\n"));
    let data = lists.filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")));
    data.flat_map(|list| serde_json::from_str::<Vec<Value>>(list).unwrap()).collect()
}

/// The samples of a source.
fn samples(items: &[Value], source: u64) -> Vec<Vec<f64>> {
    let of_source = |item: &&Value| item[0] == "sample" && item[1] == source;
    let values = |item: &Value| -> Vec<f64> {
        item[2].as_array().unwrap().iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect()
    };
    items.iter().filter(of_source).map(values).collect()
}

/// Packets pass the box, and the page is told the counters that the box prints.
#[test]
fn a_box_shows_what_it_counts() {
    if !is_installed("ping", "-V") {
        return;
    }
    // The libraries of the page can be had outside of the namespaces alone.
    let mut race = Command::new(HEADWAY);
    race.args(["race", "--size", "1KB", "--variant", "headway", "--watch"]);
    if LivePage::start(race).is_none() {
        return;
    }
    let Some(testbed) = Testbed::new() else { return };
    let middle = &testbed.middle;
    middle.ip(&["link", "set", "lo", "up"]);
    let words =
        ["--rate", "10mbit", "--delay", "1ms", "--damage", "random:20%", "--reverse-damage", "random:20%"];
    let mut running =
        testbed.start(&[&words[..], &["--interval", "100ms", "--watch", "127.0.0.1:8080"]].concat());
    let ping = ["-c", "100", "-i", "0.01", "-W", "1", "-s", "1000", KERNEL_RIGHT];
    // Replies are damaged, too.
    let _ = testbed.left.command("ping", &ping).output().unwrap();
    let passed = |line: &Value| line["forward"]["offered"].as_u64().unwrap_or(0) >= 100;
    while !passed(&running.line_with("forward")) {}
    let url = "http://127.0.0.1:8080/";
    let page = middle.command("curl", &["-sS", url]).output().unwrap();
    assert!(String::from_utf8_lossy(&page.stdout).contains("The box between hwa and hwb"));
    // The stream goes on for as long as the box does.
    let told =
        middle.command("curl", &["-sSN", "--max-time", "2", &format!("{url}events")]).output().unwrap();
    assert_eq!(told.status.code(), Some(28), "curl's limit has ended it");
    let items = items(&String::from_utf8(told.stdout).unwrap());
    let begun: Vec<&str> = items
        .iter()
        .filter(|item| item[0] == "begin")
        .map(|item| item[2]["group"].as_str().unwrap())
        .collect();
    assert_eq!(begun, ["hwa to hwb", "hwb to hwa"]);
    let end = running.stop();
    for (source, direction) in [(0, "forward"), (1, "reverse")] {
        let samples = samples(&items, source);
        assert!(samples.windows(2).all(|pair| pair[0][0] < pair[1][0]), "times");
        let last = samples.last().expect("samples");
        // All packets had passed: ARP aside, which is no IP packet, nothing came later.
        for (place, name) in
            [(1, "offered_bytes"), (2, "delivered_bytes"), (11, "hit"), (12, "hit_in_header")]
        {
            assert_eq!(Some(last[place]), end[direction][name].as_f64(), "{name} of {direction}");
        }
        assert!(last[11] > 0.0, "{direction}: nothing was damaged");
    }
}
