//! xplot files: exact text of small graphs, and the grammar of large ones.

use headway_tcp::{Event, Observer, Profile, RecoveryPhase, RetransmitReason, Variant};
use headway_test_fixture::two_hosts::{CLIENT, Fate, TwoHosts, connection_ids};
use headway_trace::{TimeSequence, write_time_sequence, write_window};
use headway_units::{Duration, Instant};
use headway_wire::{SeqNumber, TcpFlags};

fn sent(seq: u32, len: u32) -> Event {
    Event::Sent { seq: SeqNumber(seq), len, ack: SeqNumber(0), flags: TcpFlags::ACK }
}

fn retransmitted(seq: u32, len: u32, reason: RetransmitReason) -> Event {
    Event::Retransmitted { seq: SeqNumber(seq), len, reason }
}

fn ack(number: u32) -> Event {
    Event::Acknowledged { una: SeqNumber(number) }
}

fn window(cwnd: u32, ssthresh: u32, pipe: u32) -> Event {
    Event::Window { cwnd, ssthresh, pipe }
}

fn special(seq: u32, count: u8) -> Event {
    Event::SpecialAckReceived { seq: SeqNumber(seq), count, accepted: 1 }
}

/// Events 1.001 s apart.
fn record(events: &[Event]) -> TimeSequence {
    let [id] = connection_ids();
    let mut sequence = TimeSequence::new();
    for (place, event) in events.iter().enumerate() {
        sequence.event(Instant::from_nanos(place as u64 * 1_001_000_000), id, event);
    }
    sequence
}

fn small() -> TimeSequence {
    record(&[
        sent(1, 100),
        sent(101, 50),
        ack(101),
        window(200, u32::MAX, 50),
        special(101, 2),
        retransmitted(101, 50, RetransmitReason::Damage),
        special(101, 1),
        Event::Recovery(RecoveryPhase::Timeout),
        retransmitted(101, 50, RetransmitReason::Timeout),
        window(100, 100, 50),
        retransmitted(101, 50, RetransmitReason::Probe),
        ack(151),
        window(150, 100, 0),
    ])
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut file = Vec::new();
    write(&mut file);
    String::from_utf8(file).unwrap()
}

#[test]
fn draws_a_time_sequence() {
    let file = text(|file| write_time_sequence(file, "a\nb", &small()).unwrap());
    let expected = "\
timeval unsigned
title
a b
xlabel
time
ylabel
sequence offset
white
darrow 0.000000 0
uarrow 0.000000 100
line 0.000000 0 0.000000 100
darrow 1.001000 100
uarrow 1.001000 150
line 1.001000 100 1.001000 150
purple
darrow 5.005000 100
uarrow 5.005000 150
line 5.005000 100 5.005000 150
atext 5.005000 150
D
red
darrow 8.008000 100
uarrow 8.008000 150
line 8.008000 100 8.008000 150
atext 8.008000 150
R
red
darrow 10.010000 100
uarrow 10.010000 150
line 10.010000 100 10.010000 150
atext 10.010000 150
P
green
dot 2.002000 100
line 2.002000 100 11.011000 100
line 11.011000 100 11.011000 150
magenta
diamond 4.004000 100
rtext 4.004000 100
2
diamond 6.006000 100
orange
btext 7.007000 100
RTO
go
";
    assert_eq!(file, expected);
}

#[test]
fn draws_the_window() {
    let file = text(|file| write_window(file, "window", &small()).unwrap());
    let expected = "\
timeval unsigned
title
window
xlabel
time
ylabel
bytes
white
dot 3.003000 50
line 3.003000 50 9.009000 50
line 9.009000 50 12.012000 50
line 12.012000 50 12.012000 0
blue
dot 9.009000 100
line 9.009000 100 12.012000 100
red
dot 3.003000 200
line 3.003000 200 9.009000 200
line 9.009000 200 9.009000 100
line 9.009000 100 12.012000 100
line 12.012000 100 12.012000 150
orange
utick 7.007000 0
go
";
    assert_eq!(file, expected);
}

