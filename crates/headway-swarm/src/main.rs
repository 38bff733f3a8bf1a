//! The command of the swarm: a search for as long as one likes, or one world again.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::Parser;
use headway_swarm::search::{Failure, Report, Search, search};
use headway_swarm::{Case, Features, Recording, WorldKind, run};

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p headway-swarm -- --minutes 600
      A night, with seeds that no one has tried.
  cargo run --release -p headway-swarm -- --seeds 0..1000
      A thousand worlds, always the same.
  cargo run --release -p headway-swarm -- --seed 0x1234 --capture world.pcapng --trace
      One world again, with all that happens in it.
  cargo run --release -p headway-swarm -- --minutes 5 --kind tunnel --without loss
      Worlds of gateways without silent loss.";

/// Run worlds of hosts, links, gateways, attackers and failures in virtual time, and check what must always hold
#[derive(Parser)]
#[command(name = "headway-swarm", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    /// Search for MINUTES, from seeds that follow from the time, or from --day
    #[arg(long, value_name = "MINUTES", conflicts_with = "seed")]
    minutes: Option<f64>,
    /// Run the worlds with these numbers, such as 0..1000
    #[arg(long, value_name = "FROM..TO", value_parser = range, conflicts_with = "seed")]
    seeds: Option<Range<u64>>,
    /// Run one world, such as 0x1234
    #[arg(long, value_name = "SEED", value_parser = number)]
    seed: Option<u64>,
    /// What the seeds of a search follow from: any text, such as the date; the same text gives the same worlds
    #[arg(long, value_name = "TEXT")]
    day: Option<String>,
    /// Only worlds of one kind: papers and ours (two hosts, every packet judged), hosts, tunnel
    #[arg(long, value_name = "KIND")]
    kind: Option<WorldKind>,
    /// Have these features beside those that are drawn, separated by commas
    #[arg(long, value_name = "FEATURES", default_value = "", hide_default_value = true)]
    with: Features,
    /// Leave these features out, separated by commas
    #[arg(long, value_name = "FEATURES", default_value = "", hide_default_value = true)]
    without: Features,
    /// Leave out hosts beyond the first COUNT
    #[arg(long, value_name = "COUNT")]
    hosts: Option<usize>,
    /// Have only the connections with these numbers, separated by commas
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    flows: Option<Vec<usize>>,
    /// Have only PERCENT of the harsh time
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    time: u32,
    /// Write what each host sends and receives in one world into a pcapng file
    #[arg(long, value_name = "FILE", requires = "seed")]
    capture: Option<PathBuf>,
    /// Print all that happens in one world
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Threads; as many as there are processors if it is not given
    #[arg(long, value_name = "COUNT")]
    threads: Option<usize>,
    /// End after COUNT failures
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    failures: usize,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

