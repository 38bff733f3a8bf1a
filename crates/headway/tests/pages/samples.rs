//! A page of each kind, looked at.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use tempfile::{TempDir, tempdir};

use super::browser::{Browser, SCREENS};
use super::look::{RECORDER, all_is_well, numbers};
use crate::HEADWAY;

/// A folder in which pages are made.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempdir().expect("a directory");
    let path = folder.path().canonicalize().expect("a path");
    (folder, path)
}

#[test]
fn a_race() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let (_kept, folder) = folder();
    HEADWAY.succeed(&folder, &["race", "--report", "race.html"]);
    all_is_well(&mut browser, &folder.join("race.html"));
    let words =
        ["race", "--variant", "sack,modern:newreno,headway,oracle", "--runs", "1", "--time-limit", "60s"];
    HEADWAY.succeed(&folder, &[&words[..], &["--report", "race-short.html"]].concat());
    all_is_well(&mut browser, &folder.join("race-short.html"));
}

#[test]
fn a_capture() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let (_kept, folder) = folder();
    HEADWAY.succeed(&folder, &["race", "--variant", "xhack+sack,headway", "--runs", "1", "--pcap", "."]);
    for name in ["xhack+sack", "headway"] {
        let page = format!("trace-{name}.html");
        HEADWAY.succeed(&folder, &["trace", &format!("{name}-1.pcapng"), "--html", &page]);
        all_is_well(&mut browser, &folder.join(page));
    }
}

/// A measurement, without load and under it, on the loopback: only the looks of its page are checked.
#[test]
fn a_measurement() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let (_kept, folder) = folder();
    let mut server =
        HEADWAY.command(&folder, &["perf", "server", "--kernel", "--listen", "127.0.0.1:0", "-1"]);
    let mut server = server.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a server");
    let mut line = String::new();
    BufReader::new(server.stderr.as_mut().expect("a stream")).read_line(&mut line).expect("its address");
    let port = line.trim().rsplit_once(':').expect("a port").1;
    let words = ["perf", "client", "127.0.0.1", "--kernel", "--port", port, "--rrul", "--parallel", "1"];
    let times = ["--idle", "300ms", "--time", "700ms", "--interval", "100ms", "--report", "rrul.html"];
    let link = "10mbit, one-way delay 150ms";
    let client = HEADWAY.command(&folder, &[&words[..], &times].concat()).env("HEADWAY_SHELL", link).output();
    assert!(client.expect("a client").status.success());
    server.wait().expect("its end");
    all_is_well(&mut browser, &folder.join("rrul.html"));
    let text = browser.evaluate("document.querySelector('main').innerText");
    assert!(text.as_str().is_some_and(|text| text.contains(link)), "{text}");
}

#[test]
fn experiments() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let (_kept, folder) = folder();
    let names = ["000-fig07", "000-fig20", "000-fig23", "000-fig24", "000-tab1-short"];
    HEADWAY.succeed(&folder, &[&["paper", "run"], &names[..], &["--runs", "2"]].concat());
    HEADWAY.succeed(&folder, &["paper", "report", "results", "--html", "papers.html"]);
    let page = folder.join("papers.html");
    all_is_well(&mut browser, &page);
    // A link to an experiment that was not run unfolds it.
    browser.open(&page, SCREENS[0]);
    let [before, after] = numbers(&mut browser, include_str!("link.js"));
    assert_eq!((before, after), (0.0, 1.0), "whether it is seen before and after the click");
}

/// The graphs of a race zoom as those of a capture do: by buttons, keys and the wheel, for all senders and for each.
#[test]
fn a_race_can_be_zoomed() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let (_kept, folder) = folder();
    HEADWAY.succeed(
        &folder,
        &["race", "--variant", "sack,xhack+sack,headway", "--runs", "1", "--report", "race.html"],
    );
    browser.open(&folder.join("race.html"), SCREENS[0]);
    let [entries, well, by_button, by_key, by_wheel] = numbers(&mut browser, include_str!("zoom.js"));
    assert_eq!(entries, 4.0, "all senders, and each");
    assert_eq!(well, entries, "the graphs of each choice have labels and lines of their own");
    assert_eq!([by_button, by_key, by_wheel], [entries; 3], "of all choices");
}

/// Each term is explained on hover, on tap and by keys.
#[test]
fn terms_are_explained() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let (_kept, folder) = folder();
    HEADWAY.succeed(&folder, &["race", "--runs", "2", "--report", "race.html"]);
    for screen in SCREENS {
        browser.open(&folder.join("race.html"), screen);
        let [terms, hovered, tapped, with_keys] = numbers(&mut browser, include_str!("terms.js"));
        assert!(terms >= 4.0, "{terms} terms");
        assert_eq!((hovered, tapped, with_keys), (terms, terms, terms), "{screen:?}");
    }
}

/// Of what is drawn of a retransmission nearly all is seen among SACK blocks, special ACKs and letters.
#[test]
fn retransmissions_are_on_top() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let (_kept, folder) = folder();
    HEADWAY.succeed(&folder, &["race", "--variant", "hack+sack", "--runs", "1", "--pcap", "."]);
    HEADWAY.succeed(&folder, &["trace", "hack+sack-1.pcapng", "--html", "trace.html"]);
    browser.open(&folder.join("trace.html"), SCREENS[0]);
    let [among_all, alone] = numbers(&mut browser, include_str!("retransmissions.js"));
    assert!(alone > 1000.0 && among_all > 0.75 * alone, "{among_all} of {alone} pixels");
}

/// The window is drawn whole, or not at all; then the graph says where it is.
#[test]
fn the_window_is_not_cut_off() {
    let Some(mut browser) = Browser::start(RECORDER) else { return };
    let (_kept, folder) = folder();
    let words = ["race", "--variant", "sack", "--runs", "1", "--damage", "none", "--pcap", ".", "--size"];
    for (size, is_far) in [("2MiB", 0.0), ("64KiB", 1.0)] {
        HEADWAY.succeed(&folder, &[&words[..], &[size]].concat());
        HEADWAY.succeed(&folder, &["trace", "sack-1.pcapng", "--html", "trace.html"]);
        browser.open(&folder.join("trace.html"), SCREENS[0]);
        let [said, cut] = numbers(&mut browser, include_str!("window.js"));
        assert_eq!(
            (said, cut),
            (is_far, 0.0),
            "{size}: whether the graph says so, pixels of it at the upper edge"
        );
    }
}
