//! The options of `headway race`, and the scenario that they describe.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use headway_sim::Content;
use headway_sim::race::{Entrant, Part, ProfileName, Scenario, Switches, congestion_name, parse_congestion};
use headway_tcp::HackRules;
use headway_tcp::congestion::Algorithm;
use headway_units::{Duration, Size};

use super::error::RaceError;
use crate::failure::BadOption;
use crate::link_arguments::{LinkArguments, models};

const EXAMPLES: &str = concat!(
    "\
Examples:
  headway race
      The papers' headline cell: 2 MiB over 10 Mbit/s, 300 ms one way, bursts of damage.
  headway race photo.raw --variant sack,hack+sack --header-hit 0% --runs 100
      A file of yours, two senders, damage that spares every header.
  headway race --delay 255ms --size 1MB --damage random:1% --pcap out --report out.html
      White noise on a satellite link; captures for Wireshark and a page to look at.
  headway race --damage burst:3.57%:3 --reverse-damage burst:3.57%:3 --header-hit 5% --delay 10ms
      Damage in both directions, the case for Extended HACK.
  headway race --runs 1 --variant sack --pcap out && headway race --damage trace:out/sack-1.pcapng
      What one sender met, for all of them.
  headway race --variant oracle,headway,modern:bbr,modern:cubic --duration 60s --window 16MiB --queue 1bdp
      How near today's senders come to one that knows every hit at once, in a minute.
  headway race --json --runs 3 | jq '.summary[] | {variant, seconds}'

",
    models!()
);

/// Send a file across an emulated lossy link with several TCPs, side by side.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to send [default: this program itself, cut to --size]
    file: Option<PathBuf>,

    /// The senders, in the order of the table: the papers' newreno, sack, hack, hack+sack, xhack,
    /// xhack+sack; ours: modern, modern+hack, headway; each perhaps with a congestion controller, as in
    /// modern:bbr; and oracle, which knows every hit at once
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAME,...",
        default_value = "newreno,sack,hack,hack+sack,xhack,xhack+sack,modern,modern+hack,headway"
    )]
    variant: Vec<Entrant>,
    /// How special ACKs are answered: as the paper's section 3.3 says and no more, or by the rules
    /// that make HACK work
    #[arg(long, value_name = "literal|default", default_value = "default", value_parser = parse_rules)]
    rules: HackRules,
    /// The TCP underneath the papers' senders: Linux 2.2 as in the papers, the standard of the RFCs, or
    /// today's, which ours have always
    #[arg(long, value_name = "linux22|standard|modern", default_value = "linux22")]
    profile: ProfileName,
    /// The congestion controller of every sender that names none itself [default: the profile's]
    #[arg(long, value_name = "newreno|cubic|bbr", value_parser = parse_congestion)]
    cc: Option<Algorithm>,
    /// Parts of the modern sender to switch on: tlp, prr, frto, undo, hystart, pacing, ecn, autotune,
    /// cookies, sharing, ledger, repair, partial
    #[arg(long, value_delimiter = ',', value_name = "PART,...")]
    with: Vec<Part>,
    /// Parts of the modern sender to switch off
    #[arg(long, value_delimiter = ',', value_name = "PART,...")]
    without: Vec<Part>,
    /// How much to send; less than the whole FILE if that is larger [default: 2MiB, or all of FILE]
    #[arg(long)]
    size: Option<Size>,
    /// Send all the time, and count what has arrived after this virtual time, from the first SYN
    #[arg(long, value_name = "TIME", conflicts_with_all = ["size", "file"])]
    duration: Option<Duration>,
    /// The largest window that the receiver offers
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    window: Size,
    /// Largest IP packet
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    mtu: u16,
    /// Timeouts in a row before a sender gives up (Linux 2.2: 15) [default: never]
    #[arg(long, value_name = "N")]
    retries: Option<u32>,

    #[command(flatten)]
    link: LinkArguments,

    /// Seed of the first run; each further run takes the next number
    #[arg(long, default_value_t = 1, help_heading = "Runs")]
    pub(super) seed: u64,
    /// Runs of each sender; all senders face the same fates in the same run
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Runs")]
    pub(super) runs: u32,
    /// Virtual time after which a run is given up and shown as unfinished
    #[arg(long, value_name = "TIME", default_value = "24h", help_heading = "Runs")]
    time_limit: Duration,

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

fn parse_rules(input: &str) -> Result<HackRules, String> {
    match input {
        "literal" => Ok(HackRules::Literal),
        "default" => Ok(HackRules::Default),
        _ => Err(format!("{input:?}: expected literal or default")),
    }
}

