//! The options of `headway race`, and the scenario that they describe.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use headway_scenario::Settings;
use headway_sim::Content;
use headway_sim::race::{Entrant, Feature, UnknownName, congestion_name};
use headway_units::Size;

use super::error::RaceError;
use crate::failure::BadOption;
use crate::scenario_arguments::{ScenarioArguments, features, help_of, models};

const EXAMPLES: &str = concat!(
    "\
Examples:
  headway race
      The papers' headline cell: 2 MiB over 10 Mbit/s, one-way delay 300 ms, bursts of damage.
  headway race photo.raw --variant sack,hack+sack --header-hit 0% --runs 100
      A file of yours, two senders, damage that spares every header.
  headway race --delay 255ms --size 1MB --damage random:1% --pcap out --report out.html
      Random damage on a satellite link; captures for Wireshark and a page to look at.
  headway race --damage burst:3.57%:3 --reverse-damage burst:3.57%:3 --header-hit 5% --delay 10ms
      Damage in both directions, the case for Extended HACK.
  headway race --runs 1 --variant sack --pcap out && headway race --damage trace:out/sack-1.pcapng
      The damage that one sender met, for all of them.
  headway race --variant oracle,headway,modern:bbr,modern:cubic --duration 60s --window 16MiB --queue 1bdp
      How near today's senders come to one that knows every hit at once, in a minute.
  headway race --json --runs 3 | jq '.summary[] | {variant, seconds}'

",
    models!()
);

/// Send a file across an emulated lossy link with several TCPs, side by side.
#[derive(Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", features()))]
pub(crate) struct Arguments {
    /// What to send [default: this program itself, cut to --size]
    file: Option<PathBuf>,

    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAME,...",
        value_parser = parse_sender,
        default_value = "newreno,sack,hack,hack+sack,xhack,xhack+sack,modern,modern+hack,headway",
        help = help_of("variant"),
        help_heading = "Senders"
    )]
    variant: Vec<Entrant>,
    /// Features of the modern sender to turn on; see below
    #[arg(long, value_delimiter = ',', value_name = "FEATURE,...", help_heading = "Senders")]
    with: Vec<Feature>,
    /// Features of the modern sender to turn off
    #[arg(long, value_delimiter = ',', value_name = "FEATURE,...", help_heading = "Senders")]
    without: Vec<Feature>,

    #[command(flatten)]
    scenario: ScenarioArguments,

    /// Seed of the first run; each further run takes the next number
    #[arg(long, default_value_t = 1, help_heading = "Runs")]
    pub(super) seed: u64,
    /// Runs of each sender; all senders meet the same damage in the same run
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Runs")]
    pub(super) runs: u32,

    /// Print one JSON object instead of the table
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Output")]
    pub(super) json: bool,
    /// Write a capture of each sender's first run, both ends, into this directory (pcapng)
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(super) pcap: Option<PathBuf>,
    /// Write a page with bars of the results and a time-sequence graph of each sender's first run
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    pub(super) report: Option<PathBuf>,
}

/// Every name there is, where it is none of them.
fn parse_sender(input: &str) -> Result<Entrant, String> {
    input.parse().map_err(|error: UnknownName| format!("{error} (or newreno, cubic); or oracle"))
}

/// Runs beyond this are a typing mistake rather than a wish.
const MAX_RUNS: u32 = 1_000_000;
impl Arguments {
    /// The senders, each once.
    pub(super) fn senders(&self, settings: &Settings) -> Vec<Entrant> {
        let mut senders = Vec::new();
        for sender in self.variant.iter().map(|sender| sender.with_congestion(settings.congestion)) {
            if !senders.contains(&sender) {
                senders.push(sender);
            }
        }
        senders
    }

    /// What the options describe.
    pub(super) fn settings(&self) -> Result<Settings, BadOption> {
        self.check()?;
        let settings = self.scenario.settings(&self.with, &self.without)?;
        for sender in self.senders(&settings) {
            self.check_sender(&settings, sender)?;
        }
        Ok(settings)
    }

    fn check_sender(&self, settings: &Settings, sender: Entrant) -> Result<(), BadOption> {
        let Err(error) = settings.scenario.check(sender) else { return Ok(()) };
        let (option, value) = match settings.congestion {
            Some(cc) if !self.variant.contains(&sender) => ("--cc", congestion_name(cc).to_owned()),
            _ => ("--variant", sender.to_string()),
        };
        Err(BadOption::new(option, value, error))
    }

    fn check(&self) -> Result<(), BadOption> {
        let bad = |option: &'static str, value: String, expected: &str| {
            Err(BadOption::new(option, value, expected))
        };
        if !(1..=MAX_RUNS).contains(&self.runs) {
            return bad("--runs", self.runs.to_string(), "expected between 1 and 1000000");
        }
        if self.seed.checked_add(u64::from(self.runs)).is_none() {
            return bad("--seed", self.seed.to_string(), "expected room for the seeds of all runs above it");
        }
        match self.with.iter().find(|feature| self.without.contains(feature)) {
            Some(feature) => {
                bad("--without", feature.to_string(), "expected another feature than --with names")
            }
            None => Ok(()),
        }
    }

    /// What is sent.
    pub(super) fn content(&self, settings: &Settings) -> Result<Content, RaceError> {
        let Some(size) = settings.sent_size() else {
            return Ok(Content::generated(u64::MAX));
        };
        if let Some(file) = &self.file {
            return Ok(Content::from_file(file, settings.size.map(Size::bytes))?);
        }
        let program = std::env::current_exe().map_err(RaceError::NoExecutable)?;
        let content = Content::from_file(&program, Some(size.bytes()))?;
        if content.len() < size.bytes() && settings.size.is_some() {
            let only = content.len();
            let expected =
                format!("this program has only {only} bytes to send; name a FILE that is large enough");
            return Err(BadOption::new("--size", size.to_string(), expected).into());
        }
        Ok(content)
    }
}
