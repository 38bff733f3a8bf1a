//! `headway trace`: what a capture says about its connections.

mod arguments;
mod csv;
mod file;
mod json;
mod metrics;
mod page;
mod text;
mod units;
mod xplot;

use std::io::{self, Write};

use headway_trace::analysis::{Connection, Graphs};

use crate::failure::Failure;
use crate::race::output;
pub(crate) use arguments::Arguments;
use arguments::Table;
use file::Traced;
pub(crate) use file::analyse;

/// Of how many connections graphs are drawn, unless some are chosen.
const GRAPHS: usize = 16;
/// The most points of each kind in a graph.
pub(crate) const POINTS: usize = 20_000;

/// Analyses the capture. `words` are the words of the command line, without the program's name.
pub(crate) fn run(arguments: &Arguments, words: &[String]) -> Result<(), Failure> {
    let (first, last) = arguments.span()?;
    let draws = arguments.html.is_some() || arguments.xplot.is_some();
    // One choice decides what is drawn and what is told.
    let drawn = if arguments.connection.is_empty() { 0..GRAPHS } else { first..last };
    let graphs = draws.then_some(Graphs { points: POINTS, connections: drawn });
    let traced = analyse(&arguments.file, arguments.interface.as_deref(), graphs)?;
    let chosen = choose(arguments, &traced)?;
    if let Some(path) = &arguments.html {
        let mut file = output::begin(path)?;
        let page = page::page(&traced, &chosen, words);
        file.write_all(page.as_bytes()).map_err(|source| Failure::Output { path: path.into(), source })?;
        output::finish(file, path)?;
        eprintln!("wrote {}", path.display());
    }
    if let Some(directory) = &arguments.xplot {
        let count = xplot::write(directory, &chosen)?;
        eprintln!("wrote {count} files to {}", directory.display());
    }
    let told = match (arguments.json, arguments.csv) {
        (true, _) => json::render(&traced, &chosen),
        (_, Some(Table::Connections)) => csv::connections(&traced, &chosen),
        (_, Some(Table::Throughput)) => csv::throughput(&chosen),
        _ => text::render(&traced, &chosen, !arguments.connection.is_empty()),
    };
    let mut out = io::stdout().lock();
    out.write_all(told.as_bytes()).and_then(|()| out.flush()).map_err(Failure::StandardOutput)
}

/// A connection and its number, which counts from 1.
struct Numbered<'a> {
    number: usize,
    connection: &'a Connection,
}

/// The connections that were asked for.
fn choose<'a>(arguments: &Arguments, traced: &'a Traced) -> Result<Vec<Numbered<'a>>, Failure> {
    let connections = &traced.analysis.connections;
    let all = connections.iter().zip(1..).map(|(connection, number)| Numbered { number, connection });
    if arguments.connection.is_empty() {
        return Ok(all.collect());
    }
    if let Some(&beyond) = arguments.connection.iter().find(|&&number| number > connections.len()) {
        let expected = match connections.len() {
            0 => "the capture has no connections".into(),
            count => format!("expected a number from 1 to {count}"),
        };
        return Err(Failure::BadOption { option: "--connection", value: beyond.to_string(), expected });
    }
    Ok(all.filter(|numbered| arguments.connection.contains(&numbered.number)).collect())
}
