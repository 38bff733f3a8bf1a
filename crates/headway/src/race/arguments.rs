//! The options of `headway race`, and the scenario that they describe.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use headway_lab::{DamageError, Traces};
use headway_link::{Damage, FrameCheck, HitZone, LinkConfig};
use headway_sim::Content;
use headway_sim::race::{
    Entrant, Part, ProfileName, QueueSize, Scenario, Switches, congestion_name, parse_congestion,
};
use headway_tcp::HackRules;
use headway_tcp::congestion::Algorithm;
use headway_trace::Way;
use headway_units::{Duration, Rate, Share, Size};

use crate::failure::Failure;

const EXAMPLES: &str = "\
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

Units: rates 10mbit, 500kbit; times 300ms, 2s, 24h; sizes 64KiB, 2MiB, 10MB; shares 5%, 0.05.
Damage: none, random:P, burst:P:LENGTH[:time], ber:RATE, gilbert:P:R:GOOD:BAD,
        gilbert-bit:P:R:GOOD:BAD (the two rates of state change, then the error rate in each state);
        burst-hit:S:LENGTH: bursts that hit the share S of all packets;
        trace:FILE: replays a recorded link, packet by packet, and begins again at its end. FILE is a
        capture (pcap, pcapng), whose damaged packets are those with headway's remark or a wrong TCP
        checksum, or a text with a line for each fate: `ok 37`, `lost`, `hit payload 3`, `hit header 1`,
        `hit both 64` (bits, by chance), `hit 1` (where --header-hit says), `bits 161 980` (from the
        start of the IP packet), `bits tcp 5`, `bits payload 0 7`; `#` starts a remark.";

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

    /// Rate of the link, both ways, in bits of IP packets
    #[arg(long, default_value = "10mbit", help_heading = "Link")]
    rate: Rate,
    /// Rate of the way back, if it is another
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    reverse_rate: Option<Rate>,
    /// Propagation delay, one way
    #[arg(long, default_value = "300ms", help_heading = "Link")]
    delay: Duration,
    /// Drop-tail queue in front of the link: 100p, 64KiB, 1bdp (bandwidth-delay products) or unlimited
    #[arg(long, value_name = "LIMIT", default_value = "100p", help_heading = "Link")]
    queue: QueueSize,
    /// Mark packets that find the queue longer than this, if their sender knows ECN (RFC 3168)
    #[arg(long, value_name = "LIMIT", help_heading = "Link")]
    mark: Option<QueueSize>,
    /// Layer-2 bytes that each packet costs beside its own
    #[arg(long, value_name = "BYTES", default_value_t = 0, help_heading = "Link")]
    overhead: u32,
    /// Up to this much more delay for each packet, in order
    #[arg(long, value_name = "TIME", default_value = "0", help_heading = "Link")]
    jitter: Duration,
    /// Share of the packets that vanish
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Link")]
    loss: Share,
    /// Share of the packets that arrive twice
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Link")]
    duplicate: Share,
    /// Share of the packets that are overtaken
    #[arg(long, value_name = "SHARE", default_value = "0%", help_heading = "Link")]
    reorder: Share,
    /// By how much those are held back
    #[arg(long, value_name = "TIME", default_value = "10ms", help_heading = "Link")]
    reorder_delay: Duration,

    /// Damage on the way of the data
    #[arg(long, value_name = "MODEL", default_value = "burst:5%:5", value_parser = parse_damage,
          help_heading = "Damage")]
    damage: Damage,
    /// Damage on the way of the ACKs
    #[arg(long, value_name = "MODEL", default_value = "none", value_parser = parse_reverse_damage,
          help_heading = "Damage")]
    reverse_damage: Damage,
    /// Share of the damaged packets whose header is hit, or `place`: where the bits fall decides
    #[arg(long, value_name = "SHARE|place", default_value = "40%", value_parser = parse_header_hit,
          help_heading = "Damage")]
    header_hit: HeaderHit,
    /// Which headers can be hit: tcp or ip+tcp (hosts drop a packet whose IPv4 header is damaged)
    #[arg(long, value_name = "tcp|ip+tcp", default_value = "tcp", help_heading = "Damage")]
    hit_zone: HitZone,
    /// Bits flipped in a damaged packet [default: 1 for random, 64 for bursts]
    #[arg(long, value_name = "N", help_heading = "Damage")]
    flips: Option<u32>,
    /// What the link does with a damaged frame: keep it (hand it up), drop it, or arq:N (resend it
    /// itself, up to N times)
    #[arg(long, value_name = "keep|drop|arq:N", default_value = "keep", help_heading = "Damage")]
    frame_check: FrameCheck,

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

