//! The report of experiments.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use super::program::{SMALL, run_experiment};
use crate::HEADWAY;

/// The small experiment with another figure.
fn drawn_as(figure: &str) -> String {
    let start = SMALL.find("[figure]").expect("a figure");
    let end = SMALL.find("[[claim]]").expect("a claim");
    format!("{}[figure]\n{figure}\n{}", &SMALL[..start], &SMALL[end..])
}

/// An experiment of each kind of figure.
fn run_all_kinds(directory: &Path) {
    let goodput = "measure = \"goodput\"\nunit = \"KB/s\"";
    run_experiment(directory, "a-lines", &SMALL);
    let panels = format!("kind = \"lines\"\nx = \"length\"\npanels = \"variant\"\nlog = true\n{goodput}");
    run_experiment(directory, "b-panels", &drawn_as(&panels));
    let bars = format!("kind = \"bars\"\nx = \"length\"\nseries = \"variant\"\n{goodput}");
    run_experiment(directory, "c-bars", &drawn_as(&bars));
    let table = format!("kind = \"table\"\nx = \"length\"\nseries = \"variant\"\n{goodput}");
    run_experiment(directory, "d-table", &drawn_as(&table));
    for (name, kind) in [("e-sequence", "time-sequence"), ("f-throughput", "throughput-over-time")] {
        let figure =
            format!("kind = \"{kind}\"\nseries = \"variant\"\npanels = \"length\"\nmeasure = \"time\"");
        run_experiment(directory, name, &drawn_as(&figure));
    }
}

const NAMES: [&str; 6] = ["a-lines", "b-panels", "c-bars", "d-table", "e-sequence", "f-throughput"];

/// The part of a page that is about one experiment.
#[track_caller]
fn section<'a>(page: &'a str, name: &str) -> &'a str {
    let start = page.find(&format!("<section class=\"experiment\" id=\"{name}\"")).expect(name);
    let end = page[start..].find("</section>").expect("an end") + start;
    &page[start..end]
}

#[test]
fn tables_take_their_place_in_a_document() {
    let directory = tempdir().expect("a directory");
    let skip = "runs = 3\nskip = [{ variant = \"sack\", length = 4 }]";
    run_experiment(directory.path(), "a-lines", &SMALL.replace("runs = 3", skip));
    let document = directory.path().join("document.md");
    fs::write(&document, "before\n<!-- tables -->\nold\n<!-- /tables -->\nafter\n").expect("written");
    let words = ["lab", "report", "results", "--tables", "document.md"];
    HEADWAY.succeed(directory.path(), &words);
    let text = fs::read_to_string(&document).expect("written");
    assert!(
        text.starts_with("before\n<!-- tables -->\n") && text.ends_with("<!-- /tables -->\nafter\n"),
        "{text}"
    );
    assert!(!text.contains("old"), "{text}");
    let row = |start: &str| text.lines().find(|line| line.starts_with(start)).expect(start);
    assert_eq!(row("| length"), "| length | sack | hack+sack |");
    assert!(row("| 2 |").contains(" to "), "minimum and maximum: {text}");
    assert!(row("| 4 |").contains("| \u{2013} |"), "there is no such cell: {text}");
    assert!(row("| HACK \\| SACK").ends_with(" |"), "the claims too: {text}");
    HEADWAY.succeed(directory.path(), &words);
    assert_eq!(fs::read_to_string(&document).expect("written"), text, "and again");
    // A file of its own; and one that is another's.
    HEADWAY.succeed(directory.path(), &["lab", "report", "results", "--tables", "own.md"]);
    HEADWAY.succeed(directory.path(), &["lab", "report", "results", "--tables", "own.md"]);
    fs::write(&document, "without a place\n").expect("written");
    let output = HEADWAY.run(directory.path(), &words);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && complaint.contains("<!-- tables -->"), "{complaint}");
}

