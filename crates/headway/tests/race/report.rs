//! The page of a race.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use super::VARIANTS;
use crate::HEADWAY;

const SHORT: [&str; 9] =
    ["race", "--size", "100KB", "--runs", "3", "--delay", "20ms", "--reverse-damage", "random:3%"];

fn page(directory: &Path, words: &[&str], name: &str) -> String {
    let output = HEADWAY.run(directory, &[words, &["--report", name]].concat());
    let notice = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{notice}");
    assert_eq!(notice, format!("wrote {name}\n"));
    fs::read_to_string(directory.join(name)).expect("a page")
}

#[test]
fn the_same_results_give_the_same_page() {
    let directory = tempdir().expect("a directory");
    let first = page(directory.path(), &SHORT, "one.html");
    assert!(first == page(directory.path(), &SHORT, "two.html"));
    assert!(first == page(directory.path(), &[&SHORT[..], &["--json"]].concat(), "three.html"));
    let other = page(directory.path(), &[&SHORT[..], &["--seed", "9"]].concat(), "four.html");
    assert!(first != other);
    // Nothing but the pages is left behind.
    assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 4);
}

#[test]
fn there_is_a_graph_for_each_sender_and_bars_for_all() {
    let directory = tempdir().expect("a directory");
    let page = page(directory.path(), &SHORT, "page.html");
    assert_eq!(page.matches("class=\"plot sequence\"").count(), VARIANTS.len());
    assert_eq!(page.matches("class=\"plot window\"").count(), VARIANTS.len());
    for variant in VARIANTS {
        assert_eq!(page.matches(&format!("id=\"run-{variant}\"")).count(), 1, "{variant}");
        assert!(page.contains(&format!("aria-label=\"Time-sequence graph of {variant}:")), "{variant}");
        let rows = page.matches(&format!("<th scope=\"row\">{variant}</th>")).count();
        assert_eq!(rows, 1 + 3, "{variant}: in the table of results, and a row for each run");
    }
    assert!(page.contains("aria-label=\"Median time of each sender: newreno "));
    assert!(page.contains("aria-label=\"Median goodput of each sender: newreno "));
    assert!(page.contains("bound 7.64 Mbit/s"));
    assert!(page.contains("All 27 runs"));
    assert!(page.contains("headway race --size 100KB --runs 3 --delay 20ms --reverse-damage random:3%<"));

    let one = [&SHORT[..], &["--variant", "xhack"]].concat();
    let output = HEADWAY.run(directory.path(), &[&one[..], &["--report", "one.html"]].concat());
    assert!(output.status.success());
    let page = fs::read_to_string(directory.path().join("one.html")).expect("a page");
    assert_eq!(page.matches("class=\"plot sequence\"").count(), 1);
}

/// The pictures come first, and a sender has one colour in all of them.
#[test]
fn a_sender_has_one_colour() {
    let directory = tempdir().expect("a directory");
    // The colours of those that are no names of their own depend on the others: the oracle has no line.
    let senders = ["--variant", "oracle,modern:bbr,sack,modern:newreno,headway"];
    let page = page(directory.path(), &[&SHORT[..], &senders].concat(), "page.html");
    let between = |from: &str, to: &str| {
        let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("no {from}"));
        rest.split_once(to).unwrap_or_else(|| panic!("no {to}")).0
    };
    let colours = |text: &str, before: &str| -> Vec<String> {
        text.split(before).skip(1).map(|rest| rest[..7].to_owned()).collect()
    };
    let (before_table, _) = page.split_once("id=\"results\"").expect("a table");
    assert!(before_table.contains("aria-label=\"Median time of each sender"), "a table first");
    let overlay = between("id=\"overlay\"", "</figure>");
    let legend = colours(
        overlay.split_once("class=\"legend\"").expect("a legend").1,
        "<polyline fill=\"none\" opacity=\"1\" stroke=\"",
    );
    let legend: Vec<&String> = legend.iter().collect();
    let zoomed: Vec<String> =
        (0..4).map(|place| colours(&page, &format!("--series-{place}: "))[0].clone()).collect();
    let mut rows = colours(between("<h3>Time</h3>", "</svg>"), "stroke=\"");
    rows.retain(|colour| zoomed.contains(colour));
    rows.dedup();
    assert_eq!(rows, zoomed, "beside each other, and zoomed");
    for (place, colour) in zoomed.iter().enumerate() {
        assert!(legend.contains(&colour), "{place}: {legend:?}");
    }
}

#[test]
fn lines_that_coincide_are_said() {
    let directory = tempdir().expect("a directory");
    let words =
        ["race", "--runs", "1", "--damage", "none", "--size", "300KB", "--variant", "sack,headway,hack+sack"];
    let page = page(directory.path(), &words, "page.html");
    assert!(
        page.contains("The lines of sack, hack+sack coincide: that of hack+sack is seen."),
        "{}",
        page.len()
    );
    assert_eq!(page.matches(" coincide").count(), 1);
}

#[test]
fn the_page_needs_nothing_else() {
    let directory = tempdir().expect("a directory");
    let page = page(directory.path(), &SHORT, "page.html");
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(page.contains("name=\"viewport\"") && page.contains("prefers-color-scheme: dark"));
    let name_of_svg = "http://www.w3.org/2000/svg";
    assert_eq!(
        page.matches("http").count(),
        page.matches(name_of_svg).count(),
        "no address of another place"
    );
    for foreign in ["<link", "<img", "@import", "url(", "src="] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    for element in ["svg", "figure", "table", "details", "section", "ul", "li", "div", "text"] {
        let opened =
            page.matches(&format!("<{element}>")).count() + page.matches(&format!("<{element} ")).count();
        assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "{element}");
    }
}

#[test]
fn unfinished_runs_are_marked() {
    let directory = tempdir().expect("a directory");
    let page = page(directory.path(), &["race", "--runs", "2", "--time-limit", "3s"], "page.html");
    assert!(page.contains("All 18 runs, 18 of them unfinished"));
    assert_eq!(page.matches("<tr class=\"unfinished\">").count(), VARIANTS.len() * (1 + 2));
    assert!(page.contains("newreno &gt; 3.00 s"), "the bar says so too");
    assert!(!page.contains("Fastest:"));
}

/// A sender that gives up before anything has arrived leaves nothing to draw, and a page all the same.
#[test]
fn a_link_that_delivers_nothing() {
    let directory = tempdir().expect("a directory");
    let words = ["race", "--runs", "2", "--loss", "100%", "--time-limit", "1h"];
    let page = page(directory.path(), &words, "page.html");
    assert_eq!(page.matches("class=\"plot sequence\"").count(), VARIANTS.len());
    let (drawn, _) = page.split_once("<script").expect("a script");
    assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
}

#[test]
fn words_of_the_user_are_only_text() {
    let directory = tempdir().expect("a directory");
    let name = "<b>&.bin";
    fs::write(directory.path().join(name), vec![7; 20_000]).expect("written");
    let page = page(directory.path(), &["race", name, "--runs", "1", "--delay", "1ms"], "page.html");
    assert!(page.contains("headway race '&lt;b&gt;&amp;.bin'"));
    assert!(!page.contains("<b>&.bin"));
}
