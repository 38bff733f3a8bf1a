//! Graphs as files for xplot, with the file names of tcptrace.

use std::path::Path;

use headway_command::{OutputError, output};
use headway_report::trace::Numbered;
use headway_trace::analysis::Direction;
use headway_trace::{TraceError, write_outstanding, write_rtt, write_segments, write_throughput};

/// Writes a graph.
type Draw = fn(&mut Vec<u8>, &str, &Direction) -> Result<(), TraceError>;

/// The suffix of the file name, the title, and the writer of each graph.
const GRAPHS: [(&str, &str, Draw); 4] = [
    ("tsg", "time sequence graph", |out, title, direction| write_segments(out, title, direction)),
    ("owin", "outstanding data", |out, title, direction| write_outstanding(out, title, direction)),
    ("rtt", "rtt samples", |out, title, direction| write_rtt(out, title, direction)),
    ("tput", "throughput", |out, title, direction| write_throughput(out, title, &direction.throughput)),
];

/// Writes the graphs of every direction that sent data and whose points were kept. Returns the number of
/// files.
pub(super) fn write(directory: &Path, chosen: &[Numbered<'_>]) -> Result<usize, OutputError> {
    output::create_directory(directory)?;
    let mut count = 0;
    for Numbered { number, connection } in chosen {
        for (side, direction) in connection.directions.iter().enumerate() {
            if direction.graph.is_none() || direction.data.packets == 0 {
                continue;
            }
            let names = [letters(2 * (number - 1) + side), letters(2 * (number - 1) + 1 - side)];
            let ends = [connection.ends[side], connection.ends[1 - side]];
            for (suffix, what, draw) in GRAPHS {
                let path = directory.join(format!("{}2{}_{suffix}.xpl", names[0], names[1]));
                let title = format!("{}_==>_{} ({what})", ends[0], ends[1]);
                write_file(&path, &title, direction, draw)?;
                count += 1;
            }
        }
    }
    Ok(count)
}

fn write_file(path: &Path, title: &str, direction: &Direction, draw: Draw) -> Result<(), OutputError> {
    let mut drawing = Vec::new();
    draw(&mut drawing, title, direction)
        .map_err(|source| OutputError::Capture { path: path.into(), source })?;
    output::write(path, &drawing)
}

/// tcptrace's names of hosts: a, b, ... z, aa, ab, ...
fn letters(mut place: usize) -> String {
    let mut name = Vec::new();
    loop {
        name.push(b'a' + (place % 26) as u8);
        if place < 26 {
            break;
        }
        place = place / 26 - 1;
    }
    name.iter().rev().map(|&letter| char::from(letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_letters() {
        assert_eq!([0, 1, 25, 26, 27, 701, 702].map(letters), ["a", "b", "z", "aa", "ab", "zz", "aaa"]);
    }
}