fn parse_damage(input: &str) -> Result<Damage, DamageError> {
    Traces::in_folder(Path::new("")).damage(input, Way::Data)
}

fn parse_reverse_damage(input: &str) -> Result<Damage, DamageError> {
    Traces::in_folder(Path::new("")).damage(input, Way::Acks)
}

/// `--header-hit`, which may leave it to the place of the bits.
#[derive(Clone, Copy)]
struct HeaderHit(Option<Share>);

fn parse_header_hit(input: &str) -> Result<HeaderHit, String> {
    if input == "place" {
        return Ok(HeaderHit(None));
    }
    input
        .parse()
        .map(|share| HeaderHit(Some(share)))
        .map_err(|error: headway_units::ParseUnitError| error.to_string())
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
    pub(super) fn scenario(&self) -> Result<Scenario, Failure> {
        self.check()?;
        let limit = |size: QueueSize| size.limit(Some(self.rate), self.delay + self.delay, self.mtu);
        let forward = LinkConfig {
            rate: Some(self.rate),
            delay: self.delay,
            queue: limit(self.queue),
            mark: self.mark.map(limit),
            overhead: self.overhead,
            jitter: self.jitter,
            duplicate: self.duplicate,
            reorder: self.reorder,
            reorder_delay: self.reorder_delay,
            loss: self.loss,
            damage: self.damage.clone(),
            header_hit: self.header_hit.0,
            hit_zone: self.hit_zone,
            flips: self.flips,
            frame_check: self.frame_check,
        };
        let reverse = LinkConfig {
            rate: Some(self.reverse_rate.unwrap_or(self.rate)),
            damage: self.reverse_damage.clone(),
            ..forward
        };
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

    fn switches(&self) -> Result<Switches, Failure> {
        let mut switches = Switches::default();
        self.with.iter().for_each(|part| switches.set(*part, true));
        self.without.iter().for_each(|part| switches.set(*part, false));
        match self.with.iter().find(|part| self.without.contains(part)) {
            Some(part) => Err(Failure::BadOption {
                option: "--without",
                value: part.to_string(),
                expected: "expected another part than --with names".into(),
            }),
            None => Ok(switches),
        }
    }

    fn check_sender(&self, scenario: &Scenario, sender: Entrant) -> Result<(), Failure> {
        let Err(error) = scenario.check(sender) else { return Ok(()) };
        let (option, value) = match self.cc {
            Some(cc) if !self.variant.contains(&sender) => ("--cc", congestion_name(cc).to_owned()),
            _ => ("--variant", sender.to_string()),
        };
        Err(Failure::BadOption { option, value, expected: error.to_string() })
    }

    fn check(&self) -> Result<(), Failure> {
        let bad = |option, value: String, expected: &str| {
            Err(Failure::BadOption { option, value, expected: expected.into() })
        };
        if self.rate.bits_per_second() == 0 {
            return bad("--rate", self.rate.to_string(), "expected a rate above zero, such as 10mbit");
        }
        if let Some(rate) = self.reverse_rate.filter(|rate| rate.bits_per_second() == 0) {
            return bad("--reverse-rate", rate.to_string(), "expected a rate above zero, such as 10mbit");
        }
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
        if self.flips == Some(0) {
            return bad("--flips", "0".into(), "expected at least one bit; `--damage none` damages nothing");
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
    pub(super) fn content(&self) -> Result<Content, Failure> {
        if self.duration.is_some() {
            return Ok(Content::generated(u64::MAX));
        }
        if let Some(file) = &self.file {
            return Ok(Content::from_file(file, self.size.map(Size::bytes))?);
        }
        let size = self.size.map_or(DEFAULT_SIZE, Size::bytes);
        let program = std::env::current_exe().map_err(Failure::NoExecutable)?;
        let content = Content::from_file(&program, Some(size))?;
        if content.len() < size && self.size.is_some() {
            return Err(Failure::BadOption {
                option: "--size",
                value: Size::from_bytes(size).to_string(),
                expected: format!(
                    "this program has only {} bytes to send; name a FILE that is large enough",
                    content.len()
                ),
            });
        }
        Ok(content)
    }
}