fn number(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| format!("{text:?}: expected a number, such as 4711 or 0x1267"))
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let ends = text.split_once("..").and_then(|(from, to)| Some((number(from).ok()?, number(to).ok()?)));
    let range = ends.map(|(from, to)| from..to).filter(|range| range.start < range.end);
    range.ok_or_else(|| {
        format!("{text:?}: expected two numbers of which the second is larger, such as 0..1000")
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Each panic is a failure, which is told in its place.
    std::panic::set_hook(Box::new(|_| ()));
    let common = Case {
        seed: arguments.seed.unwrap_or(0),
        kind: arguments.kind,
        with: arguments.with,
        without: arguments.without,
        hosts: arguments.hosts.unwrap_or(usize::MAX),
        flows: arguments.flows.clone(),
        time: arguments.time,
    };
    match arguments.seed {
        Some(_) => replay(&arguments, &common),
        None => run_search(&arguments, common),
    }
}

/// One world again.
fn replay(arguments: &Arguments, case: &Case) -> ExitCode {
    let capture = match arguments.capture.as_ref().map(File::create).transpose() {
        Ok(capture) => capture,
        Err(error) => {
            let name = arguments.capture.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            eprintln!("error: {name}: {error}; expected a file that can be written");
            return ExitCode::from(2);
        }
    };
    let result = run(case, Recording { trace: arguments.trace, capture, sabotage: None });
    if arguments.json {
        let value = match &result {
            Ok(outcome) => serde_json::json!({
                "seed": format!("{:#x}", case.seed), "kind": case.kind(), "packets": outcome.packets,
                "bytes": outcome.bytes, "virtual_seconds": outcome.time.as_secs_f64(),
                "digest": format!("{:016x}", outcome.digest),
            }),
            Err(what) => serde_json::json!({
                "seed": format!("{:#x}", case.seed), "kind": case.kind(), "failure": what,
            }),
        };
        println!("{value}");
    } else {
        println!("A world of the kind {}, with {}", case.kind().name(), case.features());
        match &result {
            Ok(outcome) => println!("It holds: {outcome:?}"),
            Err(what) => println!("It fails: {what}"),
        }
    }
    if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(clippy::disallowed_methods, reason = "a search without seeds is to have new ones")]
fn run_search(arguments: &Arguments, common: Case) -> ExitCode {
    let now = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        format!("{}", since.map_or(0, |since| since.as_nanos()))
    };
    let (base, numbers) = match (&arguments.seeds, &arguments.day) {
        (Some(seeds), day) => (day.as_deref().map_or(0, base_of), seeds.clone()),
        (None, Some(day)) => (base_of(day), 0..u64::MAX),
        (None, None) => (base_of(&now()), 0..u64::MAX),
    };
    let minutes = arguments.minutes.or_else(|| arguments.seeds.is_none().then_some(1.0));
    let threads =
        arguments.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let plan = Search {
        base,
        numbers,
        time: minutes.map(|minutes| Duration::from_secs_f64(minutes.max(0.0) * 60.0)),
        threads,
        failures: arguments.failures.max(1),
        common,
    };
    if !arguments.json {
        println!("Seeds follow from {base:#x}, with {threads} threads.");
    }
    let shown = Mutex::new((Instant::now(), 0));
    let every = Duration::from_secs(if std::io::stderr().is_terminal() { 1 } else { 60 });
    let report = search(&plan, |report| {
        let mut shown = shown.lock().expect("no thread panics");
        for failure in &report.failures[shown.1..] {
            if !arguments.json {
                println!("{}", told(failure));
            }
        }
        shown.1 = report.failures.len();
        if shown.0.elapsed() >= every {
            shown.0 = Instant::now();
            let end = if every.as_secs() == 1 { "\r" } else { "\n" };
            eprint!("{}{end}", line(report));
            let _ = std::io::stderr().flush();
        }
    });
    if arguments.json {
        println!("{}", json(&report, base));
    } else {
        println!("{}", line(&report));
    }
    if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A number that follows from a text (FNV-1a).
fn base_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn line(report: &Report) -> String {
    let outcome = &report.outcome;
    let kinds: Vec<String> = report.worlds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    format!(
        "{} worlds ({}), {:.1} virtual hours, {} connections, {} packets, {} attacks, in {:.0} s; {} failed; digest {:016x}",
        report.count(),
        kinds.join(", "),
        outcome.time.as_secs_f64() / 3600.0,
        outcome.flows,
        outcome.packets,
        outcome.attacks,
        report.took.as_secs_f64(),
        report.failures.len(),
        outcome.digest
    )
}

fn told(failure: &Failure) -> String {
    let Failure { case, shrunk, worlds, after } = failure;
    // Without optimisation overflows panic.
    let release = if cfg!(debug_assertions) { "" } else { " --release" };
    format!(
        "\nFailure in world {worlds}, after {:.1} s: {case}\n{}\nIt needs: {} ({} runs to find out)\n\
         Replay it:\n  cargo run{release} -p headway-swarm -- {} --capture world.pcapng --trace\n",
        after.as_secs_f64(),
        shrunk.what,
        shrunk.needs,
        shrunk.runs,
        shrunk.case
    )
}

fn json(report: &Report, base: u64) -> serde_json::Value {
    let failures: Vec<serde_json::Value> = report
        .failures
        .iter()
        .map(|Failure { case, shrunk, worlds, after }| {
            serde_json::json!({
                "seed": format!("{:#x}", case.seed), "kind": case.kind(), "worlds": worlds,
                "seconds": after.as_secs_f64(), "what": shrunk.what, "replay": shrunk.case.to_string(),
            })
        })
        .collect();
    serde_json::json!({
        "base": format!("{base:#x}"), "worlds": report.worlds, "packets": report.outcome.packets,
        "connections": report.outcome.flows, "attacks": report.outcome.attacks,
        "virtual_seconds": report.outcome.time.as_secs_f64(), "seconds": report.took.as_secs_f64(),
        "digest": format!("{:016x}", report.outcome.digest), "failures": failures,
    })
}
