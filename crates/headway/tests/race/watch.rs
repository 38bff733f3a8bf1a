//! The live page of a race: what is served, to whom, and that the race is the same.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::time::Instant;

use headway_test_fixture::live_page::LivePage;
use headway_test_fixture::process::wait_until;
use serde_json::Value;
use tempfile::tempdir;

use crate::HEADWAY;

const SHORT: [&str; 9] =
    ["race", "--size", "200KB", "--runs", "3", "--delay", "20ms", "--variant", "sack,headway"];
const LONGER: [&str; 8] =
    ["race", "--size", "200KB", "--runs", "30", "--delay=20ms", "--variant=sack,headway", "--watch"];
pub(crate) const STAYS: &str = "the page stays until Ctrl-C";

fn start(folder: &Path, words: &[&str]) -> Option<LivePage> {
    LivePage::start(HEADWAY.command(folder, &[&SHORT[..], words].concat()))
}

/// What `/events` tells, in order, and the identifier of its last event.
fn told(page: &LivePage, headers: &[&str]) -> (Vec<Value>, String) {
    let host = format!("Host: {}", page.address());
    let answer = page.ask("GET /events", &[&[&*host], headers].concat());
    assert_eq!(answer.status, 200);
    assert!(answer.content.contains("event: start\n"), "{}", answer.content);
    let mut items = Vec::new();
    for event in answer.content.split("\n\n").filter(|event| event.contains("event: items\n")) {
        let data = event.lines().find_map(|line| line.strip_prefix("data: ")).expect("data");
        let list: Vec<Value> = serde_json::from_str(data).expect("JSON");
        items.extend(list);
    }
    let last = answer.content.lines().filter_map(|line| line.strip_prefix("id: ")).next_back();
    (items, last.unwrap_or_default().to_owned())
}

fn of_kind<'a>(items: &'a [Value], kind: &str) -> Vec<&'a Value> {
    items.iter().filter(|item| item[0] == kind).collect()
}

#[test]
fn a_race_that_is_watched_gives_the_same_bytes() {
    let plain = tempdir().expect("a directory");
    let watched = tempdir().expect("a directory");
    let files = ["--json", "--pcap", "out", "--qlog", "out", "--report", "race.html"];
    let expected = HEADWAY.succeed(plain.path(), &[&SHORT[..], &files].concat());
    let Some(page) = start(watched.path(), &[&files[..], &["--watch"]].concat()) else { return };
    wait_until("the end of the race", || page.has_said(STAYS));
    let output = page.stop();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).expect("UTF-8"), expected);
    let names = ["sack-1.pcapng", "headway-1.pcapng", "sack-1-sender.sqlog", "headway-1-receiver.sqlog"];
    for name in names.map(|name| format!("out/{name}")).iter().map(String::as_str).chain(["race.html"]) {
        let [one, other] =
            [&plain, &watched].map(|folder| fs::read(folder.path().join(name)).expect("a file"));
        assert!(one == other, "{name} differs");
    }
}

/// A sleep may last longer than it should, and never less.
#[test]
#[expect(clippy::disallowed_methods, reason = "a pace is one of the clock")]
fn a_paced_race_is_no_faster_than_the_clock() {
    const PACE: f64 = 20.0;
    let folder = tempdir().expect("a directory");
    let words = ["race", "--size", "200KB", "--runs", "1", "--variant", "modern,headway", "--pace", "20"];
    let began = Instant::now();
    let command = HEADWAY.command(folder.path(), &[&words[..], &["--watch"]].concat());
    let Some(page) = LivePage::start(command) else { return };
    wait_until("the end of the race", || page.has_said(STAYS));
    let lasted = began.elapsed().as_secs_f64();
    let (items, _) = told(&page, &[]);
    let times = of_kind(&items, "sample").into_iter().filter_map(|item| item[2][0].as_f64());
    let longest = times.fold(0.0, f64::max);
    assert!(longest > 1.0 && lasted * PACE >= longest, "{longest} s of a run in {lasted} s");
    let refused = HEADWAY.run(folder.path(), &["race", "--pace", "0", "--watch"]);
    let complaint = String::from_utf8_lossy(&refused.stderr);
    assert!(complaint.contains("expected between 0.001 and 1000000"), "{complaint}");
}

