//! `headway trace`: statistics and graphs of the connections in a capture.

mod arguments;
mod csv;
mod error;
mod text;
mod xplot;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use headway_command::{BadOption, notice, output, require_distinct};
use headway_report::command_line;
use headway_report::trace::{AnalysedCapture, Numbered, POINTS, json, page};
use headway_trace::analysis::Graphs;

pub(crate) use arguments::Arguments;
use arguments::Table;
pub(crate) use error::TraceError;

/// The number of connections whose graphs are drawn by default.
const GRAPHS: usize = 16;

/// Analyses the capture. `words` are the words of the command line, without the program's name.
pub(crate) fn run(arguments: &Arguments, words: &[String]) -> Result<(), TraceError> {
    let (first, last) = arguments.span()?;
    let draws = arguments.html.is_some() || arguments.xplot.is_some();
    // The same connections are drawn and printed.
    let drawn = if arguments.connection.is_empty() { 0..GRAPHS } else { first..last };
    let graphs = draws.then_some(Graphs { points: POINTS, connections: drawn });
    let interface = arguments.interface.as_deref();
    let is_standard = |path: &PathBuf| path == Path::new("-");
    if arguments.file.len() > 1 && arguments.file.iter().any(is_standard) {
        return Err(BadOption::new("FILE", "-", "expected standard input alone, or files only").into());
    }
    let read = arguments.file.iter().map(|path| ("FILE", Some(path.as_path())));
    require_distinct(read, [("--html", arguments.html.as_deref())])?;
    let capture = if arguments.file.iter().any(is_standard) {
        let name = Path::new("standard input");
        AnalysedCapture::read_file(&spool().map_err(TraceError::Input)?, name, interface, graphs)?
    } else {
        AnalysedCapture::read_all(&arguments.file, interface, graphs)?
    };
    let chosen = choose(arguments, &capture)?;
    if let Some(path) = &arguments.html {
        let page = page(&capture, &chosen, &command_line(words));
        output::write(path, page)?;
        notice!("wrote {}", path.display());
    }
    if let Some(directory) = &arguments.xplot {
        let count = xplot::write(directory, &chosen)?;
        notice!("wrote {count} files to {}", directory.display());
    }
    let text = match (arguments.json, arguments.csv) {
        (true, _) => json(&capture, &chosen),
        (_, Some(Table::Connections)) => csv::connections(&capture, &chosen),
        (_, Some(Table::Throughput)) => csv::throughput(&chosen),
        _ => text::render(&capture, &chosen, !arguments.connection.is_empty()),
    };
    Ok(output::print(&text)?)
}

/// Standard input in a file without a name, since a capture is read twice.
fn spool() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    Ok(file)
}

/// The connections that `--connection` names, or all.
fn choose<'a>(arguments: &Arguments, capture: &'a AnalysedCapture) -> Result<Vec<Numbered<'a>>, BadOption> {
    let count = capture.analysis().connections.len();
    if arguments.connection.is_empty() {
        return Ok(capture.connections().collect());
    }
    if let Some(&beyond) = arguments.connection.iter().find(|&&number| number > count) {
        let expected = match count {
            0 => "the capture has no connections".into(),
            count => format!("expected a number from 1 to {count}"),
        };
        return Err(BadOption::new("--connection", beyond.to_string(), expected));
    }
    Ok(capture.connections().filter(|numbered| arguments.connection.contains(&numbered.number)).collect())
}
