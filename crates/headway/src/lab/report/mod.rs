//! The report of experiments: a page, a drawing of each figure, a table of the claims. The same results
//! give the same bytes.

mod captured;
mod chart;
mod collect;
mod drawing_file;
mod figure;
mod grid;
mod legend;
mod markdown;
mod over_time;
mod page;
mod panels;
mod readings;
mod tables;
mod tally;
mod words;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use headway_lab::{Judgement, Results, judge};
use rayon::prelude::*;

use crate::failure::Failure;
use crate::race::output;
use figure::Figure;
use readings::Finding;
use tally::Tally;

/// Where a report comes from and where it goes.
#[derive(Args)]
pub(super) struct ReportOptions {
    /// Folder that holds a folder of results for each experiment, or the results of one
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write the page here; DIR/report.html if nothing else is asked for
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write a drawing of each figure (SVG) into this folder
    #[arg(long, value_name = "FOLDER")]
    figures: Option<PathBuf>,
    /// Write the table of claims (Markdown) here
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write a table of the results of each experiment (Markdown) here; in a file that has the lines
    /// `<!-- tables -->` and `<!-- /tables -->`, between them
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
}

/// What the report is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The papers: each of their experiments is in it, whether it was run or not.
    Papers,
    /// Whatever the folder holds.
    Own,
}

/// An experiment in the report.
struct Entry {
    results: Results,
    judgements: Vec<Judgement>,
    /// For each judgement: what the sweep over the readings of its source says, where it names one and
    /// the claim is not reproduced.
    findings: Vec<Option<Finding>>,
    /// Nothing where nothing was run.
    figure: Option<Figure>,
}

impl Entry {
    fn all(collected: Vec<Results>) -> Result<Vec<Self>, Failure> {
        let by_name: BTreeMap<&str, &Results> =
            collected.iter().map(|results| (results.manifest.name.as_str(), results)).collect();
        let judged: Vec<_> = collected
            .par_iter()
            .map(|results| {
                let judgements = judge(results);
                let findings = readings::findings(results, &judgements, &by_name);
                (judgements, findings)
            })
            .collect();
        let entry = |(results, (judgements, findings)): (Results, _)| {
            let is_run = results.missing() < results.wanted();
            let figure = is_run.then(|| Figure::of(&results)).transpose()?;
            Ok(Self { results, judgements, findings, figure })
        };
        collected.into_par_iter().zip(judged).map(entry).collect()
    }

    fn name(&self) -> &str {
        &self.results.manifest.name
    }
}

/// Writes the report, and says in a few lines what is in it.
pub(super) fn write(options: &ReportOptions, kind: Kind) -> Result<String, Failure> {
    let collected = collect::results(&options.folder, kind)?;
    let command = collect::command(&collected, kind);
    let entries = Entry::all(collected)?;
    let mut written: Vec<String> = Vec::new();
    let mut put = |path: &Path, bytes: &str| -> Result<(), Failure> {
        let mut file = output::begin(path)?;
        file.write_all(bytes.as_bytes()).map_err(|source| Failure::Output { path: path.into(), source })?;
        output::finish(file, path)?;
        written.push(path.display().to_string());
        Ok(())
    };
    let texts = [&options.html, &options.figures, &options.markdown, &options.tables];
    let nothing_asked = texts.iter().all(|asked| asked.is_none());
    let page = options.html.clone().or_else(|| nothing_asked.then(|| options.folder.join("report.html")));
    if let Some(path) = page {
        put(&path, &page::page(&entries, kind, &command))?;
    }
    if let Some(path) = &options.markdown {
        put(path, &markdown::table(&entries, kind, &command))?;
    }
    if let Some(path) = &options.tables {
        put(path, &tables::placed(&entries, &command, path)?)?;
    }
    if let Some(folder) = &options.figures {
        output::create_directory(folder)?;
        for entry in &entries {
            if let Some(figure) = &entry.figure {
                let drawing = drawing_file::compose(&entry.results.manifest, figure)?;
                put(&folder.join(format!("{}.svg", entry.name())), &drawing)?;
            }
        }
    }
    let files = match written.len() {
        0..=3 => written.join(", "),
        count => format!("{count} files, the last of them {}", written[count - 1]),
    };
    Ok(format!("{}\nwrote {files}\n", Tally::of(&entries).sentence()))
}
