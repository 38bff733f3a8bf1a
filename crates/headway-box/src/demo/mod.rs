//! `headway demo`: the kernel's TCP and headway's on equal links, in real time, side by side.
//!
//! Each sender has a `headway shell` of its own with the same link, and in it a `headway perf client` whose server sends: what this
//! module adds is what is seen of them.

mod child;
mod radio;
mod screen;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use clap::builder::ArgPredicate;
use clap::{Arg, Args};
use headway_command::{Failure, OutputError, notice, output};
use headway_units::Rate;
use serde_json::{Map, Value, json};

use super::error_delay_box::{BoxError, LinkParameters, describe_link};
use child::{Child, Event};
use radio::Radio;
use screen::Screen;

const EXAMPLES: &str = "\
Examples:
  headway demo
      15 seconds over 10 Mbit/s and an RTT of 100 ms, where bursts damage one packet in five.
  headway demo --damage random:2% --delay 300ms
      A satellite.
  headway demo --damage none
      Nothing is damaged: no one has to be ahead.
  headway demo --radio
      The frames of a radio modem, of which one in five arrives damaged.

Each sender has a link of its own, of the same kind and with the same seed. The options of the link are those of `headway shell`. \
What arrives is compared with what was sent. Bytes that the kernel's TCP delivers damaged are counted; if headway does so, that is an \
error.";

/// Seconds between two reports of a sender.
const INTERVAL: f64 = 0.2;
/// How long it takes until all send, at most: on a busy machine, or over a link that loses nearly all.
const START: Duration = Duration::from_secs(20);
/// How long after the end of their time what they have is waited for.
const GRACE: Duration = Duration::from_secs(2);

/// See the kernel's TCP and headway's side by side on a lossy link, in real time.
#[derive(Args)]
#[command(after_help = EXAMPLES, mut_args(with_default))]
pub struct Arguments {
    /// A radio link: frames of a software modem (QPSK without a code, white noise, SNR 12 dB), damaged wherever the bits
    /// fall; 2mbit and one-way delay 20ms, unless other options say otherwise
    #[arg(long, conflicts_with_all = ["damage", "config"])]
    radio: bool,
    #[command(flatten)]
    link: LinkParameters,
    /// How long they send, seconds
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// An option with the default that it has here, without `--radio` and with it.
fn with_default(option: Arg) -> Arg {
    // Where what is given stands in its place, it has none.
    let (value, of_radio, others): (_, _, &[&'static str]) = match option.get_id().as_str() {
        "rate" => ("10mbit", "2mbit", &["rate-steps", "rate-trace"]),
        "delay" => ("50ms", "20ms", &["delay-steps"]),
        "queue" => ("1bdp", "1bdp", &[]),
        "header-hit" => ("10%", "place", &[]),
        "hit-zone" => ("tcp", "ip+tcp", &[]),
        _ => return option,
    };
    let none = others.iter().map(|other| (*other, ArgPredicate::IsPresent, None));
    let of_radio = ("radio", ArgPredicate::Equals("true".into()), Some(of_radio));
    option.default_value(value).default_value_ifs(none.chain([of_radio]))
}

/// Why it failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum DemoError {
    #[error("{0}")]
    Start(std::io::Error),
    /// What a program said that ended early.
    #[error("{said}")]
    Ended { said: String, is_usage: bool },
    /// Headway delivered this number of bytes.
    #[error("headway delivered {0} damaged bytes: expected what was sent")]
    Damaged(u64),
    /// The link.
    #[error(transparent)]
    Box(#[from] BoxError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl Failure for DemoError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Ended { is_usage, .. } => *is_usage,
            Self::Box(error) => error.is_usage(),
            Self::Start(_) | Self::Damaged(_) | Self::Output(_) => false,
        }
    }
}