/// Runs beyond this are a typing mistake rather than a wish.
const MAX_RUNS: u32 = 1_000_000;
/// The smallest MTU that leaves room for data beside every option.
const LEAST_MTU: u16 = 128;
/// RFC 7323, 2.3: the largest window there is.
const MAX_WINDOW: u64 = 1 << 30;
const DEFAULT_SIZE: u64 = 2 << 20;

impl Arguments {
    /// The senders, each once.
    pub(super) fn senders(&self) -> Vec<Entrant> {
        let mut senders = Vec::new();
        for sender in self.variant.iter().map(|sender| sender.with_congestion(self.cc)) {
            if !senders.contains(&sender) {
                senders.push(sender);
            }
        }
        senders
    }

    /// The scenario that the options describe.
    pub(super) fn scenario(&self) -> Result<Scenario, BadOption> {
        self.check()?;
        let [forward, reverse] = self.link.both(self.mtu)?;
        let scenario = Scenario {
            profile: self.profile,
            rules: self.rules,
            switches: self.switches()?,
            forward,
            reverse,
            window: self.window,
            mtu: self.mtu,
            retries: self.retries,
            time_limit: self.time_limit,
            duration: self.duration,
            warm: false,
            companions: Vec::new(),
            cross: None,
        };
        for sender in self.senders() {
            self.check_sender(&scenario, sender)?;
        }
        Ok(scenario)
    }

    fn switches(&self) -> Result<Switches, BadOption> {
        let mut switches = Switches::default();
        self.with.iter().for_each(|part| switches.set(*part, true));
        self.without.iter().for_each(|part| switches.set(*part, false));
        match self.with.iter().find(|part| self.without.contains(part)) {
            Some(part) => {
                Err(BadOption::new("--without", part.to_string(), "expected another part than --with names"))
            }
            None => Ok(switches),
        }
    }

    fn check_sender(&self, scenario: &Scenario, sender: Entrant) -> Result<(), BadOption> {
        let Err(error) = scenario.check(sender) else { return Ok(()) };
        let (option, value) = match self.cc {
            Some(cc) if !self.variant.contains(&sender) => ("--cc", congestion_name(cc).to_owned()),
            _ => ("--variant", sender.to_string()),
        };
        Err(BadOption::new(option, value, error))
    }

    fn check(&self) -> Result<(), BadOption> {
        let bad = |option, value: String, expected: &str| Err(BadOption::new(option, value, expected));
        if self.mtu < LEAST_MTU {
            return bad("--mtu", self.mtu.to_string(), "expected at least 128 bytes");
        }
        if !(1..=MAX_WINDOW).contains(&self.window.bytes()) {
            return bad("--window", self.window.to_string(), "expected between 1B and 1GiB (RFC 7323)");
        }
        if self.size.is_some_and(|size| size.bytes() == 0) {
            return bad("--size", "0".into(), "expected at least one byte to send");
        }
        if !(1..=MAX_RUNS).contains(&self.runs) {
            return bad("--runs", self.runs.to_string(), "expected between 1 and 1000000");
        }
        if self.seed.checked_add(u64::from(self.runs)).is_none() {
            return bad("--seed", self.seed.to_string(), "expected room for the seeds of all runs above it");
        }
        if self.duration.is_some_and(Duration::is_zero) {
            return bad("--duration", "0".into(), "expected some virtual time, such as 60s");
        }
        if self.time_limit.is_zero() {
            return bad("--time-limit", "0".into(), "expected some virtual time, such as 24h");
        }
        Ok(())
    }

    /// What is sent.
    pub(super) fn content(&self) -> Result<Content, RaceError> {
        if self.duration.is_some() {
            return Ok(Content::generated(u64::MAX));
        }
        if let Some(file) = &self.file {
            return Ok(Content::from_file(file, self.size.map(Size::bytes))?);
        }
        let size = self.size.map_or(DEFAULT_SIZE, Size::bytes);
        let program = std::env::current_exe().map_err(RaceError::NoExecutable)?;
        let content = Content::from_file(&program, Some(size))?;
        if content.len() < size && self.size.is_some() {
            return Err(RaceError::from(BadOption::new(
                "--size",
                Size::from_bytes(size).to_string(),
                format!(
                    "this program has only {} bytes to send; name a FILE that is large enough",
                    content.len()
                ),
            )));
        }
        Ok(content)
    }
}
