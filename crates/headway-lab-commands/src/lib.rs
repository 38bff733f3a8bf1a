//! `headway lab` and `headway paper`: experiments as data.
#![forbid(unsafe_code)]

mod columns;
mod dask;
mod error;
mod examples;
mod explore;
mod new;
mod progress;
mod report;
mod table;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use headway_command::{Failure, notice, output, parent_death};
use headway_lab::{Experiment, Overrides, Request, Results, Testbed};
use headway_report::experiments::ReportKind;
use headway_testbed::{Captures, NamespaceTestbed};

use dask::{Asked, Cluster, DaskOptions};
use error::ExperimentsError;
use explore::ExploreOptions;
use progress::Bar;
use report::ReportOptions;

/// Run experiments of your own.
#[derive(Args)]
#[command(after_help = examples::LAB)]
pub struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    /// Run experiment files, or go on where they were interrupted
    #[command(after_help = examples::RUN)]
    Run {
        /// The experiments (TOML)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        options: RunOptions,
        #[command(flatten)]
        cluster: DaskOptions,
    },
    /// Run experiment files in real time, between network namespaces of this machine
    #[command(after_help = examples::LIVE)]
    Live {
        /// The experiments (TOML)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Runs side by side
        #[arg(long, short, value_name = "N", default_value_t = 8, value_parser = parse_jobs)]
        jobs: usize,
        /// Write the packets of each run, as the box saw them, into this folder (pcapng)
        #[arg(long, value_name = "DIR")]
        pcap: Option<PathBuf>,
        /// Write a file for each end of a run, NAME-sender and NAME-receiver, instead of one for both
        #[arg(long, requires = "pcap")]
        pcap_split: bool,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Say whether files are experiments, without running anything
    #[command(after_help = examples::CHECK)]
    Check {
        /// The experiments (TOML)
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Draw the results of experiments and hold the claims against them
    #[command(after_help = examples::REPORT)]
    Report {
        #[command(flatten)]
        options: ReportOptions,
    },
    /// Write a folder in which a browser explores the runs of experiments: axes, facets, filters, every run
    #[command(after_help = explore::EXAMPLES)]
    Explore {
        #[command(flatten)]
        options: ExploreOptions,
    },
    /// Print an experiment to start from, with comments: `headway lab new my > my.toml`
    #[command(after_help = examples::NEW)]
    New {
        /// Its name, which is that of its file without `.toml`
        #[arg(value_parser = new::parse_name)]
        name: String,
    },
    /// Print the JSON schema of experiment files, for editors
    #[command(after_help = examples::SCHEMA)]
    Schema,
    /// Print what the columns of runs.csv and runs.parquet mean (Markdown)
    #[command(after_help = examples::COLUMNS)]
    Columns,
}

/// Run the papers' figures and tables.
#[derive(Args)]
#[command(after_help = examples::PAPER)]
pub struct PaperArguments {
    #[command(subcommand)]
    command: PaperCommand,
}

#[derive(Subcommand)]
enum PaperCommand {
    /// List them
    #[command(after_help = examples::PAPER_LIST)]
    List,
    /// Print the file of one, to start from: `headway paper show 000-fig13 > my.toml`
    #[command(after_help = examples::PAPER_SHOW)]
    Show {
        /// A name from `headway paper list`
        name: String,
    },
    /// Run some, or `all`
    #[command(after_help = examples::PAPER_RUN)]
    Run {
        /// Names from `headway paper list`, or all
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        options: RunOptions,
        #[command(flatten)]
        cluster: DaskOptions,
    },
    /// Draw all of them, with every claim beside what was measured
    #[command(after_help = examples::PAPER_REPORT)]
    Report {
        #[command(flatten)]
        options: ReportOptions,
    },
}

#[derive(Args)]
struct RunOptions {
    /// Runs of each cell, instead of the file's number
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    runs: Option<u32>,
    /// Seed, instead of the file's
    #[arg(long, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// Change a key of `[scenario]` or the values of an axis
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Keep runs that other code made, such as an earlier version of this program
    #[arg(long)]
    reuse: bool,
    /// Folder for the results; each experiment gets a folder of its own in it
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
}

impl RunOptions {
    fn overrides(&self) -> Overrides {
        Overrides { runs: self.runs, seed: self.seed, settings: self.settings.clone(), real: false }
    }

    fn overrides_in_real_time(&self) -> Overrides {
        Overrides { real: true, ..self.overrides() }
    }
}

/// Runs a command of `headway lab`.
pub fn run_lab(arguments: &LabArguments) -> Result<(), impl Failure> {
    match &arguments.command {
        LabCommand::Run { files, options, cluster } => {
            let experiments = load(files, &options.overrides())?;
            match &cluster.dask {
                Some(address) => run_on_dask(&experiments, options, address, Some(files)),
                None => run_here(&experiments, options, None),
            }
        }
        LabCommand::Live { files, jobs, pcap, pcap_split, options } => {
            let experiments = load(files, &options.overrides_in_real_time())?;
            let captures = pcap.clone().map(|folder| Captures { folder, split: *pcap_split });
            let testbed = NamespaceTestbed::new(*jobs, captures, parent_death::command)?;
            run_here(&experiments, options, Some(&testbed))
        }
        LabCommand::Check { files } => check(files),
        LabCommand::Report { options } => print(&report::write(options, ReportKind::Own)?),
        LabCommand::Explore { options } => print(&explore::write(options)?),
        LabCommand::New { name } => print(&new::experiment(name)),
        LabCommand::Columns => print(&columns::markdown()),
        LabCommand::Schema => print(&headway_lab::schema()),
    }
}

/// Runs a command of `headway paper`.
pub fn run_paper(arguments: &PaperArguments) -> Result<(), impl Failure> {
    match &arguments.command {
        PaperCommand::List => print(&list()?),
        PaperCommand::Show { name } => print(headway_papers::text(name)?),
        PaperCommand::Run { names, options, cluster } => {
            let experiments = headway_papers::experiments(names, &options.overrides())?;
            match &cluster.dask {
                Some(address) => run_on_dask(&experiments, options, address, None),
                None => run_here(&experiments, options, None),
            }
        }
        PaperCommand::Report { options } => print(&report::write(options, ReportKind::Papers)?),
    }
}

/// A line for each experiment of the papers.
fn list() -> Result<String, ExperimentsError> {
    let mut text = String::new();
    for experiment in headway_papers::list()? {
        let runs = experiment.cells.len() as u64 * u64::from(experiment.runs);
        text.push_str(&format!("{:<22} {runs:>6} runs  {}\n", experiment.name, experiment.title));
    }
    Ok(text)
}

/// Each run takes three namespaces and a dozen threads: more side by side are a typing mistake.
fn parse_jobs(input: &str) -> Result<usize, String> {
    const MOST: usize = 1000;
    match input.parse() {
        Ok(jobs) if (1..=MOST).contains(&jobs) => Ok(jobs),
        _ => Err(format!("expected 1 to {MOST}")),
    }
}

fn load(files: &[PathBuf], overrides: &Overrides) -> Result<Vec<Experiment>, ExperimentsError> {
    let mut experiments: Vec<Experiment> = Vec::with_capacity(files.len());
    for file in files {
        let experiment = headway_papers::load(file, overrides)?;
        if experiments.iter().any(|other| other.name == experiment.name) {
            return Err(ExperimentsError::SameName { file: file.clone(), name: experiment.name });
        }
        experiments.push(experiment);
    }
    Ok(experiments)
}

/// Runs experiments on this machine.
fn run_here(
    experiments: &[Experiment],
    options: &RunOptions,
    testbed: Option<&dyn Testbed>,
) -> Result<(), ExperimentsError> {
    let bar = Bar::over(experiments);
    run_all(experiments, &options.out, &bar, |place, folder| {
        let experiment = &experiments[place];
        let reuse = options.reuse;
        Ok(headway_lab::run(&Request { experiment, folder, reuse, testbed, progress: &bar })?)
    })
}

/// Runs experiments on a Dask cluster: those of these files, or the papers'.
fn run_on_dask(
    experiments: &[Experiment],
    options: &RunOptions,
    address: &str,
    files: Option<&[PathBuf]>,
) -> Result<(), ExperimentsError> {
    experiments.iter().try_for_each(Experiment::check_virtual)?;
    let mut cluster = Cluster::of(address)?;
    let RunOptions { runs, seed, settings, reuse, .. } = options;
    let bar = Bar::over(experiments);
    run_all(experiments, &options.out, &bar, |place, folder| {
        let file = files.map_or(Path::new(&experiments[place].name), |files| &files[place]);
        let (runs, seed, reuse, paper) = (*runs, *seed, *reuse, files.is_none());
        cluster.run(&Asked { file, paper, runs, seed, settings, reuse, folder }, &bar)?;
        Ok(Results::load(folder)?)
    })
}

/// Every experiment is read before the first is run. `run` is given its place among them and its folder.
fn run_all(
    experiments: &[Experiment],
    out: &Path,
    bar: &Bar,
    mut run: impl FnMut(usize, &Path) -> Result<Results, ExperimentsError>,
) -> Result<(), ExperimentsError> {
    let mut text = String::new();
    for (place, experiment) in experiments.iter().enumerate() {
        bar.name(&experiment.name);
        let results = run(place, &out.join(&experiment.name))?;
        if experiments.len() == 1 {
            text.push_str(&table::results(&results));
        }
        text.push_str(&table::claims(&results));
    }
    bar.finish();
    let out = out.display();
    text.push_str(&format!(
        "results: {out}; a table of all claims: headway lab report {out}; a page: headway lab explore {out}\n"
    ));
    print(&text)
}

/// Says of every file whether it is an experiment; fails if one is not.
fn check(files: &[PathBuf]) -> Result<(), ExperimentsError> {
    let mut text = String::new();
    let mut refused: Option<ExperimentsError> = None;
    for file in files {
        let (experiment, clock) = match headway_papers::load(file, &Overrides::default()) {
            Ok(experiment) => (experiment, ""),
            // What has no place in virtual time may have one in real time.
            Err(refusal) => {
                match headway_papers::load(file, &Overrides { real: true, ..Overrides::default() }) {
                    Ok(experiment) => (experiment, ", in real time only (`headway lab live`)"),
                    Err(_) => {
                        if let Some(earlier) = refused.replace(refusal.into()) {
                            notice!("headway: {earlier}");
                        }
                        continue;
                    }
                }
            }
        };
        let cells = experiment.cells.len();
        let runs = cells as u64 * u64::from(experiment.runs);
        let plural = |count| if count == 1 { "" } else { "s" };
        text.push_str(&format!(
            "{}: {cells} cell{}, {runs} run{}{clock}\n",
            file.display(),
            plural(cells as u64),
            plural(runs),
        ));
    }
    print(&text)?;
    refused.map_or(Ok(()), Err)
}

fn print(text: &str) -> Result<(), ExperimentsError> {
    Ok(output::print(text)?)
}