/// What one sender has brought.
struct Sender {
    /// For people, and for machines.
    names: (&'static str, &'static str),
    /// The kernel's congestion control; `None`: headway's TCP.
    kernel: Option<&'static str>,
    bytes: u64,
    /// Those that are not what was sent.
    differing: u64,
    /// When the last of them came, seconds from the first SYN.
    at: f64,
}

impl Sender {
    fn new(names: (&'static str, &'static str), kernel: Option<&'static str>) -> Self {
        Self { names, kernel, bytes: 0, differing: 0, at: 0.0 }
    }

    /// Goodput, Mbit/s.
    fn mbit(&self, seconds: u32) -> f64 {
        self.bytes as f64 * 8e-6 / f64::from(seconds)
    }
}

/// Runs it.
#[expect(clippy::disallowed_methods, reason = "a live command reads the clock")]
pub(super) fn run(arguments: &Arguments) -> Result<(), DemoError> {
    let mut senders = vec![Sender::new(("kernel's CUBIC", "linux:cubic"), Some("cubic"))];
    if has_bbr() {
        senders.push(Sender::new(("kernel's BBR", "linux:bbr"), Some("bbr")));
    }
    senders.push(Sender::new(("headway", "headway"), None));

    let radio = if arguments.radio { Some(Radio::new().map_err(DemoError::Start)?) } else { None };
    let changed = radio.as_ref().map(|radio| arguments.link.with_damage(&radio.damage()));
    let link = changed.as_ref().unwrap_or(&arguments.link);
    let links = link.links()?;

    let program = std::env::current_exe().map_err(DemoError::Start)?.into_os_string();
    let (told, events) = mpsc::channel();
    let mut children = Vec::new();
    for (place, sender) in senders.iter().enumerate() {
        let words = arguments.words(link, sender.kernel, &program);
        children.push(Child::start(&program, &words, (place, told.clone())).map_err(DemoError::Start)?);
    }
    drop(told);

    let mut screen = if arguments.json {
        Screen::dark()
    } else {
        let [forward, _] = &links;
        let text = describe_link(forward);
        notice!(
            "{}",
            radio.as_ref().map_or(text.clone(), |radio| text.replace(&radio.damage(), radio::NAME))
        );
        let rate = forward.nominal_rate().map_or(1, Rate::bits_per_second);
        Screen::new(&senders, arguments.seconds, rate / 8 * u64::from(arguments.seconds))
    };
    let mut left = senders.len();
    // Not all come to their end in time: over a link that damages packets a connection of CUBIC may need minutes to say good-bye.
    let time = Duration::from_secs(arguments.seconds.into()) + GRACE;
    let mut end = Instant::now() + START + time;
    let mut silent: BTreeSet<usize> = (0..senders.len()).collect();
    while left > 0 && Instant::now() < end {
        match events.recv_timeout(Duration::from_millis(100)) {
            Ok((place, Event::Received { bytes, differing, at })) => {
                let sender = &mut senders[place];
                sender.differing += differing;
                if silent.remove(&place) && silent.is_empty() {
                    end = end.min(Instant::now() + time);
                }
                // An interval ends a little after the time that it is for.
                if at <= f64::from(arguments.seconds) + INTERVAL / 2.0 {
                    (sender.bytes, sender.at) = (sender.bytes + bytes, at);
                }
            }
            Ok((place, Event::Ended)) => {
                // Bytes that differ are an error of the sender's process.
                if senders[place].differing == 0 {
                    children[place].check()?;
                }
                left -= 1;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
        screen.show(&senders);
    }
    screen.clear();
    let text = if arguments.json { arguments.object(&senders) } else { arguments.conclusion(&senders) };
    output::print(&text)?;
    check(&senders)
}

/// Whether headway delivered what was sent. The kernel's TCP may not.
fn check(senders: &[Sender]) -> Result<(), DemoError> {
    let ours = senders.iter().filter(|sender| sender.kernel.is_none());
    match ours.map(|sender| sender.differing).sum() {
        0 => Ok(()),
        damaged => Err(DemoError::Damaged(damaged)),
    }
}

impl Arguments {
    /// The words of `program`, which is this one, for one sender.
    fn words(&self, link: &LinkParameters, kernel: Option<&str>, program: &OsStr) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["shell", "--quiet"].map(OsString::from).into();
        words.extend(link.words());
        words.extend(kernel.into_iter().flat_map(|congestion| ["--kernel-cc".into(), congestion.into()]));
        words.extend(["--".into(), program.into()]);
        words.extend(["perf", "client", "10.77.0.1", "--reverse", "--json-stream"].map(OsString::from));
        words.extend(
            [format!("--interval={INTERVAL}"), format!("--time={}", self.seconds)].map(OsString::from),
        );
        words.extend(kernel.map(|_| "--kernel".into()));
        words
    }

    /// The link, for machines.
    fn link(&self) -> Map<String, Value> {
        if let Some(path) = self.link.config() {
            return Map::from_iter([("config".into(), json!(path))]);
        }
        let value = |(name, value)| {
            let value = if self.radio && name == "damage" { radio::NAME } else { value };
            (String::from(name), json!(value))
        };
        self.link.values().map(value).collect()
    }

    fn object(&self, senders: &[Sender]) -> String {
        let senders: Vec<_> = senders
            .iter()
            .map(|sender| {
                json!({
                    "sender": sender.names.1,
                    "bytes": sender.bytes,
                    "differing": sender.differing,
                    "bits_per_second": (sender.mbit(self.seconds) * 1e6).round(),
                })
            })
            .collect();
        format!("{}\n", json!({ "seconds": self.seconds, "link": self.link(), "senders": senders }))
    }

    /// What came of it, in a sentence.
    fn conclusion(&self, senders: &[Sender]) -> String {
        let Some((ours, others)) = senders.split_last() else { return String::new() };
        let of_other = |other: &Sender| {
            let name = format!("the {}", other.names.0);
            match ours.bytes as f64 / other.bytes as f64 {
                ratio if ratio.is_finite() => format!("{} what {name} has", times(ratio)),
                _ => format!("where {name} has nothing"),
            }
        };
        let others: Vec<_> = others.iter().map(of_other).collect();
        format!(
            "In {} s headway has {:.2} Mbit/s: {}. {}.\n",
            self.seconds,
            ours.mbit(self.seconds),
            others.join(", and "),
            differing(senders).map_or("All bytes are as they were sent".into(), |text| format!(
                "TCP's checksum passed damaged bytes: {text}"
            )),
        )
    }
}

/// How many bytes of which senders are not those that were sent, if any.
fn differing(senders: &[Sender]) -> Option<String> {
    let wrong = senders.iter().filter(|sender| sender.differing > 0);
    let each = wrong.map(|sender| {
        let the = if sender.kernel.is_some() { "the " } else { "" };
        format!("{} of {the}{}", sender.differing, sender.names.0)
    });
    each.reduce(|all, one| format!("{all}, {one}"))
}

/// A ratio as it is said: three digits where there is little of it.
fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2} times") } else { format!("{ratio:.0} times") }
}

/// Whether the kernel can be asked for BBR.
fn has_bbr() -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names.is_ok_and(|names| names.split_whitespace().any(|name| name == "bbr"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_bytes_of_headway_are_an_error_and_no_wrong_use() {
        let mut senders = [("linux:cubic", Some("cubic")), ("headway", None)]
            .map(|(name, kernel)| Sender::new((name, name), kernel));
        senders[0].differing = 5;
        assert!(check(&senders).is_ok());
        senders[1].differing = 3;
        let error = check(&senders).expect_err("damaged");
        assert_eq!(error.to_string(), "headway delivered 3 damaged bytes: expected what was sent");
        assert!(!error.is_usage());
    }

    #[test]
    fn a_ratio_has_the_digits_that_it_deserves() {
        assert_eq!([0.994, 1.3, 57.4].map(times), ["0.99 times", "1.30 times", "57 times"]);
    }
}