#[test]
fn every_kind_of_figure_is_drawn_the_same_each_time() {
    let directory = tempdir().expect("a directory");
    run_all_kinds(directory.path());
    let report = |number: u32| {
        let (html, markdown, figures) =
            (format!("{number}.html"), format!("{number}.md"), format!("{number}"));
        let words =
            ["lab", "report", "results", "--html", &html, "--markdown", &markdown, "--figures", &figures];
        let said = HEADWAY.succeed(directory.path(), &words);
        assert!(said.starts_with("6 experiments; 12 claims: "), "{said}");
        let read = |path: String| fs::read_to_string(directory.path().join(&path)).expect("written");
        let drawings: Vec<String> = NAMES.iter().map(|name| read(format!("{figures}/{name}.svg"))).collect();
        (read(html), read(markdown), drawings)
    };
    let first = report(1);
    assert!(first == report(2), "the same results, the same report");

    let (page, markdown, drawings) = first;
    for (name, drawing) in NAMES.iter().zip(&drawings) {
        assert!(page.contains(&format!("<a href=\"#{name}\">{name}</a>")), "{name} is in the summary");
        assert!(drawing.starts_with("<svg xmlns=") && drawing.ends_with("</svg>\n"), "{name}");
        assert_eq!(drawing.matches("<svg").count(), drawing.matches("</svg>").count(), "{name}");
        assert!(drawing.contains("A small sweep"), "{name}");
    }
    let plots = |name: &str| section(&page, name).matches("class=\"plot").count();
    assert_eq!(section(&page, "a-lines").matches("class=\"plot\" role").count(), 1);
    assert_eq!(section(&page, "b-panels").matches("class=\"plot panel\" role").count(), 2);
    assert_eq!(section(&page, "c-bars").matches("class=\"plot\" role").count(), 1);
    assert_eq!((plots("d-table"), section(&page, "d-table").matches("<h4>").count()), (0, 1));
    assert_eq!(section(&page, "e-sequence").matches("class=\"plot sequence\"").count(), 4);
    // A drawing of each sender for each length.
    assert_eq!(section(&page, "f-throughput").matches("class=\"plot panel\" role").count(), 4);

    // Two lines of two points each have a whisker of three strokes a point, and a mark.
    let lines = section(&page, "a-lines");
    assert!(lines.contains("goodput, KB/s") && lines.contains("95 % interval"));
    assert!(lines.contains("<p>One paragraph.</p><p>Another.</p>"));
    assert!(lines.contains("because &lt;it&gt; is; the order holds in "));
    assert_eq!(lines.matches("1000\u{d7}").count(), 1);

    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), 12);
    assert!(rows.iter().all(|row| row.replace("\\|", "").matches('|').count() == 8), "{rows:?}");
    assert!(markdown.contains("headway lab run FILE\nheadway lab report results --markdown FILE\n"));
}

