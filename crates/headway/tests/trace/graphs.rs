//! The page, and the files for xplot.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use super::trace;

#[test]
fn the_page_needs_nothing_else_and_is_the_same_every_time() {
    let directory = tempdir().expect("a directory");
    let page = || {
        trace(directory.path(), "sim-xhack+sack.pcapng", &["--html", "page.html"]);
        fs::read_to_string(directory.path().join("page.html")).expect("a page")
    };
    let first = page();
    assert_eq!(first, page());
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!first.contains(outside), "{outside}");
    }
    for part in ["prefers-color-scheme: dark", "width=device-width", "<noscript>", "Time sequence"] {
        assert!(first.contains(part), "{part}");
    }
}

#[test]
fn the_page_has_every_point() {
    let directory = tempdir().expect("a directory");
    let name = "sim-xhack+sack.pcapng";
    let numbers = trace(directory.path(), name, &["--html", "page.html", "--json"]);
    let numbers: Value = serde_json::from_str(&numbers).expect("JSON");
    let page = fs::read_to_string(directory.path().join("page.html")).expect("a page");
    let (_, rest) = page.split_once("id=\"data\">").expect("the data");
    let (data, _) = rest.split_once("</script>").expect("its end");
    let data: Value = serde_json::from_str(data).expect("JSON");
    let direction = &numbers["connections"][0]["directions"][0];
    let points = |key: &str, step: usize| data[0][key].as_array().expect("a list").len() / step;
    assert_eq!(data.as_array().map(Vec::len), Some(2));
    assert_eq!(points("retransmitted", 3).to_string(), direction["retransmitted_packets"].to_string());
    assert_eq!(points("duplicates", 2).to_string(), direction["duplicate_acks"].to_string());
    assert_eq!(points("rtt", 2).to_string(), direction["rtt_samples"].to_string());
    assert_eq!(points("corrupted", 3).to_string(), direction["corrupted_segments"].to_string());
    assert!(points("special", 2) > 0 && points("sacks", 3) > 0 && points("edges", 3) > 0);
    let list = data[0]["outstanding"].as_array().expect("a list");
    let max = list.iter().skip(1).step_by(2).filter_map(Value::as_u64).max();
    assert_eq!(max, direction["outstanding_max_bytes"].as_u64());
}

#[test]
fn files_for_xplot_have_the_names_of_tcptraces() {
    let directory = tempdir().expect("a directory");
    trace(directory.path(), "linux-cubic-reuse.pcap", &["--xplot", "graphs", "--connection", "2"]);
    let mut names: Vec<String> = fs::read_dir(directory.path().join("graphs"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort_unstable();
    let expected =
        ["c2d", "d2c"].map(|ends| ["owin", "rtt", "tput", "tsg"].map(|graph| format!("{ends}_{graph}.xpl")));
    assert_eq!(names, expected.concat());
    let graph = fs::read_to_string(directory.path().join("graphs/c2d_tsg.xpl")).expect("a graph");
    assert!(
        graph.starts_with(
            "timeval unsigned\ntitle\n10.77.0.1:40000_==>_10.77.0.2:5001 (time sequence graph)\n"
        )
    );
    assert!(graph.ends_with("go\n"));
}
