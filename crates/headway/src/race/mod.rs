//! `headway race`: the main job.

mod arguments;
mod capture;
mod error;
mod json;
mod qlog;
mod table;
mod watch;

use std::io::{self, IsTerminal};

use headway_command::{notice, output, require_distinct};
use headway_report::command_line;
use headway_report::race::{FirstRun, Results, page};
use headway_sim::Content;
use headway_sim::race::{self, Entrant, OracleOutcome, RunSettings, Scenario, summarize};
use headway_trace::TimeSequence;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

pub(crate) use arguments::Arguments;
pub(crate) use error::RaceError;
use watch::{RunSamples, Watched};

/// Runs the race. `words` are the words of the command line, without the program's name.
pub(crate) fn run(arguments: &Arguments, words: &[String]) -> Result<(), RaceError> {
    let settings = arguments.settings()?;
    let read = [("FILE", arguments.file.as_deref())];
    require_distinct(read, [("--report", arguments.report.as_deref())])?;
    let content = arguments.content(&settings)?;
    let senders = arguments.senders(&settings);
    // Where the page is to go is tried before the race, not after it.
    let report = match &arguments.report {
        Some(path) => Some((path, output::begin(path)?)),
        None => None,
    };
    let watched = match arguments.watch.address() {
        Some(address) => {
            let runs = (arguments.runs, arguments.pace);
            Some(Watched::start(address, &senders, runs, command_line(words))?)
        }
        None => None,
    };
    for directory in [&arguments.pcap, &arguments.qlog].into_iter().flatten() {
        output::create_directory(directory)?;
    }
    let run = || race_all(arguments, &settings.scenario, &content, (&senders, watched.as_ref()));
    let results = match arguments.pace {
        // Runs that are held back wait most of the time.
        Some(_) => ThreadPoolBuilder::new().num_threads(senders.len()).build()?.install(run)?,
        None => run()?,
    };
    let summaries = summarize(&results.runs);
    if let Some((path, file)) = report {
        let page = page(&results, &summaries, &command_line(words))?;
        output::write_to(file, path, page)?;
    }
    announce(arguments, &senders);
    let text = if arguments.json {
        json::render(&results, &settings, &summaries)
    } else {
        table::render(&results, &summaries)
    };
    output::print(&text)?;
    match watched {
        Some(watched) => Ok(watched.keep_until_stopped()?),
        None => Ok(()),
    }
}

/// Names the files that were written, beside the results and not among them.
fn announce(arguments: &Arguments, senders: &[Entrant]) {
    let mut files = Vec::new();
    if let Some(captures) = arguments.captures() {
        let tcps = senders.iter().filter_map(|sender| sender.tcp());
        let paths = tcps.flat_map(|sender| captures.paths(sender, arguments.seed));
        files.extend(paths.map(|path| path.display().to_string()));
    }
    if let Some(qlogs) = arguments.qlogs() {
        let tcps = senders.iter().filter_map(|sender| sender.tcp());
        let paths = tcps.flat_map(|sender| qlogs.paths(sender, arguments.seed));
        files.extend(paths.map(|path| path.display().to_string()));
    }
    files.extend(arguments.report.iter().map(|path| path.display().to_string()));
    if !files.is_empty() {
        notice!("wrote {}", files.join(", "));
    }
}

/// Runs every sender with every seed, over all cores.
fn race_all(
    arguments: &Arguments,
    scenario: &Scenario,
    content: &Content,
    (senders, watched): (&[Entrant], Option<&Watched>),
) -> Result<Results, RaceError> {
    let seeds = || (0..u64::from(arguments.runs)).map(|run| arguments.seed + run);
    let jobs: Vec<(Entrant, u64)> =
        senders.iter().flat_map(|&sender| seeds().map(move |seed| (sender, seed))).collect();
    let progress = progress_bar(jobs.len() as u64);
    let mut finished: Vec<FirstRun> = jobs
        .par_iter()
        .map(|&(sender, seed)| {
            let settings = RunSettings { scenario, content, seed, hash: scenario.duration.is_none() };
            let mut samples = watched.map(|watched| watched.run(sender, seed));
            let run = one_run(arguments, settings, sender, &mut samples);
            if let (Some(samples), Ok(run)) = (samples, &run) {
                samples.finish(&run.outcome);
            }
            progress.inc(1);
            run
        })
        .collect::<Result<_, _>>()?;
    let oracles: Vec<Option<OracleOutcome>> = seeds()
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|seed| race::oracle(scenario, content.len(), seed))
        .collect();
    for run in &mut finished {
        let place = (run.outcome.seed - arguments.seed) as usize;
        run.outcome = run.outcome.clone().beside(oracles[place].as_ref());
    }
    progress.finish_and_clear();
    let runs = finished.iter().map(|run| run.outcome.clone()).collect();
    let first_runs = finished.into_iter().filter(|run| run.outcome.seed == arguments.seed).collect();
    let content_len = scenario.duration.is_none().then(|| content.len());
    Ok(Results { scenario: scenario.clone(), content_len, runs, first_runs })
}

fn one_run(
    arguments: &Arguments,
    settings: RunSettings<'_>,
    sender: Entrant,
    samples: &mut Option<RunSamples<'_>>,
) -> Result<FirstRun, RaceError> {
    let RunSettings { scenario, content, seed, hash } = settings;
    let recorded = seed == arguments.seed;
    // The oracle is not a TCP: nothing of it is recorded.
    let tcp = sender.tcp().filter(|_| recorded);
    let wants_sequence = tcp.is_some() && arguments.report.is_some();
    let capture = match (arguments.captures(), tcp) {
        (Some(captures), Some(tcp)) => Some(captures.create(tcp, seed)?),
        _ => None,
    };
    let qlogs = arguments.qlogs().zip(tcp);
    if !wants_sequence && capture.is_none() && qlogs.is_none() {
        // Without an observer, events and packets are not even put into words.
        let outcome = match samples {
            Some(samples) => race::run_sampled(settings, sender, || (), (), samples)?.outcome,
            None => race::run(scenario, sender, content, seed, hash)?,
        };
        return Ok(FirstRun { sender, outcome, sequence: None });
    }
    // The receiver's observer is asked for first, then the sender's, then those of the companions.
    let mut ends = match qlogs {
        Some((qlogs, tcp)) => Vec::from(qlogs.create(tcp, seed)?),
        None => Vec::new(),
    };
    let observer = || (wants_sequence.then(TimeSequence::new), ends.pop());
    let recording = race::run_sampled(settings, sender, observer, capture, samples)?;
    if let Some(capture) = recording.tap {
        capture.finish()?;
    }
    let ((sequence, sending), (_, receiving)) = (recording.sender, recording.receiver);
    if let Some((qlogs, tcp)) = qlogs {
        qlogs.finish(tcp, seed, [sending, receiving])?;
    }
    Ok(FirstRun { sender, outcome: recording.outcome, sequence })
}

fn progress_bar(jobs: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(jobs).with_style(style)
}
