//! Compares the analysis with tcptrace: with its recorded output, and with its current output where it is
//! installed.
//!
//! `UPDATE_TCPTRACE=1 cargo test -p headway-trace --test all tcptrace` records its current output.

mod cases;
mod ours;
mod table;
mod theirs;

use std::fs;

use headway_test_fixture::process::say_skipped;
use headway_trace::analysis::Connection;

use cases::{CASES, Case, ERRORS};
use ours::{Compare, ROWS};

/// The analysis of a case: the connections that tcptrace gets.
fn analysed(case: &Case) -> Vec<Connection> {
    let interface = case.interface.map(|name| theirs::place(case, name));
    let connections = ours::analyse(&case.path(), interface).connections;
    match case.part {
        Some(part) => connections.into_iter().skip(part).take(1).collect(),
        None => connections,
    }
}

fn is_same(compare: Compare, ours: f64, theirs: f64) -> bool {
    match compare {
        Compare::Equal => ours == theirs,
        Compare::Within(unit) => is_near(ours, theirs, unit),
        Compare::Share(share, unit) => {
            is_near(ours, theirs, unit) || (ours - theirs).abs() <= share * theirs.abs()
        }
    }
}

/// Whether two numbers are equal to within this unit, with some tolerance: tcptrace truncates times to
/// microseconds.
fn is_near(ours: f64, theirs: f64, unit: f64) -> bool {
    (ours - theirs).abs() <= unit * 0.525
}

/// Every number that differs from tcptrace's, except its known errors.
fn differences(case: &Case, text: &str) -> Vec<String> {
    let ours = analysed(case);
    let theirs = table::parse(text);
    if ours.len() != theirs.len() {
        return vec![format!("{case:?}: {} connections, tcptrace has {}", ours.len(), theirs.len())];
    }
    let mut found = Vec::new();
    for (connection, table) in ours.iter().zip(&theirs) {
        for (side, direction) in connection.directions.iter().enumerate() {
            for &(row, compare, value) in ROWS {
                let our = value(connection, direction);
                let their = table.number(row, side);
                let error = ERRORS.iter().find(|error| {
                    (error.capture, error.part, error.side, error.row) == (case.capture, case.part, side, row)
                });
                let is_as_expected = match (our, their, error) {
                    (Some(our), Some(their), Some(error)) => (our, their) == (error.ours, error.theirs),
                    (Some(our), Some(their), None) if row == "duplicate acks" => {
                        // RFC 5681, 2, requires outstanding data and a segment without SYN and FIN;
                        // tcptrace checks neither.
                        our + direction.repeated_acks as f64 == their
                    }
                    (Some(our), Some(their), None) => is_same(compare, our, their),
                    // tcptrace omits rows that are zero.
                    (our, None, None) => our.is_none_or(|our| our == 0.0),
                    _ => false,
                };
                if !is_as_expected {
                    found.push(format!("{case:?} {side} {row}: {our:?}, tcptrace has {their:?} {error:?}"));
                }
            }
        }
    }
    found
}

#[test]
fn equals_what_tcptrace_printed() {
    let found: Vec<String> = CASES
        .iter()
        .flat_map(|case| differences(case, &fs::read_to_string(case.expected()).expect("tcptrace's numbers")))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn equals_what_tcptrace_prints() {
    if !theirs::is_installed() {
        return say_skipped("tcptrace", "");
    }
    for case in CASES {
        let now = theirs::run(case);
        if std::env::var_os("UPDATE_TCPTRACE").is_some() {
            fs::write(case.expected(), &now).expect("written");
        }
        let committed = fs::read_to_string(case.expected()).expect("tcptrace's numbers");
        assert_eq!(now, committed, "{case:?}: the output of tcptrace has changed");
        let found = differences(case, &now);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

/// The captures contain what they are meant to test.
#[test]
fn the_captures_contain_what_they_test() {
    let sum = |number: fn(&Connection) -> u64| -> u64 {
        CASES.iter().flat_map(analysed).map(|connection| number(&connection)).sum()
    };
    assert!(sum(|c| c.directions[0].retransmitted.packets) > 30);
    assert!(sum(|c| c.directions[0].out_of_order) > 10);
    assert!(sum(|c| c.directions[0].duplicate_acks) > 100);
    assert!(sum(|c| c.directions[1].acks.sack_packets) > 100);
    assert!(sum(|c| c.directions[1].acks.dsack_packets) > 2);
    assert!(sum(|c| c.directions[1].windows.zero) > 0);
    assert!(sum(|c| c.directions[1].special.reporting_one) > 0);
    assert!(sum(|c| c.directions[1].special.listing) > 0);
    assert!(sum(|c| c.directions[0].all_damage().corrupted) > 0);
    assert!(sum(|c| c.directions[0].all_damage().unreadable) > 0);
}

/// A table without rows would be equal to any other.
#[test]
fn the_tables_are_read() {
    for case in CASES {
        let text = fs::read_to_string(case.expected()).expect("tcptrace's numbers");
        let theirs = table::parse(&text);
        assert!(!theirs.is_empty(), "{case:?}");
        for (row, ..) in ROWS {
            let is_optional =
                ["resets sent", "adv wind scale", "ambiguous acks", "urgent data pkts"].contains(row);
            let has_row =
                theirs.iter().all(|table| table.text(row, 0).is_some() && table.text(row, 1).is_some());
            assert!(has_row || is_optional, "{case:?} has no {row:?}");
        }
    }
}