#[test]
fn a_page_is_told_all_from_where_it_is() {
    let folder = tempdir().expect("a directory");
    let Some(page) = start(folder.path(), &["--watch"]) else { return };
    wait_until("the end of the race", || page.has_said(STAYS));
    let (items, last) = told(&page, &[]);
    assert_eq!(of_kind(&items, "begin").len(), 6);
    let over = of_kind(&items, "end");
    assert_eq!(over.len(), 6);
    assert!(
        over.iter().all(|item| item[2]
            .as_str()
            .is_some_and(|note| note.contains("kbit/s") || note.contains("Mbit/s")))
    );
    assert_eq!(of_kind(&items, "progress").last().expect("progress")[1], "6 of 6 runs are over.");
    assert_eq!(items.last().expect("items")[0], "finish");
    for run in 0..6_u64 {
        let samples: Vec<&Value> = of_kind(&items, "sample")
            .into_iter()
            .filter(|item| item[1] == run)
            .map(|item| &item[2])
            .collect();
        assert!((50..400).contains(&samples.len()), "{} samples of run {run}", samples.len());
        let times: Vec<f64> = samples.iter().map(|sample| sample[0].as_f64().expect("a time")).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
        let delivered = samples.last().expect("samples")[1].as_f64();
        assert_eq!(delivered, Some(200_000.0), "the last sample is of the end");
    }
    // Where it was, nothing is new; an identifier of another process means nothing here.
    let (rest, _) = told(&page, &[&format!("Last-Event-ID: {last}")]);
    assert_eq!(rest, [Value::Null; 0]);
    let (session, number) = last.split_once('-').expect("a number");
    let before: u64 = number.parse::<u64>().expect("a number") - 1;
    let (rest, _) = told(&page, &[&format!("Last-Event-ID: {session}-{before}")]);
    assert_eq!(rest, items[items.len() - 1..]);
    for other in [format!("f{session}-{before}"), "x".into(), String::new()] {
        assert_eq!(told(&page, &[&format!("Last-Event-ID: {other}")]).0, items, "{other:?}");
    }
}

#[test]
fn only_what_belongs_to_the_page_is_served() {
    let folder = tempdir().expect("a directory");
    let Some(page) = start(folder.path(), &["--watch"]) else { return };
    for (path, kind, part) in [
        ("/", "text/html", "<script src=\"page.js\""),
        ("/page.css", "text/css", "--series-0"),
        ("/page.js", "text/javascript", "EventSource"),
        ("/uPlot.js", "text/javascript", "uPlot"),
        ("/uPlot.css", "text/css", ".uplot"),
        ("/licences.txt", "text/plain", "uplot 1."),
    ] {
        let answer = page.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.content.contains(part), "{path}");
        let has = |line: &str| answer.headers.iter().any(|header| header.starts_with(line));
        assert!(has(&format!("content-type: {kind}")), "{path}: {:?}", answer.headers);
        assert!(has("content-security-policy: default-src 'none';"), "{path}: {:?}", answer.headers);
        assert!(has("x-content-type-options: nosniff"), "{path}: {:?}", answer.headers);
    }
    // Neither scripts nor styles of the page's own, which the policy forbids, and nothing from elsewhere.
    let html = page.get("/").content;
    for inside in ["<style", " style=", "onclick=", "http://", "https://"] {
        assert!(!html.contains(inside), "{inside}");
    }
    assert_eq!(page.get("/../etc/passwd").status, 404);
    assert_eq!(page.ask("POST /", &["Host: localhost", "Content-Length: 0"]).status, 405);
    assert_eq!(page.ask("HEAD /", &["Host: localhost"]).content, "");
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80"] {
        let answer = page.ask("GET /events", &[&format!("Host: {host}")]);
        assert_eq!((answer.status, answer.content.contains("begin")), (403, false), "{host}");
    }
    assert_eq!(page.ask("GET /", &["X: no Host"]).status, 403);
}

/// Pages that do not read, and requests that do not end, cost the race nothing.
#[test]
fn a_page_that_is_slow_or_gone_delays_nothing() {
    let folder = tempdir().expect("a directory");
    let Some(page) = LivePage::start(HEADWAY.command(folder.path(), &LONGER)) else { return };
    let mut slow = Vec::new();
    for number in 0..200 {
        let mut stream = page.connect();
        let request =
            if number % 2 == 0 { "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n" } else { "GET /ev" };
        stream.write_all(request.as_bytes()).expect("it is taken");
        slow.push(stream);
    }
    wait_until("the end of the race", || page.has_said(STAYS));
    // The first of them has its place, and reads what is still there.
    let mut first = [0; 16];
    slow[0].read_exact(&mut first).expect("an answer");
    assert_eq!(&first[..], b"HTTP/1.1 200 OK\r");
    let output = page.stop();
    assert!(output.status.success());
}