/// What is drawn of a run is what `headway trace` reads from the capture that `headway race` writes of
/// the same run.
#[test]
fn figures_over_time_are_drawn_from_captures() {
    const SETTINGS: [(&str, &str); 5] = [
        ("delay", "80ms"),
        ("size", "200KB"),
        ("damage", "burst:5%:3"),
        ("header-hit", "30%"),
        ("profile", "linux22"),
    ];
    const SENDERS: [&str; 3] = ["sack", "hack", "xhack+sack"];
    let directory = tempdir().expect("a directory");
    let scenario: String = SETTINGS.iter().map(|(key, value)| format!("{key} = \"{value}\"\n")).collect();
    let experiment = |kind: &str| {
        format!(
            "title = \"T\"\nsource = \"S\"\nreading = \"R\"\nruns = 1\n[sweep]\nvariant = {SENDERS:?}\n\
             [scenario]\n{scenario}[figure]\nkind = \"{kind}\"\nseries = \"variant\"\nmeasure = \"time\"\n"
        )
    };
    // The seeds of the runs follow from the name of the experiment: it is the same for both.
    let [sequence, throughput] = ["time-sequence", "throughput-over-time"].map(|kind| {
        let own = directory.path().join(kind);
        fs::create_dir(&own).expect("a directory");
        run_experiment(&own, "same", &experiment(kind));
        HEADWAY.succeed(&own, &["lab", "report", "results"]);
        fs::read_to_string(own.join("results/report.html")).expect("a page")
    });
    let table = directory.path().join("time-sequence/results/same/runs.csv");
    let table = fs::read_to_string(table).expect("a table");
    let (names, rows) = table.split_once('\n').expect("a header");
    let column = names.split(',').position(|name| name == "seed").expect("a column of seeds");
    let seed = rows.split(',').nth(column).expect("a seed");

    let options: Vec<String> = SETTINGS.iter().map(|(key, value)| format!("--{key}={value}")).collect();
    // What experiments send.
    let content: Vec<u8> =
        (0..200_000_u64).map(|byte| (byte.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
    fs::write(directory.path().join("content"), content).expect("written");
    let mut words = vec!["race", "content", "--runs=1", "--seed", seed, "--pcap", "captures"];
    words.extend(options.iter().map(String::as_str));
    HEADWAY.succeed(directory.path(), &words);
    for variant in SENDERS {
        let capture = format!("captures/{variant}-{seed}.pcapng");
        let text = HEADWAY.succeed(directory.path(), &["trace", &capture, "--json"]);
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let [data, answers] = [0, 1].map(|side| &document["connections"][0]["directions"][side]);
        let number = |value: &serde_json::Value| value.as_u64().expect("a number");
        let special = number(&answers["special_acks_one"]) + number(&answers["special_acks_list"]);
        assert!(
            number(&data["retransmitted_packets"]) > 0 && (special > 0) == variant.contains("hack"),
            "{variant}"
        );
        let expected = format!(
            "Time-sequence graph of {variant}: {} segments sent, {} of them retransmitted, {special} special ACKs, \
             the longest pause ",
            data["data_packets"], data["retransmitted_packets"],
        );
        assert!(sequence.contains(&expected), "{expected}");

        // The graph of the throughput ends with the last byte's ACK, as the capture's does.
        let html = format!("{variant}.html");
        HEADWAY.succeed(directory.path(), &["trace", &capture, "--html", &html]);
        let drawn = fs::read_to_string(directory.path().join(&html)).expect("a page");
        let start = drawn.find("id=\"data\">").expect("points") + 10;
        let end = start + drawn[start..].find("</script>").expect("an end");
        let points: serde_json::Value = serde_json::from_str(&drawn[start..end]).expect("JSON");
        let edges: Vec<u64> = points[0]["edges"].as_array().expect("a list").iter().map(number).collect();
        let size = number(&data["unique_bytes"]);
        let done = edges.chunks(3).find(|edge| edge[1] >= size).expect("all was acknowledged")[0];
        let seconds = done as f64 / 1e9;
        let time = format!("{variant} {seconds:.*} s", if seconds < 10.0 { 2 } else { 1 });
        assert!(throughput.contains(&time), "{time}");
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let directory = tempdir().expect("a directory");
    run_experiment(directory.path(), "my", &SMALL);
    let said = HEADWAY.succeed(directory.path(), &["lab", "report", "results"]);
    assert!(said.ends_with("wrote results/report.html\n"), "{said}");
    let page = fs::read_to_string(directory.path().join("results/report.html")).expect("a page");
    for outside in ["<script", "<link", " src=", "@import", "url(", "href=\"http"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
    // One experiment's folder will do, too.
    HEADWAY.succeed(directory.path(), &["lab", "report", "results/my", "--html", "other.html"]);
    assert!(fs::read_to_string(directory.path().join("other.html")).expect("a page") == page);
}

#[test]
fn runs_that_are_missing_or_did_not_finish_are_counted() {
    let directory = tempdir().expect("a directory");
    let cut = SMALL.replace("size = \"64KB\"", "size = \"64KB\"\ntime-limit = \"100ms\"");
    run_experiment(directory.path(), "cut", &cut);
    run_experiment(directory.path(), "short", &SMALL);
    let journal = directory.path().join("results/short/runs.jsonl");
    let text = fs::read_to_string(&journal).expect("a journal");
    let kept: String = text.split_inclusive('\n').take(7).collect();
    fs::write(&journal, kept).expect("written");
    let said = HEADWAY.succeed(directory.path(), &["lab", "report", "results", "--html", "page.html"]);
    assert!(
        said.contains("5 of 24 runs are still to be made, and 12 of the others did not finish"),
        "{said}"
    );
    let page = fs::read_to_string(directory.path().join("page.html")).expect("a page");
    assert!(section(&page, "short").contains("5 runs are still missing, of 12."));
    let cut = section(&page, "cut");
    assert!(cut.contains("12 of 12 runs did not finish"));
    assert!(cut.contains("some runs did not finish</li>"), "the legend explains the rings");
}

#[test]
fn a_run_that_cannot_be_made_again_is_noted() {
    let directory = tempdir().expect("a directory");
    let figure = "kind = \"time-sequence\"\nseries = \"variant\"\nmeasure = \"time\"";
    run_experiment(directory.path(), "my", &drawn_as(figure));
    let manifest = directory.path().join("results/my/experiment.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replacen("\"delay\": \"20ms\"", "\"delay\": \"20 parsecs\"", 1))
        .expect("written");
    HEADWAY.succeed(directory.path(), &["lab", "report", "results"]);
    let page = fs::read_to_string(directory.path().join("results/report.html")).expect("a page");
    let own = section(&page, "my");
    assert_eq!(own.matches("class=\"plot sequence\"").count(), 1);
    assert!(own.contains("Not drawn: sack: ") && own.contains("delay: ") && own.contains("20 parsecs"));
}

/// Figures over time are made of one run again, over a recorded link whose file is gone.
/// The oracle has no connection, and of a warm run the second is drawn.
#[test]
fn figures_over_time_of_the_oracle_and_of_warm_runs() {
    let directory = tempdir().expect("a directory");
    let figure = "kind = \"throughput-over-time\"\nseries = \"variant\"\nmeasure = \"time\"";
    let start = SMALL.find("[[claim]]").expect("a claim");
    let text = drawn_as(figure)[..].replace(&SMALL[start..], "");
    let text = text.replace("\"hack+sack\"", "\"oracle\"").replace("delay =", "warm = \"on\"\ndelay =");
    run_experiment(directory.path(), "warm", &text);
    HEADWAY.succeed(directory.path(), &["lab", "report", "results", "--html", "page.html"]);
    let page = fs::read_to_string(directory.path().join("page.html")).expect("a page");
    assert!(page.contains("Not drawn: oracle: oracle is not a TCP"), "{page}");
    // The drawing ends where the measured transfer did, not where both had.
    let runs = fs::read_to_string(directory.path().join("results/warm/runs.csv")).expect("a table");
    let mut rows = runs.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let column = rows.next().expect("a header").iter().position(|name| *name == "seconds").expect("a column");
    let seconds: f64 = rows.next().expect("a run")[column].parse().expect("a number");
    let told = page.split("aria-label=\"Throughput over time, : sack ").nth(1).expect("a label");
    let told: f64 = told.split(' ').next().and_then(|number| number.parse().ok()).expect("seconds");
    assert!((told - seconds).abs() < 0.2, "drawn {told} s, measured {seconds} s");
}

#[test]
fn recorded_links_are_drawn_from_the_results_alone() {
    let directory = tempdir().expect("a directory");
    let file = directory.path().join("link.fates");
    fs::write(&file, "ok 9\nhit payload 1\nlost\n").expect("written");
    let figure = "kind = \"time-sequence\"\nseries = \"variant\"\nmeasure = \"time\"";
    let text = drawn_as(figure).replace("damage = \"burst:5%:{length}\"", "damage = \"trace:link.fates\"");
    assert!(text.contains("trace:"));
    run_experiment(directory.path(), "my", &text);
    fs::remove_file(file).expect("removed");
    HEADWAY.succeed(directory.path(), &["lab", "report", "results"]);
    let page = fs::read_to_string(directory.path().join("results/report.html")).expect("a page");
    let own = section(&page, "my");
    assert_eq!(own.matches("class=\"plot sequence\"").count(), 2);
    assert!(!own.contains("Not drawn"));
}

#[test]
fn every_experiment_of_the_papers_has_a_row() {
    let directory = tempdir().expect("a directory");
    HEADWAY.succeed(directory.path(), &["paper", "run", "000-fig25", "--runs", "1", "--set", "size=16KiB"]);
    HEADWAY.succeed(
        directory.path(),
        &["paper", "report", "results", "--html", "page.html", "--markdown", "page.md"],
    );
    let page = fs::read_to_string(directory.path().join("page.html")).expect("a page");
    let markdown = fs::read_to_string(directory.path().join("page.md")).expect("a table");
    let list = HEADWAY.succeed(directory.path(), &["paper", "list"]);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 40, "{names:?}");
    for name in &names {
        assert!(page.contains(&format!("<a href=\"#{name}\">{name}</a>")), "{name}");
        assert!(markdown.contains(&format!("| `{name}`")), "{name}");
        if *name == "000-fig25" {
            assert!(section(&page, name).contains("<figure"), "{name}");
        } else {
            // Folded away, without a verdict or a reason.
            let (_, own) = page.split_once(&format!("<div class=\"folded\" id=\"{name}\">")).expect(name);
            let (own, _) = own.split_once("</details>").expect(name);
            assert!(own.contains(&format!("headway paper run {name}</code> runs it.")), "{name}");
            assert!(own.contains("<dl class=\"parameters\""), "{name}");
            assert!(
                !own.contains("<figure") && !own.contains(">why<") && !own.contains(">verdict<"),
                "{name}"
            );
        }
    }
    let not_run: Vec<&str> =
        markdown.lines().filter(|line| line.starts_with("| `") && line.contains("| not run |")).collect();
    assert!(not_run.len() >= names.len() - 1);
    assert!(not_run.iter().all(|line| line.ends_with("| not run |  |")), "no reason for what was not run");
}
