//! The statistics as comma-separated values (RFC 4180, lines ended by a line feed).

use std::fmt::Write;

use headway_report::trace::metrics::{self, ending};
use headway_report::trace::{AnalysedCapture, Numbered};
use serde_json::Value as Json;

/// A row for each direction.
pub(super) fn connections(capture: &AnalysedCapture, chosen: &[Numbered<'_>]) -> String {
    let mut text = String::from("number,interface,ending,first_at_ns,duration_seconds,from,to");
    for metric in metrics::all() {
        let _ = write!(text, ",{}", metric.key);
    }
    text.push('\n');
    for Numbered { number, connection } in chosen {
        for side in 0..2 {
            let _ = write!(
                text,
                "{number},{},{},{},{},{},{}",
                field(&capture.interface(connection.interface)),
                ending(connection.ending()),
                connection.first_at.as_nanos(),
                connection.duration().as_secs_f64(),
                connection.ends[side],
                connection.ends[1 - side],
            );
            for metric in metrics::all() {
                match (metric.value)(connection, &connection.directions[side]).json() {
                    Json::Null => text.push(','),
                    value => {
                        let _ = write!(text, ",{value}");
                    }
                }
            }
            text.push('\n');
        }
    }
    text
}

/// A row for each interval of time of each direction that sent data.
pub(super) fn throughput(chosen: &[Numbered<'_>]) -> String {
    let mut text = String::from("number,from,to,start_seconds,interval_seconds,bytes,new_bytes\n");
    for Numbered { number, connection } in chosen {
        for (side, direction) in connection.directions.iter().enumerate() {
            let width = direction.throughput.width().as_secs_f64();
            for (place, interval) in direction.throughput.intervals().iter().enumerate() {
                let _ = writeln!(
                    text,
                    "{number},{},{},{:.3},{width},{},{}",
                    connection.ends[side],
                    connection.ends[1 - side],
                    place as f64 * width,
                    interval.bytes,
                    interval.new_bytes,
                );
            }
        }
    }
    text
}

/// A text as a field, quoted if necessary.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_what_has_to_be() {
        assert_eq!(field("eth0"), "eth0");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