/// Reads a file as xplot does (`get_input` in its source): coordinate types, then commands, of which
/// some are followed by a line of text. Returns how many commands there were.
fn check_grammar(file: &str) -> usize {
    let mut lines = file.lines();
    let [x, y] = lines.next().unwrap().split(' ').collect::<Vec<_>>()[..] else { panic!("two types") };
    assert_eq!(x, "timeval");
    let is_time = |text: &str| {
        let (seconds, micros) = text.split_once('.').unwrap();
        // Read with `atoi`.
        seconds.parse::<i32>().is_ok_and(|n| n >= 0) && micros.len() == 6 && micros.parse::<i32>().is_ok()
    };
    let is_value = |text: &str| match y {
        "unsigned" => text.parse::<u32>().is_ok(),
        "double" => text.parse::<u64>().is_ok_and(|value| value < 1 << 53),
        other => panic!("unknown type {other}"),
    };
    let mut count = 0;
    while let Some(line) = lines.next() {
        assert!(line.len() < 999);
        count += 1;
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["white" | "green" | "red" | "blue" | "purple" | "orange" | "magenta"] => {}
            ["title" | "xlabel" | "ylabel"] => assert!(lines.next().unwrap().len() < 1023),
            ["atext" | "btext" | "rtext", x, y] => {
                assert!(is_time(x) && is_value(y), "{line}");
                assert!(!lines.next().unwrap().is_empty());
            }
            ["darrow" | "uarrow" | "diamond" | "dot" | "utick", x, y] => {
                assert!(is_time(x) && is_value(y), "{line}");
            }
            ["line", x1, y1, x2, y2] => {
                assert!([x1, x2].into_iter().all(is_time) && [y1, y2].into_iter().all(is_value), "{line}");
            }
            ["go"] => assert_eq!(lines.next(), None, "nothing comes after go"),
            _ => panic!("no command of xplot: {line}"),
        }
    }
    count
}

#[test]
fn a_connection_is_drawn_in_the_grammar_of_xplot() {
    let profile = Variant::XhackSack.apply(Profile::linux22());
    let mut pair = TwoHosts::observed(profile, TimeSequence::new(), Duration::from_millis(50));
    pair.write(CLIENT, 300_000);
    pair.run(Duration::from_secs(600), |packet| match packet.data.map(|n| n % 20) {
        Some(3 | 4) => Fate::Corrupted,
        Some(11) => Fate::Lost,
        _ => Fate::Arrives,
    });
    let sequence = pair.observer();
    let points = sequence.sent().points().len() + sequence.retransmissions().points().len();
    let file = text(|file| write_time_sequence(file, "a connection", sequence).unwrap());
    assert!(check_grammar(&file) > 3 * points);
    for mark in ["\nD\n", "\nR\n", "\ndiamond "] {
        assert!(file.contains(mark), "no {mark:?}");
    }
    let file = text(|file| write_window(file, "its window", sequence).unwrap());
    assert!(check_grammar(&file) > sequence.windows().points().len());
}

#[test]
fn more_than_four_gigabytes_need_a_wider_axis() {
    let step = 1 << 30;
    let events: Vec<Event> = (0..5_u32)
        .flat_map(|n| [sent(n.wrapping_mul(step), step), ack((n + 1).wrapping_mul(step)), window(1, 1, 1)])
        .collect();
    let short = text(|file| write_time_sequence(file, "", &record(&events[..9])).unwrap());
    assert!(short.starts_with("timeval unsigned\n"));
    let long = text(|file| write_time_sequence(file, "", &record(&events)).unwrap());
    assert!(long.starts_with("timeval double\n"));
    assert!(long.contains(" 5368709120\n"));
    check_grammar(&short);
    check_grammar(&long);
}

#[test]
fn empty_series_give_an_empty_graph_and_titles_fit() {
    let empty = TimeSequence::new();
    assert_eq!(check_grammar(&text(|file| write_time_sequence(file, "empty", &empty).unwrap())), 8);
    check_grammar(&text(|file| write_window(file, "empty", &empty).unwrap()));
    // Four bytes each.
    check_grammar(&text(|file| write_window(file, &"𝄞".repeat(5000), &empty).unwrap()));
}
