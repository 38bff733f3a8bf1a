//! `headway race`: the main job.

mod arguments;
mod capture;
mod json;
mod output;
mod report;
mod table;

use std::io::{self, IsTerminal, Write};

use headway_sim::Content;
use headway_sim::race::{self, RunOutcome, Scenario, summarize};
use headway_tcp::Variant;
use headway_trace::TimeSequence;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use crate::failure::Failure;
pub(crate) use arguments::Arguments;
use capture::CaptureFile;

/// What the first run of a sender left to look at.
pub(crate) struct FirstRun {
    variant: Variant,
    outcome: RunOutcome,
    sequence: Option<TimeSequence>,
}

/// Everything that a race gave.
pub(crate) struct Results {
    scenario: Scenario,
    content_len: u64,
    runs: Vec<RunOutcome>,
    first_runs: Vec<FirstRun>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let scenario = arguments.scenario()?;
    let content = arguments.content()?;
    let variants = arguments.variants();
    if let Some(directory) = &arguments.pcap {
        output::create_directory(directory)?;
    }
    let results = race_all(arguments, &scenario, &content, &variants)?;
    let summaries = summarize(&results.runs);
    if let Some(path) = &arguments.report {
        let page = report::page(&results, &summaries)?;
        output::write_whole(path, page.as_bytes())?;
    }
    let text = if arguments.json {
        json::render(&results, &summaries)
    } else {
        table::render(&results, &summaries)
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::StandardOutput)
}

/// Runs every sender with every seed, over all cores.
fn race_all(
    arguments: &Arguments,
    scenario: &Scenario,
    content: &Content,
    variants: &[Variant],
) -> Result<Results, Failure> {
    let jobs: Vec<(Variant, u64)> = variants
        .iter()
        .flat_map(|&variant| (0..u64::from(arguments.runs)).map(move |run| (variant, arguments.seed + run)))
        .collect();
    let progress = progress_bar(jobs.len() as u64);
    let finished: Vec<FirstRun> = jobs
        .par_iter()
        .map(|&(variant, seed)| {
            let recorded = seed == arguments.seed;
            let run = one_run(arguments, scenario, content, variant, seed, recorded);
            progress.inc(1);
            run
        })
        .collect::<Result<_, _>>()?;
    progress.finish_and_clear();
    let runs = finished.iter().map(|run| run.outcome.clone()).collect();
    let first_runs = finished.into_iter().filter(|run| run.outcome.seed == arguments.seed).collect();
    Ok(Results { scenario: scenario.clone(), content_len: content.len(), runs, first_runs })
}

fn one_run(
    arguments: &Arguments,
    scenario: &Scenario,
    content: &Content,
    variant: Variant,
    seed: u64,
    recorded: bool,
) -> Result<FirstRun, Failure> {
    let wants_sequence = recorded && arguments.report.is_some();
    let capture = match &arguments.pcap {
        Some(directory) if recorded => Some(CaptureFile::create(directory, variant, seed)?),
        _ => None,
    };
    if !wants_sequence && capture.is_none() {
        // Without anybody watching, events and packets are not even put into words.
        let outcome = race::run(scenario, variant, content, seed, true)?;
        return Ok(FirstRun { variant, outcome, sequence: None });
    }
    let observer = || wants_sequence.then(TimeSequence::new);
    let recording = race::run_recorded(scenario, variant, content, seed, true, observer, capture)?;
    if let Some(capture) = recording.tap {
        capture.finish()?;
    }
    Ok(FirstRun { variant, outcome: recording.outcome, sequence: recording.sender })
}

fn progress_bar(jobs: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(jobs).with_style(style)
}
