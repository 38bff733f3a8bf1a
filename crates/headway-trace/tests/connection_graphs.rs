//! Graphs of captured connections in the grammar of xplot.

use std::fs::File;
use std::path::Path;

use headway_trace::analysis::{Analyser, Analysis, Direction, Graphs, Options};
use headway_trace::reader::Reader;
use headway_trace::{write_outstanding, write_rtt, write_segments, write_throughput};

fn analyse(capture: &str, points: usize) -> Analysis {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(capture);
    let mut reader = Reader::new(File::open(path).expect("a capture")).expect("a capture");
    let graphs = Some(Graphs { points, connections: 0..1 });
    let mut analyser = Analyser::new(Options { graphs, ..Options::default() });
    while let Some(packet) = reader.next_packet().expect("a sound capture") {
        analyser.packet(&packet);
    }
    analyser.finish()
}

/// The four graphs of a direction.
fn draw(direction: &Direction) -> [String; 4] {
    let text = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut file = Vec::new();
        write(&mut file);
        String::from_utf8(file).expect("plain text")
    };
    [
        text(&|file| write_segments(file, "segments", direction).expect("written")),
        text(&|file| write_outstanding(file, "outstanding", direction).expect("written")),
        text(&|file| write_rtt(file, "rtt", direction).expect("written")),
        text(&|file| write_throughput(file, "throughput", &direction.throughput).expect("written")),
    ]
}

/// The commands of a file. Panics where xplot would fail.
fn commands(file: &str) -> Vec<Vec<&str>> {
    const COLOURS: [&str; 9] =
        ["white", "yellow", "green", "purple", "blue", "red", "orange", "magenta", "pink"];
    let mut lines = file.lines();
    let kind = lines.next().expect("the axes");
    assert!(["timeval unsigned", "timeval double"].contains(&kind), "{kind}");
    let is_time = |text: &str| {
        text.split_once('.').is_some_and(|(secs, micros)| secs.parse::<u64>().is_ok() && micros.len() == 6)
    };
    let is_value = |text: &str| match kind {
        "timeval unsigned" => text.parse::<u32>().is_ok(),
        _ => text.parse::<f64>().is_ok(),
    };
    for name in ["title", "xlabel", "ylabel"] {
        assert_eq!(lines.next(), Some(name));
        lines.next().expect("its text");
    }
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["go"] => {
                assert_eq!(lines.next(), None, "nothing comes after go");
                return found;
            }
            [colour] => assert!(COLOURS.contains(&colour), "{colour}"),
            ["line", x1, y1, x2, y2] => {
                assert!(is_time(x1) && is_time(x2) && is_value(y1) && is_value(y2), "{line}");
            }
            ["darrow" | "uarrow" | "diamond" | "dot" | "dtick" | "htick", x, y] => {
                assert!(is_time(x) && is_value(y), "{line}");
            }
            ["atext", x, y] => {
                assert!(is_time(x) && is_value(y), "{line}");
                lines.next().expect("its text");
            }
            _ => panic!("no command of xplot: {line}"),
        }
        found.push(words);
    }
    panic!("no go");
}

fn count(commands: &[Vec<&str>], name: &str) -> u64 {
    commands.iter().filter(|words| words[0] == name).count() as u64
}

#[test]
fn every_point_is_drawn() {
    let analysis = analyse("sim-xhack+sack.pcapng", 10_000);
    let direction = &analysis.connections[0].directions[0];
    let graph = direction.graph.as_ref().expect("points");
    let [segments, outstanding, rtt, throughput] = draw(direction);
    let segments = commands(&segments);
    let sent = [&graph.sent, &graph.retransmitted, &graph.out_of_order, &graph.probes, &graph.corrupted];
    let total: u64 = sent.iter().map(|series| series.total()).sum();
    assert_eq!((count(&segments, "darrow"), count(&segments, "uarrow")), (total, total));
    assert!(graph.retransmitted.total() > 0 && graph.corrupted.total() > 0);
    assert_eq!(count(&segments, "atext"), total - graph.sent.total() + graph.zero_windows.total());
    assert_eq!(count(&segments, "dtick"), direction.duplicate_acks);
    assert!(graph.special.total() > 0 && graph.sacks.total() > 0);
    assert_eq!(count(&segments, "diamond"), graph.special.total());
    assert_eq!(count(&segments, "htick"), 2 * graph.sacks.total());
    assert!(count(&commands(&outstanding), "line") >= graph.outstanding.total() - 1);
    assert_eq!(count(&commands(&rtt), "dot"), direction.acknowledged().rtt.count());
    assert!(count(&commands(&throughput), "line") > 10);
}

#[test]
fn the_graphs_agree_with_the_numbers() {
    let analysis = analyse("linux-cubic-reorder.pcap", 10_000);
    let direction = &analysis.connections[0].directions[0];
    let graph = direction.graph.as_ref().expect("points");
    assert_eq!(graph.retransmitted.total(), direction.retransmitted.packets);
    assert_eq!(graph.out_of_order.total(), direction.out_of_order);
    let highest = graph.outstanding.points().iter().map(|point| point.bytes).max();
    assert_eq!(highest, Some(direction.outstanding_max));
    // All is acknowledged in the end; the FIN counts as one byte.
    let last = graph.edges.points().last().expect("an ACK");
    assert_eq!(last.ack, direction.data.unique_bytes + 1);
}

#[test]
fn few_points_and_no_points_are_drawn_too() {
    let few = analyse("linux-reno-loss.pcap", 16);
    for direction in &few.connections[0].directions {
        draw(direction).iter().for_each(|file| drop(commands(file)));
        assert!(direction.graph.as_ref().is_some_and(|graph| graph.sent.points().len() <= 16));
    }
    let reuse = analyse("linux-cubic-reuse.pcap", 16);
    let without = &reuse.connections[1].directions[0];
    assert!(without.graph.is_none());
    draw(without).iter().for_each(|file| drop(commands(file)));
}
