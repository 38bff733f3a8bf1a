//! `headway lab report` and `headway paper report`: which experiments a report is of, and where it goes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use headway_command::{BadOption, output, require_distinct};
use headway_lab::{Clock, Overrides, Results};
use headway_report::experiments::{MARKS, Report, ReportKind};

use super::error::ExperimentsError;

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

/// Writes the report, and says in a few lines what is in it.
pub(super) fn write(options: &ReportOptions, kind: ReportKind) -> Result<String, ExperimentsError> {
    let files = [("--html", &options.html), ("--markdown", &options.markdown), ("--tables", &options.tables)];
    require_distinct([], files.map(|(option, path)| (option, path.as_deref())))?;
    let results = results(&options.folder, kind)?;
    let command = command(&results, kind);
    let report = Report::new(results, kind, command)?;
    let mut written: Vec<String> = Vec::new();
    let mut put = |path: &Path, bytes: &str| -> Result<(), ExperimentsError> {
        output::write(path, bytes)?;
        written.push(path.display().to_string());
        Ok(())
    };
    let texts = [&options.html, &options.figures, &options.markdown, &options.tables];
    let nothing_asked = texts.iter().all(|asked| asked.is_none());
    let page = options.html.clone().or_else(|| nothing_asked.then(|| options.folder.join("report.html")));
    if let Some(path) = page {
        put(&path, &report.page())?;
    }
    if let Some(path) = &options.markdown {
        put(path, &report.claims())?;
    }
    if let Some(path) = &options.tables {
        put(path, &with_tables(&report, path)?)?;
    }
    if let Some(folder) = &options.figures {
        output::create_directory(folder)?;
        for drawing in report.drawings() {
            let (name, drawing) = drawing?;
            put(&folder.join(format!("{name}.svg")), &drawing)?;
        }
    }
    let files = match written.len() {
        0..=3 => written.join(", "),
        count => format!("{count} files, the last of them {}", written[count - 1]),
    };
    Ok(format!("{}\nwrote {files}\n", report.summary()))
}

/// The document at `path` with the tables in the place that it has for them; a new one has nothing else.
fn with_tables(report: &Report, path: &Path) -> Result<String, ExperimentsError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => MARKS.join("\n"),
        Err(source) => return Err(ExperimentsError::Input { path: path.into(), source }),
    };
    report.tables_in(&text).ok_or_else(|| {
        ExperimentsError::from(BadOption::new(
            "--tables",
            path.display().to_string(),
            format!("expected a file with the lines {}, or none of this name", MARKS.join(" and ")),
        ))
    })
}

/// The file by which a folder of results is known.
const MARK: &str = "experiment.json";

/// The results in a folder, by name; for the papers, also those of which there are none yet.
fn results(folder: &Path, kind: ReportKind) -> Result<Vec<Results>, ExperimentsError> {
    let mut found = found(folder)?;
    if kind == ReportKind::Papers {
        let shipped = headway_papers::experiments(&["all".into()], &Overrides::default())?;
        let names: BTreeSet<&str> = shipped.iter().map(|experiment| experiment.name.as_str()).collect();
        found.retain(|results| names.contains(results.manifest.name.as_str()));
        for experiment in &shipped {
            if !found.iter().any(|results| results.manifest.name == experiment.name) {
                found.push(Results::none(experiment));
            }
        }
    }
    found.sort_by(|one, other| one.manifest.name.cmp(&other.manifest.name));
    Ok(found)
}

fn found(folder: &Path) -> Result<Vec<Results>, ExperimentsError> {
    folders(folder)?.iter().map(|folder| Ok(Results::load(folder)?)).collect()
}

/// The folders of results: this one, or those in it.
pub(super) fn folders(folder: &Path) -> Result<Vec<PathBuf>, ExperimentsError> {
    let none = |reason: String| ExperimentsError::NoResults { folder: folder.into(), reason };
    let is_results = |folder: &Path| match fs::metadata(folder.join(MARK)) {
        Ok(found) => Ok(found.is_file()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(ExperimentsError::NoResults { folder: folder.into(), reason: error.to_string() })
        }
        Err(_) => Ok(false),
    };
    if is_results(folder)? {
        return Ok(vec![folder.into()]);
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| none(error.to_string()))? {
        let path = entry.map_err(|error| none(error.to_string()))?.path();
        if is_results(&path)? {
            folders.push(path);
        }
    }
    if folders.is_empty() { Err(none("there are none in it".into())) } else { Ok(folders) }
}

/// The command that makes these results, as one would type it.
fn command(results: &[Results], kind: ReportKind) -> String {
    match kind {
        ReportKind::Own if results.iter().any(is_real_time) => "headway lab live FILE".into(),
        ReportKind::Own => "headway lab run FILE".into(),
        ReportKind::Papers => {
            let runs = common_runs(results);
            format!("headway paper run all{}", runs.map_or(String::new(), |runs| format!(" --runs {runs}")))
        }
    }
}

/// Whether it has cells in real time.
fn is_real_time(results: &Results) -> bool {
    let clock = |cell: &headway_lab::ManifestCell| cell.settings.get("clock").cloned();
    results.manifest.cells.iter().any(|cell| clock(cell).as_deref() == Some(Clock::Real.name()))
}

/// How many runs there were of each cell, where that was the same everywhere.
fn common_runs(results: &[Results]) -> Option<u32> {
    let mut run = results.iter().filter(|results| results.missing() < results.wanted());
    let first = run.next()?.manifest.runs;
    let mut others = run.peekable();
    (others.peek().is_some() && others.all(|results| results.manifest.runs == first)).then_some(first)
}
