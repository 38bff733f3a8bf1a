//! The report of experiments: a page, a drawing of each figure, a table of the claims. The same results
//! give the same bytes.

mod captured;
mod chart;
mod columns;
mod draw;
mod drawing_file;
mod figure;
mod grid;
mod judgement;
mod links;
mod markdown;
mod over_time;
mod page;
mod panels;
mod parameters;
mod readings;
mod section;
mod tables;
mod tally;
mod words;

use std::collections::BTreeMap;

use headway_lab::{Judgement, Results, judge};
use rayon::prelude::*;

use crate::error::ReportError;
use figure::Figure;
pub use judgement::aim;
pub use links::{WorstLink, quantiles, worst_links};
use readings::Finding;
pub use tables::MARKS;
use tally::Tally;
pub use words::number;

/// What the report is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// The papers: each of their experiments is in it, whether it was run or not.
    Papers,
    /// Whatever the folder holds.
    Own,
}

/// An experiment in the report.
struct ReportedExperiment {
    results: Results,
    judgements: Vec<Judgement>,
    /// For each judgement: what the sweep over the readings of its source says, where it names one and
    /// the claim is not reproduced.
    findings: Vec<Option<Finding>>,
    /// Nothing where nothing was run.
    figure: Option<Figure>,
}

impl ReportedExperiment {
    fn all(collected: Vec<Results>) -> Result<Vec<Self>, ReportError> {
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
            let figure = is_run.then(|| draw::draw(&results)).transpose()?;
            Ok(Self { results, judgements, findings, figure })
        };
        collected.into_par_iter().zip(judged).map(entry).collect()
    }

    fn name(&self) -> &str {
        &self.results.manifest.name
    }
}

/// A report of experiments.
pub struct Report {
    entries: Vec<ReportedExperiment>,
    kind: ReportKind,
    /// The command that makes the results.
    command: String,
}

impl Report {
    /// The report of these results, which `command` makes. Runs that a figure over time shows are made again.
    ///
    /// # Errors
    ///
    /// A figure cannot be drawn.
    pub fn new(results: Vec<Results>, kind: ReportKind, command: String) -> Result<Self, ReportError> {
        Ok(Self { entries: ReportedExperiment::all(results)?, kind, command })
    }

    /// All of it as a page.
    pub fn page(&self) -> String {
        page::page(&self.entries, self.kind, &self.command)
    }

    /// The claims as Markdown.
    pub fn claims(&self) -> String {
        markdown::table(&self.entries, self.kind, &self.command)
    }

    /// The document `text` with the results as tables (Markdown) between its [`MARKS`]; nothing where it does
    /// not have them.
    pub fn tables_in(&self, text: &str) -> Option<String> {
        tables::placed(&self.entries, &self.command, text)
    }

    /// The figures as SVG, with the names of their experiments.
    pub fn drawings(&self) -> impl Iterator<Item = Result<(&str, String), ReportError>> {
        self.entries.iter().filter_map(|entry| {
            let figure = entry.figure.as_ref()?;
            let drawing = drawing_file::compose(&entry.results.manifest, figure);
            Some(drawing.map(|drawing| (entry.name(), drawing)))
        })
    }

    /// What is in it, in a sentence or two.
    pub fn summary(&self) -> String {
        Tally::of(&self.entries).sentence()
    }
}