#[test]
fn too_many_pages_are_told_so() {
    let folder = tempdir().expect("a directory");
    let words = ["race", "--variant", "headway", "--runs", "1", "--duration", "1h", "--watch"];
    let Some(page) = LivePage::start(HEADWAY.command(folder.path(), &words)) else { return };
    let open: Vec<_> = (0..32)
        .map(|_| {
            let mut stream = page.connect();
            stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is taken");
            stream.read_exact(&mut [0; 100]).expect("its beginning");
            stream
        })
        .collect();
    let host = format!("Host: {}", page.address());
    assert_eq!(page.ask("GET /events", &[&host]).status, 503);
    drop(open);
    // Their places are free again.
    wait_until("a place", || {
        let mut stream = page.connect();
        stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is taken");
        let mut first = [0; 12];
        stream.read_exact(&mut first).expect("an answer");
        &first == b"HTTP/1.1 200"
    });
}

#[test]
fn a_port_that_is_taken_is_said_before_anything_is_written() {
    let folder = tempdir().expect("a directory");
    // Fetches the libraries, where they are not there yet.
    let Some(page) = start(folder.path(), &["--watch"]) else { return };
    drop(page);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let words = [&SHORT[..], &["--pcap", "out", "--report", "race.html", "--watch", &address]].concat();
    HEADWAY.fail(1, folder.path(), &words, &["--watch", &address, "expected a free TCP address and port"]);
    let words = [&SHORT[..], &["--watch", "photo.raw"]].concat();
    HEADWAY.refuse(folder.path(), &words, &["--watch", "photo.raw", "expected a port, or an address"]);
}

#[test]
fn without_npm_and_libraries_one_line_says_what_is_needed() {
    let folder = tempdir().expect("a directory");
    let cache = folder.path().join("cache");
    let mut command = HEADWAY.command(folder.path(), &[&SHORT[..], &["--watch"]].concat());
    let output =
        command.env("PATH", folder.path()).env("XDG_CACHE_HOME", &cache).output().expect("it starts");
    let complaint = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{complaint}");
    assert!(complaint.lines().last().is_some_and(|line| line.contains("npm was not found")), "{complaint}");
}

/// A package puts the libraries beside the program: then neither npm nor a cache is needed.
#[test]
fn libraries_of_a_package_are_found() {
    let folder = tempdir().expect("a directory");
    let Some(page) = start(folder.path(), &["--watch"]) else { return };
    drop(page);
    let [bin, libraries] = ["bin", "share/headway/libraries"].map(|name| folder.path().join(name));
    fs::create_dir(&bin).expect("a folder");
    fs::copy(HEADWAY.0, bin.join("headway")).expect("a copy");
    HEADWAY.succeed(folder.path(), &["libraries", "share/headway/libraries"]);
    let start = || {
        let mut command = std::process::Command::new(bin.join("headway"));
        command.args(SHORT).arg("--watch").env("PATH", folder.path()).env("HOME", folder.path());
        command.env_remove("XDG_CACHE_HOME");
        command
    };
    let page = LivePage::start(start()).expect("a page");
    assert_eq!(page.get("/uPlot.js").status, 200);
    drop(page);
    // Those of another version are not taken for these.
    fs::write(libraries.join("version"), "0\n").expect("written");
    let output = start().output().expect("it starts");
    assert!(String::from_utf8_lossy(&output.stderr).contains("npm was not found"));
}

/// At an address that others reach, any name may lead to it, and the command says who can look.
#[test]
fn an_address_that_others_reach_is_told() {
    let folder = tempdir().expect("a directory");
    let Some(page) = start(folder.path(), &["--watch", "0.0.0.0:0"]) else { return };
    wait_until("the warning", || page.has_said("whoever reaches it can look at the page"));
    assert_eq!(page.ask("GET /", &["Host: 192.0.2.1:8080"]).status, 200);
    // A browser of such a machine can be led here too.
    assert_eq!(page.ask("GET /", &["Host: evil.example"]).status, 403);
}
